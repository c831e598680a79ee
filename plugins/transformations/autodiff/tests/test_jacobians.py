"""Whole matrices of derivatives, by rows and by columns."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

X = np.array([0.5, -1.0, 2.0], "f4")
M = np.arange(12, dtype="f4").reshape(4, 3) / 10


def dot(m, x):
    return lax.reduce_sum(m * x, axes=(1,))


def close(a, b):
    assert rb.tree.structure(a) == rb.tree.structure(b)
    for p, q in zip(rb.tree.leaves(a), rb.tree.leaves(b)):
        assert np.shape(p) == np.shape(q)
        np.testing.assert_allclose(p, q, rtol=1e-5, atol=1e-6)


BOTH = pytest.mark.parametrize(
    "jacobian", [rb.jacfwd, rb.jacrev, rb.jacobian], ids=["jacfwd", "jacrev", "jacobian"]
)


@BOTH
def test_a_linear_map_is_its_own_jacobian(jacobian):
    close(jacobian(lambda x: dot(M, x))(X), M)


@BOTH
def test_scalars_and_shapes(jacobian):
    assert jacobian(lambda x: x**3)(2.0) == 12
    assert jacobian(lambda x: lax.broadcast(x, (2, 3)))(1.0).shape == (2, 3)
    assert jacobian(lambda x: lax.reduce_sum(x, axes=(0, 1)))(M).shape == (4, 3)
    assert jacobian(lambda x: lax.transpose(x, (1, 0)))(M).shape == (3, 4, 4, 3)


@BOTH
def test_argnums(jacobian):
    f = lambda m, x: dot(m, lax.sin(x))
    close(jacobian(f, 1)(M, X), M * np.cos(X))
    gm, gx = jacobian(f, argnums=(0, 1))(M, X)
    close(gx, M * np.cos(X))
    close(gm, np.einsum("ik,j->ikj", np.eye(4), np.sin(X)))
    close(jacobian(f, argnums=(1,))(M, X), (M * np.cos(X),))
    close(jacobian(lambda x, *, by: x * by)(X, by=2.0), 2 * np.eye(3))


@BOTH
def test_trees(jacobian):
    f = lambda p: {"sum": p["x"] + p["y"][0], "product": [p["x"] * p["y"][0]]}
    got = jacobian(f)({"x": X, "y": [np.float32(3)]})
    close(got, {
        "sum": {"x": np.eye(3), "y": [np.ones(3)]},
        "product": [{"x": 3 * np.eye(3), "y": [X]}],
    })  # fmt: skip


@BOTH
def test_trees_with_several_arguments(jacobian):
    got = jacobian(lambda a, b: (a["x"] * b, b), argnums=(0, 1))({"x": X}, np.float32(2))
    close(got, (({"x": 2 * np.eye(3)}, X), ({"x": np.zeros(3)}, np.ones(()))))


@BOTH
def test_auxiliary_results(jacobian):
    matrix, aux = jacobian(lambda x: (x * x, {"seen": x + 1}), has_aux=True)(X)
    close(matrix, np.diag(2 * X))
    close(aux, {"seen": X + 1})


@BOTH
def test_holomorphic(jacobian):
    z = np.array([1 + 2j, 3 - 1j], "c8")
    close(jacobian(lambda z: z * z * 1j, holomorphic=True)(z), np.diag(2j * z))


@BOTH
def test_constants_and_unused_arguments(jacobian):
    close(jacobian(lambda x: 3.0)(X), np.zeros(3))
    close(jacobian(lambda x, y: x, argnums=1)(X, M), np.zeros((3, 4, 3)))


@BOTH
@pytest.mark.needs("jit")
def test_with_jit_and_vmap(jacobian):
    f = rb.jit(lambda x: lax.tanh(x) * lax.reduce_sum(x, axes=(0,)))
    wanted = jacobian(f)(X)
    close(rb.jit(jacobian(f))(X), wanted)
    close(rb.vmap(jacobian(f))(np.stack([X, X]))[1], wanted)


def test_forward_agrees_with_reverse():
    f = lambda x: {"a": lax.sin(x) * lax.reduce_sum(x, axes=(0,)), "b": x * lax.rev(x, (0,))}
    close(rb.jacfwd(f)(X), rb.jacrev(f)(X))


def test_mixed_dtypes():
    f = lambda x, y: x.astype("float32") * y
    x = lax.full((2,), 2, "float16")
    gx, gy = rb.jacrev(f, (0, 1))(x, np.ones(2, "f4"))
    assert (gx.dtype, gy.dtype) == (np.float16, np.float32)
    gx, gy = rb.jacfwd(f, (0, 1))(x, np.ones(2, "f4"))
    close(gy, 2 * np.eye(2))


# ---------------------------------------------------------------------------------------------- hessian
def quadratic(x):
    return lax.reduce_sum(x * x * x, axes=(0,)) + x[0] * x[1]


def test_the_hessian_of_a_polynomial():
    wanted = np.diag(6 * X)
    wanted[0, 1] = wanted[1, 0] = 1
    close(rb.hessian(quadratic)(X), wanted)
    for h in (
        rb.jacfwd(rb.jacfwd(quadratic)),
        rb.jacrev(rb.jacrev(quadratic)),
        rb.jacrev(rb.jacfwd(quadratic)),
    ):
        close(h(X), wanted)


def test_the_hessian_of_three_numbers():
    f = lambda x, y, z: lax.sin(x) * lax.cos(y) * z
    x, y, z = 0.3, 0.5, 2.0
    s, c = np.sin, np.cos
    wanted = (
        (-s(x) * c(y) * z, -c(x) * s(y) * z, c(x) * c(y)),
        (-c(x) * s(y) * z, -s(x) * c(y) * z, -s(x) * s(y)),
        (c(x) * c(y), -s(x) * s(y), 0.0),
    )
    close(rb.hessian(f, argnums=(0, 1, 2))(x, y, z), rb.tree.map(np.float32, wanted))


def test_the_hessian_of_a_tree():
    h = rb.hessian(lambda p: p["a"] ** 2 * p["b"])({"a": 2.0, "b": 3.0})
    assert h == {"a": {"a": 6.0, "b": 4.0}, "b": {"a": 4.0, "b": 0.0}}


def test_a_hessian_with_auxiliary_results():
    h, aux = rb.hessian(lambda x: (x**3, x + 1), has_aux=True)(2.0)
    assert h == 12 and aux == 3


def test_hessian_vector_products():
    v = np.array([1, 2, 3], "f4")
    h = rb.hessian(quadratic)(X)
    close(rb.jvp(rb.grad(quadratic), (X,), (v,))[1], np.asarray(h) @ v)
    close(rb.grad(lambda x: lax.reduce_sum(rb.grad(quadratic)(x) * v, axes=(0,)))(X), np.asarray(h) @ v)
    close(rb.linearize(rb.grad(quadratic), X)[1](v), np.asarray(h) @ v)


def test_double_precision_is_kept():
    x = lax.convert_element_type(X, "float64")
    for jacobian in (rb.jacfwd, rb.jacrev):
        out = jacobian(lambda x: x * x)(x)
        assert out.dtype == np.float64
        np.testing.assert_array_equal(out, np.diag(2.0 * X))
