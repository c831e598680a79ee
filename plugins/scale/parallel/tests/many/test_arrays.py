"""Arrays over eight devices: to them, between shardings, and back."""

import copy
import pickle

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
)  # fmt: skip
from rabbet.sharding import PartitionSpec as P

MESH = rb.make_mesh((4, 2), ("x", "y"))
ROW = rb.make_mesh((8,), ("z",))
CUBE = rb.make_mesh((2, 2, 2), ("a", "b", "c"))
HOST = np.arange(16 * 8, dtype=np.float32).reshape(16, 8)
SHARDINGS = [
    NamedSharding(mesh, P(*spec))
    for mesh, specs in (
        (MESH, [(), ("x",), ("y", "x"), (("x", "y"),), (("y", "x"), None), (None, "y")]),
        (ROW, [("z",), (None, "z")]),
        (CUBE, [(("c", "a"), "b"), ("b", ("a", "c"))]),
    )
    for spec in specs
]


def on(*spec, mesh=MESH):
    return NamedSharding(mesh, P(*spec))


@pytest.mark.parametrize("sharding", SHARDINGS, ids=lambda s: str(s.spec))
def test_each_device_holds_what_the_index_map_says(sharding):
    x = rb.device_put(HOST, sharding)
    assert x.sharding == sharding and x.committed and x.devices() == set(rb.devices())
    assert np.array_equal(np.asarray(x), HOST) and np.array_equal(rb.device_get(x), HOST)
    where = sharding.devices_indices_map(x.shape)
    for shard in x.addressable_shards:
        assert shard.index == where[shard.device] and shard.data.devices() == {shard.device}
        assert np.array_equal(np.asarray(shard.data), HOST[shard.index])
        assert shard.data.shape == sharding.shard_shape(x.shape)
    parts = {str(s.index) for s in x.addressable_shards}
    first = {str(s.index) for s in x.addressable_shards if s.replica_id == 0}
    assert first == parts and len([s for s in x.global_shards if s.replica_id == 0]) == len(parts)
    assert x.is_fully_replicated == (len(parts) == 1) == sharding.is_fully_replicated
    assert x.is_fully_addressable and np.array_equal(
        np.asarray(x.addressable_data(3)), HOST[where[rb.devices()[3]]]
    )


def test_every_sharding_into_every_other():
    for first in SHARDINGS:
        x = rb.device_put(HOST, first)
        for second in SHARDINGS:
            y = rb.device_put(x, second)
            assert y.sharding == second and np.array_equal(np.asarray(y), HOST)
            assert [np.asarray(s.data).tolist() for s in y.addressable_shards] == [
                HOST[i].tolist() for i in second.devices_indices_map(HOST.shape).values()
            ]


def test_to_one_device_and_to_others():
    x = rb.device_put(HOST, on("x", "y"))
    one = rb.device_put(x, rb.devices()[3])
    assert one.sharding == SingleDeviceSharding(rb.devices()[3]) and np.array_equal(np.asarray(one), HOST)
    four = NamedSharding(Mesh(rb.devices()[4:], ("x",)), P("x"))
    assert np.array_equal(np.asarray(rb.device_put(x, four)), HOST)
    assert rb.device_put(one, four).sharding == four
    assert rb.device_put([HOST, one], [four, on()])[1].sharding == on()
    assert rb.device_put(x, x.sharding) is x
    other = rb.device_put(x, x.sharding, may_alias=False)
    other.delete()
    assert not x.is_deleted()


def test_every_dtype_and_keys():
    pytest.importorskip("rabbet_bfloat16", reason="the package rabbet-bfloat16 is not installed")
    for dtype in ("bool", "int8", "uint16", "int64", "float16", "bfloat16", "float64", "complex64"):
        host = lax.full((8, 2), 1, dtype)
        x = rb.device_put(host, on("x"))
        assert np.array_equal(np.asarray(x), np.asarray(host)) and x.dtype == host.dtype
    random = pytest.importorskip("rabbet.random")
    keys = rb.device_put(random.split(random.key(0), 8), on("x"))
    assert keys.sharding == on("x")
    drawn = rb.vmap(lambda key: random.bits(key, (3,)))(keys)
    assert np.array_equal(drawn, rb.vmap(lambda key: random.bits(key, (3,)))(random.split(random.key(0), 8)))


