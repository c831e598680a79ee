"""Eigenvalues of Hermitian matrices: ``a v = v diag(w)``, ``v`` unitary, ``w`` real and increasing."""

import enum

from rabbet.extend.primitive import Batched, Dual, Primitive, ShapedArray, move_axis
from rabbet.extend.rules import real_dtype
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives import eigenvector_changes, factor_parts, zero_values
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


settled_eigh = Primitive(
    "settled_eigh", eigh_aval, multiple_results=True,
    doc="eigh as derivatives need it: vectors of several eigenvalues of 0 are no axes, others are not equal",
)  # fmt: skip


@settled_eigh.decompose
def settled(op, a):
    v, w = eigh(a, **op.params)
    return [zero_values.turned(v, w), factor_parts.ties_apart(w)]


@settled_eigh.rule("batch")
def batch_settled_eigh(op, a):
    return batch_eigh(op, a)


def jvp_eigh(op, a):
    """With ``P = v^H da v``: ``dw`` is its diagonal, and ``v^H dv = P[i, j] / (w[j] - w[i])`` beside it
    (M. Giles, An extended collection of matrix derivative results, 2008). Of ``da`` the same triangle counts.

    Infinite or NaN where eigenvalues are equal: the vectors are not functions of the matrix there. But what
    treats vectors of equal eigenvalues alike, such as the projector on others, has its derivatives.
    Equal eigenvalues are returned a unit of rounding apart (``ties_apart`` says why), but for zeros: see
    ``zero_values``.
    """
    v, w = settled_eigh(a.primal, **op.params)
    h, change = (read(x, op["lower"]) for x in (a.primal, a.tangent))
    dv = eigenvector_changes.vector_changes(change, h, v, w)
    dw = eigenvector_changes.value_changes(change, h, v, w)
    dv, dw = zero_values.told_of_zeros(dv, dw, w)
    return [Dual(v, dv), Dual(w, dw)]


def read(x, lower):
    """The Hermitian matrices of which one triangle is given."""
    return mirrored(x) if lower else matrices.adjoint(mirrored(matrices.adjoint(x)))


for primitive in (eigh, settled_eigh):
    primitive.rule("jvp")(jvp_eigh)
