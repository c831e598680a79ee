"""Arguments that a function cannot take, where NumPy and JAX raise now one class of Python's, now another."""

from __future__ import annotations

from rabbet.errors.base import RabbetError

__all__ = ["ArgumentError", "AxisError", "DTypeError", "StaticArgumentError"]


class ArgumentError(RabbetError, TypeError, ValueError):
    """An argument is nothing that the function takes. It is a TypeError, as in Python, and a ValueError, as
    of many functions in JAX.

    Example:
      >>> try:
      ...     rb.device_put(1.0, "cpu")
      ... except ValueError as error:
      ...     print(str(error)[:23])
      device must be a Device
    """


class AxisError(RabbetError, ValueError, IndexError, TypeError):
    """An array does not have this axis, or an axis is named twice. It is a ValueError and an IndexError, as
    NumPy's own, and a TypeError, as of JAX's ``lax``.

    Example:
      >>> try:
      ...     rnp.sum(rnp.ones(3), axis=1)
      ... except IndexError as error:
      ...     print(error)
      sum: axis 1 is out of range for an array of 1 dimension
    """


class DTypeError(RabbetError, TypeError, ValueError):
    """A function does not take numbers of this dtype. It is a TypeError, as in NumPy, and a ValueError, as of
    many functions in JAX.

    Example:
      >>> try:
      ...     rnp.gcd(1.5, 2)
      ... except ValueError as error:
      ...     print(error)
      gcd takes integers, got f32[] and f32[]
    """


class StaticArgumentError(RabbetError, TypeError, ValueError):
    """A static argument cannot be compared between calls, because it cannot be hashed. It is a TypeError, as
    of Python's own ``hash``, and a ValueError, as in JAX.

    Example:
      >>> try:
      ...     rb.jit(lambda x, sizes: x, static_argnums=1)(1.0, [2, 3])
      ... except ValueError as error:
      ...     print(str(error).partition(': list')[0].partition('): ')[2])
      the static argument 'sizes' cannot be hashed
    """


for _error in list(globals().values()):
    if isinstance(_error, type) and _error.__module__ == __name__:
        _error.__module__ = "rabbet.errors"  # where programs find them
