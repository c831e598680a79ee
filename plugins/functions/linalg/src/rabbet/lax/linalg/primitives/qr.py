"""Orthogonal factors: ``a = q r`` by Householder reflections.

``geqrf`` (or ``geqp3``, which exchanges columns) leaves ``r`` in the upper triangle and in the lower one the
vectors of the reflections ``1 - tau v v^H``; ``householder_product`` and ``ormqr`` multiply those. The names
are LAPACK's. A product of reflections is ``1 - V T V^H`` with a triangular ``T`` (Schreiber and Van Loan, A
storage-efficient WY representation for products of Householder transformations, 1989): written so, it is a
few products of matrices that every transformation knows.
"""

from rabbet import lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.primitive import Batched, Dual, Primitive, ShapedArray, move_axis, zero_tangent
from rabbet.extend.rules import at_front
from rabbet.extend.transform import refusing, typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives import factor_parts
from rabbet.lax.linalg.primitives.triangular import triangular_solve


# -------------------------------------------------------------------------------------- reflections alone
def geqrf_aval(a):
    matrices.matrices("geqrf", a)
    return a, factors_aval(a)


def factors_aval(a):
    """The type of the factors ``tau`` of the reflections of ``a``."""
    return ShapedArray((*a.shape[:-2], min(a.shape[-2:])), a.dtype, a.weak_type)


geqrf = Primitive(
    "geqrf", geqrf_aval, multiple_results=True,
    doc="r in the upper triangle, the reflections' vectors in the lower one; the reflections' factors",
)  # fmt: skip


@geqrf.rule("lower")
def lower_geqrf(op, a):
    """XLA's own expansion, for platforms without a library."""
    packed, taus = op.out_avals
    if not packed.size:
        return [op.constant(0, packed), op.constant(0, taus)]
    return op.emit_many(
        f"stablehlo.custom_call @Qr({a}) : ({packed.mlir}) -> ({packed.mlir}, {taus.mlir})", 2
    )


def geqp3_aval(a):
    matrices.matrices("geqp3", a)
    return a, ShapedArray((*a.shape[:-2], a.shape[-1]), "int32"), factors_aval(a)


geqp3 = Primitive(
    "geqp3", geqp3_aval, multiple_results=True,
    doc="as geqrf, of a[:, p] with columns chosen so that r's diagonal decreases; p is the second result",
)  # fmt: skip
geqp3.rule("lower")(refusing("exchanging columns needs LAPACK, which only the CPU offers"))

for primitive in (geqrf, geqp3):
    primitive.rule("jvp")(refusing("packed reflections have no derivative here; differentiate lax.linalg.qr"))

    @primitive.rule("batch")
    def batch_packed(op, a):
        return [Batched(x, 0) for x in op(move_axis(a.value, a.axis, 0))]


# -------------------------------------------------------------------------------- products of reflections
def householder_product_aval(a, taus):
    matrices.matrices("householder_product", a)
    m, n = a.shape[-2:]
    fits = taus.ndim == a.ndim - 1 and taus.shape[:-1] == a.shape[:-2] and m >= n >= taus.shape[-1]
    if not fits or taus.dtype != a.dtype:
        raise DTypeError(
            "householder_product takes a of shape (..., m, n) and taus of shape (..., k) of one dtype, with "
            f"m >= n >= k and equal leading dimensions, got {a.str_short()} and {taus.str_short()}"
        )
    return a.strong()


householder_product = Primitive(
    "householder_product", householder_product_aval,
    doc="the first n columns of the product of the reflections that a and taus describe",
)  # fmt: skip


@householder_product.decompose
def reflected_identity(op, a, taus):
    """``(1 - V T V^H)`` times the first columns of the identity."""
    aval = typeof(a)
    eye = matrices.identity(aval.strong())
    return reflected(a, taus, eye, adjoint=False)


def reflected(a, taus, c, adjoint):
    """``(1 - V T V^H) c``, or its adjoint times ``c``.

    ``T^-1`` has ``V^H V`` above the diagonal and ``1 / taus`` on it; multiplied by the factors, the system
    has ones there, so that a factor may be zero.
    """
    k = typeof(taus).shape[-1]
    v = vectors(matrices.corner(a, typeof(a).shape[-2], k))
    across = factor_parts.scaled_rows(taus, matrices.product(matrices.adjoint(v), v))
    inner = matrices.product(matrices.adjoint(v), c)
    side = {"left_side": True, "lower": False, "unit_diagonal": True}
    if adjoint:
        inner = triangular_solve(across, inner, transpose_a=True, conjugate_a=True, **side)
        inner = factor_parts.scaled_rows(matrices.conjugate(taus), inner)
    else:
        inner = factor_parts.scaled_rows(taus, inner)
        inner = triangular_solve(across, inner, transpose_a=False, conjugate_a=False, **side)
    return lax.sub(c, matrices.product(v, inner))


def vectors(a):
    """The vectors of reflections: ones on the diagonal, what stands below it, zeros above."""
    return matrices.where_below(a, matrices.identity(typeof(a).strong()), -1)


@householder_product.rule("batch")
def batch_householder_product(op, a, taus):
    return Batched(op(*at_front(a, taus)), 0)


