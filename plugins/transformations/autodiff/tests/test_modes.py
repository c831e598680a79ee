"""jvp, vjp, linearize and linear_transpose: derivatives as linear functions."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

R = np.random.RandomState(0)
X, T, Y = (R.randn(2, 3).astype("f4") for _ in range(3))


def f(x, y):
    return {"a": lax.sin(x) * y, "b": lax.reduce_sum(x * x, axes=(0,))}


def close(a, b):
    assert rb.tree.structure(a) == rb.tree.structure(b)
    for p, q in zip(rb.tree.leaves(a), rb.tree.leaves(b)):
        np.testing.assert_allclose(p, q, rtol=1e-5, atol=1e-6)


# --------------------------------------------------------------------------------------------------- jvp
def test_jvp_against_the_formula():
    out, tangent = rb.jvp(f, (X, Y), (T, np.zeros_like(Y)))
    close(out, f(rb.device_put(X), Y))
    close(tangent, {"a": np.cos(X) * T * Y, "b": (2 * X * T).sum(0)})


def test_jvp_of_trees_and_scalars():
    out, tangent = rb.jvp(lambda t: t["x"] * t["y"][0], ({"x": 2.0, "y": [3.0]},), ({"x": 1.0, "y": [0.0]},))
    assert (out, tangent) == (6, 3)


def test_jvp_with_auxiliary_results():
    out, tangent, aux = rb.jvp(lambda x: (x * 2, {"seen": x + 1}), (3.0,), (1.0,), has_aux=True)
    assert (out, tangent, aux) == (6, 2, {"seen": 4.0})
    assert type(aux["seen"]) is rb.Array


def test_jvp_of_integers():
    zeros = np.zeros((), rb.dtypes.float0)
    out, tangent = rb.jvp(lambda x, n: (x * n, n + 1), (2.0, 3), (1.0, zeros))
    assert out == (6.0, 4) and tangent[0] == 3
    assert tangent[1].dtype == rb.dtypes.float0


def test_jvp_of_constants():
    out, tangent = rb.jvp(lambda x: (1.0, X), (2.0,), (1.0,))
    assert out[0] == 1 and tangent[0] == 0
    assert tangent[1].shape == X.shape and not np.asarray(tangent[1]).any()


# --------------------------------------------------------------------------------------------------- vjp
def test_vjp_pulls_back():
    out, pull = rb.vjp(f, X, Y)
    close(out, f(rb.device_put(X), Y))
    ct = {"a": T, "b": np.ones(3, "f4")}
    for _ in range(2):
        gx, gy = pull(ct)
        close(gx, np.cos(X) * Y * T + 2 * X)
        close(gy, np.sin(X) * T)


def test_vjp_with_auxiliary_results():
    out, pull, aux = rb.vjp(lambda x: (x**2, x + 1), 3.0, has_aux=True)
    assert out == 9 and pull(1.0) == (6.0,) and aux == 4


def test_vjp_of_trees():
    out, pull = rb.vjp(lambda t: (t["x"] * t["y"], None, [t["x"]]), {"x": 2.0, "y": 3.0})
    assert out == (6.0, None, [2.0])
    assert pull((1.0, None, [10.0])) == ({"x": 13.0, "y": 2.0},)


def test_vjp_of_integers():
    _out, pull = rb.vjp(lambda x, n: (x * n, n), 2.0, 3)
    gx, gn = pull((1.0, np.zeros((), rb.dtypes.float0)))
    assert gx == 3 and gn.dtype == rb.dtypes.float0


def test_vjp_of_constants_and_no_arguments():
    out, pull = rb.vjp(lambda x: 3.0, X)
    assert out == 3
    assert pull(1.0)[0].shape == X.shape
    out, pull = rb.vjp(lambda: 3.0)
    assert pull(1.0) == ()


# --------------------------------------------------------------------------------------------- linearize
def test_linearize_is_jvp_with_the_point_fixed():
    out, push = rb.linearize(f, X, Y)
    close(out, f(rb.device_put(X), Y))
    for t, s in [(T, Y), (np.zeros_like(T), T), (X, X)]:
        close(push(t, s), rb.jvp(f, (X, Y), (t, s))[1])


def test_linearize_runs_the_function_once():
    runs = []
    _, push = rb.linearize(lambda x: runs.append(1) or x * x, 3.0)
    assert push(1.0) == 6 and push(2.0) == 12
    assert len(runs) == 1


def test_linearize_of_constants_and_integers():
    _, push = rb.linearize(lambda x, n: (3.0, x * n, n), 2.0, 4)
    a, b, c = push(1.0, np.zeros((), rb.dtypes.float0))
    assert a == 0 and b == 4 and c.dtype == rb.dtypes.float0
    out, push, aux = rb.linearize(lambda x: (x * x, x), 3.0, has_aux=True)
    assert (out, push(1.0), aux) == (9, 6, 3)


# -------------------------------------------------------------------------------------- linear_transpose
def linear(x, y):
    return lax.transpose(x * 3.0, (1, 0)) + lax.reduce_sum(y, axes=(0,))


def test_the_transpose_obeys_its_definition():
    y = R.randn(4).astype("f4")
    ct = R.randn(3, 2).astype("f4")
    tx, ty = rb.linear_transpose(linear, X, y)(ct)
    left = (np.asarray(linear(rb.device_put(X), y)) * ct).sum()
    right = (np.asarray(tx) * X).sum() + (np.asarray(ty) * y).sum()
    np.testing.assert_allclose(left, right, rtol=1e-4)


@pytest.mark.forbidden("enable_x64")
def test_types_suffice_to_transpose():
    spec = rb.ShapeDtypeStruct((3,), "float32")
    (t,) = rb.linear_transpose(lambda x: lax.reduce_sum(x * 2, axes=(0,)), spec)(1.0)
    assert t.tolist() == [2, 2, 2]


def test_transposing_twice():
    double = lambda x: x * 2 + lax.rev(x, (0,))
    spec = rb.ShapeDtypeStruct((3,), "float32")
    once = lambda ct: rb.linear_transpose(double, spec)(ct)[0]
    twice = rb.linear_transpose(once, spec)
    np.testing.assert_allclose(twice(np.arange(3, dtype="f4"))[0], double(lax.iota("float32", 3)))


@pytest.mark.needs("jit")
def test_transposing_a_call():
    double = rb.jit(lambda x: x * 2 + lax.rev(x, (0,)))
    spec = rb.ShapeDtypeStruct((3,), "float32")
    (t,) = rb.jit(rb.linear_transpose(double, spec))(np.arange(3, dtype="f4"))
    assert t.tolist() == [2, 3, 4]


def test_what_is_not_linear_cannot_be_transposed():
    with pytest.raises(rb.errors.MissingRule, match="'transpose' rule for primitive 'sin'"):
        rb.linear_transpose(lax.sin, 1.0)(1.0)
    with pytest.raises(TypeError, match="mul of two linear values is not linear"):
        rb.linear_transpose(lambda x: x * x, 1.0)(1.0)
    for f in (lambda x: 1 / x, lambda x: x**2, lambda x: x > 0, lambda x: lax.exp(x), lambda x: x / x):
        with pytest.raises((rb.errors.MissingRule, TypeError), match=r"transpose|linear"):
            rb.linear_transpose(f, 1.0)(1.0)


# ------------------------------------------------------------------------------------------ between modes
@pytest.mark.parametrize(
    "g",
    [
        lambda x: lax.tanh(x) * x,
        lambda x: lax.reduce_max(x, axes=(0,)),
        lambda x: lax.rev(x, (0,)) * lax.exp(x),
        lambda x: lax.reduce_prod(x, axes=(1,)),
        lambda x: lax.rev(x, (1,)) * lax.concatenate([x[:, 1:], x[:, :1]], 1),
        lambda x: lax.abs(x) ** 1.5,
        lambda x: lax.select(x > 0, x * 2, lax.sin(x)),
        lambda x: (x, x * 2, 1.0),
    ],
)
def test_reverse_agrees_with_forward(g):
    out, tangents = rb.jvp(g, (X,), (T,))
    cts = rb.tree.map(lambda o: np.asarray(R.randn(*np.shape(o)), "f4"), out)
    (back,) = rb.vjp(g, X)[1](cts)
    forward = sum(
        float((np.asarray(t) * c).sum()) for t, c in zip(rb.tree.leaves(tangents), rb.tree.leaves(cts))
    )
    np.testing.assert_allclose(forward, (np.asarray(back) * T).sum(), rtol=1e-4, atol=1e-5)
    close(rb.linearize(g, X)[1](T), tangents)
