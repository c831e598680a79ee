"""Arrays over several devices, made of their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShardingError
from rabbet.program.jaxpr import Jaxpr, Var
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.arrays.placement import spread_placement
from rabbet.runtime.arrays.values import copy_to_device, is_only
from rabbet.runtime.compilation import program, program_shardings
from rabbet.runtime.jaxlib import adapter, raw_shards

if TYPE_CHECKING:
    from rabbet.runtime.arrays.sharding import Sharding
    from rabbet.runtime.platforms.device_groups import DeviceGroup
    from rabbet.runtime.platforms.devices import Device
    from rabbet.typing import Value


def from_host_parts(parts: Any, aval: Any, sharding: Any) -> Any:
    """An array of type ``aval`` from NumPy arrays, one for each device of this process in the order of
    ``sharding``.

    Raises:
      ValueError: for a part of another shape than the sharding gives its device; names the device.
      TypeError: for a part of another dtype.

    Example:
      >>> from rabbet.extend.primitive import ShapedArray
      >>> from rabbet.extend.sharding import EverywhereSharding, device_group, from_host_parts
      >>> everywhere = EverywhereSharding(device_group(tuple(rb.devices()[:1])))
      >>> from_host_parts([np.ones(2, np.float32)], ShapedArray((2,), "float32"), everywhere)
      Array([1., 1.], dtype=float32)
    """
    if sharding.order is not None:
        return relaid(from_host_parts(parts, aval, sharding.by_rows), sharding)
    if sharding.addends:
        raise ShardingError(
            f"{sharding} says that each device holds an addend, and parts of the values were given\n"
            "  to fix: put them together without unreduced and rb.reshard the array, or give the addends to "
            "rb.make_array_from_single_device_arrays"
        )
    spec = spread_placement(aval, sharding)
    check_shapes([p.shape for p in parts], aval, sharding)
    raws = [d.raw for d in sharding.group.local_devices]
    return Array(adapter.put_shards(parts, aval.physical, raws, spec.sharding), spec)


def join_arrays(arrays: Any, aval: Any, sharding: Any) -> Any:
    """An array of type ``aval`` from arrays on the single devices of this process, in the order of
    ``sharding``; it shares their memory.

    Raises:
      ValueError: for a part of another shape than the sharding gives its device, or on another device.

    Example:
      >>> from rabbet.extend.primitive import ShapedArray
      >>> from rabbet.extend.sharding import EverywhereSharding, device_group, join_arrays
      >>> everywhere = EverywhereSharding(device_group(tuple(rb.devices()[:1])))
      >>> join_arrays([rb.device_put(np.ones(2, np.float32))], ShapedArray((2,), "float32"), everywhere)
      Array([1., 1.], dtype=float32)
    """
    if sharding.order is not None:
        return relaid(join_arrays(arrays, aval, sharding.by_rows), sharding)
    spec, arrays = spread_placement(aval, sharding), list(arrays)
    for i, (array, device) in enumerate(zip(arrays, sharding.group.local_devices, strict=True)):
        if array.is_deleted():
            raise array.deleted()
        if array.spec.layout is not None and is_only(array.spec.device, device):
            # It may lie in another order.
            arrays[i] = copy_to_device(array, device, True)
        elif array.spec.device is not device:
            raise ValueError(
                f"the part for {device} of an array of shape {aval.shape} with {sharding} is on "
                f"{array.spec.device}; bring it there with rb.device_put"
            )
    check_shapes([a.shape for a in arrays], aval, sharding)
    return Array(raw_shards.join_shards([a.raw for a in arrays], aval.physical, spec.sharding), spec)


def check_shapes(shapes: Any, aval: Any, sharding: Any) -> None:
    """Refuse parts of other shapes than the sharding cuts; jaxlib does not look."""
    wanted = sharding.shard_shape(aval.shape)
    for shape, device in zip(shapes, sharding.group.local_devices, strict=True):
        if tuple(shape) != wanted:
            raise ValueError(
                f"the part for {device} of an array of shape {aval.shape} with {sharding} must have shape "
                f"{wanted}, got {tuple(shape)}"
            )


MOST_RELAYERS = 256
_relayers: dict = {}


def relaid(array: Value, sharding: Sharding) -> Value:
    """``array`` with its parts over the same devices as ``sharding`` says, by a program of no operation."""
    key = array.spec, sharding
    run = _relayers.get(key)
    if run is None:
        variable = Var(array.aval)
        spread = program_shardings.spread_of([array], sharding.group, (sharding,))
        identity = Jaxpr([variable], [variable], [], name="device_put")
        lowering = program.lower(identity, sharding.group.platform, "device_put", spread=spread)
        run = program.compile(lowering, sharding.group).runner(True, single=True)
        if len(_relayers) >= MOST_RELAYERS:
            _relayers.clear()
        _relayers[key] = run
    return run([array])


def forget_relayers() -> None:
    """Drop the programs of ``relaid``."""
    _relayers.clear()


def bring_to(arrays: list[Value], place: DeviceGroup | Device) -> Any:
    """Arrays as arguments of a program on a ``Device`` or a ``DeviceGroup``: those there as they are, others
    copied; over a group they are whole on each device.

    Example:
      >>> from rabbet.extend.sharding import bring_to
      >>> x = rb.device_put(np.float32(1))
      >>> bring_to([x], rb.devices()[0])[0] is x
      True
    """
    return [a if a.spec.device is place else copy_to_device(a, place, a.spec.committed) for a in arrays]


__all__ = ["bring_to", "from_host_parts", "join_arrays", "relaid"]
