"""Functions of matrices: the exponential, roots, Schur forms, Sylvester's equation."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.linalg
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy import linalg

random = np.random.default_rng(5)
A = random.normal(size=(4, 4))
C = A + 1j * random.normal(size=(4, 4))
E = random.normal(size=(4, 4))


# --------------------------------------------------------------------------------------------- the
# exponential
@pytest.mark.parametrize("size", [0.0, 1e-3, 0.05, 0.4, 1.0, 10.0])
def test_exponential_at_every_degree(size):
    for a in (A * size, C * size):
        wanted = scipy.linalg.expm(a)
        scale = np.abs(wanted).max()
        close(linalg.expm(ours(a)) / scale, wanted / scale, rtol=0, atol=1e-12)
        narrow = a.astype("complex64" if a.dtype.kind == "c" else "float32")
        close(linalg.expm(narrow) / scale, wanted / scale, rtol=0, atol=2e-5)
    change = scipy.linalg.expm_frechet(A * size, E)
    scale = [np.abs(x).max() for x in change]
    found = linalg.expm_frechet(ours(A * size), ours(E))
    close([x / s for x, s in zip(found, scale)], [x / s for x, s in zip(change, scale)], rtol=0, atol=1e-12)


def test_exponentials_do_not_change_each_other():
    """A NaN in a batch hid the largest norm, by which the degree is chosen."""
    good = np.stack([np.eye(3), np.diag([3.0, 2.0, 1.0])])
    bad = [np.full((1, 3, 3), x) for x in (np.nan, np.inf, 1e30, 30.0)]
    close(linalg.expm(ours(np.concatenate([*bad, good])))[-2:], linalg.expm(ours(good)), rtol=1e-14)


def test_a_matrix_without_a_root():
    assert np.isnan(linalg.sqrtm(ours(np.array([[0.0, 1.0], [0.0, 0.0]])))).all()
    assert (linalg.sqrtm(ours(np.zeros((2, 2)))) == 0).all()


@pytest.mark.needs("bfloat16")
@pytest.mark.narrow
def test_exponential_far_from_normal():
    steep = np.array([[1.0, 1e6], [0.0, -1.0]])
    for a in (steep, np.diag([1e20, 1.0], 1), np.triu(A) * 5):
        close(linalg.expm(ours(a)), scipy.linalg.expm(a), rtol=1e-11)
    assert np.isnan(linalg.expm(ours(A * 100), max_squarings=2)).all()
    assert np.isnan(linalg.expm(ours(A * np.nan))).all()
    assert linalg.expm(rnp.zeros((2, 0, 0))).shape == (2, 0, 0)
    assert linalg.expm(rnp.zeros((2, 2), "bfloat16")).dtype == rnp.bfloat16
    assert linalg.expm(np.zeros((2, 2), int)).dtype == "float32"


@pytest.mark.exhaustive
def test_exponentials_of_triangles_far_from_normal():
    for a in (np.array([[1.0, 1e6], [0.0, -1.0]]), np.diag([1e20, 1.0], 1), np.triu(A) * 5):
        close(linalg.expm(ours(a), upper_triangular=True), scipy.linalg.expm(a), rtol=1e-11)


def test_large_exponentials_that_are_not_diagonal():
    """In double precision up to a norm of 1e14, by SciPy's values and by hand; 0 where that is certain."""
    even = np.array([[-1e8, 1e8], [1e8, -1e8]])  # of a Markov chain: to its equal shares
    np.testing.assert_allclose(linalg.expm(ours(even)), np.full((2, 2), 0.5), rtol=1e-7)
    stiff = np.array([[-1e12, 1e11], [0.0, -1.0]])
    np.testing.assert_allclose(
        linalg.expm(ours(stiff)), [[0, 0.1 * np.exp(-1)], [0, np.exp(-1)]], rtol=1e-3, atol=1e-300
    )
    turn = np.array([[0.0, 1e7], [-1e7, 0.0]])
    c, s = np.cos(1e7), np.sin(1e7)
    np.testing.assert_allclose(linalg.expm(ours(turn)), [[c, s], [-s, c]], atol=1e-7)
    for dtype in ("float32", "float64"):
        falls = np.array([[-1e20, 1e19], [9e19, -1e20]], dtype)
        with rb.config.override(enable_x64=True):
            value, change = linalg.expm_frechet(falls, np.ones((2, 2), dtype))
            assert value.dtype == dtype and not np.any(value) and not np.any(change)
            mixed = linalg.expm(np.stack([falls, np.array([[0, 1e20], [-1e20, 0]], dtype), 0 * falls]))
        assert not np.any(mixed[0]) and np.isnan(mixed[1]).all()
        np.testing.assert_array_equal(mixed[2], np.eye(2))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_exponentials_of_diagonals_far_apart(dtype):
    """They need no halving, so there is nothing that is halved too often or loses digits."""
    far = [np.diag(w).astype(dtype) for w in ([-1e20, 0], [-1e5, 0], [-3e38, 1], [-60, -61], [2.0, 2.0])]
    wanted = [scipy.linalg.expm(a.astype("complex128")) for a in far]
    np.testing.assert_allclose(linalg.expm(np.stack(far)), np.stack(wanted), rtol=1e-6)
    np.testing.assert_allclose(rb.jit(linalg.expm)(far[0]), wanted[0], rtol=1e-6)
    over = linalg.expm(np.diag(np.array([100, 1], dtype)))
    np.testing.assert_allclose(rnp.real(over), np.diag([np.inf, np.e]), rtol=1e-6)
    under = linalg.expm(np.diag(np.array([-np.inf, 1], dtype)))
    np.testing.assert_allclose(under, np.diag([0, np.e]), rtol=1e-6)
    full = np.full((2, 2), 1, dtype)
    for w, slope in (
        ([-1e20, 0], [[0, 1e-20], [1e-20, 1]]),
        ([-1e5, 1], [[0, np.e / 100001], [np.e / 100001, np.e]]),
        ([1, 1], np.full((2, 2), np.e)),
        ([1, 1 + 2.0**-20], np.full((2, 2), np.e)),
    ):
        a = np.diag(np.array(w, dtype))
        found = linalg.expm_frechet(a, full, compute_expm=False)
        np.testing.assert_allclose(found, slope, rtol=3e-6)
        found = rb.jvp(linalg.expm, (a,), (full,))[1]
        np.testing.assert_allclose(found, slope, rtol=3e-6)
        if dtype == "float32":
            found = rb.grad(lambda a: linalg.expm(a).sum())(a)
            np.testing.assert_allclose(found, slope, rtol=3e-6)
    # A matrix beside it in the batch is none of that kind.
    batch = linalg.expm(np.stack([far[0], np.array([[0, 1], [0, 0]], dtype)]))
    np.testing.assert_allclose(batch[1], [[1, 1], [0, 1]], rtol=1e-6)


