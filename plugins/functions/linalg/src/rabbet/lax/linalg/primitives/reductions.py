"""Simpler forms of a square matrix by unitary transformations: Hessenberg, tridiagonal and Schur form.

A platform has routines for them or does not offer them: there are no common lowerings.
"""

from rabbet.extend.primitive import Batched, Primitive, ShapedArray, move_axis
from rabbet.extend.rules import real_dtype
from rabbet.extend.transform import refusing
from rabbet.lax.linalg import matrices


def hessenberg_aval(a):
    matrices.square_matrices("hessenberg", a)
    return a, ShapedArray(reflectors(a), a.dtype, a.weak_type)


def reflectors(a):
    """The shape of the factors of the Householder reflections: one less than there are rows."""
    return (*a.shape[:-2], max(a.shape[-1] - 1, 0))


hessenberg = Primitive(
    "hessenberg", hessenberg_aval, multiple_results=True,
    doc="the Hessenberg form on and above the first lower diagonal, Householder vectors below it, and the "
    "factors of the reflections",
)  # fmt: skip


def tridiagonal_aval(a, lower):
    matrices.square_matrices("tridiagonal", a)
    real = real_dtype(a.dtype) if a.dtype.kind == "c" else a.dtype
    e = ShapedArray(reflectors(a), real, a.weak_type)
    return a, e.update(shape=a.shape[:-1]), e, e.update(dtype=a.dtype)


tridiagonal = Primitive(
    "tridiagonal", tridiagonal_aval, multiple_results=True,
    doc="the tridiagonal form of Hermitian matrices with Householder vectors beyond it, its diagonal, the "
    "diagonal beside it, and the factors of the reflections",
)  # fmt: skip


def schur_aval(a, compute_schur_vectors=True):
    matrices.square_matrices("schur", a)
    return (a,) * (2 if compute_schur_vectors else 1)


schur = Primitive(
    "schur", schur_aval, multiple_results=True,
    doc="the Schur form (for real matrices the real one, with blocks of two) and its vectors",
)  # fmt: skip


def batched(op, a):
    """The batch rule of all three."""
    return [Batched(out, 0) for out in op(move_axis(a.value, a.axis, 0))]


for primitive in (hessenberg, tridiagonal, schur):
    primitive.rule("batch")(batched)
    primitive.rule("jvp")(refusing(
        "no derivative is known for it; differentiate eigenvalues, an LU or a QR factorization instead"
    ))  # fmt: skip
