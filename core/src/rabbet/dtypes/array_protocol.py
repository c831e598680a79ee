"""Objects that are asked for their array."""

from __future__ import annotations

from typing import Any

# Objects that give each other in turn are asked no further.
MOST_IN_TURN = 100


def array_of(x: Any) -> Any:
    """What an object gives by ``__jax_array__``; if that is such an object too, what that one gives.

    Raises:
      TypeError: if it gives itself, or objects give each other, so that they could be asked forever.

    Example:
      >>> from rabbet.extend.transform import array_of
      >>> class Weight:
      ...     def __jax_array__(self):
      ...         return np.ones(2)
      >>> array_of(Weight())
      array([1., 1.])
    """
    given, last = x.__jax_array__(), x
    for _ in range(MOST_IN_TURN):
        if hasattr(given, "aval") or isinstance(given, type) or not hasattr(given, "__jax_array__"):
            return given
        if given is last:
            raise TypeError(
                f"{type(last).__name__}.__jax_array__ returned the object itself, and must return an array"
            )
        given, last = given.__jax_array__(), given
    raise TypeError(
        f"{type(x).__name__}.__jax_array__ must return an array: it returned an object that also has "
        f"__jax_array__, and so on {MOST_IN_TURN} times; the last was a {type(last).__name__}, and gave a "
        f"{type(given).__name__}"
    )


__all__ = ["array_of"]
