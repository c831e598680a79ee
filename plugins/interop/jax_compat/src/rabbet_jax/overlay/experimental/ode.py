"""``jax.experimental.ode``: with the parts of its method, that of Dormand and Prince.

Source: E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd edition, Springer
1993: II.4, and II.6 for the value in the middle of a step (L. F. Shampine, Some practical Runge-Kutta
formulas, Mathematics of Computation 46, 1986).
"""

import functools

import rabbet as rb

rnp = rb.numpy

NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
WEIGHTS = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
MIDDLE = (
    6025192743 / 30085553152 / 2, 0.0, 51252292925 / 65400821598 / 2, -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2, -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2,
)  # fmt: skip


def abs2(x):
    """``|x|**2``."""
    return x.real**2 + x.imag**2 if rnp.iscomplexobj(x) else x**2


def promote_dtypes_inexact(*args):
    """The arguments as arrays of one dtype, that of floating or complex numbers."""
    dtype = rnp.result_type(*args)
    if not rnp.issubdtype(dtype, rnp.inexact):
        dtype = rnp.result_type(dtype, float)
    return [rnp.asarray(x, dtype) for x in args]


def ravel_first_arg(f, unravel):
    """``f`` with its first argument, and its result, as a vector."""

    @functools.wraps(f)
    def on_vectors(y_flat, *args):
        return rb.flatten_util.ravel_pytree(f(unravel(y_flat), *args))[0]

    return on_vectors


def _sum(weights, stages):
    return sum(w * k for w, k in zip(weights, stages, strict=True) if w)


def runge_kutta_step(func, y0, f0, t0, dt):
    """One step: ``(y1, f1, an estimate of its error, the seven slopes as rows)``; ``func(y, t)``."""
    dt = rnp.asarray(dt, rnp.asarray(t0).dtype)
    stages = [f0]
    for node, weights in zip(NODES, WEIGHTS, strict=True):
        stages.append(func(y0 + (dt * _sum(weights, stages)).astype(f0.dtype), t0 + dt * node))
    y1 = y0 + (dt * _sum(WEIGHTS[-1], stages[:-1])).astype(f0.dtype)
    return y1, stages[-1], (dt * _sum(ERROR, stages)).astype(f0.dtype), rnp.stack(stages)


def fit_4th_order_polynomial(y0, y1, y_mid, dy0, dy1, dt):
    """The polynomial on [0, 1] with these values at 0, 1 and 1/2 and these slopes, per ``dt``, at the ends:
    its five coefficients, that of the fourth power first.
    """
    a, b = dt * dy0, dt * dy1
    fourth = -2 * a + 2 * b - 8 * y0 - 8 * y1 + 16 * y_mid
    third = 5 * a - 3 * b + 18 * y0 + 14 * y1 - 32 * y_mid
    second = -4 * a + b - 11 * y0 - 5 * y1 + 16 * y_mid
    return fourth, third, second, a, y0


def interp_fit_dopri(y0, y1, k, dt):
    """The polynomial over a step: its coefficients as rows; ``k``: the slopes of ``runge_kutta_step``."""
    y_mid = y0 + (dt * _sum(MIDDLE, list(k))).astype(y0.dtype)
    return rnp.asarray(fit_4th_order_polynomial(y0, y1, y_mid, k[0], k[-1], dt))


def initial_step_size(fun, t0, y0, order, rtol, atol, f0):
    """A step for the beginning, for a method of this order."""
    y0, f0 = promote_dtypes_inexact(y0, f0)
    scale = atol + rnp.abs(y0) * rtol
    norm = rnp.linalg.norm
    size, speed = norm(y0 / scale), norm(f0 / scale)
    trial = rnp.where((size < 1e-5) | (speed < 1e-5), 1e-6, 0.01 * size / rnp.where(speed > 0, speed, 1.0))
    bend = norm((fun(y0 + trial * f0, t0 + trial) - f0) / scale) / trial
    most = rnp.maximum(speed, bend)
    step = rnp.where(
        most <= 1e-15,
        rnp.maximum(1e-6, trial * 1e-3),
        (0.01 / rnp.where(most > 0, most, 1.0)) ** (1.0 / (order + 1.0)),
    )
    return rnp.minimum(100.0 * trial, step)


def mean_error_ratio(error_estimate, rtol, atol, y0, y1):
    """The error of a step in units of what is tolerated, as the root of the mean square."""
    tolerated = atol + rtol * rnp.maximum(rnp.abs(y0), rnp.abs(y1))
    return rnp.sqrt(rnp.mean(abs2(error_estimate / tolerated.astype(error_estimate.dtype))))


def optimal_step_size(last_step, mean_error_ratio, safety=0.9, ifactor=10.0, dfactor=0.2, order=5.0):
    """The next step by the error of the last one: at most ``ifactor`` times as long, at least ``dfactor``
    times, and not shorter after a good one.
    """
    least = rnp.where(mean_error_ratio < 1, 1.0, dfactor)
    erring = rnp.where(mean_error_ratio == 0, 1.0, mean_error_ratio)  # 0 has no such power and no slope
    factor = rnp.minimum(ifactor, rnp.maximum(erring ** (-1.0 / order) * safety, least))
    return rnp.where(mean_error_ratio == 0, last_step * ifactor, last_step * factor)


__all__ = [
    "abs2", "fit_4th_order_polynomial", "initial_step_size", "interp_fit_dopri", "mean_error_ratio",
    "optimal_step_size", "promote_dtypes_inexact", "ravel_first_arg", "runge_kutta_step",
]  # fmt: skip
