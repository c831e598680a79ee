"""``shard_map`` over axes of type ``Explicit``: the types of arguments say how they are taken apart. And the
meshes that it runs on where none is named.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import AxisType, NamedSharding, get_abstract_mesh, get_mesh
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

AUTO = rb.make_mesh((4, 2), ("x", "y"))
EXACT = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
MIXED = rb.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
HOST = np.arange(64, dtype=np.float32).reshape(8, 8)


def laid(mesh, *spec):
    return rb.device_put(HOST, NamedSharding(mesh, P(*spec)))


def shown(x):
    return rb.typeof(x).str_short()


@pytest.mark.parametrize("wrap", [lambda f: f, rb.jit], ids=["called", "jit"])
def test_a_spec_that_says_otherwise_than_the_type(wrap):
    double = lambda spec, **more: wrap(
        rb.shard_map(lambda x: x * 2, mesh=EXACT, in_specs=spec, out_specs=spec, **more)
    )
    for spec in (P(), P("x"), P(None, "y"), P(("x", "y")), P("y", "x")):
        out = double(spec)(laid(EXACT, *spec))
        assert out.sharding.is_equivalent_to(NamedSharding(EXACT, spec), 2)
        np.testing.assert_array_equal(out, 2 * HOST)
        for other in (P(), P("x"), P(None, "y"), P(("x", "y")), P("y", "x")):
            if other != spec:
                with pytest.raises(ShardingError, match=r"by its type[^\n]*\n.*in_specs out"):
                    double(other)(laid(EXACT, *spec))
    with pytest.raises(ShardingError, match=r"f32\[8,8\]\n  to fix: move it before, rb.reshard"):
        double(P("x"))(HOST)
    with pytest.raises(ShardingError, match="by its type its sharding"):
        double(P("x"), axis_names={"x"})(laid(EXACT, "y"))
    np.testing.assert_array_equal(double(P("x"), axis_names={"x"})(laid(EXACT, "x", "y")), 2 * HOST)
    np.testing.assert_array_equal(double(P())(HOST), 2 * HOST)


def test_left_out():
    @rb.jit
    @rb.shard_map(mesh=EXACT, out_specs={"a": P("x"), "b": P(None, "y"), "c": P()})
    def parts(d):
        assert [d[name].shape for name in "abc"] == [(2, 8), (8, 4), ()]
        return d

    out = parts({"a": laid(EXACT, "x"), "b": laid(EXACT, None, "y"), "c": 2.0})
    assert shown(out["a"]) == "f32[8@x,8]" and shown(out["b"]) == "f32[8,8@y]"
    np.testing.assert_array_equal(out["b"], HOST)
    one = rb.shard_map(lambda x: x + 1, mesh=MIXED, out_specs=P("x"), axis_names={"x"})
    np.testing.assert_array_equal(one(laid(MIXED, "x")), HOST + 1)
    with rb.set_mesh(EXACT):
        smap = rb.smap(lambda x: lax.psum(x.sum(), "x"), out_axes=None, axis_name="x")
        assert float(smap(laid(EXACT, "x"))) == HOST.sum()


def test_only_types_of_explicit_axes_say_it():
    for mesh in (AUTO, MIXED):
        out = rb.shard_map(lambda x: x * 2, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(laid(mesh))
        np.testing.assert_array_equal(out, 2 * HOST)
        with pytest.raises(ShardingError, match=r"give in_specs.*only over axes of type Explicit"):
            rb.shard_map(lambda x: x, mesh=mesh, out_specs=P("x"))(laid(mesh, "x"))
    with rb.set_mesh(AUTO), pytest.raises(ShardingError, match="give in_specs"):
        rb.smap(lambda x: x, out_axes=0, axis_name="x")(HOST)


def test_gradients_and_vmap():
    f = rb.shard_map(lambda x: lax.psum((x * x).sum(), "x"), mesh=EXACT, in_specs=P("x"), out_specs=P())
    gradient = rb.jit(rb.grad(f))(laid(EXACT, "x"))
    assert shown(gradient) == "f32[8@x,8]"
    np.testing.assert_array_equal(gradient, 2 * HOST)
    rows = rb.vmap(rb.shard_map(lambda x: x + 1, mesh=EXACT, in_specs=P("x"), out_specs=P("x")), in_axes=1)
    assert shown(rows(laid(EXACT, "x"))) == "f32[8,8@x]"


def test_the_mesh_around_is_meant_within():
    seen = []

    def inner(x):
        assert get_abstract_mesh().are_all_axes_manual
        return x * lax.axis_index("y") + lax.psum(x, "y")

    def outer(x):
        seen.append(get_mesh())
        assert get_abstract_mesh().manual_axes == ("x",) and get_abstract_mesh().auto_axes == ("y",)
        return rb.shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})(x)

    f = rb.shard_map(outer, mesh=AUTO, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    out = rb.jit(f)(HOST)
    left, right = np.split(HOST, 2, axis=1)
    np.testing.assert_array_equal(out, np.concatenate([left + right, 2 * right + left], axis=1))
    assert seen == [AUTO] and get_mesh().empty and get_abstract_mesh().empty
    with pytest.raises(ValueError, match="on purpose"):
        rb.shard_map(lambda x: raised(), mesh=AUTO, in_specs=P(), out_specs=P())(HOST)
    assert get_mesh().empty


def raised():
    raise ValueError("on purpose")


def test_a_mesh_without_devices():
    f = rb.shard_map(lambda x: lax.psum(x, "x"), mesh=AUTO.abstract_mesh, in_specs=P("x"), out_specs=P())
    total = HOST.reshape(4, 2, 8).sum(0)
    np.testing.assert_array_equal(f(laid(AUTO, "x")), total)
    with rb.set_mesh(AUTO):
        np.testing.assert_array_equal(rb.jit(f)(rnp.asarray(HOST)), total)
    with pytest.raises(ShardingError, match="give a Mesh"):
        f(HOST)
