"""How far to go in a direction."""

from typing import Any, NamedTuple

import numpy as np

import rabbet.numpy as rnp
from rabbet import dtypes, lax
from rabbet.scipy.inputs import where

DECREASE, CURVATURE = 1e-4, 0.9
# Of one width, also where Python integers are 64 bits wide.
WIDENING, NARROWING, DONE = (np.int32(phase) for phase in range(3))


class PointOnLine(NamedTuple):
    """A step: its length, the function's value, its slope in the direction, its gradient."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Search(NamedTuple):
    """``low`` is the best step so far that goes down enough; a good one lies between it and ``high``."""

    phase: Any
    tries: Any
    low: PointOnLine
    high: PointOnLine
    next: Any


class Step(NamedTuple):
    """What came out: the place, how often the function was computed, and whether it goes down at all."""

    place: PointOnLine
    tries: Any
    down: Any


def chosen(condition, x, y):
    """One of two trees."""
    return type(x)(*[where(condition, a, b) for a, b in zip(x, y, strict=True)])


def line_search(value_and_grad, x, value, gradient, direction, first, most, limit=None):
    """A step that fulfils the strong Wolfe conditions (J. Nocedal and S. Wright, Numerical optimization,
    2006, algorithms 3.5 and 3.6), in one loop in which each turn computes the function once: first steps get
    longer until a good one is enclosed, then the interval gets smaller.

    Where values differ by rounding only, slopes decide (W. Hager and H. Zhang, A new conjugate gradient
    method with guaranteed descent and an efficient line search, 2005).

    Args:
      first: the length to try first.
      most: how many tries both phases have, each.
      limit: the longest step; one as long that goes down enough is good.
    """
    start = PointOnLine(rnp.zeros_like(value), value, rnp.sum(gradient * direction), gradient)
    rounding = 10 * float(dtypes.finfo(value.dtype).eps) * rnp.abs(value)

    def at(step):
        value, gradient = value_and_grad(x + rnp.asarray(step, x.dtype) * direction)
        return PointOnLine(step, value, rnp.sum(gradient * direction), gradient)

    def turn(state):
        here = at(state.next)
        finite = rnp.isfinite(here.value) & rnp.isfinite(here.slope)
        below = here.value <= start.value + DECREASE * here.step * start.slope
        level = (here.value <= start.value + rounding) & (here.slope <= (2 * DECREASE - 1) * start.slope)
        low_level = here.value <= state.low.value + rounding
        enough = finite & (below | level)
        flat = rnp.abs(here.slope) <= -CURVATURE * start.slope
        worse = ~enough | ((here.value >= state.low.value) & (state.low.step > 0) & ~(level & low_level))
        good = ~worse & flat
        widening = state.phase == WIDENING
        # Which side of the new place the good step is on, seen from the best one.
        past = where(widening, here.slope >= 0, here.slope * (state.high.step - state.low.step) >= 0)
        high = chosen(worse, here, chosen(past, state.low, state.high))
        low = chosen(worse, state.low, here)
        if limit is not None:
            good = good | (widening & ~worse & ~past & (here.step >= limit))
        longer = widening & ~worse & ~past
        phase = where(good, DONE, where(longer, WIDENING, NARROWING))
        tries = where(phase == state.phase, state.tries, 0) + 1
        wider = 2 * here.step if limit is None else rnp.minimum(2 * here.step, limit)
        step = where(longer, wider, between(low, high))
        return Search(phase, tries, low, high, step)

    def more(state):
        return (state[0].phase != DONE) & (state[0].tries <= most)

    def once_more(state):
        search, count = state
        return turn(search), count + 1

    zero = rnp.zeros((), "int32")
    search = Search(zero, zero + 1, start, start, rnp.asarray(first, value.dtype))
    search, count = lax.while_loop(more, once_more, (search, zero))
    return Step(search.low, count, search.low.step > 0)


def between(low, high):
    """The minimum of the cubic with the values and slopes of both ends, kept away from them; the middle where
    there is none.
    """
    width = high.step - low.step
    d = low.slope + high.slope - 3 * (high.value - low.value) / where(width == 0, 1, width)
    square = d * d - low.slope * high.slope
    root = rnp.sign(width) * rnp.sqrt(rnp.maximum(square, 0.0))
    below = high.slope - low.slope + 2 * root
    share = 1 - (high.slope + root - d) / where(below == 0, 1, below)
    sound = (square >= 0) & (below != 0) & rnp.isfinite(share)
    share = where(sound, rnp.clip(share, 0.1, 0.9), 0.5)
    return low.step + share * width
