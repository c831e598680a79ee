"""Eigenvalues of any square matrices: ``a vr = vr diag(w)`` and ``vl^H a = diag(w) vl^H``, all complex.

Eigenvectors are normalized as LAPACK does it: of length 1, the component of largest magnitude real.
"""

import enum

import numpy as np

from rabbet import lax
from rabbet.extend.primitive import Batched, Dual, Primitive, ShapedArray, full_of_type, move_axis
from rabbet.extend.rules import real_dtype, to_dtype
from rabbet.extend.transform import refusing, typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives import factor_parts
from rabbet.lax.linalg.primitives.qr import qr
from rabbet.lax.linalg.primitives.triangular import triangular_solve


class EigImplementation(enum.Enum):
    """How to find the eigenvalues of matrices that are not Hermitian.

    Example:
      >>> lax.linalg.eig(rnp.eye(2), implementation=lax.linalg.EigImplementation.LAPACK)[0]
      Array([1.+0.j, 1.+0.j], dtype=complex64)
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def eig_aval(a, compute_left_eigenvectors, compute_right_eigenvectors, enable_eigvec_derivs):
    matrices.square_matrices("eig", a)
    dtype = np.result_type(a.dtype, np.complex64)
    vectors = ShapedArray(a.shape, dtype)
    return (
        ShapedArray(a.shape[:-1], dtype), *[vectors] * compute_left_eigenvectors,
        *[vectors] * compute_right_eigenvectors,
    )  # fmt: skip


eig = Primitive(
    "eig", eig_aval, multiple_results=True,
    doc="eigenvalues, and left and right eigenvectors (columns) where they are asked for",
)  # fmt: skip
eig.rule("lower")(refusing("it needs LAPACK, which only the CPU offers"))


@eig.rule("batch")
def batch_eig(op, a):
    return [Batched(x, 0) for x in op(move_axis(a.value, a.axis, 0))]


@eig.rule("jvp")
def jvp_eig(op, a):
    """With ``P = vr^-1 da vr``: ``dw`` is its diagonal (M. Giles, An extended collection of matrix derivative
    results, 2008), and the eigenvectors follow from the rest; see ``moved``.
    """
    left, right = op["compute_left_eigenvectors"], op["compute_right_eigenvectors"]
    if (left or right) and not op["enable_eigvec_derivs"]:
        raise NotImplementedError(
            "eig: the derivatives of eigenvectors hold only where all eigenvalues differ and no eigenvector "
            "has two components of largest magnitude; ask for them by enable_eigvec_derivs=True, or leave "
            "the vectors out (compute_left_eigenvectors=False, compute_right_eigenvectors=False)"
        )
    both = eig.op(compute_left_eigenvectors=left, compute_right_eigenvectors=True, enable_eigvec_derivs=True)
    w, *vl, vr = both(a.primal)
    change = to_dtype(a.tangent, typeof(w).dtype)
    inner = solved(vr, matrices.product(change, vr))
    duals = [Dual(w, factor_parts.diagonal(inner))]
    gaps = factor_parts.inverse_differences(w)
    if left:
        # Left eigenvectors are right ones of the adjoint, whose eigenvalues are the conjugates.
        (vl,) = vl
        of_adjoint = solved(vl, matrices.product(matrices.adjoint(change), vl))
        duals.append(Dual(vl, moved(vl, matrices.conjugate(gaps), of_adjoint)))
    if right:
        duals.append(Dual(vr, moved(vr, gaps, inner)))
    return duals


def solved(v, b):
    """``v^-1 b``."""
    q, r = qr(v, pivoting=False, full_matrices=False)
    return triangular_solve(
        r, matrices.product(matrices.adjoint(q), b), left_side=True, lower=False, transpose_a=False,
        conjugate_a=False, unit_diagonal=False,
    )  # fmt: skip


def moved(v, gaps, inner):
    """The tangents of normalized eigenvectors: ``v (gaps P)``, and of each vector itself as much as keeps its
    length and its largest component real.
    """
    free = matrices.product(v, factor_parts.times_or_zero(gaps, inner))
    rows = (typeof(v).ndim - 2,)
    longer = lax.reduce_sum(lax.real(lax.mul(lax.conj(v), free)), axes=rows)
    largest = largest_component(v)
    real = lax.real(v)
    size = lax.reduce_sum(lax.mul(real, largest), axes=rows)
    turned = lax.div(lax.reduce_sum(lax.mul(lax.imag(free), largest), axes=rows), size)
    own = lax.complex(lax.neg(longer), lax.neg(turned))
    return lax.add(free, factor_parts.scaled_columns(v, own))


def largest_component(v):
    """1 at the component of largest magnitude of each column, the first of several; 0 elsewhere."""
    aval = typeof(v)
    row = aval.ndim - 2
    at = lax.argmax(lax.abs(v), axis=row, index_dtype=matrices.INDEX)
    place = lax.broadcasted_iota(matrices.INDEX, shape=aval.shape, dimension=row)
    chosen = lax.eq(place, factor_parts.as_row(at, aval.shape))
    real = aval.update(dtype=real_dtype(aval.dtype), weak_type=False)
    return lax.select_n(chosen, full_of_type(real, 0), full_of_type(real, 1))
