"""The BFGS method with limited memory for unknowns between bounds."""

import math
from collections.abc import Iterable, Sized
from typing import Any, NamedTuple

import numpy as np
from rabbet_autodiff import value_and_grad

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.inputs import where
from rabbet.scipy.optimize.bfgs import (
    CONVERGED,
    NO_STEP,
    RUNNING,
    TOO_MANY_STEPS,
    results,
    size_of,
    status_of,
)  # fmt: skip
from rabbet.scipy.optimize.line_search import line_search


class State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    s: Any  # the last steps, the newest last; rows of zeros where there were fewer
    y: Any  # how the gradient changed
    theta: Any
    status: Any
    steps: Any
    tries: Any


class Model(NamedTuple):
    """The approximation ``theta - w m w^T`` of the Hessian, ``w`` of shape ``(n, 2 k)``."""

    theta: Any
    w: Any
    m: Any


def limits(name, bounds, x0):
    """``(lower, upper)``, arrays like ``x0``, from pairs, an array of them, or an object with ``lb`` and
    ``ub``.

    Raises:
      ValueError: if there are not as many as unknowns, or a lower one is above the upper one.
    """
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        ends = [bounds.lb, bounds.ub]
        for end in map(rnp.shape, ends):
            if end not in ((), (1,), x0.shape):
                raise ValueError(f"{name}: lb and ub must be numbers or of shape {x0.shape}, got {end}")
    elif hasattr(bounds, "shape"):
        if bounds.shape != (x0.size, 2):
            raise ValueError(f"{name}: bounds must have the shape {(x0.size, 2)}, got {bounds.shape}")
        ends = [bounds[:, 0], bounds[:, 1]]
    else:
        pairs = list(bounds) if isinstance(bounds, Iterable) else []
        if len(pairs) != x0.size or not all(isinstance(p, Sized) and len(p) == 2 for p in pairs):
            raise ValueError(f"{name}: bounds must be {x0.size} pairs (lower, upper), one for each unknown")
        ends = []
        for i, none in enumerate((-math.inf, math.inf)):
            column = [none if pair[i] is None else pair[i] for pair in pairs]
            ends.append(rnp.stack([rnp.asarray(v, x0.dtype) for v in column]) if column else x0)
    lower, upper = [rnp.broadcast_to(rnp.asarray(end, x0.dtype), x0.shape) for end in ends]
    try:
        crossed = np.flatnonzero(np.asarray(lower) > np.asarray(upper))
    except TypeError:  # traced: only their shapes are known
        crossed = []
    if len(crossed):
        raise ValueError(f"{name}: the lower bound of unknown {int(crossed[0])} is above its upper bound")
    return lower, upper


def lbfgsb(
    fun: Any,
    x0: Any,
    lower: Any,
    upper: Any,
    *,
    maxiter: int | None = None,
    norm: float = math.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-5,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
    line_search_maxiter: int | None = None,
) -> Any:
    """Minimize ``fun`` from ``x0``, with ``lower <= x <= upper``; returns ``(x, the other results by name)``.

    R. Byrd, P. Lu, J. Nocedal and C. Zhu, A limited memory algorithm for bound constrained optimization,
    1995: the first minimum of the model along the projected path of steepest descent, the minimum of the
    model over what is not at a bound there, and a step towards it.
    """
    n = x0.size
    maxiter = 200 * n if maxiter is None else maxiter
    most = maxls if line_search_maxiter is None else line_search_maxiter
    limit = min(math.inf if v is None else v for v in (maxfun, maxgrad))
    function = value_and_grad(lambda x: fun(inside(x)))
    eps = float(rnp.finfo(x0.dtype).eps)

    def inside(x):
        return rnp.minimum(rnp.maximum(x, lower), upper)

    def slack(x, gradient):
        return size_of(inside(x - gradient) - x, norm)

    def step(state):
        x, gradient = state.x, state.gradient
        model = model_of(state.s, state.y, state.theta)
        place, along = cauchy_point(model, x, gradient, lower, upper)
        target = subspace_minimum(model, x, gradient, place, along, lower, upper)
        direction = target - x
        steepest = inside(x - gradient) - x
        downhill = rnp.sum(direction * gradient) < 0
        direction = where(downhill, direction, steepest)
        none = ~rnp.any(state.s != 0)
        length = rnp.sqrt(rnp.sum(direction * direction))
        first = where(none, rnp.minimum(1.0, 1 / where(length == 0, 1, length)), 1.0)
        room = rnp.min(room_for(x, direction, lower, upper), initial=math.inf)
        room = rnp.maximum(room, 1.0)
        found = line_search(function, x, state.value, gradient, direction, first, most, room)
        here = found.place
        new = inside(x + here.step * direction)
        s, y = new - x, here.gradient - gradient
        product, squares = rnp.sum(s * y), rnp.sum(y * y)
        bent = found.down & (product > eps * squares)
        theta = where(bent, squares / where(bent, product, 1), state.theta)
        last_s, last_y = [
            where(bent, rnp.concatenate([old[1:], v[None]]), old) for old, v in ((state.s, s), (state.y, y))
        ]
        # Without a step down, once more without what was remembered.
        forget = ~found.down & ~none
        last_s, last_y = [where(forget, 0, v) for v in (last_s, last_y)]
        theta = where(forget, 1, theta)
        value, gradient = here.value, here.gradient
        size = slack(new, gradient)
        status = status_of(found, size, gtol, most, state.steps + 1, maxiter)
        status = where(forget & (status != CONVERGED), RUNNING, status)
        change = state.value - value
        largest = rnp.maximum(rnp.maximum(rnp.abs(state.value), rnp.abs(value)), 1.0)
        status = where((status == RUNNING) & found.down & (change <= ftol * largest), CONVERGED, status)
        # The same place and the same memory again, if rounding ends the step where it begins.
        status = where((status == RUNNING) & ~forget & rnp.all(new == x), NO_STEP, status)
        tries = state.tries + found.tries
        if limit != math.inf:
            status = where((status == RUNNING) & (tries >= limit), TOO_MANY_STEPS, status)
        return State(
            new, value, gradient, last_s, last_y, theta, status,
            state.steps + found.down.astype("int32"), tries,
        )  # fmt: skip

    x0 = inside(x0)
    value, gradient = function(x0)
    zero = rnp.zeros((), "int32")
    start = where(slack(x0, gradient) <= gtol, CONVERGED, where(maxiter <= zero, TOO_MANY_STEPS, RUNNING))
    nothing = rnp.zeros((maxcor, n), x0.dtype)
    state = State(x0, value, gradient, nothing, nothing, rnp.ones((), x0.dtype), start, zero, zero + 1)
    state = lax.while_loop(lambda state: state.status == RUNNING, step, state)
    return state.x, results(state, None)


