"""Who holds an array: users theirs, Rabbet its own.

Rabbet keeps arrays that users never see: numbers that programs take again and again, and what a program
captured. If a user could delete or donate one of these, every later use of it would fail, anywhere in the
process. So what is given to a user is never one of them, and a captured array is kept under a handle of its
own (`array.alias`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.runtime.arrays.array import Array, alias

if TYPE_CHECKING:
    from rabbet.typing import Value

# An attribute that jaxlib's arrays carry where they are Rabbet's own.
MARK = "_rabbet_keeps"


def internal(array: Value) -> Value:
    """Mark `array` as one that no user holds, and return it: `live_arrays` leaves it out."""
    setattr(array.raw, MARK, True)
    return array


def is_internal(raw: Any) -> bool:
    """Whether a raw array is one that no user holds."""
    return getattr(raw, MARK, False)


def captured(value: Value) -> Value:
    """A constant of a program as the program keeps it: an array under a handle of its own.

    Arrays of other platforms than the CPU stay as they are, because keeping them so would copy them: to
    delete one that a program captured makes that program fail.
    """
    if type(value) is not Array or is_internal(value.raw) or value.spec.device.platform != "cpu":
        return value
    if value.spec.layout is not None:
        return value
    if value.raw.is_deleted():
        return value
    return internal(alias(value))


__all__ = ["captured", "internal", "is_internal"]
