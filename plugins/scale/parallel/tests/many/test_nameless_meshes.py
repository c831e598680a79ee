"""Shardings on meshes without devices: meant on those on which a program runs, or for a platform that is not
here; what specs may leave to the compiler; and values that differ where values that do not are expected.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import AbstractMesh, NamedSharding, get_abstract_mesh
from rabbet.sharding import PartitionSpec as P

MESH = rb.make_mesh((4, 2), ("x", "y"))
NAMELESS = NamedSharding(MESH.abstract_mesh, P("x"))
X = np.arange(64, dtype=np.float32).reshape(8, 8)


def on(*spec):
    return NamedSharding(MESH, P(*spec))


def constrained(x):
    return lax.with_sharding_constraint(x * 2, NAMELESS)


def test_a_program_runs_where_its_arguments_are():
    out = rb.jit(constrained)(rb.device_put(X, on("y")))
    assert out.sharding == on("x")
    np.testing.assert_array_equal(out, 2 * X)
    other = rb.make_mesh((4, 2), ("x", "y"), devices=rb.devices()[::-1])
    there = rb.jit(constrained)(rb.device_put(X, NamedSharding(other, P("y"))))
    assert there.sharding == NamedSharding(other, P("x"))
    with rb.set_mesh(MESH):
        np.testing.assert_array_equal(rb.jit(constrained)(X), 2 * X)
    with pytest.raises(ShardingError, match="for 8 devices, and the program runs on"):
        rb.jit(constrained)(rb.device_put(X, NamedSharding(rb.make_mesh((4,), ("x",)), P("x"))))
    with pytest.raises(ShardingError, match="names no devices"):
        rb.jit(constrained)(X)


@pytest.mark.parametrize("platform", ["tpu", "cuda", "cpu"])
def test_written_for_devices_that_nobody_names(platform):
    aval = rb.ShapeDtypeStruct((8, 8), "float32", sharding=NAMELESS)
    lowered = rb.jit(constrained).trace(aval).lower(platform=platform)
    text = lowered.as_text()
    assert text.count('mesh<["x"=4, "y"=2]>') == 2 and text.count("sdy.sharding_constraint") == 1
    with pytest.raises(ShardingError, match="name no devices, only sizes of axes"):
        lowered.compile()


def test_what_is_left_to_the_compiler_is_no_place():
    free = on(P.UNCONSTRAINED, "y")
    assert rb.jit(lambda x: lax.with_sharding_constraint(x, free))(X).sharding.spec[-1] == "y"
    for attempt in (
        lambda: rb.jit(lambda x: x, out_shardings=free)(X),
        lambda: rb.jit(lambda x: x, in_shardings=free)(X),
        lambda: rb.device_put(X, free),
    ):
        with pytest.raises(ShardingError, match="leaves a dimension to the compiler"):
            attempt()


def test_within_another_shard_map_the_axes_that_are_left():
    def inner(x):
        return lax.psum(x, "y")

    def outer(mesh):
        def by_x(x):
            given = get_abstract_mesh() if mesh == "abstract" else mesh
            return rb.shard_map(inner, mesh=given, in_specs=P("y"), out_specs=P())(x) + lax.axis_index("x")

        return rb.jit(
            rb.shard_map(by_x, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
        )

    values = np.arange(16, dtype=np.float32)
    want = values.reshape(4, 2, 2).sum(1) + np.arange(4)[:, None]
    for mesh in (None, "abstract", MESH):
        np.testing.assert_array_equal(outer(mesh)(values), want.ravel())


def test_a_tangent_that_differs_at_a_value_that_does_not():
    row = rb.make_mesh((4,), ("x",))

    def at_each(f):
        return rb.shard_map(f, mesh=row, in_specs=P("x"), out_specs=P("x"))(np.arange(8, dtype=np.float32))

    one = np.ones(2, np.float32)
    square = lambda a: a * a
    for linear in (
        lambda t: rb.linearize(square, one)[1](t),
        lambda t: rb.linear_transpose(lambda a: 3 * a, one)(t)[0],
        lambda t: rb.vjp(square, one)[1](t)[0],
    ):
        with pytest.raises(ValueError, match="differs between devices"):
            at_each(linear)
    np.testing.assert_array_equal(at_each(lambda t: rb.jvp(square, (one,), (t,))[1]), 2 * np.arange(8))
    apart = lambda t: rb.linearize(square, lax.pcast(rb.numpy.ones(2), "x", to="varying"))[1](t)
    np.testing.assert_array_equal(at_each(apart), 2 * np.arange(8))


def test_one_abstract_mesh_is_not_another():
    small = AbstractMesh((2,), ("x",))
    assert not NamedSharding(small, P("x")).has_devices and on("x").has_devices


@pytest.mark.parametrize("kind", [None, "device", "pinned_host"])
def test_programs_for_other_platforms_take_them_as_shardings(kind):
    rows = NamedSharding(MESH.abstract_mesh, P("x"), memory_kind=kind)
    f = rb.jit(lambda x: x * 2, out_shardings=rows)
    text = f.trace(rb.ShapeDtypeStruct(X.shape, X.dtype)).lower(lowering_platforms=("tpu",)).as_text()
    assert text.count('[{"x"}, {}]') == 1 and text.count("pinned_host") == 2 * (kind == "pinned_host")
    both = rb.jit(lambda x, y: x + y, in_shardings=(NamedSharding(MESH.abstract_mesh, P("x")), NAMELESS))
    struct = rb.ShapeDtypeStruct(X.shape, X.dtype)
    text = both.trace(struct, struct).lower(lowering_platforms=("tpu",)).as_text()
    assert text.count('[{"x"}, {}]') == 2
    with rb.set_mesh(MESH):
        assert rb.jit(lambda x: x * 2, out_shardings=NAMELESS)(X).sharding == on("x")
    back = lambda x, y: rb.device_put(x, NamedSharding(MESH.abstract_mesh, P("x"), memory_kind="device")) + y
    assert str(rb.make_jaxpr(back)(X, X)).count("<device>") == 0  # it is the usual one


def test_a_call_needs_the_devices():
    with pytest.raises(ShardingError, match="names no devices"):
        rb.jit(lambda x: x * 2, out_shardings=NAMELESS)(X)
