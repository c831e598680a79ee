"""vmap(f)(xs) is f over the slices of xs, stacked."""

import collections
import itertools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

R = np.random.RandomState(0)
X = R.randn(4, 3).astype("f4")
Y = R.randn(4, 3).astype("f4")
Pair = collections.namedtuple("Pair", "a b")


def loop(fun, in_axes=0, out_axes=0):
    """What vmap means: a Python loop over slices, its results stacked."""

    def looped(*args):
        axes = (in_axes,) * len(args) if not isinstance(in_axes, tuple) else in_axes
        size = next(np.shape(x)[a] for x, a in zip(args, axes) if a is not None)
        outs = [
            fun(*[x if a is None else np.take(x, i, axis=a) for x, a in zip(args, axes)]) for i in range(size)
        ]
        return rb.tree.map(lambda *parts: np.stack([np.asarray(p) for p in parts], axis=out_axes), *outs)

    return looped


def close(a, b):
    assert rb.tree.structure(a) == rb.tree.structure(b)
    for p, q in zip(rb.tree.leaves(a), rb.tree.leaves(b)):
        assert p.shape == q.shape
        np.testing.assert_allclose(p, q, rtol=2e-6, atol=1e-6)


FUNCTIONS = {
    "elementwise": lambda x: lax.tanh(x) * 2 + x,
    "reduction": lambda x: lax.reduce_sum(x * x, axes=(0,)),
    "with a constant": lambda x: x + np.arange(3, dtype="f4"),
    "matrix constant": lambda x: x[None] * np.ones((2, 3), "f4"),
    "scalar beside": lambda x: lax.reduce_max(x, axes=(0,)) * x,
    "reshape": lambda x: lax.reshape(x, (3, 1)),
    "reverse": lambda x: lax.rev(x, (0,)),
    "select": lambda x: lax.select(x > 0, x, -x),
    "several": lambda x: (x, {"twice": x * 2, "none": None}, [x > 0]),
    "padded": lambda x: lax.pad(x, 0.5, ((1, 2, 1),)),
    "joined": lambda x: lax.concatenate([x, lax.rev(x, (0,))], 0),
    "index": lambda x: lax.dynamic_slice(x, (lax.argmax(x, 0, np.int32),), (1,)),
    "constant": lambda x: (x, lax.full((2,), 3.0)),
}


# ------------------------------------------------------------------------------------------------- laws
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_it_is_a_loop(name, axis):
    xs = np.moveaxis(X, 0, axis)
    close(rb.vmap(FUNCTIONS[name], in_axes=axis)(xs), loop(FUNCTIONS[name], axis)(xs))


@pytest.mark.parametrize(
    "in_axes", [(0, 0), (0, None), (None, 0), (1, 0), (0, 1), (-1, 0), (-1, -2), (1, None)]
)
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_axes_of_two_arguments(in_axes, out_axes):
    def shaped(x, a):
        return x[0] if a is None else np.moveaxis(x, 0, a)

    xs, ys = shaped(X, in_axes[0]), shaped(Y, in_axes[1])

    def f(x, y):
        return x * 2 - y

    close(rb.vmap(f, in_axes, out_axes)(xs, ys), loop(f, in_axes, out_axes)(xs, ys))


def test_nested():
    f = rb.vmap(rb.vmap(lambda x, y: x - 2 * y, (None, 0)), (0, None))
    np.testing.assert_allclose(f(X[:, 0], Y[:, 1]), X[:, :1] - 2 * Y[:, 1], rtol=1e-6)


