"""Rows of ``primitives/qr.py``, ``svd.py``, ``eigh.py`` and ``eig.py``.

Vectors of eigenvalues and singular values have a free sign or phase: values are compared after both sides
have got the same one. Phases of complex vectors do not move as the formulas of the derivatives assume, hence
the laws that are left out.
"""

import numpy as np

from rabbet import lax
from rabbet.lax.linalg import primitives
from rabbet.lax.linalg.primitives import factor_parts
from rabbet.lax.linalg.rows.factorizations import each_matrix
from rabbet.testing.draws import among, definite, some
from rabbet.testing.table import Row

DTYPES = ("float32", "float64", "complex64", "complex128")
DOUBLE = ("float64", "complex128")
PHASES = "phases of complex vectors are free, and LAPACK's move in a way of their own"


def phases(v):
    """The phase of the largest entry of each column, the first of equals, as a row."""
    # A little less for later entries, so that rounding does not choose among equals.
    size = np.abs(v) * (1 - 1e-3 * np.arange(v.shape[-2])[:, None])
    largest = np.take_along_axis(v, size.argmax(-2, keepdims=True), -2)
    return largest / np.abs(largest)


def settled_eigh(v, w):
    return v / phases(v), w


def settled_svd(u, s, vh):
    n = s.shape[-1]  # the vectors beyond these belong to no singular value
    phase = phases(u[..., :n])
    return u[..., :n] / phase, s, vh[..., :n, :] * np.swapaxes(phase, -1, -2)


def with_first_row_positive(u, s, vh):
    """The factors with the signs that make the first row of ``u`` positive, in traced operations."""
    n = s.shape[-1]
    batch = u.shape[:-2]
    u, vh = lax.slice_in_dim(u, 0, n, axis=-1), lax.slice_in_dim(vh, 0, n, axis=-2)
    phase = lax.sign(lax.index_in_dim(u, 0, axis=-2, keepdims=False))
    dims = tuple(range(len(batch)))
    back = lax.conj(phase) if phase.dtype.kind == "c" else phase
    of_columns = lax.broadcast_in_dim(back, u.shape, (*dims, u.ndim - 1))
    of_rows = lax.broadcast_in_dim(phase, vh.shape, (*dims, vh.ndim - 2))
    return lax.mul(u, of_columns), s, lax.mul(vh, of_rows)


def settled_eig(w, *vectors):
    return w, *[v / phases(v) for v in vectors]


def qr_reference(full, pivoting):
    @each_matrix
    def reference(x):
        from scipy.linalg import qr

        q, r, *p = qr(x, mode="full" if full else "economic", pivoting=pivoting)
        return [q, r, *[y.astype(np.int32) for y in p]]

    return reference


def qr(*sizes, full=False, pivoting=False, orders=1, dtypes=DOUBLE):
    note = f"{sizes}{' full' * full}{' pivoting' * pivoting}"
    params = {"pivoting": pivoting, "full_matrices": full}
    reference = qr_reference(full, pivoting)
    return Row(primitives.qr.qr, reference, (some(*sizes),), dtypes, params, note, orders)


def packed(exchanging):
    @each_matrix
    def reference(x):
        from scipy.linalg import lapack

        (routine,) = lapack.get_lapack_funcs(("geqp3" if exchanging else "geqrf",), (x,))
        out = routine(x)
        return [out[0], (out[1] - 1).astype(np.int32), out[2]] if exchanging else out[:2]

    return reference


@each_matrix
def product_of_reflections(a, taus):
    return reflections(a, taus)[:, : a.shape[1]]


def reflections(a, taus):
    """The product of ``1 - tau v v^H`` as a square matrix."""
    m = a.shape[0]
    q = np.eye(m, dtype=a.dtype)
    for i, tau in enumerate(taus):
        v = np.concatenate([np.zeros(i), [1.0], a[i + 1 :, i]])[:, None]
        q = q @ (np.eye(m) - tau * v @ v.conj().T)
    return q


def multiplied(left, transpose):
    @each_matrix
    def reference(a, taus, c):
        q = reflections(a, taus)
        q = q.conj().T if transpose else q
        return q @ c if left else c @ q

    return reference


