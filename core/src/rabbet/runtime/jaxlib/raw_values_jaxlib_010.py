"""Reading arrays on jaxlib 0.10, which has no single call for it that is free of jax.

NumPy's own dtypes have the buffer protocol, the 8-bit floats and bfloat16 have DLPack, and 2- and 4-bit types
have neither, so a small program widens them first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rabbet.runtime.jaxlib import adapter, dlpack
from rabbet.runtime.jaxlib.raw_shards import order_of

# Packed on the device, and jaxlib 0.10 lends neither a buffer nor a DLPack tensor of them: a program widens
# them to a type that it does lend. Each wider type holds every value of the narrow one exactly.
WIDER = {
    "int2": ("i2", "i8", "int8"),
    "int4": ("i4", "i8", "int8"),
    "uint2": ("ui2", "ui8", "uint8"),
    "uint4": ("ui4", "ui8", "uint8"),
    "float4_e2m1fn": ("f4E2M1FN", "f32", "float32"),
}


class HostAval:
    """The least that jaxlib asks of an aval: shape, dtype, weak_type."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype, self.weak_type = tuple(shape), np.dtype(dtype), False

    ndim = property(lambda self: len(self.shape))


def to_numpy(raw: Any) -> Any:
    """`reading.to_numpy`, for an array that is not deleted."""
    devices = adapter.devices_of(raw)
    if len(devices) > 1:
        return assemble(raw)
    if devices[0].platform != "cpu":
        value = raw._single_device_array_to_np_array_did_copy()[0]  # may import jax
        value.flags.writeable = False
        return value
    dtype = np.dtype(raw.aval.dtype)
    if dtype.name in WIDER:
        return narrow_to_numpy(raw, dtype)
    if order_of(raw) is not None:
        return by_rows(raw, dtype)
    if dtype.isbuiltin == 1:
        return np.asarray(memoryview(raw))  # memoryview raises where np.asarray makes an object array
    # A copy: jaxlib's capsule must not outlive this call (see adapter.to_dlpack).
    capsule = adapter.to_dlpack(raw)
    values = dlpack.view(capsule, keep=raw).view(dtype).copy()
    values.flags.writeable = False
    return values


def assemble(raw: Any) -> Any:
    """Return a whole NumPy array from the shards of `raw`; may import jax."""
    whole = np.empty(raw.aval.shape, raw.aval.dtype)
    # Without elements there is nothing to read, and shards may have the shape of the whole.
    found = zip(raw._arrays, adapter.devices_of(raw), shard_indices(raw), strict=True) if whole.size else ()
    memory = raw._sharding.memory_kind
    for shard, device, index in found:
        # Without jax a shard comes without a type of its own.
        aval = HostAval(whole[index].shape, whole.dtype)
        place = adapter.single_sharding(device, memory)
        whole[index] = to_numpy(shard._rewrap_with_aval_and_sharding(aval, place))
    whole.flags.writeable = False
    return whole


def shard_indices(raw: Any) -> Any:
    """Return, for each device of `raw`, the tuple of slices that it holds of the whole."""
    sharding, shape = raw._sharding._to_xla_hlo_sharding(raw.aval.ndim), raw.aval.shape
    devices = adapter.devices_of(raw)
    if sharding.is_replicated():
        return [tuple(slice(None) for _ in shape)] * len(devices)
    tiles, order = sharding.tile_assignment_dimensions(), sharding.tile_assignment_devices()
    sizes = [-(-size // count) for size, count in zip(shape, tiles)]
    places = {device: np.unravel_index(at, tiles) for at, device in enumerate(order)}
    return [
        tuple(slice(int(i) * size, (int(i) + 1) * size) for i, size in zip(places[n], sizes))
        for n in range(len(devices))
    ]


def converted(raw: Any, have: Any, want: Any, numpy_name: Any, order: Any = None) -> Any:
    """What a program makes of an array: of the element type ``want`` instead of ``have``, in this order of
    the dimensions, None by rows.
    """
    shape = raw.aval.shape
    given, made = [f"tensor<{''.join(f'{n}x' for n in shape)}{name}>" for name in (have, want)]
    text = (
        f"func.func public @main(%a: {given}{mode(order_of(raw))}) -> ({made}{mode(order)}) {{\n"
        f"  %0 = stablehlo.convert %a : ({given}) -> {made}\n  return %0 : {made}\n}}\n"
    )
    devices = adapter.devices_of(raw)
    exe = adapter.compile_text(devices[0].client, text, devices, adapter.default_options(devices[0]))
    aval = HostAval(shape, numpy_name) if numpy_name else raw.aval
    (out,) = exe.execute_sharded([raw]).consume_with_handlers([adapter.result_handler(aval, raw._sharding)])
    return out


def mode(order: Any) -> Any:
    """How a program says the order of the dimensions of an argument or a result."""
    return "" if order is None else f' {{mhlo.layout_mode = "{{{",".join(map(str, reversed(order)))}}}"}}'


def narrow_to_numpy(raw: Any, dtype: Any) -> Any:
    """Read a 2- or 4-bit array on a CPU device by way of a program that widens it."""
    value = np.asarray(memoryview(converted(raw, *WIDER[dtype.name]))).astype(dtype)
    value.flags.writeable = False
    return value


def by_rows(raw: Any, dtype: Any) -> Any:
    """Read an array that lies in another order on a CPU device."""
    name = bits(dtype)
    numpy_name = "complex128" if dtype.itemsize == 16 else f"uint{8 * dtype.itemsize}"
    value = np.asarray(memoryview(converted(raw, name, name, numpy_name))).view(dtype)
    value.flags.writeable = False
    return value


def bits(dtype: Any) -> Any:
    """An element type of the size of a dtype. Programs that only move an array's bits may take any: the
    runtime compares sizes.
    """
    return "complex<f64>" if dtype.itemsize == 16 else f"ui{8 * dtype.itemsize}"


def copy_in_order(raw: Any) -> Any:
    """A copy that lies as the array does. jaxlib's own copy of one not by rows has other numbers."""
    dtype = np.dtype(raw.aval.dtype)
    name = WIDER[dtype.name][0] if dtype.name in WIDER else bits(dtype)
    return converted(raw, name, name, None, order_of(raw))
