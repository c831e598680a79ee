"""How processes find each other: jaxlib's service, and the store of keys and values that it keeps.

Traps, each of which ends the process: a client that cannot reach its service, a service that goes away while
clients are attached. Hence ``reachable`` before ``connect``, and no call here without a time-out. Every
client is *recoverable*: that one of them dies is no reason for the service to end the others.
"""

from __future__ import annotations

import time
from typing import Any

from jaxlib import _jax

from rabbet.runtime.jaxlib import adapter, terminating

PAUSE = 0.3


def start_service(
    address: Any, num_processes: Any, *, register_seconds: Any = 300, heartbeat_seconds: Any = 100
) -> Any:
    """Start the service at ``"host:port"`` for processes 0 to ``num_processes - 1``; return it. It lives as
    long as the object; ``shutdown()`` ends all processes that are attached still.

    Raises:
      OSError: where the port is taken.

    Example:
      >>> from rabbet.extend.processes import start_service
      >>> def serve():
      ...     return start_service("[::]:4321", num_processes=2)
    """
    check_free(address)
    return _jax.get_distributed_runtime_service(
        address,
        num_processes,
        heartbeat_timeout=max(1, int(heartbeat_seconds)),
        cluster_register_timeout=max(1, int(register_seconds)),
        shutdown_timeout=1,
        recoverable=True,
    )


def check_free(address: Any) -> None:
    """Raise OSError for an address that nothing can listen at; jaxlib's error does not say why."""
    import socket  # where several processes are used at all

    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OSError(error.errno, f"cannot listen at {address}: {error.strerror}") from None


def split_address(address: Any) -> Any:
    """Host and port of ``"host:port"`` or ``"[host]:port"``.

    Raises:
      ValueError: for what is none of these.

    Example:
      >>> from rabbet.extend.processes import split_address
      >>> split_address("[::1]:4321")
      ('::1', 4321)
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or not host:
        raise ValueError(f"an address is 'host:port', such as 'node1:4321', got {address!r}")
    return host.strip("[]"), int(port)


def reachable(address: Any, seconds: Any) -> None:
    """Wait until somebody listens at an address.

    Raises:
      TimeoutError: if nobody does for so long.
    """
    import socket

    deadline, reason = time.monotonic() + seconds, "nobody answered"
    while (left := deadline - time.monotonic()) > 0:
        try:
            socket.create_connection(split_address(address), timeout=min(left, 5.0)).close()
            return
        except OSError as error:
            reason = error.strerror or str(error)
        time.sleep(min(0.1, max(0.0, left)))
    raise TimeoutError(f"no coordinator could be reached at {address} within {seconds:g} s: {reason}")


class Store:
    """The keys and values that the processes share, both texts.

    Example:
      >>> from rabbet.extend.processes import Store
      >>> def first_comes(store: Store):
      ...     store.set("greeting", "good morning")
      ...     return store.wait("greeting", seconds=10)
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def set(self, key: Any, value: Any, *, replace: Any = False) -> None:
        """Set a key. Raises KeyError if it is set, unless ``replace``."""
        try:
            self.client.key_value_set(key, value, replace)
        except adapter.XlaRuntimeError as error:
            if "ALREADY_EXISTS" not in str(error):
                raise
            raise KeyError(key) from None

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        try:
            return self.client.key_value_try_get(key)
        except adapter.XlaRuntimeError as error:
            if "NOT_FOUND" not in str(error):
                raise
            return None

    def wait(self, key: Any, seconds: Any) -> Any:
        """The value of a key, once it is set. Raises TimeoutError if it is not for so long."""
        try:
            return self.client.blocking_key_value_get(key, max(1, int(seconds * 1000)))
        except adapter.XlaRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            raise TimeoutError(f"{key!r} was not set within {seconds:g} s") from None

    def folder(self, prefix: Any) -> Any:
        """All keys below ``prefix``, with their values: a dict by what follows the prefix."""
        prefix = prefix.rstrip("/") + "/"
        try:
            found = self.client.key_value_dir_get(prefix)
        except adapter.XlaRuntimeError as error:
            if "NOT_FOUND" not in str(error):
                raise
            found = []
        return {key.removeprefix(prefix): value for key, value in found}

    def delete(self, key: Any) -> None:
        """Remove a key and all below it."""
        self.client.key_value_delete(key)

    def live(self, processes: Any) -> Any:
        """Those of the processes with these numbers that are alive, the same answer in each: a dict from
        their numbers to numbers that tell a process from one started in its place. It waits until all that
        are alive ask.
        """
        return dict(self.client.get_live_nodes(sorted(processes)))

    def preemption(self) -> Any:
        """What tells, by ``reached_sync_point(step)``, after which step all processes should save their
        state. From now on the signal SIGTERM does not end this process; it is the notice.
        """
        manager = _jax.create_preemption_sync_manager()
        manager.initialize(self.client)
        return manager

    def close(self) -> None:
        """Leave the service."""
        self.client.shutdown()


