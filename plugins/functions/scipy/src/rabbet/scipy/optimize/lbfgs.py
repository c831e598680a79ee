"""The BFGS method with limited memory."""

import math
from typing import Any, NamedTuple

from rabbet_autodiff import value_and_grad

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.inputs import where
from rabbet.scipy.optimize.bfgs import (
    CONVERGED,
    NO_STEP,
    RUNNING,
    TOO_MANY_STEPS,
    first_step,
    results,
    same_again,
    size_of,
    status_of,
)  # fmt: skip
from rabbet.scipy.optimize.line_search import line_search


class State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    before: Any
    s: Any  # the last steps, the newest last; rows of zeros where there were fewer
    y: Any  # how the gradient changed
    rho: Any
    status: Any
    steps: Any
    tries: Any


def lbfgs(
    fun: Any,
    x0: Any,
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
    """Minimize ``fun`` from ``x0``; returns ``(x, the other results by name)``.

    J. Nocedal and S. Wright, Numerical optimization, 2006, algorithms 7.4 and 7.5.
    """
    n = x0.size
    maxiter = 200 * n if maxiter is None else maxiter
    most = maxls if line_search_maxiter is None else line_search_maxiter
    limit = min(math.inf if v is None else v for v in (maxfun, maxgrad))
    function = value_and_grad(fun)

    def step(state):
        direction = -times_inverse(state, state.gradient)
        first = first_step(state.value, state.before, rnp.sum(direction * state.gradient))
        found = line_search(function, state.x, state.value, state.gradient, direction, first, most)
        place = found.place
        s, y = place.step * direction, place.gradient - state.gradient
        product = rnp.sum(s * y)
        bent = product > 0
        steps, changes, rho = [
            where(bent, rnp.concatenate([old[1:], rnp.asarray(new, old.dtype)[None]]), old)
            for old, new in ((state.s, s), (state.y, y), (state.rho, 1 / where(bent, product, 1)))
        ]
        new, size = state.x + s, size_of(place.gradient, norm)
        status = status_of(found, size, gtol, most, state.steps + 1, maxiter)
        tries = state.tries + found.tries
        change = state.value - place.value
        largest = rnp.maximum(rnp.maximum(rnp.abs(state.value), rnp.abs(place.value)), 1.0)
        status = where((status == RUNNING) & (change <= ftol * largest), CONVERGED, status)
        status = where((status == RUNNING) & same_again(state, new), NO_STEP, status)
        if limit != math.inf:
            status = where((status == RUNNING) & (tries >= limit), TOO_MANY_STEPS, status)
        return State(
            new, place.value, place.gradient, state.value, steps, changes, rho, status,
            state.steps + found.down.astype("int32"), tries,
        )  # fmt: skip

    value, gradient = function(x0)
    zero = rnp.zeros((), "int32")
    start = where(size_of(gradient, norm) <= gtol, CONVERGED, where(maxiter <= zero, TOO_MANY_STEPS, RUNNING))
    before = value + rnp.sqrt(rnp.sum(gradient * gradient)) / 2
    none = rnp.zeros((maxcor, n), x0.dtype)
    state = State(x0, value, gradient, before, none, none, rnp.zeros(maxcor, x0.dtype), start, zero, zero + 1)
    state = lax.while_loop(lambda state: state.status == RUNNING, step, state)
    return state.x, results(state, None)


def times_inverse(state, gradient):
    """The approximate inverse Hessian times a vector, from the last steps (the two loops of algorithm
    7.4).
    """
    count = state.rho.shape[0]

    def back(i, carry):
        q, alphas = carry
        i = count - 1 - i
        alpha = state.rho[i] * rnp.sum(state.s[i] * q)
        return q - alpha * state.y[i], alphas.at[i].set(alpha)

    def forward(i, r):
        beta = state.rho[i] * rnp.sum(state.y[i] * r)
        return r + state.s[i] * (alphas[i] - beta)

    q, alphas = lax.fori_loop(0, count, back, (gradient, rnp.zeros_like(state.rho)))
    s, y = state.s[-1], state.y[-1]
    squares = rnp.sum(y * y)
    scale = where(squares > 0, rnp.sum(s * y) / where(squares > 0, squares, 1), 1)
    return lax.fori_loop(0, count, forward, q * scale)
