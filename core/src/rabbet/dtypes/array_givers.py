"""Objects that are asked for their array."""

from __future__ import annotations

from typing import Any


def array_of(x: Any) -> Any:
    """What an object gives by ``__jax_array__``.

    Raises:
      TypeError: if it gives itself, so that it could be asked for ever.
    """
    given = x.__jax_array__()
    if given is x:
        raise TypeError(
            f"{type(x).__name__}.__jax_array__ returned the object itself, and must return an array"
        )
    return given


__all__ = ["array_of"]
