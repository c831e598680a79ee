"""Python functions of programs over several devices: which device calls, and how values within lie."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.extend.sharding import SingleDeviceSharding
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

jit = pytest.importorskip("rabbet_jit").jit
vmap = pytest.importorskip("rabbet_vmap").vmap
debug = pytest.importorskip("rabbet.debug")

MESH = rb.make_mesh((4, 2), ("x", "y"))
A = np.linspace(-1, 1, 16 * 8, dtype=np.float32).reshape(16, 8)


def laid(x, *spec):
    return rb.device_put(x, NamedSharding(MESH, P(*spec)))


# ------------------------------------------------------------------------------------- how values lie
def test_the_compiler_tells_how_a_value_lies():
    seen = []

    @jit
    def f(x):
        y = lax.sin(x)
        debug.inspect_array_sharding(y, callback=seen.append)
        z = lax.with_sharding_constraint(y * 2, NamedSharding(MESH, P(None, "y")))
        debug.inspect_array_sharding(z, callback=seen.append)
        return z

    x = laid(A, "x")
    for _ in range(2):
        np.testing.assert_allclose(f(x), np.sin(A) * 2, rtol=1e-6)
    rb.effects_barrier()
    assert len(seen) == 2 and seen[0].shard_shape((16, 8))[0] == 4  # the columns are the compiler's to cut
    assert seen[1].is_equivalent_to(NamedSharding(MESH, P(None, "y")), 2)


def test_within_a_loop_and_under_vmap():
    seen = []

    def step(carry, _):
        debug.inspect_array_sharding(carry, callback=seen.append)
        return carry * 2, None

    run = jit(lambda x: lax.scan(step, x, None, length=3)[0])
    np.testing.assert_array_equal(run(laid(A, "x", "y")), A * 8)
    assert seen and {s.shard_shape((16, 8)) for s in seen} == {(4, 4)}
    seen.clear()
    jit(vmap(lambda row: (debug.inspect_array_sharding(row, callback=seen.append), row)[1]))(laid(A, "x"))
    assert [s.shard_shape((16, 8)) for s in seen] == [(4, 8)]


def test_outside_of_programs_it_is_that_of_the_array():
    seen = []
    x = laid(A, "x")
    debug.inspect_array_sharding(x, callback=seen.append)
    assert seen == [x.sharding]


def test_what_the_function_raises_arrives():
    def refuse(sharding):
        raise ZeroDivisionError("of the function")

    with pytest.raises(ZeroDivisionError, match="of the function"):
        jit(lambda x: (debug.inspect_array_sharding(x, callback=refuse), x)[1])(laid(A, "x"))


# --------------------------------------------------------------------------------------- which device calls
@pytest.mark.parametrize("place", (0, 5))
def test_the_device_that_calls(place):
    device = MESH.devices.flat[place]
    seen = []

    def called(x):
        seen.append((x.shape, x.device))
        return np.asarray(x) + 1

    f = jit(lambda x: rb.pure_callback(called, x, x, sharding=SingleDeviceSharding(device)) * 2)
    np.testing.assert_array_equal(f(laid(A, "x")), (A + 1) * 2)
    assert seen == [((16, 8), device)]


def test_io_callback_on_a_device():
    seen = []
    here = SingleDeviceSharding(MESH.devices.flat[3])
    f = jit(lambda x: (rb.io_callback(lambda v: seen.append(v.device), None, x, sharding=here), x)[1])
    f(laid(A, "x"))
    rb.effects_barrier()
    assert seen == [MESH.devices.flat[3]]


def test_a_device_of_another_program_is_refused():
    few = rb.sharding.Mesh(np.array(rb.devices()[:2]), ("x",))
    x = rb.device_put(A, NamedSharding(few, P("x")))
    elsewhere = SingleDeviceSharding(rb.devices()[7])
    with pytest.raises(ShardingError, match="its program runs on"):
        jit(lambda x: rb.pure_callback(np.sin, x, x, sharding=elsewhere))(x)
    here = SingleDeviceSharding(rb.devices()[0])
    mapped = rb.shard_map(
        lambda x: rb.pure_callback(np.sin, x, x, sharding=here), mesh=few, in_specs=P("x"), out_specs=P("x")
    )
    with pytest.raises(ShardingError, match="within shard_map"):
        jit(mapped)(x)
