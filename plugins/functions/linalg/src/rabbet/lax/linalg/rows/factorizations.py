"""Rows of ``primitives/cholesky.py``, ``lu.py``, ``updates.py`` and ``reductions.py``."""

import numpy as np

from rabbet.lax.linalg import primitives
from rabbet.lax.linalg.primitives.cholesky import cholesky
from rabbet.testing.draws import among, definite, regular, some
from rabbet.testing.table import Row

DTYPES = ("float32", "float64", "complex64", "complex128")
DOUBLE = ("float64", "complex128")


def each_matrix(function):
    """A reference for batches from one for matrices; SciPy's mostly know no batches."""

    def reference(*arrays):
        batch = arrays[0].shape[:-2]
        if not batch:
            return function(*arrays)
        rows = [function(*[x[i] for x in arrays]) for i in np.ndindex(batch)]
        if not isinstance(rows[0], (tuple, list)):
            return np.stack(rows).reshape((*batch, *rows[0].shape))
        columns = [np.stack(c) for c in zip(*rows, strict=True)]
        return [c.reshape((*batch, *c.shape[1:])) for c in columns]

    return reference


def permutation(pivots, n):
    order = np.arange(n)
    for i, p in enumerate(pivots):
        order[[i, p]] = order[[p, i]]
    return order.astype(pivots.dtype)


@each_matrix
def lu_factors(x):
    """LAPACK's, through SciPy."""
    from scipy.linalg import lapack

    (getrf,) = lapack.get_lapack_funcs(("getrf",), (x,))
    factors, pivots, _ = getrf(x)
    return factors, pivots.astype(np.int32), permutation(pivots.astype(np.int32), x.shape[0])


@each_matrix
def hessenberg_form(x):
    from scipy.linalg import lapack

    (gehrd,) = lapack.get_lapack_funcs(("gehrd",), (x,))
    return gehrd(x)[:2]


def tridiagonal_form(lower):
    @each_matrix
    def reference(x):
        from scipy.linalg import lapack

        (sytrd,) = lapack.get_lapack_funcs(("hetrd" if x.dtype.kind == "c" else "sytrd",), (x,))
        return sytrd(x, lower=lower)[:4]

    return reference


def schur_form(vectors):
    @each_matrix
    def reference(x):
        from scipy.linalg import schur

        out = schur(x, output="complex" if x.dtype.kind == "c" else "real")
        return list(out if vectors else out[:1])

    return reference


def lu(*sizes, orders=0):
    return Row(primitives.lu.lu, lu_factors, (some(*sizes),), DTYPES, {}, str(sizes), orders)


def updated(r, w):
    """The factor whose diagonal is positive."""
    r = np.triu(r)
    total = np.swapaxes(r, -1, -2) @ r + w[..., :, None] * w[..., None, :]
    return np.swapaxes(np.linalg.cholesky(total), -1, -2)


def updates(*sizes, orders=0):
    row = Row(primitives.updates.cholesky_update, updated, (regular(*sizes), some(*sizes[:-1])), DTYPES[:2])
    return row.but(note=str(sizes), orders=orders)


ROWS = [
    Row(cholesky, np.linalg.cholesky, (definite(3, 3),), DTYPES, orders=2),
    Row(cholesky, np.linalg.cholesky, (definite(2, 2, 2),), DTYPES, {}, "batch"),
    lu(3, 3, orders=2),
    lu(2, 4, 3, orders=1),
    lu(2, 4, orders=1),
    Row(primitives.lu.lu_pivots_to_permutation, lambda p: permutation(p, 5), (among([2, 3], 3),), ("int32",),
        {"permutation_size": 5}),
    updates(3, 3, orders=2),
    updates(2, 2, 2),
    Row(primitives.updates.symmetric_product, lambda a, c: 2 * a @ np.swapaxes(a, -1, -2) - c,
        (some(2, 2, 3), some(2, 2, 2)), DTYPES, {"alpha": 2.0, "beta": -1.0}, orders=1),
    Row(primitives.reductions.hessenberg, hessenberg_form, (some(2, 4, 4),), DTYPES),
    Row(primitives.reductions.tridiagonal, tridiagonal_form(True), (definite(2, 3, 3),), DTYPES,
        {"lower": True}, "lower"),
    Row(primitives.reductions.tridiagonal, tridiagonal_form(False), (definite(3, 3),), DTYPES,
        {"lower": False}, "upper"),
    Row(primitives.reductions.schur, schur_form(True), (some(2, 3, 3),), DOUBLE,
        {"compute_schur_vectors": True}),
    Row(primitives.reductions.schur, schur_form(False), (some(3, 3),), DOUBLE,
        {"compute_schur_vectors": False}, "values"),
]  # fmt: skip

__all__ = ["ROWS"]
