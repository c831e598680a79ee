"""What factorizations cost before they are compiled: against the published counts, and counted once."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.cost import cost_of
from rabbet.extend.passes import stage
from rabbet.lax import linalg

N, M = 8, 12


def cost(f, *arrays):
    return cost_of(stage(lambda *xs: rb.tree.leaves(f(*xs)), [rb.typeof(a) for a in arrays]).jaxpr)


def square(dtype="float32", *batch):
    return np.zeros((*batch, N, N), dtype)


def tall():
    return np.zeros((M, N), np.float32)


def values_alone(a):
    return linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)


def reflected(c, left):
    """By a whole orthogonal matrix, kept as reflections."""
    n = c.shape[0 if left else 1]
    return linalg.ormqr(np.zeros((n, n), np.float32), np.zeros(n, np.float32), c, left=left)


@pytest.mark.parametrize(
    ("f", "array", "flops"),
    [
        (lambda a: linalg.cholesky(a, symmetrize_input=False), square(), N**3 / 3),
        (linalg.lu, square(), 2 * N**3 / 3),
        (linalg.lu, tall(), M * N**2 - N**3 / 3),
        (linalg.schur, square(), 25 * N**3),
        (linalg.hessenberg, square(), 10 * N**3 / 3),
        (values_alone, square(), 10 * N**3),
        (lambda a: linalg.svd(a, compute_uv=False), tall(), 4 * M * N**2 - 4 * N**3 / 3),
        (lambda a: linalg.triangular_solve(a, a, left_side=True), square(), N**3),
        (lambda b: linalg.triangular_solve(square(), b, left_side=False), tall(), M * N**2),
        (linalg.geqrf, tall(), 2 * M * N**2 - 2 * N**3 / 3),
        (lambda a: linalg.householder_product(a, a[0]), tall(), 2 * M * N**2 - 2 * N**3 / 3),
        (lambda a: linalg.eigh(a, symmetrize_input=False), square(), 9 * N**3),
        (lambda c: reflected(c, left=True), tall(), 2 * N * M**2),
        (lambda c: reflected(c, left=False), tall(), 2 * M * N**2),
    ],
)  # fmt: skip
def test_published_counts(f, array, flops):
    assert cost(f, array).flops == pytest.approx(flops, rel=0.02, abs=3 * N)


def test_batches_and_complex_numbers():
    f = lambda a: linalg.hessenberg(a)
    assert cost(f, square("complex64", 3)).flops == 3 * 4 * cost(f, square()).flops


@pytest.mark.needs("jit", "cpu")
def test_the_analysis_counts_a_factorization_once():
    """On the CPU all of these are calls, of which the compiler knows nothing."""
    a, b = square(), np.zeros((N, 2), np.float32)
    solve = lambda a, b: linalg.triangular_solve(a, b, left_side=True, lower=True)
    found = rb.jit(solve).lower(a, b).cost_analysis()
    assert found["flops"] == pytest.approx(2 * N**2, abs=8)


@pytest.mark.needs("jit", "cpu")
def test_the_analysis_does_not_count_what_the_compiler_counts():
    x, w = np.zeros((2, 3, 8, 8), np.float32), np.zeros((4, 3, 3, 3), np.float32)
    conv = lambda x, w: lax.conv(x, w, (1, 1), "VALID")
    ours = cost(conv, x, w).flops
    beside = lambda x, w, a: (conv(x, w), linalg.hessenberg(a))
    told = rb.jit(beside).lower(x, w, square()).cost_analysis()["flops"]
    assert ours == 2 * 2 * 4 * 6 * 6 * 27
    assert told == pytest.approx(ours + 10 * N**3 / 3, rel=0.02)
