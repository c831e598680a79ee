"""Memories that devices use when they are told to: of one device, and the parts of arrays over several."""

import pickle

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.sharding import NamedSharding, SingleDeviceSharding
from rabbet.sharding import PartitionSpec as P

DEVICE = rb.devices()[1]
USUAL, *OTHERS = DEVICE.memory_kinds()
HERE = SingleDeviceSharding(DEVICE)
HOST = np.arange(6, dtype=np.float32).reshape(2, 3)
MESH = rb.make_mesh((8,), ("x",))


@pytest.mark.parametrize("kind", OTHERS)
def test_one_device(kind):
    there = SingleDeviceSharding(DEVICE, memory_kind=kind)
    x = rb.device_put(HOST, there)
    assert x.sharding == there and x.sharding.memory_kind == kind and x.committed and x.device is DEVICE
    np.testing.assert_array_equal(x, HOST)
    for out in (x + x, rb.jit(lambda v: v * 2)(x), 2 * x):  # as JAX has it: where the operands lie
        assert out.sharding == there
        np.testing.assert_array_equal(out, 2 * HOST)
    with pytest.raises(ValueError, match="lie in different memories"):
        x + rb.device_put(HOST, DEVICE)
    (part,) = x.addressable_shards
    assert part.data.sharding == there and part.device is DEVICE
    for place in (HERE, DEVICE, SingleDeviceSharding(rb.devices()[3]), NamedSharding(MESH, P())):
        np.testing.assert_array_equal(rb.device_put(x, place), HOST)
    assert rb.device_put(x, HERE).sharding == HERE
    twice = rb.jit(lambda v: v * 2, out_shardings=there, in_shardings=HERE)
    assert twice(HOST).sharding == there and twice.lower(HOST).compile().output_shardings == there
    given = rb.jit(lambda v: v + 1, in_shardings=there, donate_argnums=0)
    np.testing.assert_array_equal(given(HOST), HOST + 1)
    made = rb.make_array_from_callback((2, 3), there, lambda index: HOST[index])
    assert made.sharding == there
    assert rnp.zeros(3, device=there).sharding == there
    np.testing.assert_array_equal(rb.grad(lambda v: (v * v).sum())(x), 2 * HOST)


@pytest.mark.parametrize("kind", OTHERS)
def test_a_sharding_is_a_value(kind):
    there = SingleDeviceSharding(DEVICE, memory_kind=kind)
    assert type(there) is type(HERE) is SingleDeviceSharding
    usual = SingleDeviceSharding(DEVICE, memory_kind=USUAL)
    assert usual == HERE and hash(usual) == hash(HERE)
    assert there == HERE.with_memory_kind(kind) != HERE == there.with_memory_kind(USUAL)
    assert len({there, HERE, SingleDeviceSharding(DEVICE, memory_kind=kind)}) == 2
    assert pickle.loads(pickle.dumps(there)) == there and pickle.loads(pickle.dumps(HERE)) == HERE
    assert repr(there) == f"SingleDeviceSharding(device={DEVICE!r}, memory_kind={kind})"
    assert not there.is_equivalent_to(HERE, 2) and there.shard_shape((2, 3)) == (2, 3)


@pytest.mark.parametrize("kind", OTHERS)
def test_parts_lie_where_the_whole_does(kind):
    x = rb.device_put(np.arange(16.0, dtype=np.float32), NamedSharding(MESH, P("x"), memory_kind=kind))
    parts = x.addressable_shards
    assert [p.data.sharding for p in parts] == [
        SingleDeviceSharding(d, memory_kind=kind) for d in rb.devices()
    ]
    np.testing.assert_array_equal(np.concatenate([p.data for p in parts]), np.arange(16))
    np.testing.assert_array_equal(parts[3].data + 1, [7, 8])


@pytest.mark.parametrize("kind", OTHERS)
def test_a_result_in_a_memory_of_no_device(kind):
    with rb.set_mesh(MESH), pytest.raises(ValueError, match=f"names the memory '{kind}' on a mesh"):
        rnp.full(8, 0, out_sharding=NamedSharding(MESH.abstract_mesh, P("x"), memory_kind=kind))
