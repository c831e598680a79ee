"""Arrays over several devices, made of what each device is to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet import Array, device_put, dtypes, tree
from rabbet.errors import DTypeError, ShardingError
from rabbet.extend.functions import to_array
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.sharding import Sharding, SingleDeviceSharding, as_place, from_host_parts, join_arrays
from rabbet.extend.transform import typeof

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DTypeLike, Value


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Any, dtype: DTypeLike | None = None
) -> Value:
    """An array whose parts a function gives.

    Args:
      shape: of the whole.
      sharding: how it is laid over devices.
      data_callback: from an index, a tuple of slices, to that part of the whole: an array, NumPy's or ours.
        It is called once for each device of this process; devices that hold the same part share a call.
      dtype: of the whole; by default that of the first part.

    Raises:
      ValueError: for a part of another shape, or a dimension that cannot be cut into equal parts.
      DTypeError: for a part of another dtype.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> whole = np.arange(8, dtype=np.float32)
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> rb.make_array_from_callback((8,), rows, lambda index: whole[index])
      Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    shape, sharding = tuple(shape), meant(sharding)
    made, parts = {}, []
    for index in addressable(sharding).addressable_devices_indices_map(shape).values():
        key = tuple([(s.start, s.stop) for s in index])
        if key not in made:
            made[key] = data_callback(index)
        parts.append(made[key])
    if dtype is None:
        dtype = typeof(parts[0] if not isinstance(parts[0], (list, tuple)) else np.asarray(parts[0])).dtype
    dtype = dtypes.canonicalize(dtype)
    kinds = {typeof(p).dtype for p in made.values() if not isinstance(p, (list, tuple))}
    if kinds - {dtype}:
        raise DTypeError(
            f"make_array_from_callback: the parts have the dtypes {sorted(map(str, kinds))}, and {dtype} was "
            f"asked for; convert them in the function, with .astype({str(dtype)!r})"
        )
    if isinstance(dtype, dtypes.ExtendedDType):  # keys, which have no NumPy form
        here = sharding.group.local_devices
        own = [device_put(p, d, may_alias=False) for p, d in zip(parts, here, strict=True)]
        return make_array_from_single_device_arrays(shape, sharding, own, dtype=dtype)
    parts = [np.ascontiguousarray(np.asarray(p), dtype) for p in parts]
    parts = [p.reshape(()) if p.shape == (1,) and not shape else p for p in parts]
    aval = ShapedArray(shape, dtype)
    if sharding.num_devices == 1:
        (device,) = sharding.device_set
        if parts[0].shape != shape:
            raise ValueError(f"the part for {device} must have shape {shape}, got {parts[0].shape}")
        return device_put(to_array(parts[0], dtype=dtype), sharding)
    return from_host_parts(parts, aval, sharding)


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Any, *, dtype: DTypeLike | None = None
) -> Value:
    """An array of arrays that lie on the devices already, whose memory it shares: deleting or donating one
    takes it from the other.

    Args:
      shape: of the whole.
      sharding: how it is laid over devices.
      arrays: one for each device of this process, in any order, each on its device.
      dtype: of the whole, checked against theirs.

    Raises:
      ValueError: for a device with none or several of them, or a part of another shape.
      DTypeError: for arrays of different dtypes.

    Example:
      >>> mesh = rb.make_mesh((1,), ('i',))
      >>> sharding = rb.sharding.NamedSharding(mesh, rb.sharding.PartitionSpec('i'))
      >>> rb.make_array_from_single_device_arrays((2,), sharding, [rnp.ones(2)])
      Array([1., 1.], dtype=float32)
    """
    by_device, sharding = {}, meant(sharding)
    for x in arrays:
        if not isinstance(x, Array) or len(x.sharding.device_set) != 1:
            raise TypeError("make_array_from_single_device_arrays takes arrays that are each on one device")
        (device,) = x.sharding.device_set
        if device in by_device:
            raise ValueError(f"make_array_from_single_device_arrays: two of the arrays are on {device}")
        by_device[device] = x
    here = addressable(sharding).group.local_devices
    missing = [d for d in here if d not in by_device]
    if missing or len(by_device) != len(here):
        more = [str(d) for d in by_device if d not in sharding.device_set]
        raise ValueError(
            f"make_array_from_single_device_arrays: {sharding} has {len(here)} devices of this process; "
            f"nothing is on {', '.join(map(str, missing)) or 'none of them'}"
            + (f", and {', '.join(more)} is none of them" if more else "")
        )
    kinds = {x.dtype for x in by_device.values()}
    if len(kinds) != 1 or (dtype is not None and dtypes.canonicalize(dtype) not in kinds):
        raise DTypeError(
            f"make_array_from_single_device_arrays: the parts have the dtypes {sorted(map(str, kinds))}"
            + ("" if dtype is None else f", and {dtype} was asked for")
        )
    ordered = [by_device[d] for d in here]
    aval = ShapedArray(tuple(shape), next(iter(kinds)))
    if sharding.num_devices == 1:
        ordered[0].is_ready()  # an error where it was deleted
        if ordered[0].shape != aval.shape:
            raise ValueError(f"the part must have shape {aval.shape}, got {ordered[0].shape}")
        if ordered[0].sharding == sharding:
            return ordered[0]
        if sharding.order is not None:
            return device_put(ordered[0], sharding)
    return join_arrays(ordered, aval, sharding)


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Value:
    """An array of what each process has of it.

    Args:
      sharding: how the array is laid over devices, or a prefix of ``local_data`` with these.
      local_data: NumPy arrays or a pytree of them: the parts for this process's devices, put together in the
        order in which they stand in the whole.
      global_shape: the shape of the whole, or a pytree of these; None, for all of it or for a dimension:
        found from the local one. Along a dimension where both are the same, the local data are the whole.

    Raises:
      ValueError: where the shapes do not fit; names the dimension.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> rb.make_array_from_process_local_data(rows, np.arange(3.0, dtype=np.float32))
      Array([0., 1., 2.], dtype=float32)
    """

    def one(given: Any, x: Any, shape: Any) -> Any:
        x = np.asarray(x)
        places = local_parts(given, x.ndim)
        whole = global_shape_of(given, x.shape, places, shape)

        def part(index: Any) -> Any:
            return x[tuple([local_slice(*each) for each in zip(index, x.shape, whole, places, strict=True)])]

        return make_array_from_callback(whole, given, part)

    given = tree.broadcast_prefix(
        sharding, local_data, names=("make_array_from_process_local_data: sharding", "local_data")
    )
    leaves, structure = tree.flatten(local_data)
    if global_shape is None or is_shape(global_shape):
        shapes = [global_shape] * len(leaves)
    else:
        shapes = tree.leaves(global_shape, is_leaf=lambda s: s is None or is_shape(s))
    return structure.unflatten([one(s, x, g) for s, x, g in zip(given, leaves, shapes, strict=True)])


