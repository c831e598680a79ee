"""Devices that need not be here: a topology's, which programs can be written and compiled for.

They are ``Device``s, so that meshes and shardings are made of them as of others. Their client is described:
nothing runs on it, and what is compiled for its devices is looked at (``ahead``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ConfigError, PluginError
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms import backends
from rabbet.runtime.platforms.devices import Device

if TYPE_CHECKING:
    from rabbet.runtime.platforms.backends import Backend


class DescribedClient:
    """What stands behind the devices of a topology.

    Attributes: ``backend``, ``platform``, ``topology`` (its name) and ``devices``, as a tuple. None of them
    belongs to this process.
    """

    process_index = None
    forked = False
    local_devices = ()

    def __init__(self, backend: Backend, name: str, raw_devices: list[Any]) -> None:
        self.backend, self.platform, self.topology = backend, backend.platform, name
        self.raw = raw_devices[0].client
        self.devices = tuple([DescribedDevice(self, raw) for raw in raw_devices])

    @property
    def process_count(self) -> Any:
        return len({device.process_index for device in self.devices})

    def check_not_forked(self) -> None:
        """Nothing is running, so that a fork breaks nothing."""

    def live_buffers(self) -> list[Any]:
        """Nothing lies there."""
        return []

    def __repr__(self) -> Any:
        return f"DescribedClient({self.platform} {self.topology!r}, {len(self.devices)} devices)"


class DescribedDevice(Device):
    """A device of a topology. It has no memory that could be looked at, and is not pickled."""

    __slots__ = ()

    def memory_stats(self) -> None:
        """None: it is not here."""
        return

    def memory_kinds(self) -> Any:
        """The names of its memories, the default one first: of GPUs, which cannot be asked, those that they
        have where they are here.
        """
        try:
            return super().memory_kinds()
        except adapter.XlaRuntimeError:
            return ["device", "pinned_host"]

    def __str__(self) -> str:
        client: Any = self.client
        return f"{client.topology}/{self.id}"

    def __repr__(self) -> str:
        client: Any = self.client
        return f"{self.platform.capitalize()}Device(id={self.id}, topology={client.topology!r})"

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} is a device of a topology and belongs to this process: it is not pickled")


def topology_devices(platform: str, name: str, **options: Any) -> list[DescribedDevice]:
    """The devices of hardware that need not be here, each a ``Device``.

    Programs whose shardings are on them are written for their platform; ``compile`` gives what can be looked
    at and not called.

    Args:
      platform: ``"tpu"``, ``"cuda"``, ``"cpu"``, ...
      name: what the backend calls the topology: ``"v5e:2x4"`` (tpu), ``"h100:8"`` (cuda), ``"8"`` (cpu).
      options: for the backend.

    Returns:
      a list of devices, other ones at each call.

    Raises:
      MissingPluginError: the platform is not installed.
      PluginError: it does not compile for hardware that is not here.
      ConfigError: it knows no such topology.

    Example:
      >>> from rabbet.extend.sharding import topology_devices
      >>> there = topology_devices("cpu", "4")
      >>> len(there), there[3].id, there[0].is_local
      (4, 3, False)
    """
    backend = backends.default_registry().get(platform)
    if backend.stand_ins is not None:
        raw = backend.stand_ins(name, **options)
    elif backend.topology is not None:
        raw = adapter.compile_only_devices(backend.topology(name, **options))
    else:
        raise PluginError(
            f"the backend for {backend.platform!r} does not compile for hardware that is not here"
        )
    if not raw:
        raise ConfigError(f"the {backend.platform!r} topology {name!r} has no devices")
    return list(DescribedClient(backend, name, list(raw)).devices)


def is_described(place: Any) -> bool:
    """Whether a device or group of devices belongs to a topology and need not be here.

    Example:
      >>> from rabbet.extend.sharding import is_described, topology_devices
      >>> is_described(rb.devices()[0]), is_described(topology_devices("cpu", "2")[1])
      (False, True)
    """
    return type(place.client) is DescribedClient


__all__ = ["DescribedClient", "DescribedDevice", "is_described", "topology_devices"]
