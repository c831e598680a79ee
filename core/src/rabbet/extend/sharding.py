"""A sharding: how arrays lie over several devices, programs that are spread over these, and their arrays."""

from __future__ import annotations

from typing import Any

from rabbet.program.interned import Alive
from rabbet.program.manual_axes import ManualAxisType
from rabbet.program.required_shardings import places_in
from rabbet.program.sharded_types import OverDevices, fitted_over, part_of, with_part
from rabbet.runtime.array_parts import bring_to, from_host_parts, join_arrays
from rabbet.runtime.arrays.array import Shard
from rabbet.runtime.arrays.memory_order import OrderedSharding, in_order
from rabbet.runtime.arrays.sharding import EverywhereSharding, Sharding, SingleDeviceSharding, TiledSharding
from rabbet.runtime.compilation.program_shardings import Spread, spread_of
from rabbet.runtime.jaxlib.shared_memory import to_donate
from rabbet.runtime.platforms.device_groups import DeviceGroup, device_group
from rabbet.runtime.platforms.topologies import is_described, topology_devices
from rabbet.runtime.transfer import as_place

__all__ = [
    "Alive",
    "DeviceGroup",
    "EverywhereSharding",
    "ManualAxisType",
    "OrderedSharding",
    "OverDevices",
    "Shard",
    "Sharding",
    "SingleDeviceSharding",
    "Spread",
    "TiledSharding",
    "as_place",
    "bring_to",
    "device_group",
    "fitted_over",
    "from_host_parts",
    "in_order",
    "is_described",
    "join_arrays",
    "part_of",
    "places_in",
    "spread_of",
    "to_donate",
    "topology_devices",
    "with_part",
]


def __dir__() -> Any:
    return list(__all__)
