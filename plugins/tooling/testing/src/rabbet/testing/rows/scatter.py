"""Rows of ``primitives/scatter.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.lax import GatherScatterMode, ScatterDimensionNumbers
from rabbet.testing.draws import among, some
from rabbet.testing.rows.gather import box, windows
from rabbet.testing.table import Row

CLIP, FILL_OR_DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP

MOVES = ("float32", "complex64", "bool")
SUMS = ("float32", "int32")
ORDERED = ("float32", "uint8")


def scattered(combine, x, indices, updates, numbers, mode):
    """What a scatter computes, one window after the other."""
    out = x.copy()
    sizes = numbers.window_sizes(x.ndim, updates.shape)
    batching = (numbers.operand_batching_dims, numbers.scatter_indices_batching_dims)
    # The window's dimensions last.
    updates = np.moveaxis(updates, numbers.update_window_dims, range(indices.ndim - 1, updates.ndim))
    for place, start, fits in windows(
        x.shape, indices, numbers.scatter_dims_to_operand_dims, sizes, batching
    ):
        if fits or mode is CLIP:
            at = box(start, x.shape, sizes)
            out[at] = combine(out[at], updates[place].reshape(sizes))
    return out


class Apart:
    """Index vectors of windows that do not overlap; each draw is a different order of the same ones."""

    def __init__(self, *vectors):
        self.vectors = np.array(vectors, np.int32)

    def __call__(self, rng, dtype):
        return rng.permutation(self.vectors)


def row(
    primitive,
    combine,
    note,
    numbers,
    shape,
    indices,
    updates,
    *,
    mode=FILL_OR_DROP,
    unique=False,
    dtypes,
    orders=2,
):
    params = {
        "dimension_numbers": numbers,
        "indices_are_sorted": False,
        "unique_indices": unique,
        "mode": mode,
    }

    def reference(x, places, news):
        return scattered(combine, x, places, news, numbers, mode)

    inputs = (some(*shape), indices, some(*updates))
    return Row(primitive, reference, inputs, dtypes, params, note, orders, loose=4.0)


ROWS_OF = ScatterDimensionNumbers((1,), (0,), (0,))
WINDOWS = ScatterDimensionNumbers((0, 2), (), (1, 0))
ALONG = ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
ONE = ScatterDimensionNumbers((0,), (0,), (0,))
BEYOND = (-2, 0, 1, 3, 9)


def meeting(*shape):
    return among(BEYOND, *shape, dtype="int32")


def family_of(primitive, combine, dtypes, orders=2):
    """Rows of a primitive that combines windows, so that they may meet."""
    return [
        row(primitive, combine, "rows", ROWS_OF, (4, 3), meeting(5, 1), (5, 3), dtypes=dtypes, orders=orders),
        row(
            primitive,
            combine,
            "one row",
            ONE,
            (4, 3),
            meeting(1),
            (3,),
            unique=True,
            dtypes=dtypes,
            orders=orders,
        ),
    ]


APART = Apart([0], [3], [9], [1])
CUT = Apart([-5], [9], [1])
PAIRS = Apart([[0], [2]], [[1], [2]])


def moved(note, numbers, shape, indices, updates, **options):
    """A row of ``scatter`` itself, whose windows lie apart."""
    return row(
        family.scatter, lambda old, new: new, note, numbers, shape, indices, updates, dtypes=MOVES, **options
    )


def added(note, numbers, shape, indices, updates, **options):
    return row(
        family.scatter_add, np.add, note, numbers, shape, indices, updates, dtypes=SUMS, orders=1, **options
    )


ROWS = [
    moved("rows", ROWS_OF, (4, 3), APART, (4, 3), unique=True),
    moved("rows clipped", ROWS_OF, (4, 3), CUT, (3, 3), mode=CLIP, orders=1),
    moved("one row", ONE, (4, 3), meeting(1), (3,), unique=True, orders=1),
    moved("along", ALONG, (2, 3), PAIRS, (2, 2), orders=1),
    *family_of(family.scatter_add, np.add, SUMS),
    added("windows", WINDOWS, (4, 3), meeting(3, 2), (2, 3, 2)),
    added("clipped", WINDOWS, (4, 3), meeting(3, 2), (2, 3, 2), mode=CLIP),
    added("along", ALONG, (2, 3), meeting(2, 4, 1), (2, 4)),
    *family_of(family.scatter_sub, np.subtract, SUMS, 1),
    *family_of(family.scatter_mul, np.multiply, SUMS, 0),
    row(family.scatter_mul, np.multiply, "apart", ROWS_OF, (4, 3), APART, (4, 3), unique=True, dtypes=SUMS),
    *family_of(family.scatter_min, np.minimum, ORDERED, 1),
    *family_of(family.scatter_max, np.maximum, ORDERED, 1),
]
