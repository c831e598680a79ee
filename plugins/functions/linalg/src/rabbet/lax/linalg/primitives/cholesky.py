"""The Cholesky factor of a Hermitian positive definite matrix: ``a = l l^H``, ``l`` lower triangular."""

from rabbet import lax
from rabbet.extend.primitive import Batched, Dual, Primitive, move_axis
from rabbet.extend.rules import to_dtype
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives.triangular import triangular_solve


def cholesky_aval(a):
    matrices.square_matrices("cholesky", a)
    return a


cholesky = Primitive(
    "cholesky", cholesky_aval,
    doc="the lower Cholesky factor of each matrix, of which the lower triangle is read; NaN where a matrix "
    "is not positive definite",
)  # fmt: skip


@cholesky.rule("lower")
def lower_cholesky(op, a):
    aval = op.out
    if not aval.size:
        return op.constant(0, aval)
    if aval.kind == "c":  # XLA's own way reads the diagonal's imaginary parts, which are no part of it
        (a,) = op.write(lambda x: [mirrored(x)], [aval], [a])
    factor = op.emit(f"stablehlo.cholesky {a}, lower = true : {aval.mlir}")
    return op.write(lambda l: [matrices.lower_triangle(l)], [aval], [factor])[0]


@cholesky.rule("jvp")
def jvp_cholesky(op, a):
    """From ``da = dl l^H + l dl^H``: ``dl = l phi(l^-1 da l^-H)``, ``phi`` being the lower triangle with
    half the diagonal (I. Murray, Differentiation of the Cholesky decomposition, 2016).
    """
    factor = op(a.primal)
    inner = triangular_solve(factor, mirrored(a.tangent), left_side=True, lower=True, transpose_a=False,
                             conjugate_a=False, unit_diagonal=False)  # fmt: skip
    inner = triangular_solve(factor, inner, left_side=False, lower=True, transpose_a=True,
                             conjugate_a=True, unit_diagonal=False)  # fmt: skip
    return Dual(factor, matrices.product(factor, matrices.on_diagonal(matrices.lower_triangle(inner), 0.5)))


def mirrored(x):
    """The Hermitian matrices whose lower triangle is that of ``x``."""
    low = matrices.lower_triangle(x, -1)
    return matrices.where_below(matrices.where_below(low, real_part(x), -1), matrices.adjoint(low))


def real_part(x):
    """``x`` without its imaginary part, in its own dtype."""
    dtype = matrices.dtype_of(x)
    return to_dtype(lax.real(x), dtype) if dtype.kind == "c" else x


@cholesky.rule("batch")
def batch_cholesky(op, a):
    return Batched(op(move_axis(a.value, a.axis, 0)), 0)
