"""custom_vmap and sequential_vmap: the author's rule is used, at every level, and derivatives follow it."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.custom_batching import custom_vmap, sequential_vmap

X = np.array([-1.0, 0.5, 2.0], "f4")


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def product_with(seen):
    """A product whose rule notes its arguments and adds 100, so that it shows."""

    @custom_vmap
    def product(x, p):
        """What it does."""
        return {"out": x * p["y"], "x": x}

    @product.def_vmap
    def rule(axis_size, in_batched, x, p):
        seen.append((axis_size, in_batched, x.shape, p["y"].shape))
        x_batched, _ = in_batched
        out = x * p["y"]
        if out.ndim == 0:
            out = lax.broadcast(out, (axis_size,))
        return {"out": out + 100, "x": x}, {"out": True, "x": x_batched}

    return product


def test_without_vmap_it_is_the_function():
    f = product_with([])
    assert f(2.0, {"y": 3.0})["out"] == 6 and f.__doc__ == "What it does."
    assert f(x=2.0, p={"y": 3.0})["out"] == 6


def test_the_rule_gets_the_mapped_dimension_in_front():
    seen = []
    f = product_with(seen)
    mapped = rb.vmap(f, (1, None), out_axes={"out": 0, "x": 0})
    out = mapped(np.stack([X, 2 * X], 1), {"y": 3.0})
    assert out["out"].tolist() == [(3 * X + 100).tolist(), (6 * X + 100).tolist()]
    assert seen == [(2, [True, {"y": False}], (2, 3), ())]
    seen.clear()
    out = rb.vmap(f, (None, 0), out_axes={"out": 0, "x": None})(2.0, {"y": X})
    assert out["out"].tolist() == (2 * X + 100).tolist() and out["x"] == 2
    assert seen == [(3, [False, {"y": True}], (), (3,))]


@custom_vmap
def doubled(x):
    return x * 2


@doubled.def_vmap
def doubled_vmap(axis_size, in_batched, x):
    return x * x, in_batched[0]


def test_nested_maps_ask_the_rule_once_for_each_level():
    @custom_vmap
    def f(x):
        return x

    f.def_vmap(lambda size, in_batched, x: (f(x) + 1, True))
    assert rb.vmap(rb.vmap(f))(np.zeros((2, 3), "f4")).tolist() == [[2.0] * 3] * 2
    assert f(0.0) == 0


@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda f: rb.checkpoint(f), marks=pytest.mark.needs("checkpoint")),
        lambda f: lambda x: lax.cond(True, f, f, x),
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
        lambda f: rb.jit(f),
        lambda f: rb.jit(rb.jit(f)),
    ],
    ids=["checkpoint", "cond", "scan", "jit", "jit of jit"],
)
def test_the_rule_holds_in_bodies(wrap):
    assert rb.vmap(wrap(doubled))(X).tolist() == (X * X).tolist()
    assert rb.jit(rb.vmap(wrap(doubled)))(X).tolist() == (X * X).tolist()
    assert wrap(doubled)(3.0) == 6


@pytest.mark.narrow
@pytest.mark.needs("grad")
def test_forward_mode_is_mapped_by_the_derivative_of_the_rule():
    pushed = lambda x, t: rb.jvp(doubled, (x,), (t,))
    assert [float(v) for v in pushed(3.0, 1.0)] == [6, 2]
    for axes in ((0, 0), (0, None)):
        out, tangent = rb.vmap(pushed, axes)(X, X if axes[1] == 0 else 5.0)
        assert out.tolist() == (X * X).tolist()
        np.testing.assert_allclose(tangent, 2 * X * (X if axes[1] == 0 else 5.0))
    out, tangent = rb.jvp(rb.vmap(doubled), (X,), (X,))
    assert out.tolist() == (X * X).tolist() and tangent.tolist() == (2 * X * X).tolist()


@pytest.mark.needs("grad")
def test_reverse_mode_of_a_map_is_that_of_the_rule():
    np.testing.assert_allclose(rb.grad(lambda x: total(rb.vmap(doubled)(x)))(X), 2 * X)
    assert rb.grad(doubled)(3.0) == 2
    assert rb.vmap(rb.grad(doubled))(X).tolist() == [2] * 3


@pytest.mark.needs("grad", "jit")
def test_a_function_with_both_kinds_of_rules():
    @rb.custom_vjp
    def f(x):
        return doubled(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * 100 * x,))
    np.testing.assert_allclose(rb.vmap(rb.grad(f))(X), 100 * X)
    np.testing.assert_allclose(rb.vmap(rb.jit(f))(X), X * X)
    np.testing.assert_allclose(rb.grad(lambda x: total(rb.vmap(f)(x)))(X), 100 * X)


# ---------------------------------------------------------------------------------------- sequential_vmap
def test_sequential_vmap_is_a_loop():
    @sequential_vmap
    def f(x, p):
        assert x.shape == (2,)
        return lax.sin(x) * p["y"], p["y"]

    x = np.arange(6, dtype="f4").reshape(3, 2)
    out, y = rb.vmap(f, (0, {"y": None}))(x, {"y": 2.0})
    np.testing.assert_allclose(out, 2 * np.sin(x), rtol=1e-6)
    assert y.tolist() == [2] * 3
    np.testing.assert_allclose(f(x[0], {"y": 2.0})[0], 2 * np.sin(x[0]), rtol=1e-6)
    nested = rb.vmap(rb.vmap(f, (0, None)), (None, 0))
    np.testing.assert_allclose(nested(x, {"y": X})[0], X[:, None, None] * np.sin(x), rtol=1e-6)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit")
def test_sequential_vmap_maps_by_scan():
    f = sequential_vmap(lambda x: lax.sin(x))
    assert "scan" in str(rb.make_jaxpr(rb.vmap(f))(X))
    np.testing.assert_allclose(rb.jit(rb.vmap(f))(X), np.sin(X), rtol=1e-6)


# ----------------------------------------------------------------------------------------------- messages
def with_rule(rule):
    f = custom_vmap(lambda x: (x, x))
    f.def_vmap(rule)
    return f


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda: custom_vmap(3), TypeError, ("custom_vmap takes a function", "int")),
        (lambda: custom_vmap(lambda x: x)(1.0), AttributeError, ("custom_vmap", "def_vmap first")),
        (lambda: rb.vmap(with_rule(lambda n, b, x: x))(X), TypeError, ("the vmap rule of", "a pair")),
        (
            lambda: rb.vmap(with_rule(lambda n, b, x: ((x, x), (True, True, True))))(X),
            ValueError,
            ("the vmap rule of", "out_batched does not fit"),
        ),
        (
            lambda: rb.vmap(with_rule(lambda n, b, x: ((x, x[:2]), True)))(X),
            ValueError,
            ("f32[2]", "size 3"),
        ),
    ],
    ids=range(5),
)
def test_messages(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
