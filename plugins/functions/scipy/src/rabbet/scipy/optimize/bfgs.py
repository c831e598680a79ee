"""The method of Broyden, Fletcher, Goldfarb and Shanno."""

import math
from typing import Any, NamedTuple

import numpy as np
from rabbet_autodiff import value_and_grad

import rabbet.numpy as rnp
from rabbet import dtypes, lax
from rabbet.scipy.inputs import where
from rabbet.scipy.optimize.line_search import line_search

# Of one width, also where Python integers are 64 bits wide.
CONVERGED, TOO_MANY_STEPS, NO_STEP, TOO_MANY_TRIES = (np.int32(status) for status in (0, 1, 3, 5))
RUNNING = np.int32(-1)
# Near a minimum where values are level, up to 12 steps in a row were seen before the next that gains.
PATIENCE = 20


class State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    before: Any  # the value before the last step
    inverse: Any
    status: Any
    steps: Any
    tries: Any
    lowest: Any  # of all values so far
    least: Any  # of all sizes of gradients so far
    vain: Any  # how many steps have brought neither of them down


def size_of(gradient, norm):
    """The norm of a gradient."""
    if norm == math.inf:
        return rnp.max(rnp.abs(gradient), initial=0.0)
    if norm == -math.inf:
        return rnp.min(rnp.abs(gradient))
    return rnp.sum(rnp.abs(gradient) ** norm) ** (1.0 / norm)


def first_step(value, before, slope):
    """The length to try first: the one that would bring the last decrease again, but not above 1."""
    step = 1.01 * 2 * (value - before) / where(slope == 0, 1, slope)
    return where((slope == 0) | ~(step > 0), 1.0, rnp.minimum(1.0, step))


def status_of(step, size, gtol, most, steps, maxiter, stuck=False):
    """What to say after a step; ``stuck``: further ones bring nothing."""
    failed = where(step.tries >= most, TOO_MANY_TRIES, NO_STEP)
    running = where(steps >= maxiter, TOO_MANY_STEPS, where(stuck, NO_STEP, RUNNING))
    return where(size <= gtol, CONVERGED, where(step.down, running, failed))


def same_again(state, new):
    """Whether a step led to where it began (``x + step`` is rounded to ``x``) and had tried the full length
    first, as the next would: that one has the same place, gradient and direction, and ends there, too.
    """
    return rnp.all(new == state.x) & (state.value == state.before)


def bfgs(
    fun: Any,
    x0: Any,
    *,
    maxiter: int | None = None,
    gtol: float = 1e-5,
    norm: float = math.inf,
    line_search_maxiter: int = 10,
) -> Any:
    """Minimize ``fun`` from ``x0``; returns ``(x, the other results by name)``.

    J. Nocedal and S. Wright, Numerical optimization, 2006, algorithm 6.1. A step along which the slope does
    not increase leaves the approximation as it is, so that it stays positive definite. Where rounding lets
    no step go down, it stops (status 3): the point stays where it is, or neither the value nor the size of
    the gradient has come below all earlier ones in ``n + 20`` steps.
    """
    n = x0.size
    maxiter = 200 * n if maxiter is None else maxiter
    function = value_and_grad(fun)
    eye = rnp.eye(n, dtype=x0.dtype)

    def step(state):
        direction = -state.inverse @ state.gradient
        first = first_step(state.value, state.before, rnp.sum(direction * state.gradient))
        found = line_search(
            function, state.x, state.value, state.gradient, direction, first, line_search_maxiter
        )
        place = found.place
        s, y = place.step * direction, place.gradient - state.gradient
        product = rnp.sum(s * y)
        bent = product > 0
        rho = 1 / where(bent, product, 1)
        left = eye - rho * rnp.outer(s, y)
        # The first approximation gets the scale that the first step has shown (their equation 6.20).
        scale = where(bent & (state.steps == 0), product / where(bent, rnp.sum(y * y), 1), 1)
        inverse = left @ (scale * state.inverse) @ left.T + rho * rnp.outer(s, s)
        new, size = state.x + s, size_of(place.gradient, norm)
        gain = (place.value < state.lowest) | (size < state.least)
        vain = where(gain, 0, state.vain + 1)
        stuck = same_again(state, new) | (vain > n + PATIENCE)
        return State(
            new, place.value, place.gradient, state.value, where(bent, inverse, state.inverse),
            status_of(found, size, gtol, line_search_maxiter, state.steps + 1, maxiter, stuck),
            state.steps + found.down.astype("int32"), state.tries + found.tries,
            rnp.minimum(place.value, state.lowest), rnp.minimum(size, state.least), vain,
        )  # fmt: skip

    value, gradient = function(x0)
    zero = rnp.zeros((), "int32")
    size = size_of(gradient, norm)
    start = where(size <= gtol, CONVERGED, where(maxiter <= zero, TOO_MANY_STEPS, RUNNING))
    before = value + rnp.sqrt(rnp.sum(gradient * gradient)) / 2
    state = State(x0, value, gradient, before, eye, start, zero, zero + 1, value, size, zero)
    state = lax.while_loop(lambda state: state.status == RUNNING, step, state)
    return state.x, results(state, state.inverse)


def results(state, inverse):
    """All of the results but ``x`` and ``fun``; counts have the dtype of Python's integers."""
    status, tries, steps = [
        lax.convert_element_type(n, dtypes.scalar_dtype(int))
        for n in (state.status, state.tries, state.steps)
    ]
    return {
        "success": state.status == CONVERGED, "status": status, "jac": state.gradient,
        "hess_inv": inverse, "nfev": tries, "njev": tries, "nit": steps,
    }  # fmt: skip
