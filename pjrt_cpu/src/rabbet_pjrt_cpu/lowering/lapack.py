"""Calls of LAPACK functions: how they are named, laid out, and what becomes of their failures."""

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import ShapedArray, column_major, row_major

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
INT = np.dtype("int32")


def call(
    op, routine, names, in_avals, out_avals, *, batch, attributes=None, aliases=None, unitary=None,
    whole=False,
):  # fmt: skip
    """Write one call of a LAPACK function for a whole batch; zeros where matrices have no elements.

    Args:
      op: the lowering site.
      routine: the function's name without the letter for the dtype, `potrf`.
      names, in_avals, out_avals: as in `op.custom_call`; the dtype of the first operand gives the letter.
      batch: how many leading dimensions count matrices. Matrices go to LAPACK by columns.
      attributes, aliases: as in `op.custom_call`.
      unitary: the function's name for complex numbers if it is another one (`ungqr` for `orgqr`).
      whole: `routine` is the whole name of the target.

    Returns:
      the names of the results.
    """
    dtype = in_avals[0].dtype
    if not all(a.size for a in in_avals):
        return [op.constant(0, a) for a in out_avals]
    if unitary is not None and dtype.kind == "c":
        routine = unitary

    def layout(aval):
        return column_major(aval.ndim) if aval.ndim - batch == 2 else row_major(aval.ndim)

    return op.custom_call(
        routine if whole else f"lapack_{LETTERS[dtype.name]}{routine}_ffi",
        names,
        out_avals,
        in_avals=in_avals,
        attributes=attributes,
        layouts=([layout(a) for a in in_avals], [layout(a) for a in out_avals]),
        aliases=aliases,
    )


def info_aval(shape):
    """The type of the numbers by which LAPACK says whether it succeeded: one per matrix, 0 for success."""
    return ShapedArray(shape, INT)


def nan_unless(good, x):
    """`x` with NaN in place of the matrices (or vectors) of a batch that are not `good`.

    `good` has the batch's dimensions, the leading ones of `x`.
    """
    wide = lax.broadcast_in_dim(good, x.shape, tuple(range(good.ndim)))
    return lax.select(wide, x, lax.full_like(x, np.nan))