def test_an_array_of_one_part_lies_as_was_asked():
    on = NamedSharding(rb.make_mesh((1,), ("w",), devices=rb.devices()[:1]), P("w"))
    part = rb.device_put(HOST, rb.devices()[0])
    made = rb.make_array_from_single_device_arrays(HOST.shape, on, [part])
    assert made.sharding == on and made.unsafe_buffer_pointer() == part.unsafe_buffer_pointer()
    np.testing.assert_array_equal(made + part, 2 * HOST)
    assert rb.make_array_from_single_device_arrays(HOST.shape, part.sharding, [part]) is part


def test_scalars_and_empty_arrays():
    assert float(rb.device_put(2.5, on())) == 2.5
    assert rb.device_put(np.zeros((0, 4), "f4"), on("x")).shape == (0, 4)


def test_copies_and_pickles():
    x = rb.device_put(HOST, on("x", "y"))
    for again in (copy.copy(x), copy.deepcopy(x)):
        assert again.sharding == x.sharding and np.array_equal(again, HOST)
        again.delete()
    assert not x.is_deleted()
    for value in (x.sharding, MESH, P("x", None, ("y",)), P(P.UNCONSTRAINED)):
        assert pickle.loads(pickle.dumps(value)) == value
    assert np.array_equal(pickle.loads(pickle.dumps(x)), HOST)


def test_from_a_function_and_from_parts():
    asked = []

    def part(index):
        asked.append(index)
        return HOST[index]

    x = rb.make_array_from_callback(HOST.shape, on("x"), part)
    assert np.array_equal(x, HOST) and len(asked) == 4 and x.dtype == np.float32
    parts = [s.data for s in rb.device_put(HOST, on("x", "y")).addressable_shards]
    y = rb.make_array_from_single_device_arrays(HOST.shape, on("x", "y"), parts[::-1])
    assert np.array_equal(y, HOST) and y.sharding == on("x", "y")
    assert np.array_equal(y + x, 2 * HOST)
    local = rb.make_array_from_process_local_data(on("y"), HOST)
    assert local.sharding == on("y") and np.array_equal(local, HOST)


def test_parts_that_do_not_fit_are_refused():
    parts = [s.data for s in rb.device_put(HOST, on("x", "y")).addressable_shards]
    join = rb.make_array_from_single_device_arrays
    with pytest.raises(ValueError, match=r"the part for cpu:0 .* must have shape \(4, 8\), got \(4, 4\)"):
        join(HOST.shape, on("x"), parts)
    with pytest.raises(ValueError, match="nothing is on cpu:7"):
        join(HOST.shape, on("x", "y"), parts[:7])
    with pytest.raises(ValueError, match="two of the arrays are on cpu:0"):
        join(HOST.shape, on("x", "y"), [*parts, parts[0]])
    with pytest.raises(TypeError, match="dtypes"):
        join(HOST.shape, on("x", "y"), [lax.convert_element_type(parts[0], "int32"), *parts[1:]])
    with pytest.raises(ValueError, match=r"must have shape \(4, 8\), got \(3, 8\)"):
        rb.make_array_from_callback(HOST.shape, on("x"), lambda index: HOST[:3])


