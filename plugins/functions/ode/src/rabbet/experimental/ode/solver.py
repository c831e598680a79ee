"""The method of Dormand and Prince on flat vectors: steps of fifth order whose size follows the error.

Source: E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd edition, Springer
1993: the coefficients and the continuous extension in II.4 to II.6, the first step and the control of the
step in II.4.
"""

from typing import Any, NamedTuple

import rabbet.numpy as rnp
from rabbet import lax

# Stages: where in the step, and how much of each stage before.
NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
WEIGHTS = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# The solution of fifth order less that of fourth.
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# The last term of the polynomial between the ends of a step.
BETWEEN = (
    -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
)  # fmt: skip


class Tolerances(NamedTuple):
    """What a solution may be off, and how far the solver may go."""

    rtol: float
    atol: float
    most_steps: int
    longest: float


class State(NamedTuple):
    """Where the solver is: ``y`` and its derivative at ``t``, and the next step. Of the last step, from
    ``begin`` over ``length``, the state and derivative where it began and the last term of its polynomial.

    They are vectors of their own, not rows of a matrix: as a matrix of 5 by 36 numbers they had XLA's CPU
    runtime hand parts of the loop to other threads, and the gradient took twice the time.
    """

    y: Any
    slope: Any
    t: Any
    step: Any
    begin: Any
    length: Any
    before: Any
    slope_before: Any
    last_term: Any
    steps: Any


def combined(weights, stages):
    """The sum of stages by their weights."""
    terms = [w * k for w, k in zip(weights, stages) if w]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def norm(x, scale):
    """The root of the mean square of ``x / scale``."""
    return rnp.sqrt(rnp.mean(rnp.square(rnp.abs(x / scale)))) if x.size else rnp.zeros((), scale.dtype)


def first_step(f, t, y, slope, tolerances):
    """A step for the beginning, from the sizes of the first two derivatives."""
    scale = tolerances.atol + tolerances.rtol * rnp.abs(y)
    size, speed = norm(y, scale), norm(slope, scale)
    small = (size < 1e-5) | (speed < 1e-5)
    trial = rnp.where(small, 1e-6, 0.01 * size / rnp.where(small, 1.0, speed))
    bend = norm(f(y + trial * slope, t + trial) - slope, scale) / trial
    most = rnp.maximum(speed, bend)
    flat = most <= 1e-15
    step = rnp.where(flat, rnp.maximum(1e-6, trial * 1e-3), (0.01 / rnp.where(flat, 1.0, most)) ** 0.2)
    return rnp.minimum(rnp.minimum(100 * trial, step), tolerances.longest)


def one_step(f, state, tolerances):
    """Try the next step; where its error is too large, ``y`` stays and the step becomes shorter."""
    h = state.step
    stages = [state.slope]
    for node, weights in zip(NODES[1:], WEIGHTS[1:]):
        stages.append(f(state.y + h * combined(weights, stages), state.t + node * h))
    y = state.y + h * combined(WEIGHTS[-1], stages)
    scale = tolerances.atol + tolerances.rtol * rnp.maximum(rnp.abs(state.y), rnp.abs(y))
    error = norm(h * combined(ERROR, stages), scale)
    good = error <= 1.0
    factor = rnp.where(error > 0, 0.9 * rnp.where(error > 0, error, 1.0) ** -0.2, 10.0)
    least, most = rnp.where(good, 1.0, 0.2), rnp.where(good, 10.0, 1.0)  # never shorter after a good step
    factor = rnp.where(rnp.isfinite(error), rnp.clip(factor, least, most), 0.2)
    last_term = h * combined(BETWEEN, stages)
    moved = State(y, stages[-1], state.t + h, h, state.t, h, state.y, state.slope, last_term, state.steps)
    kept = State(*[rnp.where(good, new, old) for new, old in zip(moved, state)])
    step = rnp.minimum(h * factor, tolerances.longest).astype(h.dtype)
    return kept._replace(step=step, steps=state.steps + 1)


def between(state, t):
    """The solution at ``t`` within the last step."""
    change = state.y - state.before
    curve = state.length * state.slope_before - change
    bend = change - state.length * state.slope - curve
    x = rnp.where(state.length > 0, (t - state.begin) / rnp.where(state.length > 0, state.length, 1.0), 0.0)
    return state.before + x * (change + (1 - x) * (curve + x * (bend + (1 - x) * state.last_term)))


def solve(f, y0, ts, tolerances):
    """The solution of ``y' = f(y, t)``, a vector, at increasing times ``ts``, the first of which is that of
    ``y0``; an array with a row each. NaN from the time on that the solver could not reach.
    """
    t0 = ts[0]
    slope = f(y0, t0)
    step = first_step(f, t0, y0, slope, tolerances).astype(ts.dtype)
    zero = rnp.zeros((), ts.dtype)
    start = State(y0, slope, t0, step, t0, zero, y0, slope, rnp.zeros_like(y0), rnp.zeros((), "int32"))
    least = 4 * rnp.finfo(ts.dtype).eps

    def until(state, target):
        def unfinished(state):
            can = (state.step > least * rnp.maximum(rnp.abs(state.t), rnp.abs(target))) | (state.t == 0)
            return (state.t < target) & (state.steps < tolerances.most_steps) & can & (state.step > 0)

        state = state._replace(steps=rnp.zeros_like(state.steps))
        state = lax.while_loop(unfinished, lambda state: one_step(f, state, tolerances), state)
        found = rnp.where(state.t >= target, between(state, target), rnp.nan)
        return state, found.astype(y0.dtype)

    _, ys = lax.scan(until, start, ts[1:])
    return rnp.concatenate([y0[None], ys])
