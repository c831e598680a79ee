"""What users call: ``initialize``, ``shutdown``, ``is_initialized``, ``reform``, ``joining``, ``lost``."""

import atexit
import ipaddress
import os
import socket
from collections.abc import Sequence

from rabbet.errors import ConfigError, PeerLost
from rabbet.extend.backend import running_platforms
from rabbet.extend.functions import folded
from rabbet.extend.processes import connect, split_address

from rabbet_distributed import clusters
from rabbet_distributed.clusters import Place
from rabbet_distributed.coordinator import Coordinator, CoordinatorError
from rabbet_distributed.group import Group, Seconds
from rabbet_distributed.signed_messages import SignedStore, secret_of_job

# Addresses that documents use (RFC 5737, RFC 3849): the way to them is that to any other network.
ELSEWHERE, ELSEWHERE_6 = "192.0.2.1", "2001:db8::1"

_group: Group | None = None
_coordinator: Coordinator | None = None
_registered = False
_used_before = False


@folded
def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
    *,
    peer_timeout_seconds: float = 20,
    step_timeout_seconds: float = 300,
    job_secret: str | None = None,
) -> None:
    """Connect this process with the others that run the same program. Call it before the first array is made.

    What is None is taken from the environment: ``RABBET_COORDINATOR_ADDRESS`` and its relatives, SLURM, Open
    MPI, ``torchrun``, Kubernetes.

    Args:
      coordinator_address: ``"host:port"`` at which process 0 starts the coordinator, a process of its own
        that computes nothing. The port must be free there.
      num_processes: how many processes there are.
      process_id: the number of this one, from 0.
      local_device_ids: which accelerators of this machine belong to this process. CPU devices are not chosen:
        ``RABBET_NUM_CPU_DEVICES`` says how many a process has.
      cluster_detection_method: ``"slurm"``, ``"ompi"``, ``"torchrun"``, ``"k8s"`` or ``"mpi4py"``;
        ``"deactivate"`` to read nothing from the environment.
      initialization_timeout: seconds to wait for the coordinator and the other processes.
      heartbeat_timeout_seconds: after so many seconds without a sign of the coordinator, this process ends.
      shutdown_timeout_seconds: seconds that ``shutdown`` waits for the others.
      coordinator_bind_address: where the coordinator listens: by default at ``coordinator_address`` if that
        is a loopback address (``127.0.0.1``, ``localhost``), else at all addresses of its machine.
      partition_index, slice_index: the number of the group of devices with fast connections that those of
        this process belong to (TPUs and some GPUs).
      peer_timeout_seconds: a process that is not heard of for so long is lost. One that ended is noticed
        within two seconds.
      step_timeout_seconds: how long a program may wait for the others.
      job_secret: a text of 16 characters or more that all processes of the job share and nobody else knows;
        None: ``RABBET_JOB_SECRET``, or the content of the file that ``RABBET_JOB_SECRET_FILE`` names, which
        ``rabbet launch`` and ``rabbet_ray`` make by themselves. Messages are signed with it, and what is not
        is not believed. Without one, anyone who reaches the coordinator can write in any process's name.

    Raises:
      ConfigError: where it is not known which process this is, for a short secret, and for a file of one that
        anybody may read.
      TimeoutError: where the coordinator or other processes did not come in time.
      RuntimeError: if called twice, or after the first array was made.
      CoordinatorError: where process 0 cannot start the coordinator, for example because the port is taken.

    Example:
      >>> rb.distributed.is_initialized()
      False
      >>> def main():
      ...     rb.distributed.initialize("10.0.0.1:4321", num_processes=2, process_id=0)
      ...     print(rb.device_count(), rb.local_device_count())
    """
    global _group
    if _group is not None:
        raise RuntimeError("distributed.initialize was called before; it is called once in each process")
    if running_platforms() and not _used_before:
        raise RuntimeError(
            "distributed.initialize must be called before the first array is made or devices are listed"
        )
    if isinstance(local_device_ids, int):
        local_device_ids = (local_device_ids,)
    given = Place(
        coordinator_address, num_processes, process_id,
        None if local_device_ids is None else tuple(local_device_ids),
    )  # fmt: skip
    place = clusters.complete(given, cluster_detection_method)
    seconds = Seconds(
        initialization_timeout, heartbeat_timeout_seconds, shutdown_timeout_seconds, peer_timeout_seconds,
        step_timeout_seconds,
    )  # fmt: skip
    for name, value in zip(Seconds._fields, seconds, strict=True):
        if value <= 0:
            raise ConfigError(f"distributed.initialize: time-outs are positive numbers, got {value} ({name})")
    secret = secret_of_job(job_secret)
    if partition_index is None:
        partition_index = slice_index
    try:
        _group = _connected(place, seconds, coordinator_bind_address, partition_index, secret)
    except BaseException:
        _let_coordinator_end()
        raise
    _leave_at_exit()


def _connected(place, seconds, bind_address, partition_index, secret):
    """The ``Group`` of this process, which is a member of a generation."""
    global _coordinator
    address = place.coordinator_address
    host, port = split_address(address)
    if place.process_id == 0 and not os.environ.get("RABBET_COORDINATOR_STARTED"):
        if bind_address is None and is_here(host):
            bind_address = address  # all members are on this machine: no other one has business at the port
        _coordinator = Coordinator(
            bind_address or f"{everywhere()}:{port}",
            place.num_processes,
            register_seconds=seconds.start,
            heartbeat_seconds=seconds.heartbeat,
        )
        # It listens at all addresses here; the name that the others use need not be known on this machine.
        address = f"localhost:{port}" if bind_address is None else bind_address
    store = connect(address, place.process_id, seconds=seconds.start, heartbeat_seconds=seconds.heartbeat)
    if secret is not None:
        store = SignedStore(store, secret)
    group = None
    try:
        group = Group(
            store,
            place.process_id,
            place.num_processes,
            seconds,
            own_address(host, port),
            place.local_device_ids,
            partition_index,
        )
        group.join()
        return group
    except BaseException:
        if group is not None:
            group.watch.stop()
        store.close()
        raise


