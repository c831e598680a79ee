"""Rows of ``primitives/triangular.py`` and ``tridiagonal.py``."""

import itertools

import numpy as np

from rabbet.lax.linalg.primitives.triangular import triangular_solve
from rabbet.lax.linalg.primitives.tridiagonal import tridiagonal_solve
from rabbet.testing.draws import between, regular, some
from rabbet.testing.table import Row

DTYPES = ("float32", "float64", "complex64", "complex128")
NAMES = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")


def solution(left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    """NumPy's solution with the whole matrix."""

    def reference(a, b):
        a = np.tril(a) if lower else np.triu(a)
        if unit_diagonal:
            i = np.arange(a.shape[-1])
            a[..., i, i] = 1
        a = np.swapaxes(a, -1, -2) if transpose_a else a
        a = np.conj(a) if conjugate_a else a
        if left_side:
            return np.linalg.solve(a, b)
        return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)

    return reference


def triangular(flags, dtypes=DTYPES, batch=(), orders=2):
    sizes = (3, 2) if flags[0] else (2, 3)
    note = f"{''.join('01'[f] for f in flags)}{batch or ''}"
    return Row(triangular_solve, solution(*flags), (regular(*batch, 3, 3), some(*batch, *sizes)), dtypes,
               dict(zip(NAMES, flags, strict=True)), note, orders)  # fmt: skip


def with_three_diagonals(dl, d, du, b):
    """NumPy's solution with the whole matrix."""
    n = d.shape[-1]
    a = d[..., None] * np.eye(n) + (dl[..., None] * np.eye(n, k=-1))
    return np.linalg.solve(a + du[..., None] * np.eye(n, k=1), b)


def tridiagonal(*batch, n=4, orders=2, **params):
    vector = some(*batch, n)
    return Row(tridiagonal_solve, with_three_diagonals, (vector, between(8.0, 9.0, *batch, n), vector,
               some(*batch, n, 2)), DTYPES if not params else DTYPES[:2],
               {"perturb_singular": False, **params}, f"{batch or ''}{n}{'p' if params else ''}",
               orders)  # fmt: skip


# Every use in one dtype; the main ones in all, and with derivatives.
ALL_FLAGS = list(itertools.product((True, False), repeat=5))
MAIN = [(True, True, False, False, False), (False, True, True, True, False), (True, False, True, False, True)]
ROWS = [
    *[triangular(flags) for flags in MAIN],
    triangular((False, False, False, True, True), ("complex64", "complex128"), (2,), 1),
    tridiagonal(),
    tridiagonal(2, n=3, orders=1),
    tridiagonal(perturb_singular=True, orders=0),
]

__all__ = ["ALL_FLAGS", "ROWS", "solution", "triangular"]
