"""Eigenvalues of Hermitian matrices: ``a v = v diag(w)``, ``v`` unitary, ``w`` real and increasing."""

import enum

from rabbet.extend.primitive import Batched, Dual, Primitive, ShapedArray, move_axis
from rabbet.extend.rules import real_dtype, to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives import factor_parts
from rabbet.lax.linalg.primitives.cholesky import mirrored


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
    Equal eigenvalues are returned a unit of rounding apart (``ties_apart`` says why).
    """
    v, w = op(a.primal)
    change = a.tangent
    change = mirrored(change) if op["lower"] else matrices.adjoint(mirrored(matrices.adjoint(change)))
    inner = matrices.product(matrices.product(matrices.adjoint(v), change), v)
    dw = factor_parts.real_part(factor_parts.diagonal(inner))
    gaps = to_dtype(factor_parts.inverse_differences(w), typeof(v).dtype)
    dv = matrices.product(v, factor_parts.times_or_zero(gaps, inner))
    return [Dual(v, dv), Dual(factor_parts.ties_apart(w), dw)]
