"""Systems, factorizations and eigenvalues against SciPy's, with their derivatives."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.linalg
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy import linalg

random = np.random.default_rng(4)
A = random.normal(size=(4, 4))
C = A + 1j * random.normal(size=(4, 4))
B = random.normal(size=(4, 2))
POSITIVE, HERMITIAN = A @ A.T + np.eye(4), C @ C.conj().T + np.eye(4)
SAME = [
    (name, a, *rest)
    for a in (A, C)
    for name, *rest in (
        ("solve", B), ("solve", B[:, 0]), ("inv",), ("det",), ("lu_factor",), ("lu",), ("lu", True),
        ("svd", True, False),
    )
] + [
    ("lu", A[:, :2]), ("lu", A[:2]), ("lu", A[:2], True), ("cholesky", POSITIVE),
    ("cholesky", HERMITIAN, True),
]  # fmt: skip


@pytest.mark.parametrize("case", SAME, ids=lambda c: f"{c[0]}-{c[1].dtype}-{c[1].shape}")
def test_as_in_scipy(case):
    name, *args = case
    close(getattr(linalg, name)(*map(ours, args)), getattr(scipy.linalg, name)(*args))


@pytest.mark.parametrize("a", [A, C], ids=["real", "complex"])
def test_with_factors(a):
    for trans in (0, 1, 2):
        close(linalg.lu_solve(linalg.lu_factor(ours(a)), ours(B), trans),
              scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), B, trans))  # fmt: skip
        close(linalg.solve_triangular(ours(a), ours(B[:, 0]), trans, lower=True),
              scipy.linalg.solve_triangular(a, B[:, 0], trans, lower=True))  # fmt: skip
    hermitian = HERMITIAN if a is C else POSITIVE
    for lower in (False, True):
        factor = linalg.cho_factor(ours(hermitian), lower)
        close(linalg.cho_solve(factor, ours(B)), np.linalg.solve(hermitian, B))
        for kind, b in (("pos", hermitian), ("her", a), ("sym", a)):
            if kind == "her":  # the diagonal of a Hermitian matrix is real
                b = a - 1j * np.diag(np.diag(a).imag) if a is C else a
            close(linalg.solve(ours(b), ours(B), lower=lower, assume_a=kind),
                  scipy.linalg.solve(b, B, lower=lower, assume_a=kind))  # fmt: skip
    for kind, b in (("upper triangular", np.triu(a)), ("lower triangular", np.tril(a)),
                    ("diagonal", np.diag(np.diag(a)))):  # fmt: skip
        close(linalg.solve(ours(a), ours(B), assume_a=kind), np.linalg.solve(b, B))


@pytest.mark.parametrize("mode", ["full", "economic", "r", "raw"])
def test_qr(mode):
    for a in (A[:, :3], C[:3]):
        for pivoting in (False, True):
            close(linalg.qr(ours(a), mode=mode, pivoting=pivoting),
                  scipy.linalg.qr(a, mode=mode, pivoting=pivoting))  # fmt: skip


def test_qr_multiply():
    for a, c, mode in ((A[:, :3], B[:3], "left"), (C[:, :3], B.T, "right"), (A, B[:, 0], "left"),
                       (C, B[:, 0], "right")):  # fmt: skip
        for more in ({"pivoting": True}, {"conjugate": True}):
            close(linalg.qr_multiply(ours(a), ours(c), mode, **more),
                  scipy.linalg.qr_multiply(a, c, mode, **more))  # fmt: skip


@pytest.mark.parametrize("side", ["left", "right"])
def test_polar(side):
    for a in (A, C[:, :3], A[:3]):
        wanted = scipy.linalg.polar(a, side)
        close(linalg.polar(ours(a), side), wanted)
        close(linalg.polar(ours(a), side, method="svd"), wanted)
    check_gradient(lambda a: linalg.polar(a, side), A, rtol=1e-5)


@pytest.mark.parametrize("type", [1, 2, 3])
def test_eigenvalues_with_two_matrices(type):
    for a, b in ((A + A.T, POSITIVE), (C + C.conj().T, HERMITIAN)):
        w, v = linalg.eigh(ours(a), ours(b), type=type)
        close(w, scipy.linalg.eigh(a, b, type=type, eigvals_only=True))
        v = np.asarray(v)
        left, right = {1: (a, b), 2: (a @ b, np.eye(4)), 3: (b @ a, np.eye(4))}[type]
        np.testing.assert_allclose(left @ v, right @ v * np.asarray(w), atol=1e-9)
        metric = np.linalg.inv(b) if type == 3 else b
        np.testing.assert_allclose(v.conj().T @ metric @ v, np.eye(4), atol=1e-9)
    check_gradient(lambda a, b: linalg.eigh(a, b, type=type, eigvals_only=True), A + A.T, POSITIVE)


def test_three_diagonals():
    d, e = random.normal(size=5), random.normal(size=4)
    close(linalg.eigh_tridiagonal(ours(d), ours(e), eigvals_only=True),
          scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True))  # fmt: skip
    w, v = linalg.eigh_tridiagonal(ours(d), ours(e), select="i", select_range=(1, 2))
    wanted = scipy.linalg.eigh_tridiagonal(d, e, select="i", select_range=(1, 2))
    close((w, np.abs(v)), (wanted[0], np.abs(wanted[1])))
    check_gradient(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True), d, e)
    assert linalg.eigh_tridiagonal(rnp.ones(1), rnp.zeros(0), eigvals_only=True).tolist() == [1.0]


@pytest.mark.parametrize("lower", [False, True])
def test_the_cholesky_factor_is_of_one_triangle(lower):
    """As in SciPy: what stands in the other one is not read, and has no derivative."""
    read = np.tril if lower else np.triu
    a = read(POSITIVE) + 7 * (POSITIVE - read(POSITIVE))
    close(linalg.cholesky(ours(a), lower), scipy.linalg.cholesky(a, lower))
    close(linalg.cho_solve(linalg.cho_factor(ours(a), lower), ours(B)), np.linalg.solve(POSITIVE, B))
    slope = rb.grad(lambda a: rnp.sum(linalg.cholesky(a, lower)))(ours(a))
    assert not np.any(np.asarray(slope) - read(slope))
    check_gradient(lambda a: linalg.cholesky(a, lower), a)


def test_derivatives():
    check_gradient(lambda a, b: linalg.solve(a, b, assume_a="pos"), HERMITIAN, B.astype(complex))
    check_gradient(lambda a, b: linalg.solve(a, b, lower=True, assume_a="sym"), A, B)
    check_gradient(lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, 1), A, B)
    check_gradient(lambda a, b: linalg.solve_triangular(a, b, 2), C, C)
    check_gradient(lambda a: (linalg.lu(a)[1:], linalg.cholesky(a @ a.T), linalg.det(a), linalg.inv(a)), A)
    check_gradient(lambda a, c: linalg.qr_multiply(a, c), A, B.T)


@pytest.mark.narrow
def test_batches():
    a, b = random.normal(size=(3, 4, 4)), random.normal(size=(3, 4, 2))
    check_batches(lambda a, b: (linalg.solve(a, b), linalg.lu_solve(linalg.lu_factor(a), b, 1),
                                linalg.lu(a), linalg.qr(a, mode="r"), linalg.polar(a)), a, b)  # fmt: skip
    for name in ("solve", "solve_triangular"):  # leading dimensions, broadcast
        found = getattr(linalg, name)(ours(a), ours(b[0]))
        wanted = [getattr(scipy.linalg, name)(x, b[0]) for x in a]
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-8)
    assert linalg.inv(np.array([[1, 2], [3, 5]])).dtype == "float32"


def test_bfloat16_stays_bfloat16():
    pytest.importorskip("rabbet_bfloat16")
    assert linalg.solve(rnp.eye(2, dtype="bfloat16"), rnp.ones(2, "bfloat16")).dtype == "bfloat16"


@pytest.mark.narrow
def test_messages():
    for wrong, words in (
        (lambda: linalg.inv(B), "inv: a must be square"),
        (lambda: linalg.solve(A, np.ones(3)), "solve takes a matrix"),
        (lambda: linalg.solve(A, B, assume_a="x"), "assume_a must be"),
        (lambda: linalg.solve_triangular(A, B, "X"), "trans must be"),
        (lambda: linalg.lu_solve(linalg.lu_factor(A), B, 5), "trans must be"),
        (lambda: linalg.qr(A, mode="x"), "mode must be"),
        (lambda: linalg.qr_multiply(A, np.ones(3)), "must have 4 columns"),
        (lambda: linalg.polar(A, "x"), "side must be"),
        (lambda: linalg.polar(A, method="x"), "method must be"),
        (lambda: linalg.eigh(A, type=4), "type must be"),
        (lambda: linalg.eigh_tridiagonal(B[:, 0], B[:, 0]), "of shape"),
        (lambda: linalg.eigh_tridiagonal(B[:, 0], B[1:, 0], select="i"), "needs select_range"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
    with pytest.raises(NotImplementedError, match="eigvals is not offered"):
        linalg.eigh(A, eigvals=(0, 1))
    with pytest.raises(NotImplementedError, match="select='v'"):
        linalg.eigh_tridiagonal(B[:, 0], B[1:, 0], select="v")
    with pytest.raises(TypeError, match="one dtype"):
        linalg.eigh_tridiagonal(rnp.ones(2), rnp.ones(1, "float64"))
    assert rb.jit(linalg.det)(rnp.eye(5)) == 1
