"""Several processes: finding each other, a store of keys and values, who looks after their programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rabbet.errors import PluginError
from rabbet.runtime.arrays.own_parts import copies_of_parts
from rabbet.runtime.execution.multi_process import Overseer, set_overseer
from rabbet.runtime.jaxlib.coordination import Store, connect, cpu_collectives, split_address, start_service
from rabbet.runtime.platforms.backends import default_registry
from rabbet.runtime.platforms.devices import default_clients


def configure_client(
    platform: str, *, explain: Callable[[Exception], Exception | None] | None = None,
    prepare: Callable[[], None] | None = None, **options: Any,
) -> None:  # fmt: skip
    """Set options for the client of a platform, before its first device is asked for; None takes one back.
    ``prepare()`` is called before the client is made. Where it does not start, ``explain(error)`` may return
    another error to raise.

    Raises:
      RuntimeError: if the client runs already; see ``stop_client``.

    Example:
      >>> from rabbet.extend.processes import configure_client
      >>> def with_two_devices():
      ...     configure_client("cpu", num_devices=2)
      ...     return rb.devices("cpu")
    """
    default_clients().configure(platform, explain, prepare, **options)


def stop_client(platform: str) -> None:
    """Forget the client of a platform and all compiled programs; the next use starts another client, with new
    devices. Arrays on the old ones can be read as long as somebody has them.

    Example:
      >>> from rabbet.extend.processes import stop_client
      >>> def restart():
      ...     stop_client("cpu")
      ...     return rb.devices("cpu")
    """
    default_clients().stop(platform)


def usable_platforms() -> list[str]:
    """The platforms that are installed, may be used, and say of no obstacle; the default one comes first.
    No client is started.

    Example:
      >>> from rabbet.extend.processes import usable_platforms
      >>> "cpu" in usable_platforms()
      True
    """
    try:
        found, _ = default_registry().candidates()
    except PluginError:
        return []
    return [backend.platform for backend in found if backend.obstacle() is None]


__all__ = [
    "Overseer",
    "Store",
    "configure_client",
    "connect",
    "copies_of_parts",
    "cpu_collectives",
    "set_overseer",
    "split_address",
    "start_service",
    "stop_client",
    "usable_platforms",
]


def __dir__() -> list[str]:
    return list(__all__)
