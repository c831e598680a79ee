"""custom_linear_solve and custom_root: derivatives by what is solved, under every transformation. The solvers
are loops of unknown length, which reverse mode could not go through.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = [pytest.mark.optimized, pytest.mark.needs("jit", "grad", "vmap")]

R = np.random.RandomState(0)
M = R.randn(3, 3)
A = lax.convert_element_type(M + 4 * np.eye(3), "float64")
S = lax.convert_element_type((M + M.T) / 2 + 4 * np.eye(3), "float64")
B = lax.convert_element_type(R.randn(3), "float64")
W = np.array([1.0, -2.0, 0.5])


def dot(m, v):
    return lax.dot_general(m, v, (((1,), (0,)), ((), ())))


def norm(v):
    return lax.reduce_sum(v * v, axes=(0,))


def richardson(matvec, b):
    """x += (b - A x) / 6 until it stands still: right for the matrices here."""
    step = lambda s: (s[0] + (b - matvec(s[0])) / 6.0, s[1] + 1)
    return lax.while_loop(lambda s: (norm(b - matvec(s[0])) > 1e-26) & (s[1] < 500), step, (b * 0.0, 0))[0]


def general(a, b):
    return lax.custom_linear_solve(lambda v: dot(a, v), b, richardson, richardson)


def symmetric(a, b):
    return lax.custom_linear_solve(lambda v: dot(a, v), b, richardson, symmetric=True)


def loss(solve):
    return lambda a, b: lax.reduce_sum(solve(a, b) * lax.convert_element_type(W, "float64"), axes=(0,))


def exact(a, b):
    """Gradients of ``sum(W * inv(a) b)``, by hand."""
    x, y = np.linalg.solve(a, b), np.linalg.solve(np.asarray(a).T, W)
    return -np.outer(y, x), y


def close(got, wanted):
    for g, w in zip(rb.tree.leaves(got), rb.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-9)


both = pytest.mark.parametrize("solve,a", [(general, A), (symmetric, S)], ids=["general", "symmetric"])


@both
def test_linear_solve(solve, a):
    close(solve(a, B), np.linalg.solve(a, B))
    for g in (
        rb.grad(loss(solve), (0, 1)),
        rb.jit(rb.grad(loss(solve), (0, 1))),
        rb.grad(rb.jit(loss(solve)), (0, 1)),
    ):
        close(g(a, B), exact(a, B))
    close(rb.jacfwd(lambda b: solve(a, b))(B), np.linalg.inv(a))
    tangent = rb.jvp(loss(solve), (a, B), (a, B))[1]
    close(tangent, (exact(a, B)[0] * a).sum() + (exact(a, B)[1] * B).sum())


@both
def test_linear_solve_mapped(solve, a):
    batch = lax.convert_element_type(np.stack([a, a * 1.1, np.asarray(a) + 0.2 * np.eye(3)]), "float64")
    rights = lax.convert_element_type(R.randn(3, 3), "float64")
    pairs = list(zip(batch, rights, strict=True))
    close(rb.vmap(solve)(batch, rights), np.stack([np.linalg.solve(*p) for p in pairs]))
    close(rb.vmap(solve, (None, 0))(a, rights), np.stack([np.linalg.solve(a, b) for b in rights]))
    wanted = tuple(np.stack([exact(*p)[i] for p in pairs]) for i in range(2))
    close(rb.vmap(rb.grad(loss(solve), (0, 1)))(batch, rights), wanted)
    total = lambda *args: lax.reduce_sum(rb.vmap(loss(solve))(*args), axes=(0,))
    close(rb.jit(rb.grad(total, (0, 1)))(batch, rights), wanted)


@both
def test_linear_solve_twice(solve, a):
    """Second derivatives against differences of the exact first ones."""
    direction = R.randn(3, 3)
    if solve is symmetric:
        direction += direction.T
    h = 1e-6
    up, down = exact(a + h * direction, B), exact(a - h * direction, B)
    wanted = [(u - d) / (2 * h) for u, d in zip(up, down, strict=True)]
    t = lax.convert_element_type(direction, "float64")
    g = rb.grad(loss(solve), (0, 1))
    got = rb.jvp(lambda m: g(m, B), (a,), (t,))[1]
    along = lambda m: sum(
        lax.reduce_sum(x * y, tuple(range(x.ndim))) for x, y in zip(g(m, B), got, strict=True)
    )
    for x, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, w, rtol=1e-5, atol=1e-6)
    reverse = np.asarray(rb.grad(along)(a))
    np.testing.assert_allclose((reverse * direction).sum(), sum((w * w).sum() for w in wanted), rtol=1e-4)


def test_linear_solve_of_a_pytree_with_aux():
    def solve(matvec, b):
        return {"x": (b["x"] - b["y"]) / 2.0, "y": b["y"]}, {"steps": 7}

    def f(k, b):
        return lax.custom_linear_solve(
            lambda v: {"x": 2.0 * v["x"] + v["y"] * k, "y": v["y"]}, b, solve, lambda vecmat, b: ({
                "x": b["x"] / 2.0, "y": b["y"] - b["x"] / 2.0}, 0), has_aux=True,
        )  # fmt: skip

    b = {"x": 3.0, "y": 1.0}
    x, aux = rb.jit(f)(1.0, b)
    assert (float(x["x"]), float(x["y"]), int(aux["steps"])) == (1.0, 1.0, 7)
    g = rb.grad(lambda k, b: f(k, b)[0]["x"], (0, 1))(1.0, b)
    assert [float(v) for v in rb.tree.leaves(g)] == [-0.5, 0.5, -0.5]
    assert f(1.0, b)[1]["steps"] == 7


def square_root(a):
    newton = lambda f, x: lax.while_loop(lambda x: lax.abs(f(x)) > 1e-12, lambda x: x - f(x) / (2 * x), x)
    return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))


ROOTS = lax.convert_element_type(np.array([1.0, 4.0, 9.0]), "float64")


def test_root():
    four = ROOTS[1]
    assert float(square_root(4.0)) == 2.0
    for transform, wanted in (
        (rb.grad, 0.25),
        (rb.jacfwd, 0.25),
        (lambda f: rb.grad(rb.jit(f)), 0.25),
        (lambda f: rb.grad(rb.grad(f)), -0.03125),
        (lambda f: rb.jacfwd(rb.jit(rb.grad(f))), -0.03125),
        (rb.hessian, -0.03125),
    ):
        close(transform(square_root)(four), wanted)
        close(rb.jit(transform(square_root))(four), wanted)
    close(rb.vmap(square_root)(ROOTS), np.array([1.0, 2.0, 3.0]))
    close(rb.jit(rb.vmap(rb.grad(square_root)))(ROOTS), np.array([0.5, 0.25, 1 / 6]))
    close(
        rb.grad(lambda v: lax.reduce_sum(rb.vmap(square_root)(v), (0,)))(ROOTS), np.array([0.5, 0.25, 1 / 6])
    )


def test_root_of_a_system():
    """A fixed point x = tanh(A x) / 4 + b, its tangents solved by the linear solver above."""

    def f(a, b):
        g = lambda x: x - lax.tanh(dot(a, x)) / 4.0 - b
        iterate = lambda g, x: (lax.fori_loop(0, 60, lambda i, x: x - g(x), x), "done")
        tangents = lambda lin, y: lax.custom_linear_solve(lin, y, fixed, fixed)
        root, note = lax.custom_root(g, b * 0.0, lambda g, x: (iterate(g, x)[0], {}), tangents, has_aux=True)
        assert note == {}
        return root

    def fixed(matvec, b):
        return lax.while_loop(
            lambda x: norm(b - matvec(x)) > 1e-26, lambda x: x + (b - matvec(x)) * 0.8, b * 0.0
        )

    def by_loop(a, b):
        x = b * 0.0
        for _ in range(60):
            x = lax.tanh(dot(a, x)) / 4.0 + b
        return x

    small = A / 5.0
    close(f(small, B), by_loop(small, B))
    close(rb.jit(rb.grad(loss(f), (0, 1)))(small, B), rb.grad(loss(by_loop), (0, 1))(small, B))


def test_types_of_derivatives_are_as_weak_as_those_of_values():
    newton = lambda f, x: lax.while_loop(lambda c: abs(f(c)) > 1e-4, lambda c: c - f(c) / (2 * c), x)
    root = lambda a: lax.custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(1.0))
    doubled = lambda x: lax.while_loop(lambda c: c < 10.0, lambda c: c * 2, x)
    for function in (root, doubled):
        for x in (2.0, np.float32(2)):
            values = rb.jvp(function, (x,), (x,))
            assert [v.weak_type for v in values] == [type(x) is float] * 2


def test_what_is_refused():
    with pytest.raises(rb.errors.MissingRule, match=r"(?s)has no transpose_solve.*symmetric=True"):
        rb.grad(loss(lambda a, b: lax.custom_linear_solve(lambda v: dot(a, v), b, richardson)))(A, B)
    one = rb.jit(lambda a, b: lax.custom_linear_solve(lambda v: dot(a, v)[:2], b, richardson))
    with pytest.raises(TypeError, match=r"matvec .*<lambda>.* must return f64\[3\] for the output.*f64\[2\]"):
        one(A, B)
    two = rb.jit(lambda b: lax.custom_linear_solve(lambda v: v, b, lambda mv, b: (b, b)))
    with pytest.raises(TypeError, match=r"solve .* must return the structure"):
        two(B)
    three = rb.jit(lambda b: lax.custom_linear_solve(lambda v: v, b, lambda mv, b: b, has_aux=True))
    with pytest.raises(TypeError, match=r"must return a pair \(solution, aux\)"):
        three(B)
    four = rb.jit(lambda b: lax.custom_root(lambda x: x - b, b, lambda f, x: x, lambda g, y: (y, y)))
    with pytest.raises(TypeError, match=r"custom_root: tangent_solve .* must return the structure"):
        four(B)


@pytest.mark.parametrize("how", [lambda f: f, rb.jit], ids=["eager", "jit"])
def test_what_solvers_return_is_checked(how):
    def root(solve, **options):
        return lambda b: lax.custom_root(lambda x: x - b, b, solve, lambda g, y: y, **options)

    with pytest.raises(TypeError, match=r"custom_root: solve .* must return the structure"):
        how(root(lambda f, x: (x, x)))(B)
    with pytest.raises(TypeError, match=r"custom_root: solve .* must return f64\[3\] .* f64\[2\]"):
        how(root(lambda f, x: x[:2]))(B)
    with pytest.raises(TypeError, match=r"must return a pair \(solution, aux\)"):
        how(root(lambda f, x: x, has_aux=True))(B)
    assert how(root(lambda f, x: x))(1.0) == 1  # a number may become an array
