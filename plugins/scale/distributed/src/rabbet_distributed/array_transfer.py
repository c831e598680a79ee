"""Arrays from one process to another: ``rabbet.experimental.transfer``.

A server keeps what ``await_pull`` offers until a connection pulls it, once. Values go through the host.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import itertools
import math
import socket
import threading
import time
import weakref
from typing import Any

import numpy as np
from rabbet import device_put, tree
from rabbet.errors import ConfigError
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.transform import is_tracer, typeof

from rabbet_distributed.signed_connection import SignedConnection
from rabbet_distributed.signed_messages import VARIABLE, secret_of_job

PATIENCE = 300.0  # seconds that a pull waits unless it is told otherwise
REACHED = 10.0  # seconds until an address must answer
LATER = 5.0  # seconds beyond a pull's own time in which the server must say that it is over


class TransferError(RuntimeError):
    """Arrays could not be sent or pulled; the message says which, where, and why.

    Example:
      >>> from rabbet.experimental import transfer
      >>> issubclass(transfer.TransferTimeoutError, transfer.TransferError)
      True
    """


class TransferTimeoutError(TransferError, TimeoutError):
    """A pull waited for so long as it was told to, and nobody offered its arrays.

    Example:
      >>> from rabbet.experimental import transfer
      >>> issubclass(transfer.TransferTimeoutError, TimeoutError)
      True
    """


def start_transfer_server(
    client: Any = None,
    address: str = "127.0.0.1:0",
    transport_addresses: Any = (),
    max_num_parallel_copies: int = 8,
    transfer_size: int = 256 * 1024 * 1024,
    supports_pinned_allocator: bool = False,
    use_raw_buffers: bool = False,
    *,
    secret: str | bytes | None = None,
) -> TransferServer:
    """A server that offers arrays of this process to others.

    Args:
      client: JAX's, ``jax.devices()[0].client``; values lie where their arrays do, so it may be left out.
      address: ``host:port`` at which it listens, port 0 for any free one. An address that other machines
        reach needs a secret.
      transport_addresses: further addresses, over which values are pulled in turn; by default over
        ``address``.
      max_num_parallel_copies: how many pulls are served at once; others wait.
      transfer_size: how many bytes are copied at once.
      supports_pinned_allocator, use_raw_buffers: False; values go through the host's ordinary memory.
      secret: of both processes, at least 16 characters; by default that of the job, ``RABBET_JOB_SECRET``.

    Returns:
      a ``TransferServer``.

    Raises:
      ConfigError: for an address that others reach without a secret. TransferError: for one that cannot be
        had.

    Example:
      >>> from rabbet.experimental import transfer
      >>> with transfer.start_transfer_server() as server:
      ...     server.await_pull(7, [rb.numpy.arange(3.0)])
      ...     (x,) = server.connect(server.address()).pull(7, [rb.ShapeDtypeStruct((3,), "float32")])
      >>> x
      Array([0., 1., 2.], dtype=float32)
    """
    for name, value in (
        ("supports_pinned_allocator", supports_pinned_allocator),
        ("use_raw_buffers", use_raw_buffers),
    ):
        if value:
            raise NotImplementedError(
                f"start_transfer_server: {name} must be False: values go through the host's ordinary memory"
            )
    for name, value in (
        ("max_num_parallel_copies", max_num_parallel_copies),
        ("transfer_size", transfer_size),
    ):
        if value < 1:
            raise ValueError(f"start_transfer_server: {name} must be at least 1, got {value}")
    found = secret_of_job(secret)
    places = [parsed(a, "start_transfer_server") for a in (address, *transport_addresses)]
    if found is None:
        for host, port in places:
            if not is_of_this_machine(host):
                raise ConfigError(
                    f"start_transfer_server: others reach {host}:{port}, and there is no secret by which to "
                    f"know them\n  to fix: set {VARIABLE} in both processes, give secret=, or listen at "
                    "127.0.0.1"
                )
    return TransferServer(places, found or b"", max_num_parallel_copies, transfer_size)


class TransferServer:
    """What ``start_transfer_server`` returns. It ends with ``close``, a ``with`` block, or the process.

    Example:
      >>> from rabbet.experimental import transfer
      >>> with transfer.start_transfer_server() as server:
      ...     isinstance(server, transfer.TransferServer), server.address().rpartition(":")[0]
      (True, '127.0.0.1')
    """

    def __init__(self, places: Any, secret: bytes, parallel: int, chunk: int) -> None:
        self._secret, self._chunk = secret, chunk
        self._offers: dict[int, Any] = {}
        self._changed = threading.Condition()
        self._copies = threading.Semaphore(parallel)
        self._closed = False
        self._connections: set[SignedConnection] = set()
        self._listeners: list[socket.socket] = []
        try:
            for place in places:
                self._listeners.append(socket.create_server(place, family=family_of(place[0])))
        except OSError as error:
            self.close()
            raise TransferError(f"start_transfer_server: cannot listen at {shown(place)}: {error}") from None
        for listener in self._listeners:
            started(self._accept, listener)

    def address(self) -> str:
        """``host:port`` at which it listens, which ``connect`` takes."""
        return shown(self._listeners[0].getsockname())

    def await_pull(self, uuid: int, arrays: Any) -> None:
        """Offer arrays under a number until somebody pulls them; returns at once.

        Args:
          uuid: an int that is not offered now.
          arrays: a pytree of arrays whose values this process has. They are kept until they are pulled.

        Raises:
          TransferError: for a number that is offered, or arrays whose values others have.
        """
        leaves = [array_or_tracer(x) for x in tree.leaves(arrays)]
        for i, x in enumerate(leaves):
            if is_tracer(x):
                raise TypeError("await_pull takes arrays, and within a traced function there are none")
            if not x.is_fully_addressable or typeof(x).is_extended or typeof(x).mat.unreduced:
                raise TransferError(
                    f"await_pull of uuid {uuid}: leaf {i}, {typeof(x).str_short()}, has values that this "
                    "process cannot send as they are\n  to fix: offer the parts of this process, "
                    "x.addressable_shards; the data of a typed key, random.key_data; sums added up"
                )
        with self._changed:
            if self._closed:
                raise TransferError("await_pull: the server is closed")
            if uuid in self._offers:
                raise TransferError(
                    f"await_pull: arrays are offered under uuid {uuid} already, and nobody has pulled them"
                )
            self._offers[uuid] = leaves
            self._changed.notify_all()

    def connect(self, address: str) -> TransferConnection:
        """A connection to the server of another process.

        Args:
          address: what its ``address()`` returned.

        Raises:
          TransferError: if nobody answers there within 10 s, or somebody with another secret.
        """
        return TransferConnection(address, self._secret, self._chunk)

    def close(self) -> None:
        """Stop listening, and end the connections that came in; what is offered is forgotten."""
        with self._changed:
            self._closed = True
            self._offers.clear()
            self._changed.notify_all()
            open_now = list(self._connections)
        for listener in self._listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in open_now:
            connection.close()

    def __enter__(self) -> TransferServer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _accept(self, listener: socket.socket) -> None:
        while not self._closed:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            started(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        """Answer one connection until it ends."""
        connection = None
        try:
            sock.settimeout(REACHED)
            connection = SignedConnection(sock, self._secret, True, self._chunk)
            with self._changed:
                self._connections.add(connection)
            asked, _ = connection.receive()
            more = [shown(each.getsockname()) for each in self._listeners[1:]]
            connection.send({"transports": more})
            sock.settimeout(None)
            while not self._closed:
                asked, _ = connection.receive()
                self._answer(connection, asked)
        except OSError:  # it is gone, or is nobody of ours
            pass
        finally:
            with self._changed:
                self._connections.discard(connection)  # type: ignore[arg-type]
            sock.close()

    def _answer(self, connection: SignedConnection, asked: Any) -> None:
        uuid, wanted = asked["pull"], [(tuple(shape), dtype) for shape, dtype in asked["types"]]
        deadline = time.monotonic() + asked["seconds"]
        with self._changed:
            while uuid not in self._offers and not self._closed:
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            leaves = self._offers.get(uuid)
            if leaves is not None:
                have = [(tuple(x.shape), str(x.dtype)) for x in leaves]
                if have == wanted:
                    del self._offers[uuid]
        if leaves is None:
            connection.send({"error": "closed" if self._closed else "late"})
            return
        if have != wanted:
            connection.send({"error": "types", "have": have})
            return
        try:
            with self._copies:
                try:
                    values = [np.ascontiguousarray(np.asarray(x)) for x in leaves]
                except Exception as error:
                    connection.send({"error": "values", "why": f"{type(error).__name__}: {error}"})
                    return
                connection.send({"types": have}, [v.reshape(-1).view(np.uint8) for v in values if v.size])
                connection.receive()  # it has them
        except OSError:
            with self._changed:  # somebody else may pull them
                self._offers.setdefault(uuid, leaves)
                self._changed.notify_all()
            raise


class TransferConnection:
    """What ``TransferServer.connect`` returns: pulls arrays that the other process offers.

    Example:
      >>> from rabbet.experimental import transfer
      >>> with transfer.start_transfer_server() as server:
      ...     isinstance(server.connect(server.address()), transfer.TransferConnection)
      True
    """

    def __init__(self, address: str, secret: bytes, chunk: int) -> None:
        self._address, self._secret, self._chunk = address, secret, chunk
        self._ways: list[SignedConnection] = []
        weakref.finalize(self, ended, self._ways)  # whoever forgets it has closed it
        for each in self._reached(address):
            self._reached(each)
        self._turns = itertools.cycle(self._ways[1:] or self._ways)
        self._locks = {way: threading.Lock() for way in self._ways}
        self._dead: str | None = None

    def _reached(self, address: str) -> list[str]:
        """Add the way over an address; return the further addresses that are named there."""
        place, sock = parsed(address, "connect"), None
        try:
            sock = socket.create_connection(place, timeout=REACHED)
            connection = SignedConnection(sock, self._secret, False, self._chunk)
            connection.send({"hello": 1})
            answer, _ = connection.receive(room=0)
        except OSError as error:
            if sock is not None:
                sock.close()
            raise TransferError(
                f"connect: no transfer server with our secret answers at {address}: {error}\n"
                f"  to fix: start one there first, and set the same {VARIABLE} in both processes"
            ) from None
        self._ways.append(connection)
        return answer["transports"]

    def pull(self, uuid: int, xs: Any, timeout: datetime.datetime | float | None = None) -> Any:
        """The arrays that the other process offers under a number.

        Args:
          uuid: the number that ``await_pull`` was given there; it may come later than the pull.
          xs: a pytree of ``ShapeDtypeStruct`` of the shapes and dtypes that are offered, whose ``sharding``,
            if any, says where the arrays are to lie.
          timeout: until when to wait, a ``datetime``, or for how many seconds; by default 300.

        Returns:
          a pytree of arrays like ``xs``.

        Raises:
          TransferTimeoutError: if nobody offered them until then.
          TransferError: for other shapes or dtypes than are offered (they stay offered), or a process that
            has ended.
        """
        seconds = seconds_of(timeout)
        leaves, structure = tree.flatten(xs)
        types = [(tuple(map(int, x.shape)), str(np.dtype(x.dtype))) for x in leaves]
        size = sum(math.prod(x.shape) * np.dtype(x.dtype).itemsize for x in leaves)
        if self._dead:
            raise TransferError(f"pull of uuid {uuid}: {self._dead}")
        way = next(self._turns)
        try:
            with self._locks[way]:
                way.sock.settimeout(seconds + LATER)
                way.send({"pull": uuid, "types": types, "seconds": seconds})
                answer, payload = way.receive(room=size)
                if "types" in answer:
                    way.send({"got": uuid})
        except TimeoutError:
            self._end(f"the process at {self._address} did not answer within {seconds + LATER:g} s")
            raise TransferTimeoutError(f"pull of uuid {uuid}: {self._dead}") from None
        except OSError as error:
            self._end(f"the process at {self._address} has ended or cannot be reached any more: {error}")
            raise TransferError(f"pull of uuid {uuid}: {self._dead}") from None
        refuse(answer, uuid, types, self._address, seconds)
        found, at = [], 0
        for x in leaves:
            count = math.prod(x.shape)
            dtype = np.dtype(x.dtype)
            value = np.frombuffer(payload, dtype, count, at) if count else np.empty(0, dtype)
            at += count * dtype.itemsize
            found.append(device_put(value.reshape(x.shape), getattr(x, "sharding", None)))
        return tree.unflatten(structure, found)

    def _end(self, why: str) -> None:
        self._dead = why
        self.close()

    def close(self) -> None:
        """End the connection; its pulls fail from then on."""
        self._dead = self._dead or "the connection was closed"
        ended(self._ways)


def started(function: Any, *args: Any) -> None:
    """Call a function in a thread that ends with the process."""
    threading.Thread(target=function, args=args, name="rabbet transfer", daemon=True).start()


def ended(ways: list[SignedConnection]) -> None:
    """End connections."""
    for way in ways:
        way.close()


def refuse(answer: Any, uuid: int, types: Any, address: str, seconds: float) -> None:
    """Raise what the other side's answer says, if it sends nothing."""
    why = answer.get("error")
    if why is None:
        return
    who = f"pull of uuid {uuid} from {address}"
    if why == "late":
        raise TransferTimeoutError(f"{who}: nobody offered it within {seconds:g} s (await_pull)")
    if why == "types":
        have = [(tuple(shape), dtype) for shape, dtype in answer["have"]]
        raise TransferError(
            f"{who}: offered are {listed(have)}, and asked for were {listed(types)}\n"
            "  to fix: give the shapes and dtypes that are offered; the arrays stay offered"
        )
    what = "its server was closed" if why == "closed" else f"it could not read them, {answer.get('why')}"
    raise TransferError(f"{who}: {what}")


