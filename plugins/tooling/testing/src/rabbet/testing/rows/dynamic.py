"""Rows of ``primitives/dynamic.py``."""

from rabbet.extend import primitive as family
from rabbet.testing.draws import among, some
from rabbet.testing.table import Row

DTYPES = ("float32", "complex64", "bool")

# In range and out of it, on both sides: positions are clamped.
STARTS = (-2, 0, 1, 2, 7)


def start(dtype="int32"):
    return among(STARTS if dtype == "int32" else (0, 1, 9), dtype=dtype)._replace(shape=())


def clamped(x, sizes, starts):
    """The box of the given sizes, moved inside."""
    lows = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple([slice(lo, lo + size) for lo, size in zip(lows, sizes, strict=True)])


def cut(sizes, shape, note, index="int32"):
    inputs = (some(*shape), *[start(index) for _ in shape])
    return Row(
        family.dynamic_slice,
        lambda x, *starts: x[clamped(x, sizes, starts)],
        inputs,
        DTYPES,
        {"slice_sizes": sizes},
        note,
        2,
    )


def update(sizes, shape, note):
    def reference(x, new, *starts):
        out = x.copy()
        out[clamped(x, sizes, starts)] = new
        return out

    inputs = (some(*shape), some(*sizes), *[start() for _ in shape])
    return Row(family.dynamic_update_slice, reference, inputs, DTYPES, {}, note, 2)


ROWS = [
    cut((2,), (4,), "vector"),
    cut((2, 3), (3, 4), "matrix"),
    cut((2, 0), (3, 4), "nothing").but(orders=0),
    cut((1, 4), (3, 4), "unsigned", "uint32"),
    update((2,), (4,), "vector"),
    update((2, 3), (3, 4), "matrix"),
]