def meant(sharding: Any) -> Any:
    """The sharding that an argument called ``sharding`` means, as a ``Format`` does."""
    place = as_place(sharding, "sharding")
    return place if isinstance(place, Sharding) else SingleDeviceSharding(place)


def addressable(sharding: Any) -> Any:
    """A sharding, some devices of which belong to this process."""
    if not sharding.group.local_devices:
        raise ShardingError(f"none of the devices of {sharding} belongs to this process")
    return sharding


def is_shape(x: Any) -> Any:
    """Whether something is a shape, in which None stands for a size that is to be found."""
    return isinstance(x, (tuple, list)) and all(n is None or isinstance(n, (int, np.integer)) for n in x)


def local_parts(sharding: Any, ndim: Any) -> Any:
    """For each dimension into how many parts it is cut, and the sorted parts that this process has."""
    counts, parts = sharding.tiles(ndim)
    order = addressable(sharding).device_order
    here = [i for i, device in enumerate(order) if device in sharding.group.local_devices]
    return [(count, sorted({int(parts[i][d]) for i in here})) for d, count in enumerate(counts)]


def global_shape_of(sharding: Any, local: Any, places: Any, asked: Any) -> Any:
    """The shape of the whole, for that of the local data."""
    asked = (None,) * len(local) if asked is None else tuple(asked)
    if len(asked) != len(local):
        raise ValueError(
            f"make_array_from_process_local_data: the local data have {len(local)} dimensions, and "
            f"global_shape is {asked}"
        )
    found = []
    for i, (size, (count, mine), wanted) in enumerate(zip(local, places, asked, strict=True)):
        whole, rest = divmod(size * count, len(mine))
        if wanted is None and rest:
            raise ValueError(
                f"make_array_from_process_local_data: dimension {i} of the local data, {size}, is to be cut "
                f"into {len(mine)} parts of one size for {sharding}"
            )
        if wanted not in (None, size, whole) or (wanted == whole and wanted != size and rest):
            raise ValueError(
                f"make_array_from_process_local_data: global_shape has {wanted} as dimension {i}, but "
                "local data "
                f"of {size} there make {whole} in all for {sharding}, or {size} where they are the whole"
            )
        found.append(whole if wanted is None else int(wanted))
    return tuple(found)


def local_slice(index: Any, local: Any, whole: Any, place: Any) -> Any:
    """Where a slice of the whole stands in the local data, in one dimension."""
    count, mine = place
    if local == whole or count == 1:
        return index
    size = whole // count
    start = mine.index(index.start // size) * size
    return slice(start, start + size)


__all__ = [
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]
