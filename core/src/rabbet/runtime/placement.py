"""Where an array is and what it is, as one interned object: the key of every dispatch cache.

Two arrays of the same aval on the same device have the same ``Placement`` object, so the signature of a
call is a tuple of these and finding its program costs a dict lookup by identity.
"""

import functools
from typing import Any

from rabbet.runtime import adapter


class Placement:
    """An aval on a device, and whether the user put it there on purpose (committed).

    Computation follows committed arguments; the others are moved to where they are needed.
    """

    __slots__ = ("aval", "device", "committed", "handler", "sharding", "numbers", "lent")
    aval: Any
    device: Any
    committed: bool
    handler: Any
    sharding: Any
    numbers: dict
    lent: Any

    def __repr__(self):
        return f"Placement({self.aval.str_short()} on {self.device}{', committed' if self.committed else ''})"


@functools.cache
def placement(aval, device, committed):
    """The interned ``Placement``."""
    made = Placement()
    made.aval, made.device, made.committed = aval, device, committed
    made.sharding = device.sharding
    # The dtype as which NumPy can look at the memory: that is the host's, and the dtype one of NumPy's.
    made.lent = aval.dtype if device.platform == "cpu" and getattr(aval.dtype, "isbuiltin", 0) == 1 else None
    # The arrays of Python numbers that stood beside such an array (see ``runtime.evaluation``).
    made.numbers = {}
    made.handler = adapter.result_handler(aval.physical, made.sharding)
    return made
