"""Rows of reductions over windows and by any computation, by loops over windows."""

import numpy as np
from rabbet import dtypes, lax
from rabbet.extend.passes import stage
from rabbet.extend.primitive import ShapedArray
from rabbet.testing.draws import Draw, some
from rabbet.testing.table import Row

from rabbet_convolution.primitives import computations, window_choices, window_scatter, window_sums, windows
from rabbet_convolution.primitives.windows import Window


def covered(shape, window):
    """For each place of the windows, the operand's elements in its window: index tuples in row-major order,
    None for padding.
    """
    found = {}
    for place in np.ndindex(*windows.out_shape(shape, window)):
        inside = []
        for offset in np.ndindex(*window.sizes):
            at = [
                p * s + o * d - lo
                for p, s, o, d, (lo, _) in zip(
                    place, window.strides, offset, window.dilation, window.padding, strict=True
                )
            ]
            steps = [divmod(i, b) for i, b in zip(at, window.base_dilation, strict=True)]
            real = all(r == 0 and 0 <= q < n for (q, r), n in zip(steps, shape, strict=True))
            inside.append(tuple([q for q, _ in steps]) if real else None)
        found[place] = inside
    return found


def folded(step, start, x, window):
    """The elements of each window combined by ``step``, beginning with ``start``, which also pads."""
    out = np.empty(windows.out_shape(x.shape, window), x.dtype)
    for place, inside in covered(x.shape, window).items():
        total = x.dtype.type(start)
        for at in inside:
            total = step(total, x.dtype.type(start) if at is None else x[at])
        out[place] = total
    return out


def extreme_at(x, window, largest):
    """For each place of the windows the index of the first extreme, None in windows of padding."""
    sign = 1 if largest else -1
    for place, inside in covered(x.shape, window).items():
        real = [at for at in inside if at is not None]
        yield place, max(real, key=lambda at: sign * x[at]) if real else None


def read_there(t, x, window, largest):
    out = np.zeros(windows.out_shape(x.shape, window), t.dtype)
    for place, at in extreme_at(x, window, largest):
        out[place] = 0 if at is None else t[at]
    return out


def add_there(source, x, window, largest):
    out = np.zeros(x.shape, source.dtype)
    for place, at in extreme_at(x, window, largest):
        if at is not None:
            out[at] += source[place]
    return out


def slides(sizes, strides=None, padding=None, base=None, dilation=None):
    """A window with defaults."""
    ones = (1,) * len(sizes)
    return Window(sizes, strides or ones, padding or ((0, 0),) * len(sizes), base or ones, dilation or ones)


PLAIN = slides((2, 3), (1, 2), ((0, 1), (1, 1)))
FAR = slides((2, 2), (2, 1), ((1, -1), (2, 0)), (2, 1), (1, 2))
WIDE = slides((8, 9), (2, 1), ((3, 3), (4, 4)))  # more places than are written out

NUMBERS = ("float32", "float16", "bfloat16", "complex64", "int32", "uint8")
REALS = ("float32", "bfloat16", "int32", "uint8")


def worst(dtype, largest):
    """What an extreme starts with."""
    kind = dtypes.kind(dtype)
    if kind in "iu":
        return dtypes.iinfo(dtype).min if largest else dtypes.iinfo(dtype).max
    return -np.inf if largest else np.inf


def over(primitive, reference, kinds, notes, shape=(4, 5), orders=2):
    return [
        Row(primitive, lambda x, w=w: reference(x, w), (some(*shape),), kinds if i == 0 else kinds[:1],
            {"window": w}, note, orders if i == 0 else min(orders, 1), loose=4.0)
        for i, (note, w) in enumerate(notes.items())
    ]  # fmt: skip


FORMS = {"plain": PLAIN, "far": FAR}


def chosen(primitive, reference, note, window, first, second, orders=1):
    """A row of a primitive that reads or writes at extremes; linear in its first operand alone."""
    params = {"window": window, "largest": note != "least"}

    def by_loops(a, x):
        return reference(a, x, window, params["largest"])

    return Row(primitive, by_loops, (some(*first), some(*second)), ("float32",), params, note, orders)


# ------------------------------------------------------------------------------- any computation
def blend(x, y):
    """``x + y + x y / 2``: associative and commutative, with 0 as its neutral element."""
    return lax.add(lax.add(x, y), lax.mul(lax.mul(x, y), 0.5))


def compose(a, b, c, d):
    """``t -> a t + b``, then ``t -> c t + d``: associative, not commutative."""
    return [lax.mul(a, c), lax.add(lax.mul(b, c), d)]


