"""``shard_map`` over some axes of a mesh whose others are of type ``Explicit``: within, types say both along
which axes values may differ between devices and how the axes left out cut them.
"""

import pickle

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.extend.sharding import part_of
from rabbet.sharding import AxisType, NamedSharding, auto_axes, get_abstract_mesh, reshard
from rabbet.sharding import PartitionSpec as P
from rabbet_collectives.varying import Varying

pytestmark = pytest.mark.library

MESH = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
MIXED = rb.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto, AxisType.Explicit))
HOST = np.arange(64, dtype=np.float32).reshape(8, 8)
ROWS = P("x")


def laid(*spec, mesh=MESH, host=HOST):
    return rb.device_put(host, NamedSharding(mesh, P(*spec)))


def shown(x):
    return rb.typeof(x).str_short()


def mapped(f, ins=ROWS, outs=ROWS, mesh=MESH, **more):
    return rb.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, axis_names={"x"}, **more)


# The texts within and of the result are those that JAX 0.12 prints (of psum_scatter it fails).
CASES = [
    (lambda x: x * 2, P("x"), ("x", "y"), P("x"), "f32[2,8@y]{V:x}", "f32[8@x,8@y]"),
    (lambda x: lax.psum(x, "x"), P("x"), ("x", "y"), P(), "f32[2,8@y]", "f32[2,8@y]"),
    (lambda x: x.sum(1), P("x"), ("x", "y"), P("x"), "f32[2]{V:x}", "f32[8@x]"),
    (lambda x: x.T, P("x"), ("x", "y"), P(None, "x"), "f32[8@y,2]{V:x}", "f32[8@y,8@x]"),
    (lambda x: reshard(x, P()), P("x"), ("x", "y"), P("x"), "f32[2,8]{V:x}", "f32[8@x,8]"),
    (lambda x: reshard(x, P("y")), P("x"), ("x",), P("x"), "f32[2@y,8]{V:x}", "f32[8@(x,y),8]"),
    (lambda x: x, P("x"), ("x", "y"), P(None, "x"), "f32[2,8@y]{V:x}", "f32[2,32@(x,y)]"),
    (lambda x: x + np.ones((8, 8), "float32"), P(), (None, "y"), P(), "f32[8,8@y]", "f32[8,8@y]"),
    (lambda x: lax.axis_index("x") * x, P("x"), ("x", "y"), P("x"), "f32[2,8@y]{V:x}", "f32[8@x,8@y]"),
    (lambda x: x.reshape(2, 2, 4), P("x"), ("x", "y"), P("x"), "f32[2,2@y,4]{V:x}", "f32[8@x,2@y,4]"),
    (lambda x: lax.ppermute(x, "x", [(0, 1)]), P("x"), ("x", "y"), P("x"), "f32[2,8@y]{V:x}", "f32[8@x,8@y]"),
    (lambda x: lax.psum_scatter(x, "x", tiled=True), P(), (None, "y"), P("x"), "f32[2,8@y]{V:x}",
     "f32[8@x,8@y]"),
    (lambda x: lax.all_gather(x, "x", tiled=True), P("x"), ("x", "y"), P("x"), "f32[8,8@y]{V:x}",
     "f32[32@x,8@y]"),
    (lambda x: rnp.dot(x, x.T, out_sharding=P()), P("x"), ("x", "y"), P("x"), "f32[2,2]{V:x}", "f32[8@x,2]"),
    (lambda x: lax.dynamic_slice_in_dim(x, lax.axis_index("x") % 2, 1, 0), P("x"), ("x", "y"), P("x"),
     "f32[1,8@y]{V:x}", "f32[4@x,8@y]"),
    (lambda x: lax.scan(lambda c, r: (c + r, r), x[0] * 0, x)[0], P("x"), ("x", "y"), P("x"), "f32[8@y]{V:x}",
     "f32[32@(x,y)]"),
    (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1], P("x"),
     ("x", "y"), P("x"), "f32[2,8@y]{V:x}", "f32[8@x,8@y]"),
    (lambda x: lax.cond(x.sum() > 9, lambda v: v * 2, lambda v: v + 1, x), P("x"), ("x", "y"), P("x"),
     "f32[2,8@y]{V:x}", "f32[8@x,8@y]"),
    (lambda x: rb.jit(rnp.sin)(x), P("x"), ("x", "y"), P("x"), "f32[2,8@y]{V:x}", "f32[8@x,8@y]"),
]  # fmt: skip


@pytest.mark.parametrize("f,ins,lies,outs,within,result", CASES)
def test_types_say_both(f, ins, lies, outs, within, result):
    seen = []

    def body(x):
        out = f(x)
        seen.append(shown(out))
        return out

    plain = rb.make_mesh((4, 2), ("x", "y"))
    wanted = rb.jit(mapped(f, ins, outs, plain))(HOST)
    out = rb.jit(mapped(body, ins, outs))(laid(*lies))
    assert seen == [within] and shown(out) == result
    np.testing.assert_allclose(out, wanted, rtol=1e-6)
    assert out.sharding.is_equivalent_to(rb.typeof(out).sharding.update(mesh=MESH), out.ndim)


