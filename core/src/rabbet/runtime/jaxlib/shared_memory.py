"""Raw arrays that share memory: an array over several devices, its parts, and what is made of the parts.

jaxlib deletes the memory of all of them with any one, and a program over several devices one of whose parts
is gone does not fail as a whole: the other devices wait for it, and end the process after 40 seconds. So
memory is deleted, or donated, only by the last one that has it.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rabbet.typing import Value

# An attribute that jaxlib's arrays carry where they share memory: a list of `Memory`.
MARK = "_rabbet_shares"
seen: list = []  # empty until the first arrays share memory: then nobody has to look


class Memory:
    """Memory that several raw arrays may have; `holders` are weak references to them."""

    __slots__ = ("holders",)

    def __init__(self) -> None:
        self.holders = []

    def hold(self, raws: list[Any]) -> None:
        """Remember more holders, and forget those that are gone."""
        self.holders = [h for h in self.holders if h() is not None] + [weakref.ref(raw) for raw in raws]


def share(raws: list[Any]) -> None:
    """Say that `raws` share memory with each other, and with whatever they shared it with before."""
    seen[:] = [True]
    found = {id(memory): memory for raw in raws for memory in getattr(raw, MARK, ())}
    memories = list(found.values()) or [Memory()]
    for memory in memories:
        memory.hold(raws)
    for raw in raws:
        setattr(raw, MARK, memories)


def elsewhere() -> Callable[..., Any]:
    """The holder of what another library has: it never tells when it is done."""
    return elsewhere


def lend(raw: Any) -> None:
    """Say that another library has the memory of `raw`: from now on deleting and donating leave it alone."""
    share([raw])
    for memory in getattr(raw, MARK):
        memory.holders.append(elsewhere)


def is_shared(raw: Any) -> bool:
    """Whether another raw array that is alive has the memory of `raw`, or some of it."""
    if not seen:
        return False
    holders = [holder() for memory in getattr(raw, MARK, ()) for holder in memory.holders]
    return any(other is not None and other is not raw for other in holders)


class GivenUp:
    """What stands in the place of a raw array that its holder deleted, while others have its memory."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def is_deleted(self) -> bool:
        return True

    def delete(self) -> None:
        """Nothing is left to delete."""


def to_donate(arrays: list[Value] | tuple[Value, ...], donated: list[int]) -> list[Value] | tuple[Value, ...]:
    """``arrays`` as arguments of a program that takes the memory of those at the positions ``donated``: one
    that shares its memory with another array, as ``addressable_shards`` do, is copied.

    Example:
      >>> from rabbet.extend.sharding import to_donate
      >>> x = rb.device_put(np.ones(3))
      >>> to_donate([x], [0])[0] is x
      True
    """
    if not seen or not any(is_shared(arrays[i].raw) for i in donated):
        return arrays
    given = list(arrays)
    for i in donated:
        if is_shared(given[i].raw):
            given[i] = copy.deepcopy(given[i])
    return given


__all__ = ["GivenUp", "is_shared", "lend", "share", "to_donate"]