def everywhere():
    """All addresses of this machine, as a host to listen at."""
    try:
        socket.create_server(("::", 0), family=socket.AF_INET6).close()
    except OSError:
        return "0.0.0.0"
    return "[::]"


def own_address(host, port):
    """The address of this machine by which others reach it: that on the way to another one."""
    found = way_to(host, port)
    if found.is_loopback and not is_here(host):
        # The name of this machine, for itself: Linux has it in /etc/hosts. For others it is another address.
        outward = way_to(ELSEWHERE, port) or way_to(ELSEWHERE_6, port)
        if outward is not None:
            found = outward
    return str(found)


def is_here(host):
    """Whether a host names this very machine, to whoever reads it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def way_to(host, port):
    """The address of this machine from which packets to another one leave, or None where there is no way to
    one that is given by its number. Nothing is sent.

    Raises:
      OSError: where a name is not known, or there is no way.
    """
    error = None
    for family, kind, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM):
        try:
            with socket.socket(family, kind) as probe:
                probe.connect(address)
                return ipaddress.ip_address(probe.getsockname()[0].partition("%")[0])
        except OSError as this:
            error = this
    if host in (ELSEWHERE, ELSEWHERE_6):
        return None
    raise error


def is_initialized() -> bool:
    """Whether this process is connected with others by ``initialize``.

    Example:
      >>> rb.distributed.is_initialized()
      False
    """
    return _group is not None


@folded
def shutdown() -> None:
    """Leave the other processes, once they are ready to leave as well; wait for that for at most
    ``shutdown_timeout_seconds``. Without ``initialize`` it does nothing. A program that ends leaves by
    itself, without waiting.

    Example:
      >>> rb.distributed.shutdown()
    """
    _leave(wait=True)


def _leave(wait):
    global _group, _used_before
    group, _group = _group, None
    if group is None:
        return
    _used_before = True
    try:
        group.leave(wait and group.watch.failure is None)
    finally:
        _let_coordinator_end()


def _let_coordinator_end():
    global _coordinator
    coordinator, _coordinator = _coordinator, None
    if coordinator is not None:
        # When the last process has left, which may be this one: its end would be that of all attached.
        coordinator.close(seconds=0)


def _leave_at_exit():
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_at_exit)


def _at_exit():
    # The others are not waited for: they may wait for a program that this process was to run.
    _leave(wait=False)


def initialized_group():
    """The ``Group`` of this process.

    Raises:
      RuntimeError: before ``initialize``.
    """
    if _group is None:
        raise RuntimeError(
            "this process is not connected with others: call rabbet.distributed.initialize first"
        )
    return _group


@folded
def reform(timeout_seconds: float = 60) -> None:
    """Form a new group of the processes that are left and of those that wait to join; every process that is
    to be in it calls this.

    Those that were in the group keep their order, and those that join come after them, so process 0 always
    knows the state. Afterwards ``rb.devices()``, ``rb.process_index()`` and ``rb.process_count()`` are those
    of the new group, and meshes have to be made anew. Arrays of the old group are lost, apart from the parts
    that this process can read: go on from a checkpoint, or from values kept on the host.

    Args:
      timeout_seconds: how long to wait for a process that is alive and does not call this; it is left out.

    Raises:
      PeerLost: if the others have formed a group without this process.
      RuntimeError: before ``initialize``.

    Example:
      >>> def train(state, batches):
      ...     for batch in batches:
      ...         try:
      ...             state = step(state, batch)
      ...         except rb.errors.PeerLost:
      ...             rb.distributed.reform()
      ...             state = load()
    """
    group = initialized_group()
    group.form(group.generation + 1, timeout_seconds)


@folded
def lost() -> dict[int, str]:
    """The processes of the group that cannot be counted on, as far as is known: reasons by their numbers
    (``rb.process_index()`` there). Every process may ask at any time, on any thread; it waits for nobody. A
    process whose program has ended is among them. Without ``initialize`` the dict is empty.

    Example:
      >>> rb.distributed.lost()
      {}
    """
    group = _group
    if group is None:
        return {}
    group.watch.refresh()
    return dict(group.watch.lost(range(group.size)))


@folded
def joining() -> int:
    """How many processes wait to join. All members call it at the same point of the program, and get the same
    answer; if it is not 0, they may call ``reform()``.

    Raises:
      PeerLost: if the first process is lost. RuntimeError: before ``initialize``.

    Example:
      >>> def between_steps(state):
      ...     if rb.distributed.joining():
      ...         save(state)
      ...         rb.distributed.reform()
      ...         state = load()
      ...     return state
    """
    group = initialized_group()

    def waiting():
        group.watch.refresh()
        return len(group.candidates())

    return group.ask(waiting)


__all__ = [
    "CoordinatorError",
    "PeerLost",
    "initialize",
    "initialized_group",
    "is_initialized",
    "joining",
    "lost",
    "reform",
    "shutdown",
]
