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


def test_what_a_function_returns_may_be_what_the_program_returns():
    same = lambda x: rb.pure_callback(lambda v: v, rb.typeof(x), x)
    for f in (same, lambda x: rb.io_callback(lambda v: v, rb.typeof(x), x), lambda x: same(x)[::2]):
        np.testing.assert_array_equal(jit(f)(laid(A, "x", "y")), f(A))


# ---------------------------------------------------------------------------------------------- in order
def noting(seen, label):
    def note(x):
        seen.append((label, float(np.ravel(x)[0])))
        return x

    return lambda x: rb.io_callback(note, rb.typeof(x), x, ordered=True)


def test_ordered_calls_of_a_program_over_devices_happen_once_and_in_order():
    seen = []
    first, second = noting(seen, "a"), noting(seen, "b")

    @jit
    def f(x):
        total = first(x.sum())
        return lax.fori_loop(0, 3, lambda i, y: second(y * 2), x) + first(total * 2)

    x = laid(A + 1, "x", "y")
    for _ in range(2):
        f(x)
    rb.effects_barrier()
    assert [label for label, _ in seen] == ["a", "b", "b", "b", "a"] * 2
    np.testing.assert_allclose([v for _, v in seen[:2]], [(A + 1).sum(), 2 * (A + 1)[0, 0]], atol=1e-4)


def test_each_device_keeps_its_own_order_within_shard_map():
    seen, x = [], np.arange(1, 9, dtype=np.float32)
    first, second, last = noting(seen, "first"), noting(seen, 1), noting(seen, "last")

    def each(x):
        x = second(x)
        return lax.fori_loop(0, 2, lambda i, x: second(x * 10), x)

    mapped = rb.shard_map(each, mesh=MESH, in_specs=P(("x", "y")), out_specs=P(("x", "y")))
    for run in (jit(lambda x: last(mapped(first(x)))), lambda x: last(mapped(first(x)))):
        seen.clear()
        np.testing.assert_array_equal(run(laid(x, ("x", "y"))), x * 100)
        rb.effects_barrier()
        assert seen[0][0] == "first" and seen[-1] == ("last", 100.0) and len(seen) == 26
        for k in x:  # what a device does comes in its order, whatever others do meanwhile
            of_device = [v for _, v in seen[1:-1] if v in (k, 10 * k, 100 * k)]
            assert of_device == [k, 10 * k, 100 * k]


def test_ordered_prints_over_devices(capsys):
    mapped = rb.shard_map(
        lambda x: [debug.print("{} {}", n, x[0], ordered=True) for n in range(2)] and x,
        mesh=MESH, in_specs=P(("y", "x")), out_specs=P(("y", "x")),
    )  # fmt: skip
    jit(mapped)(np.arange(8, dtype=np.float32))
    rb.effects_barrier()
    lines = capsys.readouterr().out.split("\n")[:-1]
    assert sorted(set(lines)) == sorted([f"{n} {float(k)}" for n in range(2) for k in range(8)])
    for k in range(8):
        assert lines.index(f"0 {float(k)}") < lines.index(f"1 {float(k)}")


def test_an_ordered_call_that_raises_over_devices():
    def fails(x):
        raise ValueError("as a user would")

    f = jit(lambda x: rb.io_callback(fails, rb.typeof(x), x, ordered=True))
    with pytest.raises(ValueError, match="as a user would"):
        f(laid(A, "x"))


@pytest.mark.parametrize("ordered", [False, True])
def test_effects_where_some_axes_are_the_compilers(ordered):
    mapped = rb.shard_map(
        lambda x: (debug.print("{}", x[0], ordered=ordered), x)[1],
        mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"},
    )  # fmt: skip
    with pytest.raises(ShardingError, match="name all axes of the mesh in axis_names"):
        jit(mapped)(A)


@pytest.mark.parametrize("call", [rb.pure_callback, rb.io_callback], ids=["pure", "io"])
@pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "compiled"])
def test_what_a_function_returns_beside_explicit_axes(call, run):
    mesh = rb.make_mesh((4, 2), ("x", "y"), axis_types=rb.sharding.AxisType.Explicit)
    x = rb.device_put(A, NamedSharding(mesh, P("x", "y")))
    f = lambda x: call(lambda v: v * 2, rb.ShapeDtypeStruct(x.shape, x.dtype), x)
    out = run(f)(x)
    np.testing.assert_array_equal(out, A * 2)
    assert rb.typeof(out).str_short() == "f32[16,8]"  # whole, as under JAX
    np.testing.assert_array_equal(run(lambda x: x + f(x))(x), A * 3)
    assert rb.typeof(run(lambda x: x + f(x))(x)).str_short() == "f32[16@x,8@y]"
    seen = []
    run(lambda x: debug.callback(lambda v: seen.append(v.shape), x))(x)
    rb.effects_barrier()
    assert seen == [(16, 8)]


def test_partitioned_looks_get_each_devices_part():
    seen = []
    look = lambda x, **how: debug.callback(lambda v: seen.append(np.asarray(v).tolist()), x, **how)
    x = np.arange(8, dtype=np.float32)
    jit(lambda x: [look(x, partitioned=True), x * 2][1])(laid(x, "x"))
    rb.effects_barrier()
    assert sorted(seen) == sorted([x[i : i + 2].tolist() for i in range(0, 8, 2)] * 2)
    seen.clear()
    jit(lambda x: look(x.sum(), partitioned=True))(laid(x, "x"))
    rb.effects_barrier()
    assert seen == [28.0] * 8
    seen.clear()
    jit(lambda x: look(x, partitioned=True))(x)  # on one device there are no parts
    rb.effects_barrier()
    assert seen == [x.tolist()]
    with pytest.raises(ShardingError, match="partitioned calls have no order"):
        jit(lambda x: look(x, partitioned=True, ordered=True))(laid(x, "x"))


def test_what_no_branch_reads_may_lie_elsewhere():
    one, other = [rb.device_put(np.float32([1, 2]), d) for d in rb.devices()[1:3]]
    for pred, want in ((True, [2, 3]), (False, [0, 1])):
        out = lax.cond(pred, lambda x, y: x + 1, lambda x, y: x - 1, one, other)
        assert out.tolist() == want and out.devices() == one.devices()
    assert lax.switch(1, [lambda x, y: y, lambda x, y: y * 2], one, other).devices() == other.devices()
    with pytest.raises(ValueError, match="cond got arrays that were put on different devices"):
        lax.cond(True, lambda x, y: x + 1, lambda x, y: y - 1, one, other)
