"""Axes of type ``Explicit``: values are those of one device, results lie as rules say, and what is not clear
is an error that says what to write.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.extend.primitive import Primitive
from rabbet.sharding import AxisType, NamedSharding, auto_axes, explicit_axes, reshard
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

jit = pytest.importorskip("rabbet_jit").jit
autodiff = pytest.importorskip("rabbet_autodiff")
vmap = pytest.importorskip("rabbet_vmap").vmap
rnp = pytest.importorskip("rabbet.numpy")
grad = autodiff.grad

MESH = rb.make_mesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
HOST = np.linspace(-1, 2, 32, dtype=np.float32).reshape(8, 4)
WEIGHTS = HOST.reshape(4, 8)


def on(*spec, mesh=MESH):
    return NamedSharding(mesh, P(*spec))


@pytest.fixture(autouse=True)
def current_mesh():
    with rb.set_mesh(MESH):
        yield


def check(f, spec, *args):
    """Eager and compiled: the values of whole arrays, laid out as expected, in types too."""
    whole = f(*[np.asarray(x) if isinstance(x, rb.Array) else x for x in args])
    for run in (f, jit(f)):
        out = run(*args)
        np.testing.assert_allclose(np.asarray(out), np.asarray(whole), rtol=1e-4, atol=1e-5)
        assert out.sharding.is_equivalent_to(on(*spec), out.ndim), (out.sharding.spec, spec)
        assert tuple(rb.typeof(out).sharding.spec) == (*spec, *[None] * (out.ndim - len(spec)))


@pytest.fixture(scope="module")
def arrays():
    put = lambda x, *spec: rb.device_put(x, on(*spec))
    return {
        "xy": put(HOST, "x", "y"), "x": put(HOST, "x"), "y": put(HOST, "y"), "w": put(WEIGHTS),
        "whole": put(HOST),
        "cols": put(WEIGHTS, None, "x"), "deep": put(np.ones((8, 4, 2), np.float32), "x", None, "y"),
        "rows": put(np.arange(64, dtype=np.float32).reshape(8, 4, 2), "x"),
        "both": put(HOST, ("x", "y")), "later": put(np.ones((8, 4, 2), np.float32), None, "x", "y"),
    }  # fmt: skip


RESULTS = {
    "elementwise": (lambda a: lax.sin(a) * a + 1, ("x", "y"), "xy"),
    "beside a whole one": (lambda a: a + HOST, ("x", "y"), "xy"),
    "where": (lambda a: rnp.where(a > 0, a, 0), ("x", "y"), "xy"),
    "sum": (lambda a: a.sum(0), ("y",), "xy"),
    "mean, kept": (lambda a: a.mean(1, keepdims=True), ("x",), "xy"),
    "argmax": (lambda a: rnp.argmax(a, 0), ("y",), "xy"),
    "transpose": (lambda a: a.T, ("y", "x"), "xy"),
    "broadcast": (lambda a: rnp.broadcast_to(a, (3, 8, 4)), (None, "x", "y"), "xy"),
    "stack": (lambda a: rnp.stack([a, a]), (None, "x", "y"), "xy"),
    "concatenate": (lambda a: rnp.concatenate([a, a]), ("x", "y"), "xy"),
    "split": (lambda a: rnp.split(a, 2)[0], ("x", "y"), "xy"),
    "flip": (lambda a: rnp.flip(a, 0), ("x", "y"), "xy"),
    "ones": (lambda a: a.reshape(1, 8, 1, 4, 1), (None, "x", None, "y", None), "xy"),
    "dimensions split": (lambda a: a.reshape(4, 2, 2, 2), ("x", None, "y", None), "xy"),
    "a dimension split by two axes": (lambda a: a.reshape(4, 2, 4), ("x", "y", None), "both"),
    "dimensions merged": (lambda a: a.reshape(32, 2), ("x", "y"), "deep"),
    "a product": (lambda a, w: a @ w, ("x", None), "x", "w"),
    "one side summed over": (lambda a, w: a @ w, ("x", None), "xy", "w"),
    "softmax along what is whole": (lambda a: rb.nn.softmax(a), ("x", None), "x"),
    "sort along what is whole": (lambda a: rnp.sort(a, 1), ("x", None), "x"),
    "cumsum along what is whole": (lambda a: rnp.cumsum(a, 1), ("x", None), "x"),
    "largest along what is whole": (lambda a: lax.top_k(a, 2)[0], ("x", None), "x"),
    "a transform along what is whole": (lambda a: rnp.fft.fft(a, axis=1).real, ("x", None), "x"),
    "tiled": (lambda a: rnp.tile(a, (1, 2)), ("x", None), "x"),
    "added at places": (lambda w: rnp.asarray(w).at[np.array([0, 2, 0])].add(1.0), (None, "x"), "cols"),
    "set at places": (lambda w: rnp.asarray(w).at[np.array([3, 1])].set(w[:2]), (None, "x"), "cols"),
    "added to zeros at places": (
        lambda w: rnp.zeros((6, 8)).at[np.array([5, 1])].add(w[:2]),
        (None, "x"),
        "cols",
    ),
    "zeros like it": (lambda a: rnp.zeros_like(a), ("x", "y"), "xy"),
    "filled like it": (lambda a: lax.full_like(a * 1.0, 3), ("x", "y"), "xy"),
    "numbers of a sorted order": (lambda a: rnp.argsort(a, 1), ("x", None), "x"),
    "places along what is whole": (
        lambda a: rnp.take_along_axis(rnp.asarray(a), np.array([[1]] * 8), 1), ("x", None), "x",
    ),
    "a median along what is whole": (lambda a: rnp.median(a, 1), ("x",), "x"),
    "padded at both ends": (lambda a: rnp.pad(a, ((0, 0), (1, 1))), ("x", "y"), "xy"),
    "sums over windows": (
        lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 2), (1, 2), "VALID"), ("x", None), "x",
    ),
    "maxima over windows": (
        lambda a: lax.reduce_window(a, -np.inf, lax.max, (1, 2), (1, 1), "SAME"), ("x", "y"), "xy",
    ),
    "a scan": (lambda a: lax.scan(lambda c, _: (c * 2, c), a, None, length=2)[1], (None, "x", "y"), "xy"),
    "a carry": (lambda w: lax.scan(lambda c, r: (c + r, None), rnp.zeros(8), w)[0], ("x",), "cols"),
    "a barrier": (lambda a: lax.optimization_barrier(a * 2), ("x", "y"), "xy"),
    "one of two behind a barrier": (
        lambda a, w: lax.optimization_barrier((a, w))[1] + 1, (None, "x"), "xy", "cols",
    ),
    "real transforms along what is whole": (
        lambda a: rnp.fft.irfft(rnp.fft.rfft(a, axis=1), axis=1), ("x", None), "x",
    ),
    "transforms along two axes": (lambda a: rnp.fft.fft2(a, axes=(1, 2)).real, ("x", None, None), "rows"),
    "transforms along several axes": (
        lambda a: rnp.fft.fftn(a, axes=(2, 1)).imag, ("x", None, None), "rows",
    ),
    "a branch": (lambda a: lax.cond(a.sum() > 0, lambda v: v, lambda v: 2 * v, a), ("x", "y"), "xy"),
    "a call": (lambda a: jit(lambda v: v.sum(1))(a), ("x",), "xy"),
    "a convolution": (
        lambda a: lax.conv(a[:, None], np.ones((2, 1, 3), "f4"), (1,), "SAME"),
        ("x", None, None),
        "x",
    ),
    "clamped": (lambda a, w: lax.clamp(rnp.asarray(w) * 0, a, w), ("x", None), "x", "y"),
    "a whole one clamped": (lambda a, w: lax.clamp(a, w, a + 1), (None, None), "x", "whole"),
    "a whole update": (
        lambda a: lax.dynamic_update_slice(a, np.ones((8, 2), "f4"), (0, 1)), ("x", None), "x",
    ),
    "an element": (lambda a: a[1, 2], (), "xy"),
    "an element at a computed place": (lambda a: a[a.sum().astype(int) % 2, 2], (), "xy"),
    "what is finite": (lambda a: rnp.isfinite(a.astype(int)), ("x", "y"), "xy"),
    "mapped": (lambda a: vmap(lambda r: r * rnp.sum(r))(a), ("x", "y"), "xy"),
    "mapped over columns": (lambda a: vmap(rnp.sum, 1)(a), ("y",), "xy"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name, arrays):
    f, spec, *operands = RESULTS[name]
    check(f, spec, *[arrays[o] for o in operands])


GRADIENTS = {
    "elementwise": (lambda a: (lax.tanh(a) ** 2).sum(), ("x", "y"), "xy"),
    "of shared weights": (lambda w, a: (lax.tanh(a @ w) ** 2).sum(), (), "w", "x"),
    "of weights that are cut": (lambda w: (lax.tanh(np.ones((8, 4), "f4") @ w)).sum(), (None, "x"), "cols"),
    "recomputed": (lambda w, a: autodiff.checkpoint(lambda w: lax.sin(a @ w).sum())(w), (), "w", "x"),
    "of rows": (lambda w: (w[np.array([0, 2, 0])] ** 2).sum(), (None, "x"), "cols"),
    "of a cross entropy": (
        lambda a: -rnp.take_along_axis(rb.nn.log_softmax(a), np.array([[1]] * 8), 1).mean(),
        ("x", None), "x",
    ),
    "of an element": (lambda a: a[1, 2] ** 2, ("x", "y"), "xy"),
    "of a median": (lambda a: (rnp.median(a, 1) ** 2).sum(), ("x", None), "x"),
    "of what was sorted": (lambda a: (rnp.sort(a, 1) * np.arange(4, dtype="f4")).sum(), ("x", None), "x"),
    "of the largest": (lambda a: (lax.top_k(a, 2)[0] ** 2).sum(), ("x", None), "x"),
    "of maxima over windows": (
        lambda a: (lax.reduce_window(a, -np.inf, lax.max, (1, 2), (1, 2), "SAME") ** 2).sum(),
        ("x", None), "x",
    ),
    "in a scan": (
        lambda w, a: lax.scan(lambda c, _: (lax.tanh(c @ w[:, :4]), None), a, None, length=2)[0].sum(),
        (), "w", "x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_lie_as_what_they_are_of(name, arrays):
    f, spec, *operands = GRADIENTS[name]
    check(grad(f), spec, *[arrays[o] for o in operands])


UNCLEAR = {
    "operands cut differently": (lambda a, b: a + b, ("xy", "y"), r"add of f32\[8@x,4@y\], f32\[8@y,4\]"),
    "one axis on two dimensions": (lambda a, b: a @ b, ("x", "cols"), "'x' would cut two dimensions"),
    "summed over by both": (lambda a: a @ a.T, ("xy",), "both operands are cut by 'y'"),
    "along what is cut": (lambda a: rnp.cumsum(a, 0), ("x",), "along dimension 0, which is cut"),
    "sorted along what is cut": (lambda a: rnp.sort(a, 0), ("x",), "sorts along dimension 0"),
    "parts that are uneven": (lambda a: a[:3], ("x",), "has the size 3, which 4 devices along 'x'"),
    "an unclear shape": (lambda a: a.reshape(2, 4, 4), ("xy",), "cannot be cut by it evenly"),
    "merged": (lambda a: a.reshape(32, 2), ("later",), "a later one is cut"),
    "an update cut otherwise": (
        lambda a, w: lax.dynamic_update_slice(a, w, (0, 0)), ("x", "y"),
        "update is cut by 'y' along dimension 0, and the array otherwise",
    ),
    "a kernel that is cut": (
        lambda w: lax.conv(np.ones((2, 1, 5), "f4"), w[:, None], (1,), "SAME"), ("x",),
        "the kernel's output features are cut",
    ),
    "largest along what is cut": (lambda a: lax.top_k(a, 2), ("xy",), "along the last dimension"),
    "a transform along what is cut": (
        lambda a: rnp.fft.fft(a, axis=0), ("x",), "it transforms dimension 1, which 'x' cuts",
    ),
    "written at places that are cut": (lambda a: a.at[np.array([1, 2])].add(1.0), ("x",), "it writes at"),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_is_not_clear_is_an_error_that_says_what_to_write(name, arrays):
    f, operands, words = UNCLEAR[name]
    args = [arrays[o] for o in operands]
    for run in (f, jit(f)):
        with pytest.raises(ShardingError, match=words) as found:
            run(*args)
        assert "to fix: say how the result should lie with out_sharding=" in str(found.value)


def test_told_how_results_lie(arrays):
    a = arrays["xy"]
    check(lambda a: rnp.dot(a, a.T, out_sharding=on("x", "y")), ("x", "y"), a)
    check(lambda a: rnp.einsum("ij,kj->ik", a, a, out_sharding=on("x")), ("x", None), a)
    check(lambda a: lax.reshape(a, (2, 4, 4), out_sharding=on(None, "x", "y")), (None, "x", "y"), a)
    check(lambda: rnp.zeros((8, 4), out_sharding=on("x")), ("x", None))
    check(lambda a: reshard(a, P(None, "x")), (None, "x"), a)
    kernel = rb.device_put(np.ones((8, 1, 3), np.float32), on("x"))
    told = lambda w: lax.conv_general_dilated(
        np.ones((2, 1, 5), "f4"), w, (1,), "SAME", out_sharding=on(None, "x")
    )
    check(told, (None, "x", None), kernel)
    check(lambda a: rnp.asarray(a).at[np.array([0, 2, 4, 6])].get(out_sharding=on(None, "y")), (None, "y"), a)


def test_left_to_the_compiler(arrays):
    f = auto_axes(lambda a: rnp.cumsum(a.reshape(32)).reshape(8, 4), out_sharding=P("x"))
    check(f, ("x", None), arrays["xy"])
    seen = []
    with rb.set_mesh(rb.make_mesh((4, 2), ("x", "y"))):
        g = explicit_axes(lambda a: seen.append(rb.typeof(a).str_short()) or a.sum(1), in_sharding=P("x"))
        out = g(HOST)
        later = explicit_axes(lambda a: a.sum(1))(HOST, in_sharding=P("x"))
    assert seen == ["f32[8@x,4]"] and out.sharding.spec == later.sharding.spec == P("x")
    np.testing.assert_allclose(out, HOST.sum(1), rtol=1e-6)


@pytest.mark.parametrize("axes", ["x", ("x",), None])
def test_some_axes_left_to_the_compiler(arrays, axes):
    seen = []
    f = auto_axes(
        lambda a: seen.append(rb.typeof(a).str_short()) or rnp.cumsum(a, 0) ** 2, axes=axes,
        out_sharding=P("x", "y"),
    )  # fmt: skip
    check(lambda a: f(a) * 2, ("x", "y"), arrays["xy"])
    check(grad(lambda a: (f(a) * 2).sum()), ("x", "y"), arrays["xy"])
    whole, hidden = "f32[8,4]", "f32[8,4]" if axes is None else "f32[8,4@y]"
    assert set(seen) == {whole, hidden}  # NumPy arrays, and those that lie on the mesh
    along = auto_axes(lambda a: rnp.cumsum(a, 1), axes="x", out_sharding=P("x", "y"))
    for run in (along, jit(along)):
        with pytest.raises(ShardingError, match=r"cumsum of f32\[8,4@y\]: it goes along dimension 1"):
            run(arrays["xy"])
    with pytest.raises(ShardingError, match="'q' is not an axis of"):
        auto_axes(lax.neg, axes="q", out_sharding=P("x"))(arrays["xy"])


WITHOUT_ELEMENTS = [
    ((8, 0), ("x", None), (8, 0, 2), ("x",)), ((8, 0), ("x", None), (8, 1, 0), ("x",)),
    ((8, 0), ("x", None), (2, 4, 0), None), ((8, 0), ("x", None), (0,), None),
    ((0, 8), ("x", "y"), (0, 4, 2), ("x", "y")), ((0, 8), ("x", "y"), (0,), None),
    ((4, 0, 8), ("x", None, "y"), (4, 3, 0, 8), ("x", None, None, "y")), ((0,), ("x",), (0, 5), ("x",)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "spec", "new", "found"), WITHOUT_ELEMENTS)
def test_reshape_without_elements(shape, spec, new, found):
    x = rb.device_put(np.zeros(shape, np.float32), on(*spec))
    if found is not None:
        check(lambda a: a.reshape(new), found, x)
        return
    with pytest.raises(ShardingError, match="cannot be cut by it evenly"):
        x.reshape(new)


def test_parts_of_devices(arrays):
    f = rb.shard_map(lambda a: lax.psum(a, "x"), mesh=MESH, in_specs=P("x", "y"), out_specs=P(None, "y"))
    out = jit(f)(arrays["xy"])
    np.testing.assert_allclose(out, HOST.reshape(4, 2, 4).sum(0), rtol=1e-5)
    assert rb.typeof(out).str_short() == "f32[2,4@y]"


def test_types_say_it(arrays):
    a = arrays["xy"]
    assert rb.typeof(a).str_short() == "f32[8@x,4@y]"
    assert rb.typeof(a).sharding == NamedSharding(MESH.abstract_mesh, P("x", "y"))
    assert rb.eval_shape(lambda a: a.sum(0), a).sharding.spec == P("y")
    of_spec = rb.ShapeDtypeStruct((8, 4), np.float32, sharding=P("x", "y"))  # on the mesh that is set
    assert rb.eval_shape(lambda a: a.sum(0), of_spec).sharding.spec == P("y")
    assert rb.typeof(a.addressable_shards[0].data).str_short() == "f32[2,2]"
    like = rb.ShapeDtypeStruct((8, 4), np.float32, sharding=on("x", "y"))
    compiled = jit(lambda a: a.T).lower(like).compile()
    assert compiled.output_shardings.spec == P("y", "x") and compiled(a).sharding.spec == P("y", "x")


def test_a_primitive_of_somebody_else(arrays):
    unknown = Primitive("unknown_of_test", lambda x: x)
    with pytest.raises(ShardingError, match=r"unknown_of_test of f32\[8@x,4@y\]: no rule gives"):
        unknown(arrays["xy"])
    made = Primitive("made_of_test", lambda x: x.update(shape=x.shape[:-1]))
    made.decompose(lambda op, x: lax.reduce_sum(x, (x.ndim - 1,)))
    assert rb.typeof(made(arrays["xy"])).str_short() == "f32[8@x]"  # as what it is made of
    told = Primitive("told_of_test", lambda x: x.update(shape=x.shape[:-1]))
    told.decompose(lambda op, x: lax.reduce_sum(x, (x.ndim - 1,)))

    @told.rule("explicit")
    def of_told(op, x):
        return x.entries[:-1]

    out = told(arrays["xy"])
    np.testing.assert_allclose(out, HOST.sum(1), rtol=1e-5)
    assert out.sharding.spec == P("x")


def test_other_meshes_are_refused(arrays):
    turned = rb.make_mesh((2, 4), ("x", "y"), axis_types=AxisType.Explicit)
    with pytest.raises(ValueError, match="mesh"):
        jit(lambda a, b: a + b)(arrays["x"], rb.device_put(HOST, on("x", mesh=turned)))


REFUSED = {
    "a transform": (lambda a: rnp.fft.fft(a, axis=0), "fft of .*dimension 1, which 'x' cuts", "x"),
    "a real transform": (lambda w: rnp.fft.rfft(w), "fft of .*dimension 1, which 'x' cuts", "cols"),
    "a scan": (lambda a: lax.scan(lambda c, r: (c + r, c), rnp.zeros(4), a), "scan of .*'x' cuts", "x"),
    "a map": (lambda a: lax.map(lambda r: r * 2, a), "scan of .*dimension 0, which 'x' cuts", "x"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "compiled"])
def test_what_goes_along_a_dimension_that_is_cut(name, run, arrays):
    f, message, operand = REFUSED[name]
    with pytest.raises(ShardingError, match=message):
        run(f)(arrays[operand])


def test_branches_that_lie_otherwise(arrays):
    square = rb.device_put(np.ones((8, 8), np.float32), on("x", "y"))
    for run in (lambda f: f, jit):
        with pytest.raises(TypeError, match=r"output is f32\[8@x,8@y\] in .* and f32\[8@y,8@x\] in"):
            run(lambda a: lax.cond(True, lambda a: a * 2, lambda a: a.T, a))(square)


@pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("f", [rnp.searchsorted, lambda xp, x: rnp.interp(x, xp, xp + 4)])
def test_what_is_asked_of_a_whole_array_lies_as_the_questions(f, run):
    """The loop of steps begins with numbers that lie whole, and goes on with some that are cut."""
    xs = rb.device_put(np.arange(8, dtype=np.float32), on("x"))
    whole = rb.device_put(np.arange(4, dtype=np.float32), on())
    got = run(f)(whole, xs)
    assert rb.typeof(got).sharding.spec == P("x")
    np.testing.assert_array_equal(got, f(np.arange(4, dtype=np.float32), np.arange(8, dtype=np.float32)))


@pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "compiled"])
def test_a_carry_without_the_mesh_of_what_is_added_does_not_stage_without_end(run):
    rows = rb.device_put(np.ones((3, 8), np.float32), on(None, "x"))
    with rb.set_mesh(None):
        sums, _ = run(lambda xs: lax.scan(lambda c, v: (c + v, None), rnp.zeros(8), xs))(rows)
    np.testing.assert_array_equal(sums, np.full(8, 3.0))
