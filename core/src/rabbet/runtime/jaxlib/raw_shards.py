"""Arrays over several devices as jaxlib has them: how they are cut, and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.jaxlib.shared_memory import share

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.runtime.jaxlib.adapter import ManySharding


def tiled_hlo(counts: tuple[int, ...], parts: np.ndarray) -> Any:
    """Return the `adapter.HloSharding` that cuts dimension `i` into `counts[i]` parts; `parts[d]` are those
    that the device `d` has, an index for each dimension. Devices with equal parts are replicas of each other.
    """
    if all(n == 1 for n in counts):
        return adapter.HloSharding.replicate()
    replicas = len(parts) // int(np.prod(counts))
    place = np.ravel_multi_index(tuple(np.asarray(parts, np.int64).T), counts)
    # Sorted by part, stably: the replicas of one part stand together.
    order = np.argsort(place, kind="stable").astype(np.int64)
    if replicas == 1:
        return adapter.HloSharding.subgroup_with_device_ordering(order.reshape(counts), [])
    kinds = [adapter.REPLICATED]
    return adapter.HloSharding.subgroup_with_device_ordering(order.reshape(*counts, replicas), kinds)


def tiles_of(hlo: Any, ndim: Any, count: Any) -> Any:
    """Return what `tiled_hlo` takes, `(counts, parts)`, for an `adapter.HloSharding` over `count` devices."""
    parts = np.zeros((count, ndim), int)
    if hlo.is_replicated():
        return (1,) * ndim, parts
    dims = tuple(hlo.tile_assignment_dimensions())
    ids = np.array(hlo.tile_assignment_devices()).reshape(dims)
    for place in np.ndindex(*dims):
        parts[ids[place]] = place[:ndim]
    return dims[:ndim], parts


def output_shardings(exe: Any) -> Any:
    """Return the `adapter.HloSharding` of each result of an executable over several devices, or None where
    it has none.
    """
    protos = exe.get_output_shardings()
    return None if protos is None else [adapter.HloSharding.from_proto(each) for each in protos]


def shards_of(
    raw: Any, avals: list[ShapedArray], raw_devices: list[Any], memory_kind: Any = None
) -> list[Any]:
    """Return the parts of a raw array on several devices as raw arrays, which share its memory: `avals[i]` is
    the type of that on `raw_devices[i]`, `memory_kind` the memory in which they lie, None for the usual one.
    """
    parts = [
        part._rewrap_with_aval_and_sharding(aval, adapter.single_sharding(device, memory_kind))
        for part, aval, device in zip(raw._arrays, avals, raw_devices, strict=True)
    ]
    share([raw, *parts])
    return parts


def join_shards(raws: list[Any], aval: ShapedArray, sharding: ManySharding) -> Any:
    """Return one raw array of type `aval` made of raw arrays on the devices of `sharding`, in their order.

    They share their memory. Their shapes are the caller's to check, and that none is deleted.
    """
    whole = adapter.ArrayImpl(aval, sharding, list(raws), committed=True, _skip_checks=True)
    share([whole, *raws])
    return whole


def order_of(raw: Any) -> Any:
    """Return the dimensions of a raw array as they lie in memory, those with the largest steps first; None
    for one by rows.
    """
    ndim = len(raw.aval.shape)
    if ndim < 2:
        return None
    text = str(raw._pjrt_layout)  # from the smallest steps to the largest, "{0,1}", with tiles behind a colon
    order = tuple([int(n) for n in reversed(text.strip("{}").partition(":")[0].split(","))])
    return None if order == tuple(range(ndim)) else order


__all__ = ["join_shards", "order_of", "output_shardings", "shards_of", "tiled_hlo", "tiles_of"]
