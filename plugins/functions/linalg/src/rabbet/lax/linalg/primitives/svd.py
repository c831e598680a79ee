"""Singular values: ``a = u diag(s) vh``, ``u`` and ``v`` with orthonormal columns, ``s`` decreasing."""

import enum

from rabbet import lax
from rabbet.extend.primitive import Batched, Dual, Primitive, ShapedArray, full_of_type, move_axis
from rabbet.extend.rules import real_dtype, to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives import factor_parts, zero_values
from rabbet.lax.linalg.primitives.polar import svd_by_polar

PHASE = 0.6 + 0.8j


class SvdAlgorithm(enum.Enum):
    """How to find singular values; which of them there are depends on the platform.

    Example:
      >>> lax.linalg.svd(2 * rnp.eye(2), compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR)
      Array([2., 2.], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def svd_aval(a, full_matrices, compute_uv, algorithm):
    matrices.matrices("svd", a)
    *lead, m, n = a.shape
    k = min(m, n)
    s = ShapedArray((*lead, k), real_dtype(a.dtype), a.weak_type)
    if not compute_uv:
        return (s,)
    u = ShapedArray((*lead, m, m if full_matrices else k), a.dtype, a.weak_type)
    return u, s, ShapedArray((*lead, n if full_matrices else k, n), a.dtype, a.weak_type)


svd = Primitive(
    "svd", svd_aval, multiple_results=True,
    doc="u, s, vh with u diag(s) vh = a; s alone unless compute_uv",
)  # fmt: skip


@svd.rule("lower")
def lower_svd(op, a):
    """By the polar decomposition, for platforms without a library."""
    if op["algorithm"] not in (None, SvdAlgorithm.DEFAULT, SvdAlgorithm.POLAR):
        raise NotImplementedError(
            f"svd by {op['algorithm']} is not offered on {op.platform}; use DEFAULT or POLAR"
        )
    return op.write(lambda x: svd_by_polar(x, op["full_matrices"], op["compute_uv"]), op.in_avals, [a])


@svd.rule("batch")
def batch_svd(op, a):
    return [Batched(x, 0) for x in op(move_axis(a.value, a.axis, 0))]


settled_svd = Primitive(
    "settled_svd", svd_aval, multiple_results=True,
    doc="svd as derivatives need it: vectors of singular values of 0 are no axes",
)  # fmt: skip


@settled_svd.decompose
def settled(op, a):
    """One side is turned, so that the other one does not turn alike."""
    u, s, vh = svd(a, **op.params)
    if typeof(a).shape[-2] >= typeof(a).shape[-1]:
        return [turned_with_phases(u, s), s, vh]
    return [u, s, matrices.adjoint(turned_with_phases(matrices.adjoint(vh), s))]


def turned_with_phases(u, s):
    """Complex vectors of singular values of 0 get phases, too: theirs are free even where nothing else is."""
    aval = typeof(u)
    u = zero_values.turned(u, s)
    if aval.kind != "c":
        return u
    zero = factor_parts.as_row(lax.eq(s, 0.0), aval.shape)
    return lax.select_n(zero, u, lax.mul(u, full_of_type(aval.strong(), PHASE)))


@settled_svd.rule("batch")
def batch_settled_svd(op, a):
    return batch_svd(op, a)


def jvp_svd(op, a):
    """With ``P = u^H da v`` and ``F[i, j] = 1 / (s[j]^2 - s[i]^2)``: ``ds`` is the real diagonal of ``P``,
    ``u^H du = F (P s + s P^H)`` and ``v^H dv = F (s P + P^H s)``, and what lies beyond the columns follows
    from ``da v`` and ``da^H u`` (J. Townsend, Differentiating the singular value decomposition, 2016).
    Complex vectors may turn; here that is given to ``u``, by the imaginary diagonal of ``P`` over ``s``.

    Infinite or NaN where singular values are equal, or 0 where more directions have none: the vectors are not
    functions of the matrix there. Equal ones are returned a unit of rounding apart, as by ``eigh``, but for
    zeros: see ``zero_values``.
    """
    aval = typeof(a.primal)
    m, n = aval.shape[-2:]
    if op["compute_uv"] and op["full_matrices"] and m != n:
        raise NotImplementedError(
            f"svd of {aval.str_short()} with full_matrices=True has no derivative: some columns of u or v "
            "are any that complete a basis; use full_matrices=False"
        )
    thin = settled_svd if op["compute_uv"] else svd
    u, s, vh = thin(a.primal, full_matrices=False, compute_uv=True, algorithm=op["algorithm"])
    along = matrices.product(matrices.adjoint(u), a.tangent)
    v = matrices.adjoint(vh)
    inner = matrices.product(along, v)
    ds = factor_parts.real_part(factor_parts.diagonal(inner))
    apart = lax.neg(factor_parts.ties_apart(lax.neg(s)))
    if not op["compute_uv"]:
        return [Dual(apart, ds)]
    inner_h = matrices.adjoint(inner)
    gaps = to_dtype(inverse_square_gaps(s), aval.dtype)
    right, left = factor_parts.scaled_columns, factor_parts.scaled_rows
    turn_u = factor_parts.times_or_zero(gaps, lax.add(right(inner, s), left(s, inner_h)))
    turn_v = factor_parts.times_or_zero(gaps, lax.add(left(s, inner), right(inner_h, s)))
    inverse = lax.div(1.0, s)
    if aval.kind == "c":
        phase = factor_parts.times_or_zero(lax.imag(factor_parts.diagonal(inner)), inverse)
        turn_u = lax.add(turn_u, factor_parts.imaginary_diagonal(phase, typeof(turn_u)))
    du, dv = matrices.product(u, turn_u), matrices.product(v, turn_v)
    if m > n:
        beside = factor_parts.beyond(matrices.product(a.tangent, v), u)
        du = lax.add(du, columns_or_zero(beside, inverse))
    if n > m:
        beside = factor_parts.beyond(matrices.adjoint(along), v)
        dv = lax.add(dv, columns_or_zero(beside, inverse))
    du, ds, dvh = zero_values.told_of_zero_singular_values(du, ds, matrices.adjoint(dv), s)
    return [Dual(u, du), Dual(apart, ds), Dual(vh, dvh)]


for primitive in (svd, settled_svd):
    primitive.rule("jvp")(jvp_svd)


def inverse_square_gaps(s):
    """``1 / (s[j]^2 - s[i]^2)`` off the diagonal, as ``1 / ((s[j] - s[i]) (s[j] + s[i]))``."""
    gaps = factor_parts.inverse_differences(s)
    sizes = typeof(gaps).shape
    sums = lax.add(factor_parts.as_row(s, sizes), factor_parts.as_column(s, sizes))
    return factor_parts.without_diagonal(lax.div(gaps, sums))


def columns_or_zero(x, factors):
    """``x diag(factors)``, where zeros stay beside infinite factors."""
    aval = typeof(x)
    return factor_parts.times_or_zero(x, factor_parts.as_row(to_dtype(factors, aval.dtype), aval.shape))
