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
    vectors = ShapedArray(a.shape, dtype, a.weak_type)
    return (
        ShapedArray(a.shape[:-1], dtype, a.weak_type), *[vectors] * compute_left_eigenvectors,
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

    Where two eigenvalues are equal, 0 times their infinite share is NaN unless somebody asked for it to be 0:
    ``v f(w) v^-1`` does not depend on the vectors to first order there, and 0 would hide that ``f'`` is
    missing.
    """
    left, right = op["compute_left_eigenvectors"], op["compute_right_eigenvectors"]
    allowed = op["enable_eigvec_derivs"] if left or right else True
    if allowed is False:
        raise NotImplementedError(
            "eig: the derivatives of eigenvectors were refused by enable_eigvec_derivs=False; leave it out, "
            "or leave the vectors out (compute_left_eigenvectors=False, compute_right_eigenvectors=False)"
        )
    both = eig.op(
        compute_left_eigenvectors=left, compute_right_eigenvectors=True, enable_eigvec_derivs=allowed
    )  # fmt: skip
    w, *vl, vr = both(a.primal)
    change = to_dtype(a.tangent, typeof(w).dtype)
    inner = solved(vr, matrices.product(change, vr))
    gaps = factor_parts.inverse_differences(w)
    duals = [Dual(w, factor_parts.diagonal(inner))]
    times = lax.mul if allowed is None else factor_parts.times_or_zero
    if left:
        # Left eigenvectors are right ones of the adjoint, whose eigenvalues are the conjugates.
        (vl,) = vl
        of_adjoint = solved(vl, matrices.product(matrices.adjoint(change), vl))
        duals.append(Dual(vl, moved(vl, times(matrices.conjugate(gaps), of_adjoint))))
    if right:
        duals.append(Dual(vr, moved(vr, times(gaps, inner))))
    return duals


def solved(v, b):
    """``v^-1 b``."""
    q, r = qr(v, pivoting=False, full_matrices=False)
    return triangular_solve(
        r, matrices.product(matrices.adjoint(q), b), left_side=True, lower=False, transpose_a=False,
        conjugate_a=False, unit_diagonal=False,
    )  # fmt: skip


def moved(v, shares):
    """The tangents of normalized eigenvectors: ``v shares``, and of each vector itself as much as keeps its
    length and its largest component real.
    """
    free = matrices.product(v, shares)
    rows = (typeof(v).ndim - 2,)
    longer = lax.reduce_sum(lax.real(lax.mul(lax.conj(v), free)), axes=rows)
    largest = largest_component(v)
    real = lax.real(v)
    size = lax.reduce_sum(lax.mul(real, largest), axes=rows)
    turned = lax.div(lax.reduce_sum(lax.mul(lax.imag(free), largest), axes=rows), size)
    own = lax.complex(lax.neg(longer), lax.neg(turned))
    return lax.add(free, factor_parts.scaled_columns(v, own))


def largest_component(v):
    """1 at the component of largest magnitude of each column, which is real; 0 elsewhere."""
    aval = typeof(v)
    row = aval.ndim - 2
    # Of two of one magnitude that which is real; beside it the other one's imaginary part counts against it.
    size = lax.sub(lax.abs(lax.real(v)), lax.abs(lax.imag(v)))
    at = lax.argmax(size, axis=row, index_dtype=matrices.INDEX)
    place = lax.broadcasted_iota(matrices.INDEX, shape=aval.shape, dimension=row)
    chosen = lax.eq(place, factor_parts.as_row(at, aval.shape))
    real = aval.update(dtype=real_dtype(aval.dtype), weak_type=False)
    return lax.select_n(chosen, full_of_type(real, 0), full_of_type(real, 1))