def program(step, count):
    """``step`` as a program of ``count`` scalars of the row's dtype."""
    return lambda dtype: stage(step, [ShapedArray((), dtype)] * count, "step").jaxpr


def reduction(note, step, count, reference, dimensions, shape=(2, 3, 2), kinds=("float32",), orders=2):
    """A row of ``reduce``; the operands come with their initial values behind them."""
    made = program(step, count)
    start = {"blend": (0.0,), "compose": (1.0, 0.0)}[note.split()[0]]

    def params(dtype):
        return {"computation": made(dtype), "dimensions": dimensions}

    inputs = (*[some(*shape)] * len(start), *[among_one(value) for value in start])
    return Row(computations.reduce, reference, inputs, kinds, params, note, orders, loose=8.0)


def among_one(value):
    """A scalar that is always ``value``."""
    return Draw(0, 0, (), None, (value,))


def blended(x, init, dimensions=(0, 2)):
    return 2.0 * (np.prod(1.0 + x / 2.0, axis=dimensions) * (1.0 + init / 2.0) - 1.0)


def composed(a, b, one, zero):
    p, q = np.full(a.shape[1:], one), np.full(a.shape[1:], zero)
    for c, d in zip(a, b, strict=True):
        p, q = p * c, q * c + d
    return [p, q]


def blended_windows(x, init, window):
    return folded(lambda p, q: p + q + p * q / 2, init, x, window)


def windowed(note, window, kinds=("float32",), orders=2):
    made = program(lambda x, y: [blend(x, y)], 2)
    return Row(
        computations.reduce_window, lambda x, init: blended_windows(x, init, window),
        (some(3, 5), among_one(0.0)),
        kinds, lambda dtype: {"computation": made(dtype), "window": window}, note, orders, loose=64.0,
    )  # fmt: skip


def scattered(x, source, init, window):
    """``select_and_scatter`` with ``>=`` and ``blend``."""
    out = np.full(x.shape, init, x.dtype)
    for place, at in extreme_at(x, window, True):
        if at is not None:
            out[at] = out[at] + source[place] + out[at] * source[place] / 2
    return out


def scattering(note, window, source, orders=0):
    select, scatter = program(lambda x, y: [lax.ge(x, y)], 2), program(lambda x, y: [blend(x, y)], 2)

    def params(dtype):
        return {"select": select(dtype), "scatter": scatter(dtype), "window": window}

    return Row(
        window_scatter.select_and_scatter, lambda x, s, init: scattered(x, s, init, window),
        (some(4, 5), some(*source), among_one(0.0)), ("float32",), params, note, orders,
    )  # fmt: skip


REDUCTIONS = [
    reduction("blend", lambda x, y: [blend(x, y)], 2, blended, (0, 2), kinds=("float32", "complex64")),
    reduction("compose", compose, 4, composed, (0,), (5, 2), orders=1),
    windowed("blend", slides((2, 2), (1, 2)), ("float32", "complex64")),
    # How often padding counts is defined for neutral initial values alone: no derivatives by those here.
    windowed("blend far", slides((2, 2), (1, 2), ((0, 1), (1, 0)), (1, 2), (2, 1)), orders=0),
    windowed("blend wide", WIDE, orders=0),
]

ROWS = [
    *over(window_sums.reduce_window_sum, lambda x, w: folded(np.add, 0, x, w), NUMBERS, FORMS),
    *over(window_sums.reduce_window_max, lambda x, w: folded(np.maximum, worst(x.dtype, True), x, w), REALS,
          {**FORMS, "wide": WIDE}),
    *over(window_sums.reduce_window_min, lambda x, w: folded(np.minimum, worst(x.dtype, False), x, w), REALS,
          {"plain": PLAIN}, orders=1),
    chosen(window_choices.select_and_gather_add, read_there, "far", FAR, (4, 5), (4, 5)),
    chosen(window_choices.select_and_gather_add, read_there, "wide", WIDE, (4, 5), (4, 5)),
    chosen(window_choices.select_and_scatter_add, add_there, "least", PLAIN, (4, 3), (4, 5)),
    chosen(window_choices.select_and_scatter_add, add_there, "wide", WIDE, (2, 5), (4, 5)),
    scattering("far", FAR, (3, 5)),
    scattering("plain", PLAIN, (4, 3), orders=1),
    *REDUCTIONS,
]  # fmt: skip

__all__ = ["ROWS"]
