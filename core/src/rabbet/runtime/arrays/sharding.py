"""Shardings: how an array is laid over devices.

Core knows of a sharding what it needs to place an array and to write a program: on which devices, in which
order; into how many parts each dimension is cut, and which part each device has; what the compiler is told.
One device with everything is the simplest; the others come from plugins.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.errors import ShardingError
from rabbet.primitives.memory_spaces import in_memory, moved
from rabbet.program.dimensions import SymbolicDimension
from rabbet.runtime.jaxlib import adapter, raw_shards
from rabbet.runtime.platforms.device_groups import device_group

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.runtime.jaxlib.adapter import ManySharding
    from rabbet.runtime.platforms.device_groups import DeviceGroup
    from rabbet.runtime.platforms.devices import Device


class Sharding:
    """Base of all shardings. A subclass for several devices gives ``device_order``, ``tiles``, ``like`` and
    ``attributes``, is immutable, and has equality and a hash.

    Example:
      >>> from rabbet.extend.sharding import Sharding
      >>> isinstance(rb.device_put(1.0).sharding, Sharding)
      True
    """

    __slots__ = ()
    # The memory in which arrays lie; None: that which the devices use unless they are told otherwise.
    other_memory: str | None = None
    # Whether arrays lie on one device in its usual memory: programs say nothing of that.
    is_plain: bool = False
    # The dimensions as they lie in memory, those with the largest steps first; None: by rows.
    order: tuple | None = None

    # Axes along which each device holds an addend of the values, which are the sums: nobody can read them
    # before they are added up, by laying them out anew.
    addends: frozenset = frozenset()

    # Whether it names devices; one that does not is meant on those on which the program runs (``on``).
    has_devices: bool = True

    def on(self, group: Any) -> Sharding:
        """The same on the devices of a group, for one that names none; else itself."""
        return self

    def write_partitioned(self, op: Any, rule: Any, names: Any) -> Any:
        """Write an operation whose primitive has a rule ``partition``, in a program over the devices of this
        sharding; None where it is written as on one device.
        """
        return None

    def refuse_others(self, others: Any) -> None:
        """As ``config.default_sharding``: refuse shardings of arguments that do not go with it."""

    def written_out(self, ndim: int) -> Sharding:
        """The same as results of ``ndim`` dimensions have it."""
        return self

    def of_types(self, ndim: int) -> Any:
        """As ``config.default_sharding``: what the type of an array of which no dimension is cut says."""
        return self

    def refuse_unsettled(self, who: Any) -> None:
        """Refuse a sharding that leaves something to the compiler, where ``who`` needs all of it."""

    @property
    def by_rows(self) -> Sharding:
        """The same without an order of the dimensions."""
        return self

    @property
    def whole(self) -> Sharding:
        """The same without ``addends``, and without anything that is cut."""
        return EverywhereSharding(self.group)

    @property
    def public(self) -> Sharding:
        """What users see of it, who are told of the order by the array's ``format``."""
        return self

    @property
    def device_order(self) -> tuple:
        """The devices in the order in which a program's partitions run on them."""
        raise NotImplementedError(f"{type(self).__name__} must give its devices: define device_order")

    def tiles(self, ndim: int) -> tuple:
        """How arrays of ``ndim`` dimensions are cut: the number of parts of each dimension, and an array
        ``[device, dimension]`` of the part that each device has.
        """
        raise NotImplementedError(f"{type(self).__name__} must say how it cuts arrays: define tiles")

    def like(self, counts: Any, parts: Any) -> Sharding | None:
        """The sharding of this kind, on the same devices, with these tiles; None where it cannot be said."""
        return None

    def attributes(self, ndim: int) -> str:
        """What the compiler is told of an argument or result: MLIR attributes, without braces."""
        raise NotImplementedError(f"{type(self).__name__} must have a text: define attributes")

    def check_compatible_aval(self, aval_shape: Any) -> None:
        """Refuse a shape that no array that lies so can have.

        Raises:
          ValueError: for one of too few dimensions.
        """
        self.tiles(len(aval_shape))

    def in_types(self, ndim: int) -> Any:
        """What the types of arrays of ``ndim`` dimensions say of it: an ``OverDevices``, or None."""
        return

    def typed(self, aval: Any) -> Any:
        """The type of an array of type ``aval`` that lies so: cut along explicit axes, in its memory."""
        return in_memory(aval.update(spread=self.in_types(aval.ndim)), self.other_memory)

    def with_memory_kind(self, kind: Any) -> Sharding:
        """The same in another memory of the devices."""
        if kind is None:
            return self
        raise NotImplementedError(
            f"{self}: values over several devices in the memory {kind!r} need a NamedSharding; give one as "
            "out_shardings"
        )

    def moved(self, x: Any) -> Any:
        """A traced value in the memory that the sharding names."""
        return moved(x, self.other_memory)

    def asked(self, aval: ShapedArray) -> Sharding | None:
        """How a result of type ``aval`` lies on these devices, where its type says it; None: as the compiler
        thinks best.
        """
        return None

    def of_results(self, jaxpr: Any, ins: Any) -> Any:
        """For each result of a program a sharding of the kind in which to say how it lies, where arguments,
        which lie as ``ins``, are on several meshes; None: this one, for all of them.

        Raises:
          ShardingError: where operands do not belong together.
        """
        return

    def constrain(self, x: Any) -> Any:
        """A traced value laid out as this sharding says, by an operation of the program."""
        raise NotImplementedError(f"{type(self).__name__} cannot be asked for within a program")

    def laying(self, aval: ShapedArray, wanted: Sharding) -> Any:
        """The operators that, one after another, lay a value of type ``aval`` out as ``wanted`` on the same
        devices: for kinds with ``addends``.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be asked for within a program")

    # --------------------------------------------------------------------------------- what follows from it
    @property
    def group(self) -> DeviceGroup:
        """The devices as the place where programs run."""
        return device_group(self.device_order)

    @property
    def device_set(self) -> set:
        """The set of devices."""
        return set(self.device_order)

    @property
    def memory_kind(self) -> str | None:
        """The name of the memory in which arrays lie; None where no devices are known."""
        return self.other_memory or usual_memory((self.group.local_devices or self.device_order)[0])

    def unusual(self, memory_kind: str | None) -> str | None:
        """A memory by its name, or None where the devices use it anyway: for ``other_memory``.

        Raises:
          ValueError: for a memory that the devices do not have.
        """
        if memory_kind is None:
            return None
        device = (self.group.local_devices or self.device_order)[0]
        known = device.memory_kinds()
        if memory_kind not in known:
            raise ValueError(
                f"{type(self).__name__}: {device} has no memory {memory_kind!r}; it has {', '.join(known)}"
            )
        return None if memory_kind == known[0] else memory_kind

    @property
    def has_addressable_devices(self) -> bool:
        """Whether any of the devices belongs to this process."""
        return bool(self.group.local_devices)

    @property
    def num_devices(self) -> int:
        """How many devices there are."""
        return len(self.device_order)

    @property
    def addressable_devices(self) -> set:
        """The devices that belong to this process."""
        return set(self.group.local_devices)

    @property
    def _addressable_device_assignment(self) -> tuple:
        """The devices of this process in their order, by the name under which Orbax asks for them."""
        return tuple(self.group.local_devices)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return self.group.is_local

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds all of the array."""
        return all(n == 1 for n in self.tiles(_MANY)[0])

    def check(self, shape: Any) -> None:
        """Refuse a shape that cannot be cut into equal parts.

        Raises:
          ShardingError: names the dimension, its size and the number of parts.
        """
        counts, _ = self.tiles(len(shape))
        for i, (size, count) in enumerate(zip(shape, counts, strict=True)):
            if size % count:
                advice = "pad the array"
                if isinstance(size, SymbolicDimension):
                    advice = f"name it as a multiple, symbolic_shape('{count}*n')"
                raise ShardingError(
                    f"{self} cuts dimension {i} of an array of shape {tuple(shape)} into {count} parts, but "
                    f"its size {size} is not divisible by {count}; {advice}, or leave that dimension whole"
                )

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple:
        """The shape of the part that one device has of an array of ``global_shape``.

        Raises:
          ShardingError: where a dimension cannot be cut into equal parts.
        """
        shape = tuple(global_shape)
        self.check(shape)
        return tuple([size // count for size, count in zip(shape, self.tiles(len(shape))[0], strict=True)])

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict:
        """For each device the index, a tuple of slices, of its part of an array of ``global_shape``."""
        shape = tuple(global_shape)
        sizes = self.shard_shape(shape)
        counts, parts = self.tiles(len(shape))
        return {
            device: tuple(
                [
                    slice(None) if n == 1 else slice(int(i) * size, (int(i) + 1) * size)
                    for i, size, n in zip(row, sizes, counts, strict=True)
                ]
            )
            for device, row in zip(self.device_order, parts, strict=True)
        }

    def addressable_devices_indices_map(self, global_shape: Any) -> dict:
        """``devices_indices_map`` for the devices of this process."""
        local = self.addressable_devices
        return {d: i for d, i in self.devices_indices_map(global_shape).items() if d in local}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both lay an array of ``ndim`` dimensions over the same devices in the same parts, in memory
        of the same order.
        """
        if self.device_order != other.device_order or self.other_memory != other.other_memory:
            return False
        if self.order != other.order or self.addends != other.addends:
            return False
        return bool((self.tiles(ndim)[1] == other.tiles(ndim)[1]).all())


# More dimensions than arrays have, to ask whether any is cut.
_MANY = 32


class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    Args:
      device: a ``Device``.
      memory_kind: the name of one of the device's memories; None: that which it uses unless told otherwise.

    Raises:
      ValueError: for a memory that the device does not have.

    Example:
      >>> from rabbet.extend.sharding import SingleDeviceSharding
      >>> here = SingleDeviceSharding(rb.devices()[0])
      >>> lax.full((2,), 1.0, sharding=here).device == rb.devices()[0]
      True
    """

    __slots__ = ("_device", "is_plain", "other_memory")
    _device: Any

    def __init__(self, device: Any, *, memory_kind: Any = None) -> None:
        self._device = device
        self.other_memory = self.unusual(memory_kind)
        # In another memory a program says of each argument and result in which, as of those over devices.
        self.is_plain = self.other_memory is None

    device_order = property(lambda self: (self._device,), doc="The device, in a tuple.")
    is_fully_replicated = True

    def tiles(self, ndim: int) -> tuple[tuple[int, ...] | np.ndarray, ...]:
        """One part, which the device has."""
        return (1,) * ndim, np.zeros((1, ndim), int)

    def like(self, counts: tuple[int, ...], parts: np.ndarray) -> Sharding:
        """On the device, in its usual memory."""
        return SingleDeviceSharding(self._device)

    def attributes(self, ndim: int) -> str:
        """Whole, in a memory that is not the usual one."""
        return f'{replicated(1, ndim)}, mhlo.memory_kind = "{self.memory_kind}"'

    def constrain(self, x: Any) -> Any:
        """In the memory that it names; on which device a program runs is its arguments'."""
        return self.moved(x)

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same in another memory of the device."""
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            type(other) is SingleDeviceSharding
            and self._device == other._device
            and self.other_memory == other.other_memory
        )

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self._device, self.other_memory))

    def __reduce__(self) -> Any:
        return _remade, (self._device, self.other_memory)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


def _remade(device: Any, memory_kind: Any) -> Any:
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def replicated(count: int, ndim: int) -> str:
    """What the compiler is told of a value that is whole on each device: a mesh of one axis without a name
    that matters.
    """
    dims = ", ".join(["{}"] * ndim)
    return f'sdy.sharding = #sdy.sharding<mesh<["all"={count}]>, [{dims}]>'


@functools.lru_cache(maxsize=1024)
def usual_memory(device: Device) -> str:
    """The name of the memory that a device uses unless told otherwise."""
    return device.memory_kinds()[0]


class EverywhereSharding(Sharding):
    """The whole array on each device of a group: what an array becomes that stands beside spread ones.

    Example:
      >>> from rabbet.extend.sharding import EverywhereSharding, device_group
      >>> x = rb.device_put(np.ones(3), EverywhereSharding(device_group(tuple(rb.devices()[:1]))))
      >>> x.is_fully_replicated
      True
    """

    __slots__ = ("_group",)

    def __init__(self, group: Any) -> None:
        self._group = group

    device_order = property(lambda self: self._group.devices, doc="The devices of the group.")
    is_fully_replicated = True

    def tiles(self, ndim: int) -> tuple[np.ndarray | tuple[Any, ...], ...]:
        """One part, which every device has."""
        return (1,) * ndim, np.zeros((len(self._group), ndim), int)

    def with_memory_kind(self, kind: Any) -> Any:
        """Of one device, that device's in another memory."""
        if len(self._group) == 1:
            return SingleDeviceSharding(self._group.devices[0], memory_kind=kind)
        return super().with_memory_kind(kind)

    def attributes(self, ndim: int) -> str:
        """Replicated."""
        return replicated(len(self._group), ndim)

    def __eq__(self, other: Any) -> bool:
        return type(other) is EverywhereSharding and self._group is other._group

    def __hash__(self) -> int:
        return hash((EverywhereSharding, self._group))

    def __repr__(self) -> str:
        return f"replicated over {self._group}"


class TiledSharding(Sharding):
    """How an array lies over a group where nobody says it by names: into how many parts each dimension is
    cut, and which of them each device has (see ``Sharding.tiles``).

    Example:
      >>> from rabbet.extend.sharding import TiledSharding, device_group
      >>> group = device_group(tuple(rb.devices()[:1]))
      >>> TiledSharding(group, (1, 1), np.zeros((1, 2), int)).shard_shape((4, 3))
      (4, 3)
    """

    __slots__ = ("_counts", "_group", "_parts")

    def __init__(self, group: Any, counts: Any, parts: Any) -> None:
        self._group, self._counts, self._parts = group, tuple(counts), np.asarray(parts)

    device_order = property(lambda self: self._group.devices, doc="The devices of the group.")

    @property
    def is_fully_replicated(self) -> Any:
        """Whether each device holds all of the array."""
        return all(n == 1 for n in self._counts)

    def tiles(self, ndim: Any) -> Any:
        """How arrays are cut; all have as many dimensions as it was made for."""
        return self._counts, self._parts

    def __eq__(self, other: Any) -> Any:
        return (
            type(other) is TiledSharding
            and self._group is other._group
            and self._counts == other._counts
            and bool((self._parts == other._parts).all())
        )

    def __hash__(self) -> Any:
        return hash((TiledSharding, self._group, self._counts, self._parts.tobytes()))

    def __repr__(self) -> Any:
        return f"TiledSharding({self._counts} parts, on {self._group})"


@functools.lru_cache(maxsize=4096)
def raw_sharding(sharding: Any, ndim: int, physical_ndim: int) -> ManySharding:
    """jaxlib's form of a sharding over several devices; the same again for one asked for lately.
    Dimensions that only the storage of a typed key has are whole.
    """
    counts, parts = sharding.tiles(ndim)
    more = physical_ndim - ndim
    parts = np.pad(parts, ((0, 0), (0, more)))
    hlo = raw_shards.tiled_hlo((*counts, *[1] * more), parts)
    raw = adapter.many_sharding(sharding.group.device_list, hlo, sharding.other_memory)
    raw.made_for = sharding  # for those who find the array alone
    return raw


__all__ = ["EverywhereSharding", "Sharding", "SingleDeviceSharding", "TiledSharding", "raw_sharding"]
