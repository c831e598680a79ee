"""Integrals of sampled functions: ``jax.scipy.integrate``, and SciPy's rules that it lacks."""

import rabbet.numpy as rnp
from rabbet import Array
from rabbet.extend.functions import fused, public_module
from rabbet.scipy.inputs import array, axis_of, inexact


def trapezoid(y: Array, x: Array | None = None, dx: float = 1.0, axis: int = -1) -> Array:
    """The integral of sampled values by the trapezoidal rule.

    Args:
      y: values, of shape ``(..., n, ...)``.
      x: where they were taken: a vector of ``n`` places, or an array of the shape of ``y``; None: ``dx``
        apart.
      dx: the distance of samples.
      axis: along which to integrate.

    Returns:
      an array without the axis, of a float or complex dtype.

    Example:
      >>> print(trapezoid(rnp.array([0.0, 1.0, 4.0])))
      3.0
    """
    return rnp.trapezoid(y, x, dx, axis)


@fused(static=("axis", "initial"))
def cumulative_trapezoid(
    y: Array, x: Array | None = None, dx: float = 1.0, axis: int = -1, initial: float | None = None
) -> Array:
    """The integrals of sampled values from the first sample to each of the others, by the trapezoidal rule.

    Args:
      y: values, of shape ``(..., n, ...)``.
      x: where they were taken: a vector of ``n`` places, or an array of the shape of ``y``; None: ``dx``
        apart.
      dx: the distance of samples.
      axis: along which to integrate.
      initial: 0: the integral to the first sample, 0, comes first, so that the shape is that of ``y``; None:
        it is left out, and there is one element less.

    Returns:
      an array of a float or complex dtype.

    Raises:
      ValueError: for another ``initial``, places that do not fit, or no samples.

    Example:
      >>> print(cumulative_trapezoid(rnp.array([0.0, 1.0, 4.0]), initial=0))
      [0.  0.5 3. ]
    """
    name = "cumulative_trapezoid"
    if initial not in (None, 0):
        raise ValueError(f"{name}: initial must be None or 0, got {initial}")
    y, steps = _samples(name, y, x, dx, axis)
    out = rnp.cumsum(0.5 * steps * (y[1:] + y[:-1]), 0)
    if initial is not None:
        out = rnp.concatenate([rnp.zeros_like(out[:1], shape=(1, *y.shape[1:])), out])
    return rnp.moveaxis(out, 0, axis)


@fused(static=("axis",))
def simpson(y: Array, x: Array | None = None, *, dx: float = 1.0, axis: int = -1) -> Array:
    """The integral of sampled values by Simpson's rule, at places at any distances.

    Args:
      y, x, dx, axis: as for ``cumulative_trapezoid``. Of an even number of samples the last interval is
        integrated by the parabola through the last three (B. Cartwright, Simpson's rule cumulative
        integration with MS Excel and irregularly-spaced data, 2017); two are integrated by a line.

    Returns:
      an array without the axis.

    Example:
      >>> print(simpson(rnp.array([0.0, 1.0, 4.0])))
      2.6666667
    """
    y, h = _samples("simpson", y, x, dx, axis)
    n = y.shape[0]
    h = rnp.broadcast_to(h, (n - 1, *y.shape[1:]))
    if n == 1:
        return rnp.zeros_like(y[0])
    if n == 2:
        return 0.5 * h[0] * (y[0] + y[1])
    pairs = (n - 1) // 2
    a, b = h[0 : 2 * pairs : 2], h[1 : 2 * pairs : 2]
    first, middle, last = y[0 : 2 * pairs : 2], y[1 : 2 * pairs : 2], y[2 : 2 * pairs + 1 : 2]
    both = a + b
    total = both / 6.0 * (first * (2.0 - b / a) + middle * both * both / (a * b) + last * (2.0 - a / b))
    out = rnp.sum(total, 0)
    if n % 2 == 0:
        a, b = h[-2], h[-1]
        end = y[-1] * (2.0 * b * b + 3.0 * a * b) / (6.0 * (a + b))
        end = end + y[-2] * (b * b + 3.0 * a * b) / (6.0 * a)
        out = out + end - y[-3] * b**3 / (6.0 * a * (a + b))
    return out


def _samples(name, y, x, dx, axis):
    """Values with the axis in front, and the distances of their places."""
    y = array(name, y)
    axis = axis_of(name, axis, y.ndim)
    y, distances = inexact(name, y, dx if x is None else x)
    y = rnp.moveaxis(y, axis, 0)
    if y.shape[0] == 0:
        raise ValueError(f"{name}: there must be at least one sample along axis {axis}")
    if x is None:
        return y, distances
    if distances.ndim == 1:
        distances = distances.reshape(-1, *[1] * (y.ndim - 1))
    elif distances.ndim == y.ndim:
        distances = rnp.moveaxis(distances, axis, 0)
    if distances.ndim != y.ndim or distances.shape[0] != y.shape[0]:
        raise ValueError(
            f"{name}: x must be a vector of {y.shape[0]} places or have the shape of y, got {rnp.shape(x)}"
        )
    return y, distances[1:] - distances[:-1]


__all__ = ["cumulative_trapezoid", "simpson", "trapezoid"]

public_module(globals())
