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
        properties=cut_along_batch(in_avals, out_avals, batch),
    )


FACTORS = "ijklmnopqrstuvwxyz"


def cut_along_batch(in_avals, out_avals, batch):
    """What tells the compiler that each member of a batch is worked on alone, so that it can be cut; None
    without a batch, or with sizes that are not known yet.
    """
    sizes, rest = {}, iter(FACTORS[batch:])
    avals = [*in_avals, *out_avals]
    count = batch + sum(aval.ndim - batch for aval in avals)
    if not batch or count > len(FACTORS) or any(type(n) is not int for a in avals for n in a.shape):
        return None
    shown = []
    for aval in avals:
        names = [FACTORS[d] if d < batch else next(rest) for d in range(aval.ndim)]
        sizes.update(zip(names, aval.shape, strict=True))
        shown.append(f"[{', '.join(names)}]")
    sides = ", ".join(shown[: len(in_avals)]), ", ".join(shown[len(in_avals) :])
    told = ", ".join([f"{name}={sizes[name]}" for name in sorted(sizes)])
    return {
        "mhlo.frontend_attributes": {"num_batch_dims": str(batch).encode()},
        "sdy.sharding_rule": f"#sdy.op_sharding_rule<({sides[0]})->({sides[1]}) {{{told}}}, custom>",
    }


def info_aval(shape):
    """The type of the numbers by which LAPACK says whether it succeeded: one per matrix, 0 for success."""
    return ShapedArray(shape, INT)


def nan_unless(good, x):
    """`x` with NaN in place of the matrices (or vectors) of a batch that are not `good`.

    `good` has the batch's dimensions, the leading ones of `x`.
    """
    wide = lax.broadcast_in_dim(good, x.shape, tuple(range(good.ndim)))
    return lax.select(wide, x, lax.full_like(x, np.nan))
