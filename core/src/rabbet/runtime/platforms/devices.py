"""Devices: what arrays live on and programs run on.

`Device` objects are interned: one per device for the life of the process, so caches key on identity. Asking
for devices starts the backend's client; until then nothing of jaxlib's runtime runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.errors import ConfigError
from rabbet.messages.tracebacks import folded
from rabbet.program.once_per_process import made_once
from rabbet.runtime.jaxlib import adapter, interpreter_exit
from rabbet.runtime.platforms.backends import default_registry
from rabbet.runtime.platforms.clients import Clients

if TYPE_CHECKING:
    from rabbet.runtime.platforms.clients import Client
    from rabbet.runtime.platforms.topologies import DescribedClient


class Device:
    """One device of a platform, local or of another process.

    Attributes:
      platform: 'cpu', 'cuda', ...
      id: its number, unique within the platform over all processes.
      device_kind: the hardware's name for itself.
      process_index: the process that it belongs to.
      client: the `Client` it belongs to.
      raw, sharding, device_list: jaxlib's device, "all of it here", and a list of just this one.

    Example:
      >>> device = rb.devices('cpu')[0]
      >>> isinstance(device, rb.Device), device.platform, device.id
      (True, 'cpu', 0)
    """

    __slots__ = (
        "__weakref__",
        "_raw",
        "client",
        "device_kind",
        "device_list",
        "id",
        "platform",
        "process_index",
        "sharding",
    )

    def __init__(self, client: Client | DescribedClient, raw: Any) -> None:
        self.client, self._raw, self.platform = client, raw, client.platform
        self.id, self.device_kind, self.process_index = raw.id, raw.device_kind, raw.process_index
        self.sharding = adapter.single_sharding(raw)
        self.device_list = adapter.device_list((raw,))

    @property
    def is_local(self) -> bool:
        """Whether it belongs to this process."""
        return self.process_index == self.client.process_index

    @property
    def raw(self) -> Any:
        """jaxlib's device; raises ForkedProcessError in a forked child."""
        if (
            self.client.forked or interpreter_exit.begun
        ):  # asked here, too: this runs with each array that is put
            self.client.check_not_forked()
        return self._raw

    @property
    def local_hardware_id(self) -> Any:
        """The number of the hardware in its machine, or None where the platform has no such thing."""
        return self.raw.local_hardware_id

    @folded
    def memory_stats(self) -> Any:
        """Return a dict of byte counts ('bytes_in_use', 'bytes_limit', ...), or None where there are none
        (CPU)."""
        return self.raw.memory_stats()

    @folded
    def addressable_memories(self) -> list[Any]:
        """jaxlib's objects for the memories that it can address; each has a ``kind``."""
        return self.raw.addressable_memories()

    @folded
    def default_memory(self) -> Any:
        """jaxlib's object for the memory that arrays use unless they say otherwise."""
        return self.raw.default_memory()

    @folded
    def memory(self, kind: str) -> Any:
        """jaxlib's object for the memory of that kind, one of ``memory_kinds()``; else ValueError."""
        for memory in self.raw.addressable_memories():
            if memory.kind == kind:
                return memory
        kinds = ", ".join(self.memory_kinds())
        raise ValueError(f"{self} has no memory of the kind {kind!r}; it has {kinds}")

    @folded
    def memory_kinds(self) -> list[str]:
        """Return the names of the memories that it can address; the default one comes first."""
        default = self.raw.default_memory().kind
        others = [memory.kind for memory in self.raw.addressable_memories() if memory.kind != default]
        return [default, *others]

    @folded
    def live_buffers(self) -> list[Any]:
        """Return the raw arrays that lie on this device (also those spread over it and others)."""
        return [raw for raw in self.client.live_buffers() if self._raw in adapter.devices_of(raw)]

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> tuple[tuple[int | str, ...] | Callable[..., Any], ...]:
        return device, (self.platform, self.id)


