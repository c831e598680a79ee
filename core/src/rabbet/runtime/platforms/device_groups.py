"""Several devices as one place to compute: where a program runs that is spread over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.program.interned import interned
from rabbet.runtime.jaxlib import adapter

if TYPE_CHECKING:
    from rabbet.runtime.platforms.devices import Device
    from rabbet.runtime.platforms.topologies import DescribedDevice

MOST_GROUPS = 256


class DeviceGroup:
    """Devices of one platform in an order; interned, so that caches key on identity as they do for a device.

    Attributes:
      devices: the ``Device``s in their order: the first one runs the program's first partition.
      platform, device_kind, client: what they have in common.
      device_list: jaxlib's list of them.
      local_devices: those that belong to this process, in their order.
      is_local: whether all do.

    Example:
      >>> from rabbet.extend.sharding import DeviceGroup, EverywhereSharding, device_group
      >>> group = device_group(tuple(rb.devices()[:1]))
      >>> x = rb.device_put(np.ones(3), EverywhereSharding(group))
      >>> type(group) is DeviceGroup, len(group), (x + 1.0).devices() == set(group.devices)
      (True, 1, True)
    """

    __slots__ = (
        "client", "device_kind", "device_list", "devices", "is_local", "local_devices", "platform",
        "__weakref__",
    )  # fmt: skip
    devices: tuple
    local_devices: tuple
    is_local: bool
    platform: str
    device_kind: str
    client: Any
    device_list: Any

    @property
    def raw(self) -> Any:
        """jaxlib's device of the first; raises ForkedProcessError in a forked child."""
        return self.devices[0].raw

    def memory_stats(self) -> None:
        """None: each device has its own."""
        return

    def live_buffers(self) -> Any:
        """The raw arrays that lie on any of the devices."""
        found = {id(raw): raw for device in self.local_devices for raw in device.live_buffers()}
        return list(found.values())

    def __len__(self) -> int:
        return len(self.devices)

    def __repr__(self) -> Any:
        return f"DeviceGroup({self})"

    def __str__(self) -> str:
        ids = [d.id for d in self.devices]
        if len(ids) > 2 and ids == list(range(ids[0], ids[0] + len(ids))):
            return f"{self.platform}:{ids[0]}-{ids[-1]}"
        return f"{self.platform}:{','.join(map(str, ids))}"

    def __reduce__(self) -> Any:
        return device_group, (self.devices,)


@interned(MOST_GROUPS)
def device_group(devices: tuple[Device | DescribedDevice, ...]) -> DeviceGroup:
    """The ``DeviceGroup`` of a tuple of devices.

    Raises:
      ValueError: for devices of different platforms, or one that occurs twice.

    Example:
      >>> from rabbet.extend.sharding import device_group
      >>> first = rb.devices()[0]
      >>> device_group((first,)) is device_group((first,))
      True
    """
    if len(set(devices)) != len(devices):
        raise ValueError(f"a device occurs twice among {', '.join(map(str, devices))}")
    if len({d.client for d in devices}) != 1:
        platforms = sorted({d.platform for d in devices})
        raise ValueError(f"a program runs on devices of one platform, got devices of {platforms}")
    made = object.__new__(DeviceGroup)
    made.devices, made.client = devices, devices[0].client
    made.platform, made.device_kind = devices[0].platform, devices[0].device_kind
    made.device_list = adapter.device_list([d.raw for d in devices])
    made.local_devices = tuple([d for d in devices if d.is_local])
    made.is_local = len(made.local_devices) == len(devices)
    return made


__all__ = ["DeviceGroup", "device_group"]
