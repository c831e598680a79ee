"""The values of jaxlib's arrays: on the host, and copied to another device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.errors import NotAddressableError
from rabbet.runtime.jaxlib import adapter, dlpack
from rabbet.runtime.jaxlib.shared_memory import lend

if not adapter.READS_ANY_DTYPE:
    from rabbet.runtime.jaxlib import raw_values_jaxlib_010

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.runtime.jaxlib.adapter import SingleSharding
    from rabbet.typing import DType


def to_numpy(raw: Any, dtype: DType | type | None = None) -> np.ndarray:
    """Return the values of `raw` as a read-only NumPy array, waiting for them if need be.

    On a CPU device it is a view of the array's own memory where that is possible. Raises DeletedArrayError on
    a deleted array, and TypeError if `dtype` is given and is not the array's.

    Never imports jax, with two exceptions on jaxlib 0.10: arrays on several devices, and non-CPU devices.
    """
    if raw.is_deleted():
        raise adapter.deleted(raw)
    devices = adapter.devices_of(raw)
    if len(devices) > 1 and not devices.is_fully_addressable:
        raw = whole_part(raw)
    if adapter.READS_ANY_DTYPE:
        value = raw._to_np_array_did_copy()[0]
    else:
        value = raw_values_jaxlib_010.to_numpy(raw)
    if dtype is not None and value.dtype != dtype:
        raise TypeError(f"array holds {value.dtype}, not {np.dtype(dtype)}")
    return value


def whole_part(raw: Any) -> Any:
    """A part of a raw array over the devices of several processes that is the whole: one of this process.

    Raises:
      NotAddressableError: where no device has the whole.
    """
    if not raw._sharding._to_xla_hlo_sharding(raw.aval.ndim).is_replicated():
        raise NotAddressableError(
            f"the values of an array of shape {tuple(raw.aval.shape)} lie on devices of several processes, "
            "so "
            "this one cannot read all of them; x.addressable_shards has its own parts, and "
            "rabbet.experimental.multihost_utils.process_allgather(x, tiled=True) brings all to every process"
        )
    device = adapter.devices_of(raw).addressable_device_list[0]
    return raw._arrays[0]._rewrap_with_aval_and_sharding(raw.aval, adapter.single_sharding(device))


def parts_to_numpy(
    raw: Any, places: list[int], described: Callable[[], tuple[ShapedArray, list[Any]]]
) -> list[Any]:
    """Return some of the parts of a raw array over several devices, by their places, as `to_numpy` does.
    The parts are arrays for a moment only, so nobody is told that they share its memory.

    `described()` is the type of a part, and the raw devices; jaxlib 0.10 asks for them.
    """
    parts = raw._arrays
    if adapter.READS_ANY_DTYPE:
        return [parts[i]._to_np_array_did_copy()[0] for i in places]
    aval, devices = described()
    shardings = [adapter.single_sharding(devices[i]) for i in places]
    found = [
        parts[i]._rewrap_with_aval_and_sharding(aval, sharding)
        for i, sharding in zip(places, shardings, strict=True)
    ]
    return [to_numpy(part) for part in found]


def copy_to_device(
    raw: Any, raw_device: Any, sharding: SingleSharding | None = None, *, always_copy: bool = False
) -> Any:
    """Copy a single-device raw array to `raw_device`, of the same client or another; returns a raw array.

    Within a client the copy is made by the runtime, asynchronously. Between clients it goes through the host.
    """
    if raw.is_deleted():
        raise adapter.deleted(raw)
    sharding = sharding or adapter.SingleSharding(raw_device)
    if raw_device.client is not adapter.devices_of(raw)[0].client:
        return adapter.put(to_numpy(raw), raw.aval, raw_device, sharding)
    return adapter.copy_within_client(raw, raw_device, sharding, always_copy)


def copy_in_order(raw: Any) -> Any:
    """Copy a single-device raw array whose dimensions have an order of their own, which the copy has too."""
    if not adapter.READS_ANY_DTYPE:
        return raw_values_jaxlib_010.copy_in_order(raw)
    return copy_to_device(raw, adapter.devices_of(raw)[0], always_copy=True)


def to_dlpack(raw: Any, stream: Any = None) -> Any:
    """Return a DLPack capsule that shares the memory of a single-device raw array.

    On the CPU it is NumPy's, over a view of the memory, because a capsule of jaxlib's own ends the process as
    soon as its array is deleted or donated. Elsewhere it is jaxlib's, and such an array keeps its memory.

    Raises DeletedArrayError, ValueError for an array on several devices, and on the CPU BufferError for 2-
    and 4-bit integers, which have no DLPack form.
    """
    if raw.is_deleted():
        raise adapter.deleted(raw)
    devices = adapter.devices_of(raw)
    if len(devices) > 1 or devices[0].platform != "cpu":
        capsule = adapter.to_dlpack(raw, stream)
        lend(raw)  # to delete or to donate it now leaves the memory to whoever has the capsule
        return capsule
    return dlpack.lend(to_numpy(raw))  # waits: host consumers have no stream to wait on
