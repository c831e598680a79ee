"""Eigenvalues of Hermitian matrices: ``a v = v diag(w)``, ``v`` unitary, ``w`` real and increasing."""

import enum

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.primitive import Batched, Dual, Primitive, ShapedArray, Zero, instantiate, move_axis
from rabbet.extend.rules import at_front, real_dtype, to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives import factor_parts
from rabbet.lax.linalg.primitives.cholesky import mirrored

ROUNDING = 64  # how many units of rounding of the largest cotangent equal ones may be apart


class EighImplementation(enum.Enum):
    """How to find the eigenvalues of Hermitian matrices; which of them there are depends on the platform.

    Example:
      >>> lax.linalg.eigh(rnp.diag(rnp.array([1.0, 3.0])), implementation=lax.linalg.EighImplementation.QR)[1]
      Array([1., 3.], dtype=float32)
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


def eigh_aval(a, lower, sort_eigenvalues, implementation):
    matrices.square_matrices("eigh", a)
    return a, ShapedArray(a.shape[:-1], real_dtype(a.dtype), a.weak_type)


eigh = Primitive(
    "eigh", eigh_aval, multiple_results=True,
    doc="eigenvectors (columns) and eigenvalues of Hermitian matrices of which one triangle is read",
)  # fmt: skip


@eigh.rule("lower")
def lower_eigh(op, a):
    """XLA's own expansion (Jacobi's method), for platforms without a library."""
    v, w = op.out_avals
    if not v.size:
        return [op.constant(0, v), op.constant(0, w)]
    exact = "1e-6" if w.dtype.itemsize == 4 else "1e-15"
    settings = f"{int(op['lower'])},{int(op['sort_eigenvalues'])},100,{exact}"
    return op.emit_many(
        f'stablehlo.custom_call @Eigh({a}) {{backend_config = "{settings}"}} : '
        f"({v.mlir}) -> ({v.mlir}, {w.mlir})", 2,
    )  # fmt: skip


@eigh.rule("batch")
def batch_eigh(op, a):
    return [Batched(x, 0) for x in op(move_axis(a.value, a.axis, 0))]


@eigh.rule("jvp")
def jvp_eigh(op, a):
    """With ``P = v^H da v``: ``dw`` is its diagonal, and ``v^H dv = P[i, j] / (w[j] - w[i])`` beside it
    (M. Giles, An extended collection of matrix derivative results, 2008). Of ``da`` the same triangle counts.

    Infinite or NaN where eigenvalues are equal: the vectors are not functions of the matrix there. But what
    treats vectors of equal eigenvalues alike, such as the projector on others, has its derivative.
    Equal eigenvalues are returned a unit of rounding apart (``ties_apart`` says why), but for zeros: see
    ``told_of_zeros``.
    """
    v, w = op(a.primal)
    v = zeros_turned(v, w)
    change = a.tangent
    change = mirrored(change) if op["lower"] else matrices.adjoint(mirrored(matrices.adjoint(change)))
    inner = matrices.product(matrices.product(matrices.adjoint(v), change), v)
    dw = factor_parts.real_part(factor_parts.diagonal(inner))
    gaps = to_dtype(factor_parts.inverse_differences(w), typeof(v).dtype)
    dv = matrices.product(v, factor_parts.times_or_zero(gaps, inner))
    dv, dw = told_of_zeros(dv, dw, w)
    return [Dual(v, dv), Dual(factor_parts.ties_apart(w), dw)]


# ------------------------------------------------------------------------- several eigenvalues that are 0
def zeros_turned(v, w):
    """``v`` with the vectors of eigenvalues of exactly 0 reflected among themselves, if there are several, so
    that none of them is an axis, at which a function may look by itself.
    """
    aval = typeof(w)
    zero = to_dtype(lax.eq(w, 0.0), aval.dtype)
    several = lax.gt(lax.reduce_sum(zero, axes=(aval.ndim - 1,)), 1.5)
    places = lax.broadcasted_iota(aval.dtype, shape=aval.shape, dimension=aval.ndim - 1)
    along = lax.mul(zero, lax.add(lax.sin(lax.add(lax.mul(places, 2.0), 1.0)), 1.5))
    size = lax.reduce_sum(lax.mul(along, along), axes=(aval.ndim - 1,))
    twice = lax.select(several, lax.div(2.0, lax.select(several, size, lax.full_like(size, 1))),
                       lax.full_like(size, 0))  # fmt: skip
    sizes = typeof(v).shape
    sums = lax.reduce_sum(factor_parts.scaled_columns(v, along), axes=(len(sizes) - 1,))
    back = lax.mul(along, matrices.beside(twice, aval.shape, aval.ndim - 1))
    return lax.sub(v, factor_parts.scaled_columns(factor_parts.as_column(sums, sizes), back))


def both_changes(dv, dw, w):
    return dv.strong(), dw.strong()


told_of_zeros = Primitive(
    "told_of_zeros", both_changes, multiple_results=True, operands=("dv", "dw", "w"),
    doc="the changes of eigenvectors and eigenvalues; their cotangents are NaN where they do not tell all",
)  # fmt: skip


@told_of_zeros.decompose
def as_they_are(op, dv, dw, w):
    return [dv, dw]


@told_of_zeros.rule("batch")
def batch_told_of_zeros(op, *operands):
    return [Batched(x, 0) for x in op(*at_front(*operands))]


@told_of_zeros.rule("jvp")
def jvp_told_of_zeros(op, dv, dw, w):
    primals = op(dv.primal, dw.primal, w.primal)
    if type(dv.tangent) is Zero and type(dw.tangent) is Zero:
        return [Dual(p, Zero(typeof(p))) for p in primals]
    tangents = op(instantiate(dv.tangent), instantiate(dw.tangent), w.primal)
    return [Dual(p, t) for p, t in zip(primals, tangents, strict=True)]


@told_of_zeros.rule("transpose")
def transpose_told_of_zeros(op, cts, dv, dw, w):
    """``v f(w) v^H`` with ``f`` 0 at several eigenvalues of 0 has no cotangent for their vectors, as if it
    left them out; but if it has a slope there, then it has cotangents for these eigenvalues, and in general
    different ones. A function that is smooth there and does leave their vectors out has equal ones.
    """
    ct_v, ct_w = cts
    if type(ct_v) is Zero or type(ct_w) is Zero:
        return ct_v, ct_w, None
    aval = typeof(ct_w)
    zero = lax.eq(w, 0.0)
    one, none = lax.full_like(ct_w, np.inf), lax.full_like(ct_w, -np.inf)
    last = (aval.ndim - 1,)
    highest = lax.reduce_max(lax.select(zero, ct_w, none), axes=last)
    lowest = lax.reduce_min(lax.select(zero, ct_w, one), axes=last)
    scale = lax.add(
        lax.reduce_max(lax.abs(ct_w), axes=last),
        lax.reduce_max(lax.abs(ct_v), axes=(aval.ndim - 1, aval.ndim)),
    )
    room = lax.mul(scale, ROUNDING * float(dtypes.finfo(aval.dtype).eps))
    differ = matrices.beside(lax.gt(lax.sub(highest, lowest), room), aval.shape, aval.ndim - 1)
    untold = lax.bitwise_and(zero, differ)
    return ct_v, lax.select(untold, lax.full_like(ct_w, np.nan), ct_w), None