def test_what_cannot_be_cut_is_refused_with_the_sizes():
    for spec, shape, words in (
        (P("x"), (7,), r"cuts dimension 0 of an array of shape \(7,\) into 4 parts, but its size 7"),
        (P(None, ("x", "y")), (8, 12), "into 8 parts, but its size 12 is not divisible by 8"),
        (P("x"), (), "has entries for 1 dimensions, and the array has 0"),
    ):
        with pytest.raises(ShardingError, match=words):
            rb.device_put(np.zeros(shape, "f4"), on(*spec))
        with pytest.raises(ShardingError, match=words):
            on(*spec).shard_shape(shape)
    for make, words in (
        (lambda: on("q"), "names the axis 'q', which is none of the mesh's: 'x', 'y'"),
        (lambda: P("x", ("y", "x")), "the axis 'x' occurs twice"),
        (lambda: rb.make_mesh((3, 3), ("x", "y")), "has 9 places, and there are 8 devices"),
        (lambda: Mesh([rb.devices()[0]] * 2, ("x",)), "a device occurs twice"),
        (lambda: Mesh(rb.devices(), ("x", "y")), "has 1 axes"),
        (lambda: Mesh(np.array(rb.devices()).reshape(4, 2), ("x", "x")), "different names"),
        (lambda: rb.device_put(HOST, P("x")), "no mesh is set"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


def test_meshes_and_specs_are_values():
    assert rb.make_mesh((4, 2), ("x", "y")) == MESH and hash(rb.make_mesh((4, 2), ("x", "y"))) == hash(MESH)
    assert MESH != ROW and MESH.shape == {"x": 4, "y": 2} and MESH.size == 8 and MESH.axis_names == ("x", "y")
    assert MESH.device_ids.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert MESH.abstract_mesh == AbstractMesh((4, 2), ("x", "y"))
    sizes = "'x': 4, 'y': 2, axis_types=(Auto, Auto)"
    shown = f"NamedSharding(mesh=Mesh({sizes}), spec=P('x', 'y'), memory_kind=device)"
    assert repr(on("x", ("y",))) == shown and str(MESH) == f"Mesh({sizes})"
    assert repr(MESH) == "Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))"
    assert P("x") != ("x",) and P("x") == P(("x",)) and P("x") != P("x", None)
    assert P("x") + P(None, "y") == P("x", None, "y") and len(P("x", None)) == 2 and list(P("x")) == ["x"]
    assert on("x").is_equivalent_to(on("x", None), 2) and on("x") != on("x", None)
    assert not on("x").is_equivalent_to(on("y"), 2)
    with rb.set_mesh(MESH):
        assert rb.device_put(HOST, P("y")).sharding == on("y") and get_mesh() == MESH
        with ROW:  # what a constraint refers to, and no more
            assert rb.device_put(HOST, P("y")).sharding == on("y")
            assert get_mesh() == MESH and get_abstract_mesh() == MESH.abstract_mesh
    with MESH:
        assert get_mesh().empty and get_abstract_mesh().empty
        with pytest.raises(ShardingError, match="no mesh is set"):
            rb.device_put(HOST, P("y"))
    assert get_mesh().empty


def test_pictures(capsys):
    debug = pytest.importorskip("rabbet.debug")
    debug.visualize_array_sharding(rb.device_put(HOST, on("y", "x")))
    lines = capsys.readouterr().out.splitlines()
    first = ["┌───────┬───────┬───────┬───────┐", "│       │       │       │       │"]
    assert lines[:3] == [*first, "│ CPU 0 │ CPU 2 │ CPU 4 │ CPU 6 │"]
    assert lines[5] == "├───────┼───────┼───────┼───────┤" and len(lines) == 11
    debug.visualize_sharding((8, 8), on("x"))
    assert capsys.readouterr().out.splitlines()[1] == "│        CPU 0,1        │"
    debug.visualize_sharding((8,), on("y"))
    assert capsys.readouterr().out.splitlines()[1] == "│CPU 0,2,4,6│CPU 1,3,5,7│"
    with pytest.raises(ValueError, match="one or two dimensions"):
        debug.visualize_sharding((2, 2, 2), on())
    with pytest.raises(TypeError, match="takes an array with values"):
        rb.jit(debug.visualize_array_sharding)(HOST)


def test_parts_of_any_memory():
    """Parts are copied from where they lie: by columns, backwards, with steps, one row for all."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(16, 32)).astype(np.float32)
    sources = [
        x, x.T, x[::-1, ::2], x[:, ::-1], np.asfortranarray(x), np.broadcast_to(x[:1], (16, 32)),
        x.astype(">f4"), np.broadcast_to(np.float32(3), (8, 8)), x.astype(np.float64), x > 0, x[:8, :0],
    ]  # fmt: skip
    for source in sources:
        for spec in (P("x"), P(None, "x"), P("y", "x"), P()):
            y = rb.device_put(source, NamedSharding(MESH, spec))
            wanted = source.astype(np.float32) if source.dtype != bool else source
            assert y.dtype == wanted.dtype and np.array_equal(np.asarray(y), wanted)
    y = rb.device_put(x, NamedSharding(MESH, P("x")))
    before = x.copy()
    x[:] = 0  # the caller's memory is the caller's
    assert np.array_equal(np.asarray(y), before)


def test_a_forked_process_is_told(monkeypatch):
    spread = NamedSharding(rb.make_mesh((8,), ("x",)), P("x"))
    rb.device_put(np.arange(8.0), spread)
    monkeypatch.setattr(rb.devices()[0].client, "forked", True)  # as `os.fork` leaves it in the child
    with pytest.raises(RuntimeError, match="was forked"):
        rb.device_put(np.arange(8.0), spread)


def test_memories_are_named():
    usual, *others = rb.devices()[0].memory_kinds()
    plain = on("x")
    assert plain.memory_kind == usual == rb.device_put(HOST, plain).sharding.memory_kind
    named = plain.with_memory_kind(usual)
    assert (
        named == plain
        and hash(named) == hash(plain)
        and SingleDeviceSharding(rb.devices()[1]).memory_kind == usual
    )
    for other in others:
        there = plain.with_memory_kind(other)
        assert there != plain and there.memory_kind == other and f"memory_kind={other})" in repr(there)
        assert pickle.loads(pickle.dumps(there)) == there
        assert rb.device_put(HOST, there).sharding.memory_kind == other
    with pytest.raises(ValueError, match=f"has no memory 'attic'; it has {usual}"):
        NamedSharding(MESH, P(), memory_kind="attic")


def test_shardings_without_devices():
    sharding = NamedSharding(AbstractMesh((4, 2), ("x", "y")), P("x"))
    assert (
        sharding.num_devices == 8 and sharding.memory_kind is None and sharding.shard_shape((8, 2)) == (2, 2)
    )
    for ask in ("device_set", "addressable_devices", "is_fully_addressable"):
        with pytest.raises(ShardingError, match="names no devices"):
            getattr(sharding, ask)
    exact = AbstractMesh((2,), ("x",), AxisType.Explicit)
    with pytest.raises(ShardingError, match="leaves a dimension to the compiler"):
        NamedSharding(exact, P(P.UNCONSTRAINED))


def test_bytes_on_devices():
    whole = rb.device_put(np.zeros((8, 8), np.float32))
    assert whole.on_device_size_in_bytes() == 256
    assert rb.device_put(whole, on("x")).on_device_size_in_bytes() == 512  # 4 parts, each on 2 devices
    assert rb.device_put(whole, on()).on_device_size_in_bytes() == 8 * 256
    whole.delete()
    with pytest.raises(rb.errors.DeletedArrayError):
        whole.on_device_size_in_bytes()


def test_a_reference_has_an_array_of_its_own():
    new_ref = pytest.importorskip("rabbet.ref").new_ref
    whole = np.arange(8, dtype=np.float32)
    given = rb.device_put(whole, NamedSharding(rb.make_mesh((8,), ("x",)), P("x")))
    ref = new_ref(given)
    read = ref[...]
    given.delete()
    ref[0] = 9.0
    read.delete()
    assert np.array_equal(ref[...], [9, *whole[1:]]) and ref.sharding.spec == P("x")
    written = rb.device_put(2 * whole, ref.sharding)
    ref[...] = written
    written.delete()
    assert np.array_equal(ref[...], 2 * whole)