def ormqr_aval(a, taus, c, left, transpose):
    matrices.matrices("ormqr", a)
    size = c.shape[-2 if left else -1] if c.ndim >= 2 else None
    fits = a.ndim == c.ndim == taus.ndim + 1 and a.shape[:-2] == c.shape[:-2] == taus.shape[:-1]
    if not fits or size != a.shape[-2] or taus.shape[-1] > min(a.shape[-2:]):
        wanted = "(..., m, l)" if left else "(..., l, m)"
        raise ShapeError(
            f"ormqr with left={left} takes a of shape (..., m, n), taus of shape (..., k) with k <= min(m, "
            f"n) and c of shape {wanted}, with equal leading dimensions, got {a.str_short()}, "
            f"{taus.str_short()} and {c.str_short()}"
        )
    if not a.dtype == taus.dtype == c.dtype:
        raise DTypeError(
            f"ormqr takes arrays of one dtype, got {a.str_short()}, {taus.str_short()} and {c.str_short()}"
        )
    return c.strong()


ormqr = Primitive(
    "ormqr", ormqr_aval,
    doc="c multiplied from one side by the product of the reflections of a and taus, or by its adjoint",
)  # fmt: skip


@ormqr.decompose
def reflected_matrix(op, a, taus, c):
    if op["left"]:
        return reflected(a, taus, c, adjoint=op["transpose"])
    return matrices.adjoint(reflected(a, taus, matrices.adjoint(c), adjoint=not op["transpose"]))


@ormqr.rule("batch")
def batch_ormqr(op, a, taus, c):
    return Batched(op(*at_front(a, taus, c)), 0)


# ------------------------------------------------------------------------------------------------------ qr
def qr_aval(a, pivoting, full_matrices):
    matrices.matrices("qr", a)
    m, n = a.shape[-2:]
    k = m if full_matrices else min(m, n)
    q, r = a.update(shape=(*a.shape[:-2], m, k)), a.update(shape=(*a.shape[:-2], k, n))
    p = ShapedArray((*a.shape[:-2], n), "int32")
    return (q.strong(), r.strong(), p) if pivoting else (q.strong(), r.strong())


qr = Primitive(
    "qr", qr_aval, multiple_results=True,
    doc="q with orthonormal columns and r upper triangular, q r = a (with pivoting a[:, p], p being third)",
)  # fmt: skip


@qr.decompose
def qr_by_reflections(op, a):
    m, n = typeof(a).shape[-2:]
    k = m if op["full_matrices"] else min(m, n)
    packed, *p, taus = (geqp3 if op["pivoting"] else geqrf)(a)
    columns = matrices.corner(packed, m, min(m, n))
    q = householder_product(matrices.enlarged(columns, m, k), taus)
    return [q, matrices.upper_triangle(matrices.corner(packed, k, n)), *p]


@qr.rule("batch")
def batch_qr(op, a):
    return [Batched(x, 0) for x in op(move_axis(a.value, a.axis, 0))]


@qr.rule("jvp")
def jvp_qr(op, a):
    """With ``X = da r^-1`` (of as many columns as there are rows): ``dq = q w + (1 - q q^H) X`` and
    ``dr = q^H da - w r``, where ``w`` is skew-Hermitian and has the strict lower triangle of ``q^H X`` and
    the imaginary part of its diagonal (S. Walter and L. Lehmann, Algorithmic differentiation of linear
    algebra functions with application in optimum experimental design, 2010; here for complex numbers too).
    """
    m, n = typeof(a.primal).shape[-2:]
    if op["full_matrices"] and m > n:
        raise NotImplementedError(
            f"qr of {typeof(a.primal).str_short()} with full_matrices=True has no derivative: the last "
            "columns of q are any that complete a basis; use full_matrices=False"
        )
    q, r, *p = op(a.primal)
    change = taken(a.tangent, p[0]) if p else a.tangent
    k = min(m, n)
    square = matrices.corner(r, k, k)
    columns = factor_parts.over_triangle(matrices.corner(change, m, k), square)
    turn = skew(matrices.product(matrices.adjoint(q), columns))
    dq = matrices.product(q, turn)
    if m > k:
        dq = lax.add(dq, factor_parts.beyond(columns, q))
    projected = matrices.product(matrices.adjoint(q), change)
    dr = matrices.upper_triangle(lax.sub(projected, matrices.product(turn, r)))
    return [Dual(q, dq), Dual(r, dr), *[Dual(x, zero_tangent(typeof(x))) for x in p]]


def skew(c):
    """The skew-Hermitian matrix with the strict lower triangle of ``c`` and its diagonal's imaginary part."""
    low = matrices.lower_triangle(c, -1)
    out = lax.sub(low, matrices.adjoint(low))
    if typeof(c).kind != "c":
        return out
    turning = lax.imag(factor_parts.diagonal(c))
    return lax.add(out, factor_parts.imaginary_diagonal(turning, typeof(c)))


def taken(x, p):
    """The columns of each matrix at positions ``p``."""
    aval = typeof(x)
    p = factor_parts.as_row(p, aval.shape)
    others, last = tuple(range(aval.ndim - 1)), aval.ndim - 1
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(last,), start_index_map=(last,), operand_batching_dims=others,
        start_indices_batching_dims=others,
    )  # fmt: skip
    p = lax.expand_dims(p, (aval.ndim,))
    return lax.gather(x, p, numbers, (1,) * aval.ndim, mode="promise_in_bounds")
