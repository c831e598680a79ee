"""What this process has of an array, copied to the host: for those who write many arrays at once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.runtime.arrays import transfer_guards
from rabbet.runtime.arrays.callback_errors import translated
from rabbet.runtime.jaxlib import raw_values

if TYPE_CHECKING:
    from rabbet.runtime.arrays.sharding import Sharding
    from rabbet.typing import Value


def copies_of_parts(
    array: Value, *, each_process: bool = False
) -> list[tuple[tuple[slice, ...], np.ndarray]]:
    """Copies of the parts of an array that devices of this process hold: pairs of an index, as ``Shard`` has
    it, and a NumPy array. Of devices that hold the same part one counts: the first of all processes, or with
    ``each_process`` the first of this one. It is quicker than ``addressable_shards`` where arrays are many:
    no array is made for a part.

    Raises:
      DeletedArrayError: if the array was deleted. TypeError: for a dtype that is not a number format.

    Example:
      >>> from rabbet.extend.processes import copies_of_parts
      >>> copies_of_parts(rb.device_put(np.ones(2, np.float32)))
      [((slice(None, None, None),), array([1., 1.], dtype=float32))]
    """
    aval, layout = array.aval, array.spec.layout
    if layout is None or aval.is_extended:
        return [((slice(None),) * aval.ndim, np.array(array))]  # which refuses what has no NumPy form
    if array.raw.is_deleted():
        raise array.deleted()
    places, indices, whole = parts_to_copy(layout, aval.shape, each_process)
    if not places:
        return []
    transfer_guards.to_host(aval, array.spec.device)
    if whole:
        found = [translated(raw_values.to_numpy, array.raw)]
    else:
        found = translated(raw_values.parts_to_numpy, array.raw, places, lambda: described(aval, layout))
    # Never views: the memory may be donated to the next step.
    return [
        (index, np.array(values if aval.codes is None else values.view(aval.dtype)))
        for index, values in zip(indices, found, strict=True)
    ]


def described(aval: Any, layout: Sharding) -> tuple[Any, list[Any]]:
    """The type of a part as it is stored, and the runtime's devices of this process."""
    local = aval.update(shape=layout.shard_shape(aval.shape))
    return local.physical, [device.raw for device in layout.group.local_devices]


@functools.lru_cache(maxsize=1024)
def parts_to_copy(
    layout: Sharding, shape: tuple[int, ...], each_process: bool
) -> tuple[list[int], list[Any], bool]:
    """Places among the devices of this process, and the indices of the parts there, for the devices that are
    the first to hold theirs: of all, or of those of this process; and whether such a part is the whole.
    """
    number = {device: i for i, device in enumerate(layout.group.local_devices)}
    seen, places, indices = set(), [], []
    for device, index in layout.devices_indices_map(shape).items():
        if each_process and device not in number:
            continue
        key = tuple([(s.start, s.stop) for s in index])
        if key not in seen:
            seen.add(key)
            if device in number:
                places.append(number[device])
                indices.append(index)
    return places, indices, set(layout.tiles(len(shape))[0]) <= {1} and not layout.addends


__all__ = ["copies_of_parts"]