def model_of(s, y, theta):
    """From the last steps: their equations 3.3 to 3.6. Places that hold no step yet change nothing."""
    products = s @ y.T
    there = rnp.any(s != 0, 1)
    d = rnp.diag(where(there, rnp.diagonal(products), 1))
    low = rnp.tril(products, -1)
    squares = theta * (s @ s.T) + rnp.diag(where(there, rnp.zeros_like(theta), 1))
    middle = rnp.concatenate([rnp.concatenate([-d, low.T], 1), rnp.concatenate([low, squares], 1)], 0)
    return Model(theta, rnp.concatenate([y, theta * s], 0).T, rnp.linalg.inv(middle))


def room_for(x, direction, lower, upper):
    """How far each unknown can go in a direction until it is at a bound."""
    safe = where(direction == 0, 1, direction)
    ahead = where(direction > 0, upper - x, lower - x) / safe
    return where(direction == 0, rnp.inf, ahead)


def cauchy_point(model, x, gradient, lower, upper):
    """``(point, w^T (point - x))``: the first minimum of the model along the path that goes down steepest and
    stays at the bounds that it meets (their algorithm CP).
    """
    theta, w, m = model
    breaks = room_for(x, -gradient, lower, upper)
    d = where(breaks > 0, -gradient, 0)
    order = rnp.argsort(breaks)
    first = rnp.sum(breaks <= 0)
    p = w.T @ d
    slope = -rnp.sum(d * d)
    bend = -theta * slope - p @ m @ p
    n = x.size

    def best(slope, bend):
        return where(bend > 0, -slope / where(bend > 0, bend, 1), rnp.inf)

    def ahead(state):
        i, _, _, _, _, slope, bend, t = state
        width = breaks[order[rnp.minimum(i, n - 1)]] - t
        return (i < n) & (slope < 0) & (best(slope, bend) >= width) & rnp.isfinite(width)

    def on(state):
        i, point, d, p, c, slope, bend, t = state
        b = order[i]
        width = breaks[b] - t
        g, row = gradient[b], w[b]
        end = where(d[b] > 0, upper[b], lower[b])
        c = c + width * p
        slope = slope + width * bend + g * g + theta * g * (end - x[b]) - g * (row @ m @ c)
        bend = bend - theta * g * g - 2 * g * (row @ m @ p) - g * g * (row @ m @ row)
        return i + 1, point.at[b].set(end), d.at[b].set(0), p + g * row, c, slope, bend, breaks[b]

    start = (rnp.asarray(first, "int32"), x, d, p, rnp.zeros_like(p), slope, bend, rnp.zeros_like(slope))
    _, point, d, p, c, slope, bend, t = lax.while_loop(ahead, on, start)
    width = where(slope < 0, best(slope, bend), 0)
    width = where(rnp.isfinite(width), width, 0)
    point = where(d != 0, x + (t + width) * d, point)
    return rnp.minimum(rnp.maximum(point, lower), upper), c + width * p


def subspace_minimum(model, x, gradient, place, along, lower, upper):
    """The minimum of the model over the unknowns that are not at a bound at ``place``, as far towards it as
    the bounds allow (their direct primal method).
    """
    theta, w, m = model
    free = (place > lower) & (place < upper)
    r = where(free, gradient + theta * (place - x) - w @ (m @ along), 0)
    wz = where(free[:, None], w, 0)
    v = m @ (wz.T @ r)
    inner = rnp.eye(m.shape[0], dtype=m.dtype) - m @ (wz.T @ wz) / theta
    d = -r / theta - wz @ rnp.linalg.solve(inner, v) / (theta * theta)
    d = where(free & rnp.isfinite(d), d, 0)
    share = rnp.minimum(rnp.min(room_for(place, d, lower, upper), initial=1.0), 1.0)
    return rnp.minimum(rnp.maximum(place + share * d, lower), upper)
