"""A server by which viewers, such as TensorBoard's, ask this process for a trace."""

import operator
import warnings
from collections.abc import Callable
from typing import Any

from rabbet import devices
from rabbet.extend.native import profiler
from rabbet.extend.wrapping import stacklevel

_server: list[Any] = []


def start_server(port: int, requires_backend: bool = True, *, all_interfaces: bool | None = None) -> Any:
    """Let viewers ask this process for a trace, at ``port``.

    Anyone who reaches the port can record what this process does. The address of XLA's server cannot be
    chosen: it listens on all interfaces of the machine, and a warning says so unless the call says that it
    is known. A firewall, or a container, keeps others out.

    Args:
      port: a free port.
      requires_backend: start the devices first, so that they take part.
      all_interfaces: True: it is known, no warning.

    Returns:
      the server, which ``stop_server()`` ends.

    Raises:
      ValueError: if the server runs already, or there is no such port.

    Example:
      >>> server = rb.profiler.start_server(9012, all_interfaces=True)
      >>> rb.profiler.stop_server()
    """
    if _server:
        raise ValueError("start_server: a server is running already; end it first, with stop_server()")
    port = operator.index(port)
    if not 0 < port < 2**16:
        raise ValueError(f"start_server: a port is a number from 1 to 65535, got {port}")
    if not all_interfaces:
        warnings.warn(
            f"start_server: XLA's profile server at port {port} listens on all interfaces of this machine, "
            "so others may reach it; all_interfaces=True says that this is known",
            stacklevel=stacklevel(),
        )
    if requires_backend:
        devices()
    _server.append(profiler().start_server(port))
    return _server[0]


def stop_server() -> None:
    """End the server.

    Raises:
      ValueError: if none runs.

    Example:
      >>> try:
      ...     rb.profiler.stop_server()
      ... except ValueError as error:
      ...     print(error)
      stop_server: no server is running
    """
    if not _server:
        raise ValueError("stop_server: no server is running")
    _server.clear()


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Let traces of this process hold those of another one, whose profile server listens at ``port``.

    Args:
      pid: the number of that process.
      port: the port of its server, on this machine.

    Returns:
      a function that takes it out again.

    Raises:
      RuntimeError: if nobody answers there, or the process is registered already.

    Example:
      >>> take_out = rb.profiler.register_subprocess(worker.pid, 9012)  # doctest: +SKIP
      >>> callable(rb.profiler.register_subprocess)
      True
    """
    return profiler().register_subprocess(pid, port)