def test_nested_over_different_axes():
    cube = R.randn(2, 3, 4).astype("f4")

    def f(x):
        return (x - lax.rev(x, (0,)) * 2) * lax.reduce_sum(x, axes=(0,))

    got = rb.vmap(rb.vmap(f, in_axes=0, out_axes=1), in_axes=2, out_axes=0)(cube)
    # in_axes=2 takes the last axis; inside it, in_axes=0 the first; f sees the middle one.
    wanted = np.stack(
        [np.stack([np.asarray(f(cube[i, :, k])) for i in range(2)], axis=1) for k in range(4)], axis=0
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_pairwise_distances():
    points = R.randn(10, 3).astype("f4")
    distance = lambda x, y: lax.reduce_sum(lax.abs(x - y), axes=(0,))
    got = rb.vmap(rb.vmap(distance, (0, None)), (None, 0))(points, points)
    np.testing.assert_allclose(got, np.abs(points[:, None] - points[None]).sum(-1), rtol=1e-5)


def test_a_map_of_size_one_and_zero():
    f = rb.vmap(lambda x: lax.reduce_sum(x, axes=(0,)))
    assert f(X[:1]).shape == (1,)
    assert f(X[:0]).shape == (0,)


# ------------------------------------------------------------------------------------------------- trees
def test_axes_as_trees():
    params = {"w": R.randn(3, 5).astype("f4"), "b": R.randn(5).astype("f4")}
    f = rb.vmap(lambda p, x: p["w"] * x + p["b"][0], in_axes=({"w": 1, "b": None}, None))
    out = f({**params, "b": params["b"]}, np.float32(2))
    np.testing.assert_allclose(out, params["w"].T * 2 + params["b"][0], rtol=1e-6)


def test_a_prefix_covers_a_subtree():
    tree = {"a": X, "b": [Y, X]}
    f = lambda t, y: t["a"] * t["b"][0] + t["b"][1] * y
    np.testing.assert_allclose(rb.vmap(f, in_axes=(0, None))(tree, 2.0), X * Y + X * 2, rtol=1e-6)
    np.testing.assert_allclose(
        rb.vmap(f, in_axes=({"a": 0, "b": 0}, None))(tree, 2.0), X * Y + X * 2, rtol=1e-6
    )


def test_named_tuples_none_and_lists():
    f = lambda p, none: p.a + p.b
    got = rb.vmap(f, in_axes=[Pair(0, None), None])(Pair(X, Y[0]), None)
    np.testing.assert_allclose(got, X + Y[0], rtol=1e-6)


def test_out_axes_as_trees():
    a, (b, c) = rb.vmap(lambda x: (x, (x * 2, 7.0)), out_axes=(1, (0, None)))(X)
    np.testing.assert_array_equal(a, X.T)
    np.testing.assert_array_equal(b, X * 2)
    assert c == 7.0


def test_outputs_without_the_axis():
    out = rb.vmap(lambda x: (x, lax.full((2,), 3.0), 1))(X)
    assert [o.shape for o in out] == [(4, 3), (4, 2), (4,)]
    _whole, alone = rb.vmap(lambda x, y: (x, y * 2), in_axes=(0, None), out_axes=(0, None))(X, Y)
    np.testing.assert_array_equal(alone, Y * 2)


def test_keyword_arguments_are_mapped_along_axis_0():
    f = rb.vmap(lambda x, *, scale, shift: x * scale + shift["by"], in_axes=1)
    np.testing.assert_allclose(
        f(X.T, scale=np.arange(4.0), shift={"by": Y}), X * np.arange(4)[:, None] + Y, rtol=1e-5
    )
    np.testing.assert_allclose(rb.vmap(lambda *, x: x * 2)(x=X), X * 2)


def test_axis_size_alone():
    out = rb.vmap(lambda: lax.full((2,), 1.0), axis_size=5)()
    assert out.shape == (5, 2)
    assert rb.vmap(lambda x: x * 2, in_axes=None, axis_size=3)(1.0).tolist() == [2, 2, 2]
    assert rb.vmap(lambda x: x * 2, in_axes=None, out_axes=None, axis_size=3)(1.0) == 2
    assert rb.vmap(lambda x: x, axis_size=4)(X).shape == (4, 3)


def test_dtypes_and_weak_types():
    for dtype in ("i4", "u1", "bool", "c8", "f2"):
        xs = np.ones((2, 3), dtype)
        assert rb.vmap(lambda x: (x, 0))(xs)[0].dtype == np.dtype(dtype)
    assert rb.vmap(lambda x: x * 2.0)(np.ones(3, "f2")).dtype == np.float16


def test_closing_over_values_of_an_outer_map():
    def outer(x):
        return rb.vmap(lambda y: x * y)(Y[:, 0])

    np.testing.assert_allclose(rb.vmap(outer)(X[:, 0]), np.outer(X[:, 0], Y[:, 0]), rtol=1e-6)


def test_it_keeps_the_name():
    def documented(x):
        """What it does."""
        return x

    assert rb.vmap(documented).__name__ == "documented"
    says, _, own = rb.vmap(documented).__doc__.partition("\n\n")
    assert says.startswith("documented mapped over an axis") and own == "What it does."


def test_python_sees_one_example():
    shapes = []
    rb.vmap(lambda x, y: shapes.append((x.shape, x.ndim, y.shape)) or x)(X, Y[:, 0])
    assert shapes == [((3,), 1, ())]


# ------------------------------------------------------------------------------------------- composition
@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_with_jit_inside_and_outside(name):
    f = FUNCTIONS[name]
    wanted = loop(f)(X)
    close(rb.vmap(rb.jit(f))(X), wanted)
    close(rb.jit(rb.vmap(f))(X), wanted)
    close(
        rb.jit(rb.vmap(rb.jit(rb.vmap(f, in_axes=1)), in_axes=1))(np.stack([X.T, X.T], 1)),
        loop(loop(f, 1), 1)(np.stack([X.T, X.T], 1)),
    )


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit")
def test_a_jitted_function_is_traced_once_for_examples():
    traced = []

    @rb.jit
    def f(x):
        traced.append(x.shape)
        return x * 2

    rb.vmap(f)(X), rb.vmap(f)(X + 1)
    assert traced == [(3,)]


@pytest.mark.needs("jit")
def test_a_jitted_closure_over_a_mapped_value():
    f = rb.vmap(lambda x, y: rb.jit(lambda z: z * x)(y))
    np.testing.assert_allclose(f(X, Y), X * Y, rtol=1e-6)


@pytest.mark.needs("jit")
def test_unbatched_outputs_of_a_call_stay_unbatched():
    inner = rb.jit(lambda x, y: (x + y, y * 2))
    summed, alone = rb.vmap(lambda x, y: inner(x, y), in_axes=(0, None), out_axes=(0, None))(X, Y[0])
    np.testing.assert_allclose(summed, X + Y[0], rtol=1e-6)
    np.testing.assert_allclose(alone, Y[0] * 2, rtol=1e-6)


@pytest.mark.needs("jit")
def test_programs_are_well_typed():
    from rabbet.extend.passes import check

    for f in FUNCTIONS.values():
        check(rb.make_jaxpr(rb.vmap(f))(X))
        check(rb.make_jaxpr(rb.vmap(rb.vmap(f, in_axes=1), in_axes=1))(np.stack([X.T, X.T], 1)))


@pytest.mark.narrow
def test_outputs_that_are_summed():
    total, rows = rb.vmap(lambda x: (lax.mul(x, x), x), out_axes=(None, 0), sum_match=True)(X)
    np.testing.assert_allclose(np.asarray(total), (X * X).sum(0), rtol=1e-6)
    assert np.asarray(rows).tolist() == X.tolist()
    across = rb.vmap(lambda x, y: (x, y), (1, None), None, sum_match=True)(X, Y)
    np.testing.assert_allclose(np.asarray(across[0]), X.sum(1), rtol=1e-6)
    assert np.asarray(across[1]).tolist() == Y.tolist()
    for dtype, wide in (("bool", "int32"), ("int8", "int32"), ("uint8", "uint32"), ("float16", "float16")):
        summed = rb.vmap(lambda x: x, out_axes=None, sum_match=True)(np.ones(3, dtype))
        assert (summed.dtype, int(summed)) == (wide, 3)


@pytest.mark.needs("jit")
def test_what_is_not_mapped_comes_as_it_was_given():
    given = {"n": 3, "text": "a", "host": np.ones(2), "array": rb.device_put(np.ones(2))}
    seen = []
    f = lambda x, rest: (seen.append(rest), x * rest["n"])[1]
    for run in (rb.vmap(f, (0, None)), lambda x, rest: rb.jit(lambda y: rb.vmap(f, (0, None))(y, rest))(x)):
        run(np.ones(4, np.float32), given)
        assert all(seen[-1][name] is given[name] for name in given)


PLAIN, ONE, MANY = "a number", "a scalar for each", "an array for each"


@pytest.mark.parametrize("shape", [(), (2,)], ids=["scalars", "vectors"])
def test_clamp_with_bounds_of_every_kind(shape):
    draw = np.random.default_rng(0)
    for low, high in itertools.product((PLAIN, ONE, MANY), repeat=2):
        for mapped in itertools.product((0, None), repeat=3):
            axes = (None if low == PLAIN else mapped[0], mapped[1], None if high == PLAIN else mapped[2])
            if axes == (None, None, None):
                continue

            def array(axis, rest):
                return draw.normal(size=((3,) if axis == 0 else ()) + rest).astype(np.float32)

            rests = {PLAIN: (), ONE: (), MANY: shape}
            operands = [array(axis, rest) for axis, rest in zip(axes, (rests[low], shape, rests[high]))]
            operands = [x if kind != PLAIN else 0 for x, kind in zip(operands, (low, MANY, high))]
            wanted = np.stack(
                [
                    lax.clamp(*[x[i] if axis == 0 else x for x, axis in zip(operands, axes)])
                    for i in range(3)
                ]
            )
            np.testing.assert_array_equal(rb.vmap(lax.clamp, axes)(*operands), wanted)


@pytest.mark.parametrize("number", [0, 1, 2.0, True])
def test_select_n_with_a_number_beside_a_scalar_for_each(number):
    dtype = {bool: bool, int: np.float16, float: np.float32}[type(number)]
    chosen, x = np.array([True, False, True]), np.arange(3).astype(dtype)
    for axes in ((0, 0), (0, None), (None, 0)):
        operands = [chosen if axes[0] == 0 else chosen[0], x if axes[1] == 0 else x[1]]
        out = rb.vmap(lambda p, x: lax.select_n(p, x, number), axes)(*operands)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, np.broadcast_to(np.where(operands[0], number, operands[1]), 3))


