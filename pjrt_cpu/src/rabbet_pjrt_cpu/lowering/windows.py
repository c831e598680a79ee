"""Where the maxima of windows that do not overlap go back to, written as what the CPU is fast at.

The gradient of a maximum over windows puts each cotangent at the first place of its window that is the
maximum. In the common form each place writes a padded array, and each element of the result asks all of
them. Where windows do not overlap, each element belongs to one window at most. So the number of the first
place is computed once for each window, kept as a byte, and each element asks whether the number is its own.

The barrier keeps the numbers: without it the compiler computes them anew for each element. Time as a share of
the common form's, measured with jaxlib 0.10 and 0.12 (batch, height, width, features; float32):

| array, windows | 0.10 | 0.12 | without the barrier |
|---|---|---|---|
| 64x28x28x16, 2x2 | 0.50 | 0.20 | 0.70, 0.27 |
| 64x14x14x32, 2x2 | 0.78 | 0.26 | 0.88, 0.29 |
| 16x112x112x64, 2x2 | 0.35 | 0.11 | 0.51, 0.21 |
| 16x27x27x16, 3x3 | 0.15 | 0.06 | 0.38, 0.16 |
| 16x64x64x64, 4x4 | 0.02 | 0.01 | 0.19, 0.14 |
| 64x16x28x28, 2x2 (features first) | 0.51 | 0.49 | 0.67, 0.63 |
| 2x8x8x4, 2x2 | 0.83 | 0.86 | 1, 0.86 |

The results are the same numbers: nothing is added up.
"""

import functools
import itertools

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.rules import extreme
from rabbet.extend.transform import lower

MOST_PLACES = 64  # of a window: each is a comparison in one fused loop


def select_and_scatter_add(op, source, x):
    """The rule for ``select_and_scatter_add`` on the CPU: by numbers of places, or the common one."""
    if not apart(op["window"], op.in_avals[1], op.out):
        return lower.lookup(op.primitive)(op, source, x)
    parts = functools.partial(put_back, window=op["window"], largest=op["largest"])
    types = [ShapedArray(a.shape, a.dtype) for a in op.in_avals]
    (name,) = op.write(lambda source, x: [parts(source, x)], types, [source, x])
    return name


def apart(window, x, out):
    """Whether each element belongs to one window at most, of few places, and there are elements."""
    return (
        1 < window.places <= MOST_PLACES
        and window.sizes == window.strides
        and all(d == 1 for d in (*window.base_dilation, *window.dilation))
        and all(n >= 0 for pair in window.padding for n in pair)
        and 0 not in out.shape
        and all(n >= w for n, w in zip(x.shape, window.sizes, strict=True))
    )


def put_back(source, x, window, largest):
    """Each element of ``source`` at the first place of its window where ``x`` has the extreme."""
    sizes = window.sizes
    number = lax.optimization_barrier(first_places(x, source.shape, window, largest))
    # A window's dimensions stand behind those that count windows.
    split, counting, inside = [], [], []
    for n, w in zip(source.shape, sizes, strict=True):
        counting.append(len(split))
        split.append(n)
        if w > 1:
            inside.append(len(split))
            split.append(w)
    spread = functools.partial(lax.broadcast_in_dim, shape=split, broadcast_dimensions=counting)
    mine = number_of_place(split, inside)
    chosen = lax.select(lax.eq(spread(number), mine), spread(source), lax.full(split, 0, source.dtype))
    chosen = lax.reshape(chosen, [n * w for n, w in zip(source.shape, sizes, strict=True)])
    # What padding the windows saw is cut off; what no window saw gets zeros.
    config = [
        (-low, n + low - got, 0)
        for n, got, (low, _) in zip(x.shape, chosen.shape, window.padding, strict=True)
    ]
    return lax.pad(chosen, source.dtype.type(0), config) if any(map(any, config)) else chosen


def first_places(x, counts, window, largest):
    """For each window the number, as a byte, of the first of its places that is the extreme or NaN."""
    config = [(low, high, 0) for low, high in window.padding]
    if any(map(any, config)):
        x = lax.pad(x, extreme(x.dtype, not largest), config)
    parts = []
    for place in itertools.product(*map(range, window.sizes)):
        ends = [p + (n - 1) * w + 1 for p, n, w in zip(place, counts, window.sizes, strict=True)]
        parts.append(lax.slice(x, place, ends, window.sizes))
    best = functools.reduce(lax.max if largest else lax.min, parts)
    number = lax.full(counts, len(parts) - 1, np.uint8)
    for i, part in reversed(list(enumerate(parts[:-1]))):
        here = lax.bitwise_or(lax.eq(part, best), lax.ne(part, part))
        number = lax.select(here, lax.full(counts, i, np.uint8), number)
    return number


def number_of_place(shape, inside):
    """For each element of ``shape`` the number of its place in its window, row by row over ``inside``."""
    number, step = lax.full(shape, 0, np.uint8), 1
    for d in reversed(inside):
        steps = lax.full(shape, step, np.uint8)
        number = lax.add(number, lax.mul(lax.broadcasted_iota(np.uint8, shape, d), steps))
        step *= shape[d]
    return number
