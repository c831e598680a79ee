"""What is added to the products of attention, or forbids them: a bias, a mask, numbers of segments.

Each is an array of which a block goes with a block of queries and one of keys. Sizes of one stay one, so that
a bias for keys alone needs no array for all pairs.
"""

import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet import lax

NAMES = ("bias", "mask", "segments", "other_segments")


def prepared(platform, bias, mask, segments, heads):
    """The extras that there are, by name, as kernels take them.

    Args:
      bias, mask: None, or ``(batch or 1, key heads or 1, group or 1, time or 1, other time or 1)``.
      segments: None, or a pair of ``(batch, time)`` and ``(batch, other time)``.
      heads: key heads times group.
    """
    found = {}
    flat = lambda x: lax.reshape(x, (x.shape[0], heads if x.shape[1] * x.shape[2] > 1 else 1, *x.shape[3:]))
    if bias is not None:
        found["bias"] = flat(bias)
    if mask is not None:
        # Memory has no booleans that a TPU's windows could be of.
        found["mask"] = flat(mask).astype("int8" if platform == "cuda" else "int32")
    if segments is not None:
        ours, theirs = [rnp.asarray(x).astype("int32") for x in segments]
        found["segments"], found["other_segments"] = ours[:, None, :, None], theirs[:, None, None, :]
    return found


def padded(extras, rows, columns):
    """The extras with whole blocks; sizes of one stay."""

    def one(x):
        spare = [0 if n == 1 else -n % of for n, of in zip(x.shape[2:], (rows, columns), strict=True)]
        return rnp.pad(x, [(0, 0), (0, 0), *[(0, n) for n in spare]]) if any(spare) else x

    return {name: one(x) for name, x in extras.items()}


def block(x, rows, columns, place):
    """The block of an extra that a program gets.

    Args:
      x: of four dimensions: batch, heads, time, other time; some are 1.
      rows, columns: sizes of the block; None for all.
      place: from the indices of the grid to ``(batch, head, number of rows, number of columns)``.
    """
    sizes = [n if n == 1 or size is None else size for n, size in zip(x.shape[2:], (rows, columns))]
    whole = [n == 1 or size is None for n, size in zip(x.shape[2:], (rows, columns))]

    def index(*ids):
        b, h, i, j = place(*ids)
        batch, heads = x.shape[:2]
        return (b if batch > 1 else 0, h if heads > 1 else 0, 0 if whole[0] else i, 0 if whole[1] else j)

    return pl.BlockSpec((None, None, *sizes), index)


def part(ref, rows=None, columns=None):
    """The part of a block at ``(start, size)`` of its rows, or of its columns; all of a size of one."""
    at = []
    for n, given in zip(ref.shape, (rows, columns), strict=True):
        if given is None or n == 1 or n == given[1]:
            at.append(slice(None))
        else:
            at.append(pl.ds(pl.multiple_of(*given), given[1]))
    return ref[tuple(at)]


def parts(refs, rows=None, columns=None):
    """``part`` of each extra, by name."""
    return {name: part(ref, rows, columns) for name, ref in refs.items()}


def applied(products, counts, given):
    """Products and which of them count, with parts of extras."""
    if "bias" in given:
        products = products + given["bias"].astype(products.dtype)
    if "mask" in given:
        counts = rnp.logical_and(counts, given["mask"] != 0)
    if "segments" in given:
        counts = rnp.logical_and(counts, given["segments"] == given["other_segments"])
    return products, counts


__all__ = ["applied", "block", "padded", "part", "parts", "prepared"]