def ormqr(left, transpose):
    c = some(3, 2) if left else some(2, 3)
    return Row(
        primitives.qr.ormqr, multiplied(left, transpose), (some(3, 2), some(2), c),
        DTYPES if left else DOUBLE,
        {"left": left, "transpose": transpose},
        f"{'left' if left else 'right'}{' transposed' * transpose}",
        orders=1,
    )  # fmt: skip


@each_matrix
def singular(x):
    from scipy.linalg import svd

    return list(svd(x, full_matrices=False, lapack_driver="gesdd"))


def svd(*sizes, vectors=True, full=False, dtypes=("float64",), orders=1, **more):
    note = f"{sizes}{' vectors' * vectors}{' ' + dtypes[0]}"
    params = {"full_matrices": full, "compute_uv": vectors, "algorithm": None}
    reference = singular if vectors else lambda x: np.linalg.svd(x, compute_uv=False)
    both = (settled_svd, with_first_row_positive) if vectors else (None, None)
    return Row(
        primitives.svd.svd, reference, (some(*sizes),), dtypes, params, note, orders, settle=both[0],
        settle_traced=both[1], **more,
    )


def hermitian(lower):
    @each_matrix
    def reference(x):
        from scipy.linalg import eigh

        w, v = eigh(x, lower=lower, driver="evd")
        return v, w

    return reference


def eigh(lower, dtype, orders, **more):
    params = {"lower": lower, "sort_eigenvalues": True, "implementation": None}
    note = f"{'lower' if lower else 'upper'} {dtype}"
    draw = definite(3, 3) if lower else some(2, 2, 2)
    return Row(
        primitives.eigh.eigh, hermitian(lower), (draw,), (dtype,), params, note, orders,
        settle=settled_eigh, **more,
    )  # fmt: skip


def general(left, right):
    @each_matrix
    def reference(x):
        from scipy.linalg import eig

        out = eig(x, left=left, right=right)
        return list(out) if left or right else out

    return reference


def eig(left, right, dtypes=DOUBLE, orders=1, sizes=(3, 3)):
    params = {
        "compute_left_eigenvectors": left, "compute_right_eigenvectors": right,
        "enable_eigvec_derivs": left or right,
    }  # fmt: skip
    note = f"values{' left' * left}{' right' * right}"
    return Row(
        primitives.eig.eig, general(left, right), (some(*sizes),), dtypes, params, note, orders,
        settle=settled_eig,
    )  # fmt: skip


def inverse_differences(x):
    apart = x[..., None, :] - x[..., :, None]
    alone = np.eye(x.shape[-1], dtype=bool)
    return np.where(alone, 0, 1 / np.where(alone, 1, apart))


ROWS = [
    Row(factor_parts.times_or_zero, np.multiply, (some(3, 2), some(3, 2)), DTYPES, orders=2),
    Row(factor_parts.inverse_differences, inverse_differences, (some(2, 3),), DOUBLE, orders=2),
    qr(3, 3, dtypes=DTYPES, orders=2),
    qr(2, 4, 2),
    qr(2, 4, full=True),
    qr(4, 2, full=True, orders=0),
    qr(4, 3, pivoting=True),
    qr(2, 3, pivoting=True, full=True),
    Row(primitives.qr.geqrf, packed(False), (some(2, 4, 3),), DTYPES),
    Row(primitives.qr.geqp3, packed(True), (some(2, 3),), DTYPES),
    Row(primitives.qr.householder_product, product_of_reflections, (some(4, 3), some(2)), DTYPES, orders=2),
    Row(primitives.qr.householder_product, product_of_reflections,
        (some(2, 2, 2), among([0.0, 1.5], 2, 2)), ("float64",), {}, "zero factors", orders=1),
    *[ormqr(left, transpose) for left in (True, False) for transpose in (True, False)],
    svd(3, 2, orders=2),
    svd(2, 3),
    svd(3, 3, full=True),
    svd(3, 2, dtypes=("complex128",), apart={"forward": PHASES, "second_order": PHASES}),
    svd(2, 3, 2, vectors=False, dtypes=DTYPES, orders=2),
    eigh(True, "float64", 2),
    eigh(False, "float64", 1),
    eigh(True, "complex128", 1, apart={"forward": PHASES}),
    eig(False, False, orders=2),
    eig(False, True),
    eig(True, False),
    eig(True, True, ("complex128",), sizes=(2, 2, 2)),
]  # fmt: skip

__all__ = ["ROWS"]
