"""Integrals of sampled functions: ``jax.scipy.integrate``."""

import rabbet.numpy as rnp
from rabbet import Array
from rabbet.extend.functions import public_module


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


__all__ = ["trapezoid"]

public_module(globals())
