"""Arrays for ``pmap``: of parts that are given for each device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import device_put, lax, tree
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.transform import typeof

from rabbet_parallel.arrays import make_array_from_single_device_arrays
from rabbet_parallel.meshes import Mesh
from rabbet_parallel.named_sharding import NamedSharding
from rabbet_parallel.partition_spec import PartitionSpec
from rabbet_parallel.pmap_devices import UNNAMED

if TYPE_CHECKING:
    from rabbet.typing import Value


def device_put_sharded(shards: Any, devices: Any) -> Value:
    """Arrays (or pytrees of them), one for each device, as one array with a new first dimension over the
    devices.

    Args:
      shards: a sequence of pytrees of one structure, with arrays of equal types.
      devices: as many devices.

    Example:
      >>> rb.device_put_sharded([rnp.ones(2)], rb.devices('cpu')[:1])
      Array([[1., 1.]], dtype=float32)
    """
    devices, shards = list(devices), list(shards)
    if len(shards) != len(devices):
        raise ValueError(f"device_put_sharded: {len(shards)} shards for {len(devices)} devices")
    sharding = NamedSharding(Mesh(devices, (UNNAMED,)), PartitionSpec(UNNAMED))

    def together(*given: Any) -> Any:
        parts = [array_or_tracer(p) for p in given]
        if len({(typeof(p).shape, typeof(p).dtype) for p in parts}) != 1:
            kinds = ", ".join(sorted({typeof(p).str_short() for p in parts}))
            raise ValueError(f"device_put_sharded: the shards must have one type, got {kinds}")
        placed = [device_put(lax.expand_dims(p, (0,)), d) for p, d in zip(parts, devices, strict=True)]
        shape = (len(devices), *typeof(parts[0]).shape)
        return make_array_from_single_device_arrays(shape, sharding, placed)

    return tree.map(together, *shards)


def device_put_replicated(x: Value, devices: Any) -> Value:
    """``x``, a pytree of arrays, once for each device, with a new first dimension over the devices.

    Example:
      >>> rb.device_put_replicated(np.float32(2), rb.devices()[:1])
      Array([2.], dtype=float32)
    """
    return device_put_sharded([x] * len(list(devices)), devices)


__all__ = ["device_put_replicated", "device_put_sharded"]