def listed(types: Any) -> str:
    """Types in words: ``float32[2,3]``."""
    return ", ".join(f"{dtype}[{','.join(map(str, shape))}]" for shape, dtype in types) or "no arrays"


def seconds_of(timeout: Any) -> float:
    """For how long to wait."""
    if timeout is None:
        return PATIENCE
    if isinstance(timeout, datetime.datetime):
        return max(0.0, (timeout - datetime.datetime.now(timeout.tzinfo)).total_seconds())
    if not isinstance(timeout, (int, float)) or not 0 <= timeout < math.inf:
        raise ValueError(f"pull: timeout must be a datetime or a finite number of seconds, got {timeout!r}")
    return float(timeout)


def parsed(address: Any, who: str) -> tuple[str, int]:
    """The host and the port of ``host:port`` or ``[host]:port``."""
    host, _, port = str(address).rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"{who}: an address is host:port, got {address!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def shown(place: Any) -> str:
    """``host:port`` of a socket's name."""
    host, port = place[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def family_of(host: str) -> socket.AddressFamily:
    """The family of an address that may be a name."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def is_of_this_machine(host: str) -> bool:
    """Whether only processes of this machine reach an address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


__all__ = [
    "TransferConnection", "TransferError", "TransferServer", "TransferTimeoutError", "start_transfer_server",
]  # fmt: skip
