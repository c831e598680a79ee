"""Who holds an array: users theirs, Rabbet its own.

Rabbet keeps arrays that users never see: numbers that programs take again and again, and what a program
captured. If a user could delete or donate one of these, every later use of it would fail, anywhere in the
process. So what is given to a user is never one of them, and a captured array is kept under a handle of its
own (`alias`).
"""

from rabbet.runtime import adapter, reading
from rabbet.runtime.array import Array

# An attribute that jaxlib's arrays carry where they are Rabbet's own.
MARK = "_rabbet_keeps"


def internal(array):
    """Mark `array` as one that no user holds, and return it: `live_arrays` leaves it out."""
    setattr(array.raw, MARK, True)
    return array


def is_internal(raw):
    """Whether a raw array is one that no user holds."""
    return getattr(raw, MARK, False)


def alias(array):
    """The same memory under a handle of its own: to delete or donate one leaves the other as it is.

    On the CPU nothing is copied: what the new handle keeps alive is a view of the memory. Elsewhere two
    handles cannot share memory, and the values are copied on the device.

    Raises:
      DeletedArrayError: if `array` was deleted.
    """
    raw, spec = array.raw, array.spec
    if raw.is_deleted():
        raise array.deleted()
    device = spec.device
    if device.platform == "cpu":
        view = reading.to_numpy(raw)
        return Array(adapter.put(view, raw.aval, device.raw, spec.sharding, private=True), spec)
    return Array(reading.copy_to_device(raw, device.raw, spec.sharding, always_copy=True), spec)


def captured(value):
    """A constant of a program as the program keeps it: an array under a handle of its own.

    Arrays of other platforms than the CPU stay as they are, because keeping them so would copy them: to
    delete one that a program captured makes that program fail.
    """
    if type(value) is not Array or is_internal(value.raw) or value.spec.device.platform != "cpu":
        return value
    if value.raw.is_deleted():
        return value
    return internal(alias(value))


__all__ = ["alias", "captured", "internal", "is_internal"]
