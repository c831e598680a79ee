"""Where values of the host go: the parts that devices here have, the physical type, the device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.errors import ShardingError
from rabbet.runtime.arrays.sharding import SingleDeviceSharding

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.runtime.arrays.sharding import Sharding


def device_of(sharding: Sharding) -> Any:
    """What ``x.device`` is for a sharding: its device, if it is on one alone; else itself."""
    return sharding.device_order[0] if type(sharding) is SingleDeviceSharding else sharding


def refuse_addends(array: Any) -> None:
    """Raise ShardingError for an array of which each device has an addend, where its values are asked for."""
    layout = array.spec.layout
    if layout is not None and layout.addends:
        raise ShardingError(
            f"the values of {array.aval.str_short()} are sums that are not added up yet (unreduced): each "
            "device holds an addend\n  to fix: add up first, rb.reshard(x, P(...)) with a spec without "
            "unreduced; x.addressable_shards has the addends"
        )


@functools.lru_cache(maxsize=1024)
def parts_here(layout: Sharding, shape: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """Which parts of an array the devices of this process have, in their order."""
    indices = layout.devices_indices_map(shape)
    return [indices[device] for device in layout.group.local_devices]


def stored(host: np.ndarray, aval: ShapedArray) -> np.ndarray:
    """A NumPy array of type ``aval`` (or of float0) as one of its physical type."""
    if aval.physical is not aval and aval.dtype is dtypes.float0:
        return np.zeros(aval.physical.shape, aval.physical.dtype)
    return host if aval.codes is None else host.view(aval.codes)
