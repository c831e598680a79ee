"""Derivatives beside equal eigenvalues and singular values: what treats their vectors alike has them."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

EQUAL = np.diag([4.0, 1.0, 1.0]).astype("float32")


def projector(a, columns):
    """On the space of some eigenvectors, of the symmetric part."""
    v, _ = lax.linalg.eigh((a + a.T) / 2)
    return v[:, columns] @ v[:, columns].T


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("jacrev", "vmap")
@pytest.mark.parametrize("columns", [slice(2, 3), slice(0, 2)])
def test_projectors_beside_equal_eigenvalues_have_derivatives(columns):
    """On the space of the largest eigenvalue, and on that of both equal ones, which is the rest. Of these,
    forward mode moves each by itself, which is not defined; reverse mode knows that both are treated alike.
    """
    sign = 1 if columns.start == 2 else -1
    for mode in (rb.jacfwd, rb.jacrev) if sign > 0 else (rb.jacrev,):
        out = mode(lambda a: projector(a, columns)[0, 1])(EQUAL)
        np.testing.assert_allclose(out, sign * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]) / 6, atol=1e-6)
    twice = rb.jacrev(rb.jacrev(lambda a: projector(a, columns)[0, 1]))(EQUAL)
    np.testing.assert_allclose(twice[0, 1], sign * np.diag([-1, 1, 0]) / 18, atol=1e-6)
    batch = rb.vmap(rb.jacrev(lambda a: projector(a, columns)[0, 1]))(np.stack([EQUAL, 2 * EQUAL]))
    np.testing.assert_allclose(batch[:, 0, 1], sign * np.array([1 / 6, 1 / 12]), atol=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("jacrev", "vmap")
def test_vectors_of_equal_eigenvalues_have_no_derivative():
    out = rb.jacrev(lambda a: lax.linalg.eigh((a + a.T) / 2)[0][2, 0])(EQUAL)
    assert not np.isfinite(out).all()


@pytest.mark.needs("jacrev", "vmap")
def test_singular_vectors_beside_equal_values_have_derivatives():
    def leading(a):
        u, _, vh = lax.linalg.svd(a, full_matrices=False)
        return u[0, 0] * vh[0, 1]

    for mode in (rb.jacfwd, rb.jacrev):
        wanted = np.array([[0, 4, 0], [1, 0, 0], [0, 0, 0]]) / 15
        np.testing.assert_allclose(mode(leading)(EQUAL), wanted, atol=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("jacrev", "jacfwd", "vmap")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_that_differ_by_rounding_alone_count_as_equal(dtype):
    """A derivative by way of their vectors is no number rather than a wrong one; beside them nothing changes.
    How rounding turns out differs from matrix to matrix.
    """
    random = np.random.default_rng(0)
    with rb.config.override(enable_x64=True):
        for n in (3, 12):
            turn, other = np.linalg.qr(random.normal(size=(2, n, n)))[0]
            values = np.diag([4.0, *[1.0] * (n - 1)])
            a, b = (turn @ values @ turn.T).astype(dtype), (turn @ values @ other).astype(dtype)

            def root(a):
                v, w = lax.linalg.eigh((a + a.T) / 2)
                return ((v * (1 / w**0.5)[None]) @ v.T)[0, 1]

            def unitary(b):
                u, _, vh = lax.linalg.svd(b, full_matrices=False)
                return (u @ vh)[0, 1]

            for mode in (rb.jacrev, rb.jacfwd):
                assert not np.isfinite(mode(root)(a)).all()
                assert not np.isfinite(mode(unitary)(b)).all()
                found = mode(lambda a: projector(a, slice(-1, None))[0, 1])(a)
                first = turn[:, 0]
                resolvent = (np.eye(n) - np.outer(first, first)) / 3
                wanted = np.outer(resolvent[0], first * first[1]) + np.outer(resolvent[1], first * first[0])
                tolerance = 1e-4 if dtype == "float32" else 1e-11
                np.testing.assert_allclose(found, (wanted + wanted.T) / 2, atol=tolerance)


def by_eigh(f):
    def function(a):
        v, w = lax.linalg.eigh((a + a.T) / 2)
        return ((v * f(w)[None]) @ v.T)[1, 2]

    return function


def by_svd(f):
    def function(a):
        u, s, vh = lax.linalg.svd(a, full_matrices=False)
        return ((u * f(s)[None]) @ vh)[1, 2]

    return function


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("grad", "jvp", "numpy")
@pytest.mark.parametrize("by", [by_eigh, by_svd])
def test_a_function_that_is_zero_at_equal_values_is_not_taken_for_one_that_leaves_them_out(by):
    """The derivatives of ``log`` have a 1 at (1, 2), which the vectors do not know: reverse mode said 0."""
    tall = np.concatenate([EQUAL, np.zeros((1, 3), "float32")])
    for a in (EQUAL, np.eye(3, dtype="float32"), *([tall] if by is by_svd else [])):
        for f in (rb.numpy.log, lambda w: w - 1):
            assert not np.isfinite(rb.grad(by(f))(a)).all()
        # What is 0 around them has no part in them.
        flat = lambda w: rb.numpy.maximum(w - 2, 0.0)
        np.testing.assert_allclose(rb.grad(by(flat))(a), np.zeros(a.shape), atol=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("grad", "jvp", "jit", "vmap", "numpy")
def test_eigenvalues_of_zero_are_not_left_out_by_a_function_that_has_a_slope_there():
    """Reverse mode said 0 at (1, 2) for ``w``, though the function is the matrix itself."""
    low_rank, nothing = np.diag([4.0, 0.0, 0.0]).astype("float32"), np.zeros((3, 3), "float32")
    flat = lambda w: rb.numpy.maximum(w - 2, 0.0)
    both = np.stack([low_rank, nothing])
    slopes = [rb.grad(by_eigh(f)) for f in (lambda w: w, rb.numpy.sin, flat)]
    for found in rb.jit(rb.vmap(lambda a: [slope(a) for slope in slopes[:2]]))(both):
        assert all(not np.isfinite(x).all() for x in found)
    # What leaves them out has its derivative, and what takes them all alike.
    np.testing.assert_allclose(slopes[2](low_rank), np.zeros((3, 3)), atol=1e-6)
    top = rb.jacrev(lambda a: projector(a, slice(2, 3))[0, 1])(low_rank)
    np.testing.assert_allclose(top, np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]) / 8, atol=1e-6)

    def trace(a):
        v, w = lax.linalg.eigh(a)
        return ((v * rb.numpy.sin(w)[None]) @ v.T).trace()

    np.testing.assert_allclose(rb.grad(trace)(nothing), np.eye(3), atol=1e-6)
    assert np.isfinite(rb.grad(lambda a: lax.linalg.eigh(a)[1][0])(nothing)).all()
    np.testing.assert_allclose(rb.jvp(by_eigh(rb.numpy.cos), (low_rank,), (nothing,))[0], 0, atol=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("grad", "jvp", "jacfwd", "vmap", "numpy")
def test_second_derivatives_of_sums_over_equal_values_are_no_number_where_their_slope_is_zero():
    """That of the squared distance from the identity is 2 everywhere; without the vectors it is 0 here."""
    change = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0]], "float32")

    def eigenvalues(t):
        return ((lax.linalg.eigh(EQUAL + t * change)[1] - 1) ** 2).sum()

    def singular_values(t):
        return ((lax.linalg.svd(EQUAL + t * change, compute_uv=False) - 1) ** 2).sum()

    for f in (eigenvalues, singular_values):
        slope = lambda t, f=f: rb.jvp(f, (t,), (1.0,))[1]
        for second in (rb.grad(rb.grad(f)), rb.grad(slope), rb.jacfwd(slope)):
            assert not np.isfinite(second(0.0))
        assert rb.grad(f)(0.0) == 0


ORDERS = {
    "forward over forward": lambda f: rb.jvp(lambda t: rb.jvp(f, (t,), (1.0,))[1], (0.0,), (1.0,))[1],
    "forward over reverse": lambda f: rb.jvp(rb.grad(f), (0.0,), (1.0,))[1],
    "reverse over forward": lambda f: rb.grad(lambda t: rb.jvp(f, (t,), (1.0,))[1])(0.0),
    "reverse over reverse": lambda f: rb.grad(rb.grad(f))(0.0),
}


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("grad", "jvp", "jit", "vmap", "numpy")
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@rb.enable_x64(True)
def test_second_derivatives_of_a_projector_and_its_eigenvalue_beside_equal_ones(dtype):
    """In every order of modes, for a batch; beside finite differences by NumPy. What needs the equal ones is
    no number.
    """
    random = np.random.default_rng(0)
    draw = lambda: random.normal(size=(3, 3)) + (1j * random.normal(size=(3, 3)) if dtype[0] == "c" else 0)
    turn, change = np.linalg.qr(draw())[0], draw()
    change = change + change.conj().T
    batch = np.stack([np.diag([4.0, 1, 1]), (turn * [4.0, 0, 0]) @ turn.conj().T]).astype(dtype)
    weights = np.arange(9.0).reshape(3, 3) + (1j * np.eye(3)[::-1] if dtype[0] == "c" else 0)

    def top(a, eigh, module):
        v, w = eigh(a)
        projector = v[..., 2:] @ v[..., 2:].conj().swapaxes(-1, -2)
        return module.real(w[..., 2] * (projector * weights).sum((-1, -2)))

    def by_numpy(a):
        w, v = np.linalg.eigh(a)
        return v, w

    h = 1e-3
    value = lambda t: top(batch + t * change, by_numpy, np)
    wanted = (value(h) - 2 * value(0) + value(-h)) / h**2
    ours = lambda a: lambda t: top(a + t * change, lax.linalg.eigh, rb.numpy)
    rest = lambda a: lambda t: (lax.linalg.eigh(a + t * change)[0][0, :2] ** 2).real.sum()
    found = rb.jit(rb.vmap(lambda a: [second(ours(a)) for second in ORDERS.values()]))(batch)
    for order, out in zip(ORDERS, found, strict=True):
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4, err_msg=order)
    assert not np.isfinite(rb.jvp(rb.grad(rest(batch[0])), (0.0,), (1.0,))[1])


def along(a):
    """The part of ``u s v^H`` along fixed numbers: the matrix itself."""
    u, s, vh = lax.linalg.svd(a, full_matrices=False)
    numbers = np.arange(1.0, 1 + a.size).reshape(a.shape)
    return ((u * s[None].astype(u.dtype)) @ vh * numbers).real.sum()


SINGULAR = {
    "tall": np.eye(4, 3) * [4.0, 1, 0],
    "tall, two": np.eye(4, 3) * [4.0, 0, 0],
    "wide": np.eye(3, 4) * [4.0, 1, 0, 0],
    "square, two": np.diag([4.0, 0, 0]),
    "complex": np.diag([4.0, 1, 0]).astype("complex64"),
    "nothing": np.zeros((3, 3)),
}


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("grad", "numpy")
@pytest.mark.parametrize("name", SINGULAR)
def test_singular_values_of_zero_are_not_left_out_by_a_function_that_has_a_slope_there(name):
    """Reverse mode left a part of them out. What is flat there has its derivative."""
    a = SINGULAR[name].astype("complex64" if name == "complex" else "float32")
    assert not np.isfinite(rb.grad(along)(a)).all()

    def flat(a):
        """The sum of the elements of ``v s^2 v^H``, and element (0, 1) of the leading part."""
        u, s, vh = lax.linalg.svd(a, full_matrices=False)
        gram = (vh.conj().T * (s * s)[None].astype(u.dtype)) @ vh
        return gram.real.sum() + (s[0] * (u[:, :1] @ vh[:1])[0, 1].real if SINGULAR[name].any() else 0)

    wanted = 2 * SINGULAR[name] @ np.ones((a.shape[1], a.shape[1]))
    if a.any():
        wanted[0, 1] += 1 + a[1, 1] / 15
        wanted[1, 0] += 4 * a[1, 1] / 15
    np.testing.assert_allclose(rb.grad(flat)(a), wanted, atol=1e-5)


def resolvent(a):
    """A smooth function by way of ``eig`` that no phase of a vector changes: entry (0, 1) of ``exp(a)``."""
    w, v = lax.linalg.eig(a, compute_left_eigenvectors=False)
    return rb.numpy.real((v * rb.numpy.exp(w)[None]) @ rb.numpy.linalg.inv(v))[0, 1]


def perron(a, **more):
    """The stationary distribution of a chain, weighted."""
    w, v = lax.linalg.eig(a.T, compute_left_eigenvectors=False, **more)
    p = rb.numpy.real(v[:, rb.numpy.argmax(rb.numpy.real(w))])
    return (p / p.sum() * rb.numpy.array([1.0, 2.0, 5.0])).sum()


@pytest.mark.needs("grad", "jvp", "numpy")
@rb.enable_x64(True)
def test_functions_of_eigenvectors_have_derivatives_without_a_switch():
    rng = np.random.default_rng(0)
    turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])  # components of one magnitude
    for a in (rng.normal(size=(3, 3)), turn, np.triu(rng.normal(size=(3, 3)))):
        d = rng.normal(size=(3, 3))
        for f in (resolvent, lambda a, d=d: (rb.grad(resolvent)(a) * d).sum()):
            slope = (float(f(a + 1e-5 * d)) - float(f(a - 1e-5 * d))) / 2e-5
            assert np.isclose(float((rb.grad(f)(a) * d).sum()), slope, rtol=1e-6, atol=1e-6)
            assert np.isclose(float(rb.jvp(f, (a,), (d,))[1]), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("grad", "jvp", "numpy")
@rb.enable_x64(True)
def test_equal_eigenvalues_of_any_matrix_give_no_number_unless_one_vector_is_asked_for():
    assert np.isnan(rb.grad(resolvent)(np.eye(3))).any()  # the true derivative has e at (0, 1)
    assert np.isnan(rb.jvp(resolvent, (np.eye(3),), (np.ones((3, 3)),))[1])
    chain, d = np.outer(np.ones(3), [0.2, 0.3, 0.5]), np.random.default_rng(1).normal(size=(3, 3))
    assert np.isnan(rb.grad(perron)(chain)).any()
    f = lambda a: perron(a, enable_eigvec_derivs=True)
    slope = (float(f(chain + 1e-6 * d)) - float(f(chain - 1e-6 * d))) / 2e-6
    assert np.isclose(float((rb.grad(f)(chain) * d).sum()), slope, rtol=1e-6)