def test_single_precision_where_64_bits_are_on():
    a = np.float32([[0, 30], [-30, 0]])  # so large that it is looked at in detail
    with rb.config.override(enable_x64=True):
        found = linalg.expm(a)
        assert found.dtype == np.float32
        close(found, scipy.linalg.expm(a.astype("f8")), rtol=0, atol=1e-4)


def test_derivatives_of_the_exponential():
    check_gradient(linalg.expm, A)


@pytest.mark.exhaustive
def test_more_derivatives():
    check_gradient(linalg.expm, A, second=True)
    check_gradient(linalg.expm, C)
    check_gradient(lambda a: linalg.expm(a, upper_triangular=True), A)
    check_gradient(lambda a, e: linalg.expm_frechet(a, e, compute_expm=False), A, E)
    check_gradient(linalg.sqrtm, A, second=True)  # A has a negative eigenvalue, whose root is imaginary
    shifted = E[:3, :3] + 5 * np.eye(3)
    check_gradient(linalg.solve_sylvester, A, shifted, E[:, :3], second=True)
    check_gradient(lambda *x: linalg.solve_sylvester(*x, method="eigen"), C, shifted + 0j, C[:, :3])


def test_batches_of_exponentials():
    many = np.stack([A * 0.01, A, A * 20])  # of different degrees and numbers of squarings
    wanted = scipy.linalg.expm(many)
    np.testing.assert_allclose(linalg.expm(ours(many)), wanted, rtol=1e-9)
    check_batches(linalg.expm, many)
    found = rb.vmap(lambda e: linalg.expm_frechet(ours(A), e, compute_expm=False))(ours(many))
    np.testing.assert_allclose(found[1], scipy.linalg.expm_frechet(A, A, compute_expm=False), rtol=1e-9)