def test_shardings_within():
    def body(x):
        assert get_abstract_mesh().axis_types == (AxisType.Manual, AxisType.Explicit)
        own = rb.typeof(x).sharding
        assert own == NamedSharding(get_abstract_mesh(), P(None, "y")), own
        whole = reshard(x, P())
        assert shown(whole) == "f32[2,8]{V:x}"
        assert shown(reshard(whole, own)) == "f32[2,8@y]{V:x}"
        assert shown(reshard(whole, NamedSharding(MESH, P("y")))) == "f32[2@y,8]{V:x}"
        with pytest.raises(
            ShardingError, match=r"'x', over which the shard_map around.*\n  to fix: name axes"
        ):
            reshard(x, P(None, "x"))
        with pytest.raises(ShardingError, match=r"dot_general of f32\[2,8@y\]\{V:x\}[^\n]*\n.*out_sharding"):
            x @ x.T
        return (
            auto_axes(lambda z: z @ z.T, out_sharding=P())(x)
            + lax.with_sharding_constraint(whole, P("y"))[:, :2]
        )

    out = rb.jit(mapped(body))(laid("x", "y"))
    parts = HOST.reshape(4, 2, 8)
    np.testing.assert_array_equal(out, (parts @ parts.transpose(0, 2, 1) + parts[:, :, :2]).reshape(8, 2))


def test_gradients_and_vmap():
    total = mapped(lambda w, x: lax.psum(rnp.sin(x * w).sum(), "x"), (P(), P("x")), P())
    w, x = laid("y", host=HOST[0]), laid("x", "y")
    dw, dx = rb.jit(rb.grad(total, (0, 1)))(w, x)
    assert (shown(dw), shown(dx)) == ("f32[8@y]", "f32[8@x,8@y]")
    wanted = rb.grad(lambda w, x: rnp.sin(x * w).sum(), (0, 1))(HOST[0], HOST)
    np.testing.assert_allclose(dw, wanted[0], rtol=2e-4)
    np.testing.assert_allclose(dx, wanted[1], rtol=1e-6)
    kept = mapped(rb.checkpoint(lambda x: lax.psum(rnp.sin(x).sum(), "x")), outs=P())
    gradient = rb.jit(rb.grad(kept))(x)
    assert shown(gradient) == "f32[8@x,8@y]"
    np.testing.assert_allclose(gradient, np.cos(HOST), rtol=1e-6, atol=1e-6)

    seen = []
    several = laid(None, "x", "y", host=np.stack([HOST] * 4))
    out = rb.jit(rb.vmap(mapped(lambda x: seen.append(shown(x)) or x + 1)))(several)
    assert shown(out) == "f32[4,8@x,8@y]" and seen == ["f32[2,8@y]{V:x}"]
    np.testing.assert_array_equal(out, np.stack([HOST + 1] * 4))
    over = laid("y", "x", host=np.stack([HOST] * 4))
    out = rb.jit(rb.vmap(mapped(lambda x: x + 1), spmd_axis_name="y"))(over)
    assert shown(out) == "f32[4@y,8@x,8]"


def test_without_types_of_differing_and_one_within_another():
    seen = []
    mapped(lambda x: seen.append(shown(x)) or x, check_vma=False)(laid("x", "y"))
    inner = rb.shard_map(
        lambda z: seen.append(shown(z)) or z + lax.axis_index("y"),
        in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"},
    )  # fmt: skip
    with rb.set_mesh(MESH):
        out = rb.jit(mapped(lambda x: seen.append(shown(inner(x))) or inner(x)))(laid("x", "y"))
    assert seen == ["f32[2,8@y]", "f32[2,4]{V:(x,y)}", "f32[2,8@y]{V:x}", "f32[2,4]{V:(x,y)}"]
    assert shown(out) == "f32[8@x,8@y]"
    np.testing.assert_array_equal(out, HOST + np.repeat([0, 1], 4))


def test_axes_of_other_types_and_captured_arrays():
    seen = []
    out = rb.jit(mapped(lambda x: seen.append(shown(x)) or x * 2, mesh=MIXED))(laid(None, "y", mesh=MIXED))
    assert seen == ["f32[2,8@y]{V:x}"] and shown(out) == "f32[8,8@y]"
    np.testing.assert_array_equal(out, 2 * HOST)
    here, cut = laid(None, "y"), laid("x", "y")
    out = rb.jit(mapped(lambda x: seen.append(shown(x[:1] * here)) or x[:1] * here))(laid("x", "y"))
    assert seen.pop() == "f32[8,8@y]{V:x}" and shown(out) == "f32[32@x,8@y]"
    np.testing.assert_array_equal(out, np.concatenate([HOST[i : i + 1] * HOST for i in (0, 2, 4, 6)]))
    whole = lambda x: x.sum() * cut
    with pytest.raises(NotImplementedError, match=r"captures f32\[8@x,8@y\], which is cut along axes"):
        rb.jit(rb.shard_map(whole, mesh=MESH, in_specs=P("x", "y"), out_specs=P("x", "y")))(laid("x", "y"))


def test_such_types_are_values():
    kept = []
    rb.jit(mapped(lambda x: kept.append(rb.typeof(x)) or x))(laid("x", "y"))
    aval = kept[0]
    assert part_of(aval.spread, Varying).names == {"x"} and pickle.loads(pickle.dumps(aval)) is aval
    assert str(aval) == "float32[2,8@y]{V:x}" and aval.without(1).str_short() == "f32[2]{V:x}"
    assert aval.update(shape=(3, 2, 8)).str_short() == "f32[3,2,8@y]{V:x}"
    assert aval.bare.spread is None
