"""Which devices a ``pmap`` has, and which of its rows are this process's own.

Over several processes each one gives and gets its own rows only, as many as it has devices there; collectives
and ``axis_index`` go over those of all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rabbet import device_put, process_index, tree
from rabbet.errors import ShardingError
from rabbet.extend.transform import is_tracer, typeof

from rabbet_parallel.arrays import make_array_from_single_device_arrays
from rabbet_parallel.named_sharding import NamedSharding

UNNAMED = "_pmap"


def processes_of(devices: Any) -> Any:
    """The devices of each process, by its index."""
    found = {}
    for device in devices:
        found.setdefault(device.process_index, []).append(device)
    return found


def own_share(who: Any, size: Any, devices: Any, listed: Any) -> Any:
    """How many of ``size`` examples are this process's; ``listed``: by a user, who says which devices.

    Raises:
      ShardingError: where processes cannot have as many each.
    """
    by_process = processes_of(devices)
    if len(by_process) == 1:
        return size
    if listed:
        return size * len(by_process.get(process_index(), ())) // len(devices)
    share, rest = divmod(size, len(by_process))
    if rest:
        raise ShardingError(
            f"{who}: axis_size is {size}, that of all {len(by_process)} processes together, and must be "
            "divisible by their number"
        )
    return share


def grid_of(who: Any, devices: Any, listed: Any, sizes: Any) -> Any:
    """The devices for as many own examples as ``sizes[0]``, and for those of each pmap within: those of all
    processes, and of them this process's own.

    Raises:
      ShardingError: where there are too few, or where a process has none.
    """
    by_process, count = processes_of(devices), math.prod(sizes)
    shape = [-1, *sizes[1:]]
    if len(by_process) == 1:
        enough(who, sizes, devices, "there are")
        grid = as_objects(devices[:count]).reshape(shape)
        return grid, grid
    me = process_index()
    if me not in by_process:
        raise ShardingError(f"{who}: none of its devices belongs to this process, {me}")
    if listed:
        if count != len(by_process[me]) or len(devices) % math.prod(sizes[1:]):
            raise ShardingError(
                f"{who}: of its devices {len(by_process[me])} belong to this process, {me}, and it has "
                f"{' x '.join(map(str, sizes))} examples; give one for each"
            )
        grid = as_objects(devices).reshape(shape)
    else:
        for index, there in by_process.items():
            enough(who, sizes, there, f"process {index} has")
        grid = as_objects([d for there in by_process.values() for d in there[:count]]).reshape(shape)
    own = [i for i, row in enumerate(grid) if all(d.process_index == me for d in np.ravel(row))]
    if len(own) != sizes[0]:
        raise ShardingError(f"{who}: the devices of one example belong to several processes")
    return grid, grid[own]


def enough(who: Any, sizes: Any, devices: Any, those: Any) -> None:
    """Refuse more examples than there are devices."""
    if math.prod(sizes) > len(devices):
        raise ShardingError(
            f"{who}: {' x '.join(map(str, sizes))} examples need as many devices, and {those} "
            f"{len(devices)}; map groups of them "
            "with rb.vmap inside, or set RABBET_NUM_CPU_DEVICES for more CPU devices"
        )


def refuse_global(who: Any, leaves: Any) -> None:
    """Refuse arrays that lie over other processes' devices, too.

    Raises:
      ShardingError: names the first.
    """
    for x in leaves:
        if not is_tracer(x) and not x.is_fully_addressable:
            raise ShardingError(
                f"{who} takes this process's own rows, got {typeof(x).str_short()} over the devices of "
                "several processes; give it to jit or shard_map, or only the part that is addressable here"
            )


def as_objects(devices: Any) -> Any:
    """Devices as an array of NumPy's."""
    made = np.empty(len(devices), object)
    made[:] = devices
    return made


class Whole:
    """The rows of a ``pmap`` that one process has: arguments and results are what its program takes."""

    def __init__(self, mesh: Any, specs: Any) -> None:
        self.shardings = [NamedSharding(mesh, s) for s in specs]

    def placed(self, leaves: Any) -> Any:
        """Arguments on the devices; arrays that lie there otherwise are laid anew."""
        return [
            x if is_tracer(x) or lies_as(x, s) else device_put(x, s)
            for x, s in zip(leaves, self.shardings, strict=True)
        ]

    def results(self, program: Any) -> Any:
        """The program, with results as a process sees them."""
        return program


class Shared:
    """The same over several processes: arguments are made of the rows of each, and results taken apart."""

    def __init__(self, who: Any, mesh: Any, own: Any, specs: Any) -> None:
        self.who, self.mesh, self.own, self.specs = who, mesh, own, specs

    def placed(self, leaves: Any) -> Any:
        """Arrays over the devices of all processes, of this one's rows.

        Raises:
          ShardingError: within a transformation.
        """
        made = {}  # an array that stands in two places stays one, so that its donation is refused
        return [
            made[id(x), s] if (id(x), s) in made else made.setdefault((id(x), s), self.joined(x, s))
            for x, s in zip(leaves, self.specs, strict=True)
        ]

    def joined(self, x: Any, spec: Any) -> Any:
        """An argument of the program, of this process's rows of it."""
        if is_tracer(x):
            raise ShardingError(
                f"{self.who} over several processes takes arrays, got the traced {typeof(x).str_short()}; "
                "transform the function within it instead, or use shard_map"
            )
        return of_parts(device_put(x, NamedSharding(self.own, spec)), NamedSharding(self.mesh, spec))

    def results(self, program: Any) -> Any:
        """The program, with this process's rows as its results."""

        def own_rows(*leaves: Any) -> Any:
            return tree.map(self.taken, program(*leaves))

        return own_rows

    def taken(self, x: Any) -> Any:
        """This process's rows of a result."""
        return x if is_tracer(x) else of_parts(x, NamedSharding(self.own, x.sharding.spec))


def of_parts(x: Any, sharding: Any) -> Any:
    """What this process's parts of an array are under another sharding with a device for each of them."""
    parts = [shard.data for shard in x.addressable_shards]
    counts, _ = sharding.tiles(x.ndim)
    shape = tuple([n * count for n, count in zip(parts[0].shape, counts, strict=True)])
    return make_array_from_single_device_arrays(shape, sharding, parts)


def lies_as(x: Any, sharding: Any) -> Any:
    """Whether an array has its parts where a sharding over several devices wants them, whichever mesh said
    so; then it need not be copied, and what is donated is its own memory.
    """
    own = x.sharding
    return typeof(x).spread is None and own.is_equivalent_to(sharding, x.ndim)


__all__ = ["UNNAMED", "Shared", "Whole", "grid_of", "own_share", "refuse_global"]
