"""Arrays over several devices, made of what each device is to hold."""

import numpy as np
from rabbet import Array, device_put, dtypes, tree
from rabbet.errors import ShardingError
from rabbet.extend.functions import to_array
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.sharding import from_host_parts, join_arrays
from rabbet.extend.transform import typeof


def make_array_from_callback(shape, sharding, data_callback, dtype=None):
    """An array whose parts a function gives.

    Args:
      shape: of the whole.
      sharding: how it is laid over devices.
      data_callback: from an index, a tuple of slices, to that part of the whole: an array, NumPy's or ours.
        It is called once for each device of this process; devices that hold the same part share a call.
      dtype: of the whole; by default that of the first part.

    Raises:
      ValueError: for a part of another shape, or a dimension that cannot be cut into equal parts.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> whole = np.arange(8, dtype=np.float32)
      >>> rows = NamedSharding(rb.make_mesh((1,), ("x",)), P("x"))
      >>> rb.make_array_from_callback((8,), rows, lambda index: whole[index])
      Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    shape = tuple(shape)
    made, parts = {}, []
    for index in sharding.devices_indices_map(shape).values():
        key = tuple([(s.start, s.stop) for s in index])
        if key not in made:
            made[key] = data_callback(index)
        parts.append(made[key])
    if dtype is None:
        dtype = typeof(parts[0] if not isinstance(parts[0], (list, tuple)) else np.asarray(parts[0])).dtype
    dtype = dtypes.canonicalize(dtype)
    parts = [np.ascontiguousarray(np.asarray(p), dtype) for p in parts]
    parts = [p.reshape(()) if p.shape == (1,) and not shape else p for p in parts]
    aval = ShapedArray(shape, dtype)
    if sharding.num_devices == 1:
        (device,) = sharding.device_set
        if parts[0].shape != shape:
            raise ValueError(f"the part for {device} must have shape {shape}, got {parts[0].shape}")
        return device_put(to_array(parts[0], dtype=dtype), device)
    return from_host_parts(parts, aval, sharding)


def make_array_from_single_device_arrays(shape, sharding, arrays, *, dtype=None):
    """An array of arrays that lie on the devices already, whose memory it shares: deleting or donating one
    takes it from the other.

    Args:
      shape: of the whole.
      sharding: how it is laid over devices.
      arrays: one for each device of this process, in any order, each on its device.
      dtype: of the whole, checked against theirs.

    Raises:
      ValueError: for a device with none or several of them, or a part of another shape.
      TypeError: for arrays of different dtypes.
    """
    by_device = {}
    for x in arrays:
        if not isinstance(x, Array) or len(x.sharding.device_set) != 1:
            raise TypeError("make_array_from_single_device_arrays takes arrays that are each on one device")
        (device,) = x.sharding.device_set
        if device in by_device:
            raise ValueError(f"make_array_from_single_device_arrays: two of the arrays are on {device}")
        by_device[device] = x
    missing = [d for d in sharding.device_order if d not in by_device]
    if missing or len(by_device) != sharding.num_devices:
        more = [str(d) for d in by_device if d not in sharding.device_set]
        raise ValueError(
            f"make_array_from_single_device_arrays: {sharding} has {sharding.num_devices} devices; "
            "nothing is on "
            f"{', '.join(map(str, missing)) or 'none of them'}"
            + (f", and {', '.join(more)} is none of them" if more else "")
        )
    kinds = {x.dtype for x in by_device.values()}
    if len(kinds) != 1 or (dtype is not None and dtypes.canonicalize(dtype) not in kinds):
        raise TypeError(
            f"make_array_from_single_device_arrays: the parts have the dtypes {sorted(map(str, kinds))}"
            + ("" if dtype is None else f", and {dtype} was asked for")
        )
    ordered = [by_device[d] for d in sharding.device_order]
    aval = ShapedArray(tuple(shape), next(iter(kinds)))
    if sharding.num_devices == 1:
        if ordered[0].shape != aval.shape:
            raise ValueError(f"the part must have shape {aval.shape}, got {ordered[0].shape}")
        return ordered[0]
    return join_arrays(ordered, aval, sharding)


def make_array_from_process_local_data(sharding, local_data, global_shape=None):
    """An array of what each process has of it. With one process that is the whole.

    Args:
      sharding: how the array is laid over devices, or a prefix of ``local_data`` with these.
      local_data: NumPy arrays or a pytree of them: the parts for this process's devices, put together.
      global_shape: the shape of the whole, by default found from the local one.

    Raises:
      ShardingError: for devices of other processes, which this version cannot reach.
    """

    def one(given, x):
        if not given.is_fully_addressable:
            raise ShardingError("arrays over several processes are not supported in this version")
        x = np.asarray(x)
        if global_shape is not None and tuple(global_shape) != x.shape:
            raise ValueError(
                "make_array_from_process_local_data: with one process the local data are the whole, of "
                "shape "
                f"{x.shape}, and global_shape is {tuple(global_shape)}"
            )
        return device_put(x, given)

    given = tree.broadcast_prefix(
        sharding, local_data, names=("make_array_from_process_local_data: sharding", "local_data")
    )
    leaves, structure = tree.flatten(local_data)
    return structure.unflatten([one(s, x) for s, x in zip(given, leaves, strict=True)])


__all__ = [
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]