def connect(address: Any, process: Any, *, seconds: Any = 300, heartbeat_seconds: Any = 100) -> Any:
    """Attach this process, number ``process``, to the service at an address; return the ``Store``. From then
    on the process ends when the service goes away before ``close()``.

    Raises:
      TimeoutError: if the service cannot be reached, or the other processes do not attach, for so long.

    Example:
      >>> from rabbet.extend.processes import connect
      >>> connect("localhost:1", 0, seconds=0.01)
      Traceback (most recent call last):
      ...
      TimeoutError: no coordinator could be reached at localhost:1 within 0.01 s: Connection refused
    """
    started = time.monotonic()
    reachable(address, seconds)
    left = max(1, int(seconds - (time.monotonic() - started)))
    client = _jax.get_distributed_runtime_client(
        address,
        process,
        init_timeout=left,
        heartbeat_timeout=max(1, int(heartbeat_seconds)),
        shutdown_timeout=1,
        shutdown_on_destruction=False,
        # Without one, jaxlib ends the process where connecting fails. It is called with what Python has no
        # type for, so this one never runs (see ``terminating``).
        missed_heartbeat_callback=lambda *args: None,
        use_compression=True,
    )
    try:
        client.connect()
    except RuntimeError as error:
        reason = "" if "bad_cast" in str(error) else f" ({error})"
        raise TimeoutError(
            f"process {process} reached the coordinator at {address}, but not all processes attached to it "
            f"within {seconds:g} s{reason}"
        ) from None
    terminating.explain_end(lambda: why_it_ends(address, process))
    return Store(client)


def why_it_ends(address: Any, process: Any) -> str:
    """What a process says that jaxlib ends because of its coordinator."""
    time.sleep(PAUSE)  # the system takes a moment to close its port
    try:
        reachable(address, PAUSE)
        what = f"the coordinator at {address} has given process {process} up: it was not heard of in time"
    except TimeoutError:
        what = f"the coordinator at {address} is gone, and process {process}, which was attached to it, ends"
    return (
        f"rabbet.distributed: {what}\n"
        "  to fix: start all processes again, from the last checkpoint; rabbet launch --elastic does that"
    )


def cpu_collectives(store: Any, hostname: Any = None, interface: Any = None) -> Any:
    """What CPU clients of several processes need to communicate (Gloo over TCP), as an option of
    ``make_cpu_client``.

    Args:
      hostname: the name or address of this machine by which the others reach it; by default what its name
        resolves to.
      interface: the network interface to use instead.

    Example:
      >>> from rabbet.extend.processes import cpu_collectives
      >>> def options(store):
      ...     return {"distributed_client": store.client, "collectives": cpu_collectives(store)}
    """
    return _jax.make_gloo_tcp_collectives(
        distributed_client=store.client, hostname=hostname, interface=interface
    )


__all__ = ["Store", "connect", "cpu_collectives", "split_address", "start_service"]