# ----------------------------------------------------------------------------------------------- Schur's form
def test_schur_and_hessenberg():
    for a in (A, C):
        close(linalg.schur(ours(a)), scipy.linalg.schur(a))
        close(linalg.schur(ours(a), "complex"), scipy.linalg.schur(a, "complex"))
        close(linalg.hessenberg(ours(a), calc_q=True), scipy.linalg.hessenberg(a, calc_q=True))
    close(linalg.hessenberg(ours(A[:1, :1]), calc_q=True), (A[:1, :1], np.eye(1)))
    t, z = scipy.linalg.schur(random.normal(size=(6, 6)))
    close(linalg.rsf2csf(ours(t), ours(z)), scipy.linalg.rsf2csf(t, z))
    check_batches(linalg.rsf2csf, np.stack([t, t.T]), np.stack([z, z]))


def test_derivatives_of_schur():
    """Of what does not depend on the phases of the vectors."""

    def parts(a):
        t, z = linalg.schur(a, "complex")
        projections = [z[:, i : i + 1] @ z[:, i : i + 1].conj().T for i in range(4)]
        return rnp.diagonal(t), rnp.abs(t), projections

    check_gradient(parts, C)


# ------------------------------------------------------------------------------------------------- functions
def test_square_roots():
    for a in (A, C, A @ A.T):
        found = linalg.sqrtm(ours(a))
        close(found, scipy.linalg.sqrtm(a).astype(complex), rtol=1e-8)
    close(linalg.sqrtm(ours(np.eye(3))), np.eye(3).astype(complex))
    check_gradient(linalg.sqrtm, C)
    check_batches(linalg.sqrtm, np.stack([A, E]))
    assert linalg.sqrtm(np.eye(2, dtype="float32")).dtype == "complex64"


def test_functions_of_matrices():
    for a in (A, C):
        close(linalg.funm(ours(a), rnp.sin), scipy.linalg.sinm(a).astype(complex), rtol=1e-8)
        found, error = linalg.funm(ours(a), rnp.exp, disp=False)
        wanted, wanted_error = scipy.linalg.funm(a, np.exp, disp=False)
        close((found, error), (wanted.astype(complex), np.array(wanted_error)), rtol=1e-6)
    close(
        linalg.funm(ours(np.diag([1.0, 1.0, 2.0])), rnp.exp), np.diag(np.exp([1.0, 1.0, 2.0])).astype(complex)
    )
    check_gradient(lambda a: linalg.funm(a, rnp.exp), C, rtol=1e-5)
    check_batches(lambda a: linalg.funm(a, rnp.cos), np.stack([A, E]))


def test_sylvester():
    shifted = E[:3, :3] + 5 * np.eye(3)
    for a, b, c in ((A, shifted, E[:, :3]), (C, shifted, E[:, :3])):
        # SciPy takes the real Schur form of a real matrix beside a complex one, which is not right there.
        wanted = scipy.linalg.solve_sylvester(a, b.astype(a.dtype), c)
        for method in ("schur", "eigen"):
            close(linalg.solve_sylvester(ours(a), ours(b), ours(c), method=method), wanted)
    check_gradient(linalg.solve_sylvester, A, shifted, E[:, :3])
    check_batches(linalg.solve_sylvester, np.stack([A, E]), np.stack([shifted] * 2), np.stack([E[:, :3]] * 2))
    assert np.isnan(linalg.solve_sylvester(ours(A), ours(-A), ours(E))).all()


def test_messages():
    for wrong, words in (
        (lambda: linalg.expm(A[:2]), "expm: A must be square"),
        (lambda: linalg.expm_frechet(A, A[:2, :2]), "of one size"),
        (lambda: linalg.schur(A, "x"), "output must be"),
        (lambda: linalg.rsf2csf(A, A[:2, :2]), "of one size"),
        (lambda: linalg.funm(A, rnp.sum), "keep the shape"),
        (lambda: linalg.solve_sylvester(A, A, A[:2]), "solve_sylvester takes"),
        (lambda: linalg.solve_sylvester(A, A, A, method="x"), "method must be"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
    with pytest.raises(NotImplementedError, match="no derivative is known"):
        rb.grad(lambda a: linalg.schur(a)[0].sum())(ours(A))
