"""``rabbet.experimental.multihost_utils``: small programs over all processes."""

import contextlib
import functools
import hashlib
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import rabbet as rb
from rabbet import Array, Device, lax, tree
from rabbet.sharding import Mesh, NamedSharding, PartitionSpec

from rabbet_distributed import api


class ProcessFailureError(RuntimeError):
    """Processes failed within ``with live_devices(...)``; ``failed_devices`` is the set of their devices.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> multihost_utils.ProcessFailureError({rb.devices("cpu")[0]}).failed_devices == {rb.devices("cpu")[0]}
      True
    """

    def __init__(self, failed_devices: set[Device]):
        super().__init__(f"processes failed that own these devices: {sorted(map(str, failed_devices))}")
        self.failed_devices = failed_devices


def process_mesh():
    """All devices, a row for each process."""
    devices = sorted(rb.devices(), key=lambda d: (d.process_index, d.id))
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return Mesh(grid.reshape(rb.process_count(), -1), ("processes", "local"))


def over_processes(x):
    """A global array with ``x[np.newaxis]`` of each process along its first dimension."""
    x = np.asarray(x)[np.newaxis]
    return rb.make_array_from_process_local_data(NamedSharding(process_mesh(), PartitionSpec("processes")), x)


def everywhere(x, program):
    """``program(x)``, for a global array, as a NumPy array in every process."""
    return np.asarray(_compiled(program, process_mesh())(x))


@functools.lru_cache(maxsize=3)  # the programs below; those of an older group would keep its devices
def _compiled(program, mesh):
    return rb.jit(program, out_shardings=NamedSharding(mesh, PartitionSpec()))


def _same(x):
    return x


