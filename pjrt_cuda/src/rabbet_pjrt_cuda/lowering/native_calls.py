"""Calls of the native functions for GPUs: how they are laid out, and what becomes of their failures."""

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import ShapedArray, column_major, row_major

INT = np.dtype("int32")


def call(op, target, names, in_avals, out_avals, *, batch, attributes=None, aliases=None, by_rows=False):
    """Write one call for a whole batch; zeros where matrices have no elements.

    Args:
      op: the lowering site.
      target: the function's name.
      names, in_avals, out_avals, attributes, aliases: as in `op.custom_call`.
      batch: how many leading dimensions count matrices.
      by_rows: matrices are passed by rows and not, as Fortran has them, by columns.

    Returns:
      the names of the results.
    """
    if not all(a.size for a in in_avals):
        return [op.constant(0, a) for a in out_avals]

    def layout(aval):
        return column_major(aval.ndim) if aval.ndim - batch == 2 and not by_rows else row_major(aval.ndim)

    layouts = [layout(a) for a in in_avals], [layout(a) for a in out_avals]
    return op.custom_call(
        target, names, out_avals, in_avals=in_avals, attributes=attributes, layouts=layouts, aliases=aliases
    )


def info_aval(shape):
    """The type of the numbers that say whether it succeeded: one per matrix, 0 for success."""
    return ShapedArray(shape, INT)


def nan_unless(good, x):
    """`x` with NaN in place of the matrices (or vectors) of a batch that are not `good`.

    `good` has the batch's dimensions, the leading ones of `x`.
    """
    wide = lax.broadcast_in_dim(good, x.shape, tuple(range(good.ndim)))
    return lax.select(wide, x, lax.full_like(x, np.nan))


def checked(op, avals, names, ok, operand=None):
    """Results, NaN where `ok`, the name of the numbers of `info_aval`, are not 0.

    Args:
      operand: the name of `op`'s operand, where its matrices have to be finite too: Jacobi's method finds
        plain numbers for others, and calls that success.
    """
    info = info_aval(op.in_avals[0].shape[:-2])
    if operand is None:
        return op.write(lambda info, *outs: marked(lax.eq(info, 0), outs), [info, *avals], [ok, *names])

    def finish(info, x, *outs):
        finite = lax.reduce_and(lax.is_finite(lax.abs(x)), (x.ndim - 2, x.ndim - 1))
        return marked(lax.bitwise_and(lax.eq(info, 0), finite), outs)

    return op.write(finish, [info, *op.in_avals, *avals], [ok, operand, *names])


def marked(good, outs):
    """All results, NaN for matrices that are not `good`."""
    return [nan_unless(good, x) for x in outs]
