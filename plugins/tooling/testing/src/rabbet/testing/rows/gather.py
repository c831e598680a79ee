"""Rows of ``primitives/gather.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.lax import GatherDimensionNumbers, GatherScatterMode
from rabbet.testing.draws import among, some
from rabbet.testing.table import Row

CLIP, FILL_OR_DROP, PROMISE_IN_BOUNDS = GatherScatterMode

DTYPES = ("float32", "complex64", "bool")


def default_fill(dtype):
    """What is read outside: NaN, for integers the smallest (signed) or largest (unsigned) value, True."""
    if dtype.kind in "fcV":
        return np.nan
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max


def windows(shape, indices, index_map, sizes, batching=((), ())):
    """For each index vector: its place in the result, where its window starts, and whether that is inside."""
    for place in np.ndindex(indices.shape[:-1]):
        start = [0] * len(shape)
        for k, d in enumerate(index_map):
            start[d] = int(indices[place][k])
        for d, of_indices in zip(*batching, strict=True):
            start[d] = place[of_indices]
        fits = all(0 <= s <= n - w for s, n, w in zip(start, shape, sizes, strict=True))
        yield place, start, fits


def box(start, shape, sizes):
    """The window at ``start``, moved inside."""
    lows = [min(max(s, 0), n - w) for s, n, w in zip(start, shape, sizes, strict=True)]
    return tuple([slice(lo, lo + w) for lo, w in zip(lows, sizes, strict=True)])


def gathered(x, indices, numbers, sizes, mode, fill):
    """What gather computes, one window after the other."""
    offset, dropped, index_map, *batching = numbers
    outer = indices.shape[:-1]
    dropped = (*dropped, *numbers.operand_batching_dims)
    window = tuple([n for d, n in enumerate(sizes) if d not in dropped])
    out = np.zeros((*outer, *window), x.dtype)
    for place, start, fits in windows(x.shape, indices, index_map, sizes, batching):
        value = x[box(start, x.shape, sizes)].reshape(window)
        out[place] = value if fits or mode is CLIP else np.full(window, fill).astype(x.dtype)
    # The window's dimensions go where offset_dims says.
    return np.moveaxis(out, range(len(outer), out.ndim), offset)


def row(note, numbers, sizes, shape, positions, indices_shape, *, mode=CLIP, fill=None, dtypes=DTYPES):
    params = {
        "dimension_numbers": numbers, "slice_sizes": sizes, "indices_are_sorted": False,
        "unique_indices": False,
        "mode": mode, "fill_value": fill,
    }  # fmt: skip

    def reference(x, indices):
        shown = fill if fill is not None else default_fill(x.dtype) if mode is FILL_OR_DROP else 0
        return gathered(x, indices, numbers, sizes, mode, shown)

    inputs = (some(*shape), among(positions, *indices_shape, dtype="int32"))
    return Row(family.gather, reference, inputs, dtypes, params, note, 2)


ROWS_OF = GatherDimensionNumbers((1,), (0,), (0,))
WINDOWS = GatherDimensionNumbers((0, 2), (), (1, 0))
ALONG = GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
BEYOND = (-2, 0, 1, 3, 9)

ROWS = [
    row("rows", ROWS_OF, (1, 3), (4, 3), BEYOND, (2, 1)),
    row("rows promised", ROWS_OF, (1, 3), (4, 3), (0, 1, 3), (4, 1), mode=PROMISE_IN_BOUNDS),
    row("rows or 7", ROWS_OF, (1, 3), (4, 3), BEYOND, (5, 1), mode=FILL_OR_DROP, fill=7),
    row("windows", WINDOWS, (2, 2), (4, 3), BEYOND, (3, 2)),
    row("windows or 0", WINDOWS, (2, 2), (4, 3), BEYOND, (3, 2), mode=FILL_OR_DROP, fill=0),
    row("along", ALONG, (1, 1), (2, 3), BEYOND, (2, 4, 1)),
    row(
        "or default",
        ROWS_OF,
        (1, 3),
        (4, 3),
        BEYOND,
        (6, 1),
        mode=FILL_OR_DROP,
        dtypes=("int32", "uint8", "bool", "float32"),
    ).but(orders=0),
]