def _join(x):
    return lax.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def _total(x):
    return lax.reduce_sum(x, (0,))


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values that one process has, in all of them.

    Args:
      in_tree: a pytree of arrays or numbers; only the shapes and dtypes count in the others.
      is_source: whether this process is the one; by default process 0 is.

    Returns:
      a pytree of NumPy arrays.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> multihost_utils.broadcast_one_to_all({"seed": 7})
      {'seed': array(7, dtype=int32)}
    """
    if is_source is None:
        is_source = rb.process_index() == 0

    def one(x):
        x = np.asarray(rb.device_put(x))
        bits = x.view(np.uint8) if x.ndim else x.reshape(1).view(np.uint8)  # sums of bytes are exact
        bits = bits if is_source else np.zeros_like(bits)
        return everywhere(over_processes(bits), _total).view(x.dtype).reshape(x.shape)

    return tree.map(one, in_tree)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, in each of them.

    Args:
      in_tree: a pytree of arrays: global ones, or the process's own.
      tiled: join the values of the processes along the first dimension; else they are stacked along a new
        one. Numbers are stacked in any case. Global arrays need True, and come back whole.

    Returns:
      a pytree of NumPy arrays; with several processes their 64-bit values are narrowed as those of arrays
      are, with one they are what was given.

    Raises:
      ValueError: for global arrays without ``tiled=True``.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> multihost_utils.process_allgather(np.float32(2))
      array([2.], dtype=float32)
    """

    def one(x):
        if isinstance(x, Array) and not x.is_fully_addressable:
            if not tiled:
                raise ValueError(
                    "process_allgather: an array over several processes is gathered as a whole, which "
                    "tiled=True says"
                )
            out = NamedSharding(Mesh(np.array(x.sharding.device_order, object), ("all",)), PartitionSpec())
            return np.asarray(rb.device_put(x, out))
        if rb.process_count() == 1:  # nothing goes to devices, where 64 bits would be narrowed
            return np.asarray(x) if tiled and np.ndim(x) else np.asarray(x)[np.newaxis]
        x = np.asarray(rb.device_put(x))
        return everywhere(over_processes(x), _join if tiled and x.ndim else _same)

    return tree.map(one, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait until all processes are here.

    Raises:
      AssertionError: if they are at points of different names.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> multihost_utils.sync_global_devices("saved")
    """
    names = process_allgather(np.uint32(zlib.crc32(name.encode())))
    others = [i for i, each in enumerate(names) if each != zlib.crc32(name.encode())]
    if others:
        raise AssertionError(
            f"sync_global_devices: processes {', '.join(map(str, others))} are at a point of another name "
            f"than {name!r}"
        )


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values, of the same dtypes and shapes. Each process compares
    checksums of all bits, so nothing is rounded; NaN is equal to NaN.

    Raises:
      AssertionError: in all of them, if they do not; with ``fail_message``, and which leaf differs where.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> multihost_utils.assert_equal({"rate": 0.1}, "the settings differ")
    """
    who = fail_message or "assert_equal"
    pairs, _ = tree.flatten_with_path(in_tree)
    leaves = [(tree.keystr(path) or "the value", np.asarray(x)) for path, x in pairs]
    names = digest("\n".join([name for name, _ in leaves]).encode())
    marks = [mark_of(x) for _, x in leaves]
    every = process_allgather(np.stack([names, digest(b"".join([m.tobytes() for m in marks]))]))
    different = others(every[:, 0])
    if different:
        raise AssertionError(f"{who}: process {different} has a tree of another structure than process 0")
    if not others(every):
        return
    every = process_allgather(np.stack(marks))
    number = next(i for i in range(len(leaves)) if others(every[:, i]))
    name, x = leaves[number]
    said = process_allgather(as_text(x))
    raise AssertionError(
        f"{who}: {name} of process {others(every[:, number])} is not that of process 0, "
        f"{bytes(said[0]).decode(errors='replace').rstrip(chr(0))}"
    )


def others(rows):
    """The numbers of the rows that are not the first one, as text."""
    return ", ".join([str(i) for i, row in enumerate(rows) if not np.array_equal(row, rows[0])])


def digest(text):
    """A checksum of bytes, as 32 of them."""
    return np.frombuffer(hashlib.sha256(text).digest(), np.uint8)


def mark_of(x):
    """A checksum of a NumPy array's type and values. All NaNs are one value, and both zeros."""
    if x.dtype.hasobject:
        return digest(repr(x.tolist()).encode())
    if x.dtype.kind in "fcV":  # V: bfloat16 and smaller formats
        with contextlib.suppress(TypeError):  # int4
            x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x + np.zeros((), x.dtype))
    return digest(f"{x.dtype.str} {x.shape}".encode() + np.ascontiguousarray(x).tobytes())


def as_text(x, length=200):
    """What a NumPy array shows, as bytes of one length."""
    text = (f"{x}" if x.size <= 8 else f"{x.dtype}{list(x.shape)} {x.reshape(-1)[:8]}...").encode()[:length]
    return np.frombuffer(text.ljust(length, b"\0"), np.uint8)


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Global arrays of what each process has for its own devices.

    Args:
      local_inputs: a pytree of arrays. Global arrays stay as they are.
      global_mesh: the mesh over all processes.
      pspecs: a ``PartitionSpec``, or a prefix of ``local_inputs`` with these: how the global arrays lie.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> from rabbet.sharding import PartitionSpec as P
      >>> mesh = rb.make_mesh((rb.device_count(),), ("x",))
      >>> multihost_utils.host_local_array_to_global_array(np.ones(2, np.float32), mesh, P()).shape
      (2,)
    """

    def one(x, spec):
        if isinstance(x, Array) and not x.is_fully_addressable:
            return x
        return rb.make_array_from_process_local_data(NamedSharding(global_mesh, spec), np.asarray(x))

    return _with_specs("host_local_array_to_global_array", one, local_inputs, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The inverse of ``host_local_array_to_global_array``: arrays on this process's devices alone.

    Args:
      global_inputs: a pytree of global arrays. Arrays of this process stay as they are.
      global_mesh: the mesh over all processes.
      pspecs: a ``PartitionSpec``, or a prefix of ``global_inputs`` with these: as which parts each process
        gets the arrays; they are brought to that first.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> from rabbet.sharding import PartitionSpec as P
      >>> mesh = rb.make_mesh((rb.device_count(),), ("x",))
      >>> x = rb.device_put(np.ones(8, np.float32), rb.NamedSharding(mesh, P("x")))
      >>> multihost_utils.global_array_to_host_local_array(x, mesh, P("x")).is_fully_addressable
      True
    """

    def one(x, spec):
        if not isinstance(x, Array):
            return x
        if x.is_fully_addressable and not (global_mesh.is_multi_process and x.sharding.num_devices > 1):
            return x
        x = rb.device_put(x, NamedSharding(global_mesh, spec))
        mesh = local_mesh(global_mesh)
        sharding = NamedSharding(mesh, spec)
        parts = [shard.data for shard in x.addressable_shards]
        counts, _ = sharding.tiles(x.ndim)
        shape = tuple([n * count for n, count in zip(parts[0].shape, counts, strict=True)])
        return rb.make_array_from_single_device_arrays(shape, sharding, parts)

    return _with_specs("global_array_to_host_local_array", one, global_inputs, pspecs)


