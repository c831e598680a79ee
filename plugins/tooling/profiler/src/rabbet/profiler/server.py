"""A server by which viewers, such as TensorBoard's, ask this process for a trace."""

import contextlib
import errno
import operator
import os
import socket
import stat
import warnings
from collections.abc import Callable
from typing import Any

from rabbet import devices
from rabbet.extend.native import profiler
from rabbet.extend.wrapping import stacklevel

_server: list[Any] = []
_port: list[int] = []


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
      OSError: if the port is another program's, or one that this program may not have.

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
    _check_free(port)
    if requires_backend:
        devices()
    _server.append(profiler().start_server(port))
    _port[:] = [port]
    return _server[0]


def _check_free(port: int) -> None:
    """XLA's server would start, say on stderr that it has no port, and be reached by nobody."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as XLA's has it
        try:
            probe.bind(("", port))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            why = os.strerror(error.errno)
            raise OSError(error.errno, f"start_server: port {port}: {why}; name another one") from None


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
    _end_connections(_port[0])
    _server.clear()


def _end_connections(port: int) -> None:
    """End what is connected to the server, where the system lists the sockets of this process.

    Without it the server waits for each connection that says nothing, for 20 s, and no other Python runs
    then: anyone who reaches the port could hold this process up.
    """
    try:
        handles = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:  # another system
        return
    for handle in handles:
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(handle).st_mode):
                with socket.socket(fileno=os.dup(handle)) as one:
                    if one.family in (socket.AF_INET, socket.AF_INET6) and one.getsockname()[1] == port:
                        one.getpeername()  # an error of the one that listens: XLA would say that it is broken
                        one.shutdown(socket.SHUT_RDWR)


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