@made_once
def default_clients() -> Clients:
    """Return the clients of this process: the runtime's one piece of process-wide state."""
    clients = Clients(default_registry(), Device)
    clients.on_fork(lambda: [forget() for forget in forget_when_forked])
    return clients


def running_platforms() -> Any:
    """The platforms whose client was made already, by name. To ask starts none.

    Example:
      >>> from rabbet.extend.backend import running_platforms
      >>> _ = lax.full((1,), 0.0)
      >>> "cpu" in running_platforms()
      True
    """
    if not default_clients.cache_info().currsize:
        return []
    return [client.platform for client in default_clients().running()]


forget_when_forked: list = []
"""What drops compiled programs in a forked child: the next call then comes by `Device.raw`, which raises."""


def client_of(backend: Device | str | None) -> Any:
    """Return the client of a platform name, or of the default backend for None."""
    if backend is None:
        return default_clients().default()
    if not isinstance(backend, str):
        raise TypeError(
            f"a backend is the name of a platform, such as 'cpu'; got {backend!r:.60} of type "
            f"{type(backend).__name__}"
        )
    return default_clients().get(backend)


def device(platform: str, id: int) -> Device:
    """Return the device `id` of `platform`."""
    try:
        return client_of(platform).device(id)
    except KeyError:
        known = ", ".join(map(str, client_of(platform).devices))
        raise ValueError(f"no device {platform}:{id}; there are {known}") from None


def devices(backend: Device | str | None = None) -> list[Device]:
    """Return all devices of a platform ('cpu', 'cuda' or 'gpu', 'tpu', ...), of the default one for None.

    Raises MissingPluginError for a platform that is not installed, naming the package to install.

    Example:
      >>> rb.devices("cpu")[0].platform
      'cpu'
    """
    return list(client_of(backend).devices)


def default_device() -> Device:
    """Return the device for values that are not on one yet: `config.default_device`, else the first local
    one.

    The setting may hold a `Device` or the name of a platform.
    """
    chosen = config.default_device
    if chosen is None:
        return default_clients().default().local_devices[0]
    if isinstance(chosen, Device):
        return chosen
    if isinstance(chosen, str):
        return client_of(chosen).local_devices[0]
    raise ConfigError(
        f"config.default_device cannot be {chosen!r}: it is a Device (rb.devices() lists them), the "
        "name of a platform such as 'cpu', or None"
    )


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Return the devices of one process, of this one for None. `host_id` is an older name of the process.

    Example:
      >>> rb.local_devices()[0] == rb.devices()[0]
      True
    """
    client = client_of(backend)
    process_index = host_id if process_index is None else process_index
    if process_index is None:
        return list(client.local_devices)
    if not 0 <= process_index < client.process_count:
        raise ValueError(f"no process {process_index}; there are {client.process_count}, numbered from 0")
    return [each for each in client.devices if each.process_index == process_index]


def device_count(backend: str | None = None) -> int:
    """Return how many devices a platform has over all processes.

    Example:
      >>> rb.device_count() == len(rb.devices())
      True
    """
    return len(client_of(backend).devices)


def local_device_count(backend: Any = None) -> int:
    """Return how many devices of a platform belong to this process.

    Example:
      >>> rb.local_device_count() <= rb.device_count()
      True
    """
    return len(client_of(backend).local_devices)


def default_backend() -> str:
    """Return the name of the platform that computations run on when nothing says otherwise.

    Example:
      >>> rb.default_backend() in ("cpu", "cuda", "tpu")
      True
    """
    return client_of(None).platform


def process_index(backend: Any = None) -> int:
    """Return the number of this process, 0 where there is only one.

    Example:
      >>> rb.process_index()
      0
    """
    return client_of(backend).process_index


def process_count(backend: Any = None) -> int:
    """Return how many processes share the devices of a platform.

    Example:
      >>> rb.process_count()
      1
    """
    return client_of(backend).process_count