def test_nodes_that_look_at_what_they_hold():
    class Held:
        def __init__(self, x):
            self.x = x

    # Numbers are metadata, arrays are leaves: as distributions of distrax are.
    rb.tree.register_node(
        Held,
        lambda h: (() if isinstance(h.x, int) else (h.x,), h.x if isinstance(h.x, int) else None),
        lambda number, leaves: Held(leaves[0] if leaves else number),
    )
    np.testing.assert_array_equal(rb.vmap(Held)(X).x, X)


@pytest.mark.needs("jit")
@pytest.mark.needs("jit")
def test_what_a_loop_hands_on_stays_the_same_for_all_examples():
    ways = {
        "scan": lambda x, y: lax.scan(lambda c, _: ((c[0] + x, c[1]), None), (x, y), length=2)[0][1],
        "fori_loop": lambda x, y: lax.fori_loop(0, 2, lambda i, c: (c[0] + x, c[1]), (x, y))[1],
        "while_loop": lambda x, y: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1]), (x, y))[1],
        "scan in cond": lambda x, y: lax.cond(x < 1, *[lambda y: lax.scan(same, y, length=1)[0]] * 2, y),
    }
    same = lambda c, _: (c, None)
    y = np.float32([3, 4])
    for name, f in ways.items():
        out = rb.vmap(f, (0, None), None)(np.arange(3, dtype=np.float32), y)
        assert out.tolist() == [3, 4], name
        assert rb.jit(lambda x, f=f: f(x, y))(1.0).tolist() == [3, 4], name
