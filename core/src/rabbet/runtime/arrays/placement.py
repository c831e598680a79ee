"""Where an array is and what it is, as one interned object: the key of every dispatch cache.

Two arrays of the same aval on the same device have the same ``Placement`` object, so the signature of a
call is a tuple of these and finding its program costs a dict lookup by identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShardingError
from rabbet.program.interned import interned
from rabbet.runtime.arrays.sharding import EverywhereSharding, SingleDeviceSharding, raw_sharding
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.device_groups import DeviceGroup

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.runtime.arrays.sharding import Sharding

# How many of one kind are kept that nobody holds.
MOST_PLACEMENTS = 4096


class Placement:
    """An aval on a device, and whether the user put it there on purpose (committed).

    Computation follows committed arguments; the others are moved to where they are needed. An array over
    several devices has their ``DeviceGroup`` as its ``device``, and ``layout``, its ``Sharding``.
    """

    __slots__ = (
        "aval", "device", "committed", "handler", "sharding", "numbers", "lent", "layout",
        "__weakref__",
    )  # fmt: skip
    aval: Any
    device: Any
    committed: bool
    handler: Any
    sharding: Any
    numbers: dict
    lent: Any
    layout: Any

    def of(self, aval: ShapedArray) -> Any:
        """The placement of an array of another type at the same place."""
        if self.layout is not None:
            return spread_placement(aval, self.layout)
        return placement(aval, self.device, self.committed)

    def __repr__(self) -> Any:
        return f"Placement({self.aval.str_short()} on {self.device}{', committed' if self.committed else ''})"


@interned(MOST_PLACEMENTS)
def placement(aval: ShapedArray, device: Any, committed: bool) -> Placement:
    """The interned ``Placement``."""
    if type(device) is DeviceGroup:
        return spread_placement(aval, EverywhereSharding(device))
    aval = aval.bare
    made = Placement()
    check_present(device)
    if not device.is_local:
        raise ShardingError(
            f"{device} belongs to process {device.process_index}, and this is process "
            f"{device.client.process_index}: only its own process can put arrays there; lay them over the "
            "devices of all processes with a NamedSharding"
        )
    made.aval, made.device, made.committed, made.layout = aval, device, committed, None
    made.sharding = device.sharding
    # The dtype as which NumPy can look at the memory: that is the host's, and the dtype one of NumPy's.
    made.lent = aval.dtype if device.platform == "cpu" and getattr(aval.dtype, "isbuiltin", 0) == 1 else None
    # The arrays of Python numbers that stood beside such an array (see ``runtime.evaluation``).
    made.numbers = {}
    made.handler = adapter.result_handler(aval.physical, made.sharding)
    return made


def check_present(device: Any) -> None:
    """Refuse a device of a topology: there is nothing on it that could hold an array."""
    if device.client.process_index is None:
        raise ShardingError(
            f"{device} is a device of a topology, which need not be here: programs are compiled for it, and "
            "no array lies on it; give ShapeDtypeStruct(shape, dtype, sharding=...) instead of an array"
        )


def placed_by(aval: ShapedArray, sharding: Sharding) -> Placement:
    """The ``Placement`` of an array that a sharding over one device or several lays out."""
    if sharding.is_plain:
        return placement(aval, sharding.device_order[0], True)
    return spread_placement(aval, sharding)


@interned(MOST_PLACEMENTS)
def spread_placement(aval: ShapedArray, sharding: Sharding) -> Placement:
    """The interned ``Placement`` of an array laid over several devices by a ``Sharding``; committed.

    Raises:
      ValueError: where a dimension cannot be cut into equal parts.
    """
    check_present(sharding.group.devices[0])
    sharding.check(aval.shape)
    aval = sharding.typed(aval)
    physical = aval.physical
    made = Placement()
    made.aval, made.device, made.committed, made.layout = aval, sharding.group, True, sharding
    made.sharding = raw_sharding(sharding, aval.ndim, physical.ndim)
    made.lent, made.numbers = None, {}
    made.handler = adapter.result_handler(physical, made.sharding)
    return made


def part_placement(local: Any, device: Any, layout: Any) -> Placement:
    """The placement of the part that one device has of an array laid out by ``layout``."""
    if layout.order is None and layout.other_memory is None:
        return placement(local, device, True)
    if layout.order is None:
        return placed_by(local, SingleDeviceSharding(device, memory_kind=layout.other_memory))
    return spread_placement(local, layout.of_one_device(device))