def _with_specs(who, function, inputs, pspecs):
    """``function(leaf, spec)`` over a pytree, with a prefix of specs."""

    def is_spec(node):
        return node is None or isinstance(node, PartitionSpec)

    specs = tree.broadcast_prefix(pspecs, inputs, is_spec, names=(f"{who}: pspecs", "the inputs"))
    if any(spec is None for spec in specs):
        raise ValueError(f"{who}: None in pspecs; PartitionSpec() says that devices hold the whole array")
    leaves, structure = tree.flatten(inputs)
    return structure.unflatten([function(x, spec) for x, spec in zip(leaves, specs, strict=True)])


def local_mesh(mesh):
    """The part of a mesh that belongs to this process, which has to be a block of it."""
    here = np.vectorize(lambda d: d.process_index == rb.process_index(), otypes=[bool])(mesh.devices)
    places = [np.unique(each) for each in np.nonzero(here)]
    block = mesh.devices[np.ix_(*places)]
    if block.size != here.sum():
        raise ValueError(f"the devices of this process are no block of {mesh}")
    return Mesh(block, mesh.axis_names)


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether this is the step after which all processes should save their state, because one of them was
    told to end (SIGTERM). All call it in every step, with the same numbers; the answer is True in one step.

    Raises:
      RuntimeError: before ``rabbet.distributed.initialize``.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> def is_time_to_save(step):
      ...     return step % 1000 == 0 or multihost_utils.reached_preemption_sync_point(step)
    """
    return api.initialized_group().preemption().reached_sync_point(int(step_id))


@contextlib.contextmanager
def live_devices(devices: list[Device]) -> Iterator[list[Device]]:
    """A context manager that gives those of the devices whose processes are alive, the same in each of
    these. It waits for the processes that are alive, before and after.

    Raises:
      ProcessFailureError: at its end, if one of them ended meanwhile, or an exception left the block there.
      ValueError: if none of the devices belongs to this process. RuntimeError: before ``initialize``.

    Example:
      >>> from rabbet.experimental import multihost_utils
      >>> def alive():
      ...     with multihost_utils.live_devices(rb.devices()) as devices:
      ...         return len(devices)
    """
    group = api.initialized_group()
    if not any(d.process_index == rb.process_index() for d in devices):
        raise ValueError("live_devices: none of the devices belongs to this process")
    slots = {d: group.members[d.process_index][0] for d in devices}
    before = group.store.live(set(slots.values()))
    group.blocks += 1
    key = f"{group.prefix}/blocks/{group.blocks}"
    try:
        yield [d for d in devices if slots[d] in before]
    except BaseException:
        group.store.set(f"{key}/{group.slot}", "failed", replace=True)
        group.store.live(before)
        raise
    after = group.store.live(before)
    failed = {slot for slot in before if after.get(slot) != before[slot]}
    failed |= {int(slot) for slot in group.store.folder(key)}
    if failed:
        raise ProcessFailureError({d for d in devices if slots[d] in failed})


__all__ = [
    "ProcessFailureError",
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]
