"""From what users pass (scalars, NumPy arrays, lists of our arrays) to ``Array`` objects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.config import config
from rabbet.dtypes.array_protocol import array_of
from rabbet.dtypes.narrowing import narrowed, refuse_masked
from rabbet.errors import ShardingError
from rabbet.messages.function_names import describe_function
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.program.inputs_read import inputs_read
from rabbet.program.value_types import type_of_number
from rabbet.runtime.arrays import callback_errors, ownership, transfer_guards
from rabbet.runtime.arrays.array import Array, from_host, put_whole, spread
from rabbet.runtime.arrays.host_parts import refuse_addends
from rabbet.runtime.arrays.placement import placement
from rabbet.runtime.arrays.sharding import EverywhereSharding
from rabbet.runtime.jaxlib import adapter, dlpack, raw_values
from rabbet.runtime.platforms.device_groups import DeviceGroup
from rabbet.runtime.platforms.devices import default_device
from rabbet.trace.interpreter import typeof
from rabbet.trace.leaks import leaked
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.runtime.platforms.devices import Device
    from rabbet.runtime.platforms.topologies import DescribedDevice
    from rabbet.typing import DType, Value

# Arrays of Python scalars are kept from the second time on (None: seen once): x + 1.0 in a loop does not
# transfer the 1.0 each time, and a number that never comes again is freed at once.
MOST_SCALARS = 2048
_scalars = {}
UNSEEN = object()
new = object.__new__


def scalar_array(value: float, aval: ShapedArray, device: DeviceGroup | Device) -> Value:
    """The (uncommitted) array of a Python scalar; kept from the second time that a value, type and device are
    asked for.

    It goes into programs and to nobody else: a user who deleted it would delete it for all (see
    ``ownership``).
    """
    key = (value, _signs(value) if value == 0 else 0, aval, device)
    known = _scalars.get(key, UNSEEN)
    if known is not None and known is not UNSEEN:
        return known
    array = ownership.internal(fresh_scalar(value, aval, device))
    if python_scalars.wraps(value, aval.dtype):
        return array
    if len(_scalars) >= MOST_SCALARS:
        _scalars.clear()
    _scalars[key] = array if known is None else None
    return array


def _signs(zero: float) -> tuple[float, ...]:
    """What tells one zero from another, which Python holds to be equal."""
    return (math.copysign(1.0, zero.real), math.copysign(1.0, zero.imag))


def fresh_scalar(value: float, aval: ShapedArray, device: DeviceGroup | Device) -> Value:
    """The (uncommitted) array of a Python scalar, with memory of its own."""
    return from_host(python_scalars.as_numpy(value, aval), aval, device, False, private=True)


def host_array(x: Any, aval: ShapedArray, device: Device | DescribedDevice, committed: bool = False) -> Value:
    """An array from a NumPy array or scalar, narrowed to the aval's dtype; the caller's memory is copied."""
    if type(x) is not np.ndarray:
        refuse_masked(x)
    host, private = host_value(np.asarray(x), aval)
    return from_host(host, aval, device, committed, private=private)


def host_value(host: np.ndarray, aval: ShapedArray) -> tuple[Any, ...]:
    """A NumPy array narrowed to the aval's dtype, and whether that made a new one."""
    if host.dtype != aval.dtype:
        return narrowed(host, aval.dtype), True
    if not host.dtype.isnative:
        return host.astype(host.dtype.newbyteorder("=")), True
    return host, False


# Where NumPy arrays go in which nothing is to be converted, by (dtype, shape, device, enable_x64).
MOST_KINDS = 2048
MOST_LENT = 1 << 20  # bytes
_as_they_are: dict = {}


class Later:
    """Stands for the array of a NumPy array, which is made when its ``array`` or ``raw`` is asked for."""

    __slots__ = ("host", "spec")

    def __init__(self, host: np.ndarray, spec: Any) -> None:
        self.host, self.spec = host, spec

    @property
    def array(self) -> Value:
        return to_array(self.host, self.spec.device)

    @property
    def raw(self) -> Any:
        return self.array.raw


def put_later(x: np.ndarray, device: Device | DescribedDevice) -> Later | None:
    """What stands for the array that ``put_as_before`` makes, or None where that knows no such array."""
    spec = _as_they_are.get((x.dtype, x.shape, device, config.enable_x64))
    if spec is None or spec.aval.dtype is not x.dtype or config.transfer_guard_host_to_device is not None:
        return None
    return Later(x, spec)


def lend(spec: Any) -> tuple[Any, memoryview] | None:
    """Memory of the host that programs read as an array of this placement: ``(raw, bytes)``. Who copies a
    NumPy array there need not put it on the device; what it holds has to stay until the program is done.

    None where the device has memory of its own, where putting it there takes little beside the copy, and
    where somebody is told of transfers.
    """
    size = math.prod(spec.aval.shape) * spec.aval.dtype.itemsize
    if not 0 < size <= MOST_LENT or spec.device.platform != "cpu" or transfer_guards.wanted:
        return None
    room = np.zeros(size + 64, np.uint8)  # of which XLA takes as it is what begins at a multiple of 64
    room = room[-room.ctypes.data % 64 :][:size]
    host = room.view(spec.aval.dtype).reshape(spec.aval.shape)
    raw = adapter.put(host, spec.aval, spec.device.raw, spec.sharding, private=True)
    return (raw, room.data) if np.shares_memory(room, raw_values.to_numpy(raw)) else None


def put_as_before(x: np.ndarray, device: Device | DescribedDevice) -> Value | None:
    """The array of a NumPy array, if there was one of this dtype and shape before, else None. What leads to
    an array otherwise, a dozen calls, takes half as long as a small program.
    """
    spec = _as_they_are.get((x.dtype, x.shape, device, config.enable_x64))
    # NumPy has dtypes that are equal and not the same: C's long and long long, those with metadata.
    if spec is None or spec.aval.dtype is not x.dtype or config.transfer_guard_host_to_device is not None:
        return None
    if transfer_guards.wanted and x.shape:  # somebody is told of transfers
        transfer_guards.told("host-to-device", spec.aval, device)
    try:
        raw = adapter.batched_device_put(
            spec.aval, spec.sharding, [x], [device.raw], True, False, adapter.ONLY_DURING_CALL, True
        )
    except Exception as error:
        failure = callback_errors.behind(error)
        if failure is None:
            raise
    else:
        out = new(Array)
        out.raw, out.spec, out.aval = raw, spec, spec.aval
        return out
    raise failure  # outside of the handler, which would become part of the exception's story


# Common classes of NumPy's numbers, found without asking for protocols.
NUMPY_NUMBERS = frozenset([np.dtype(name).type for name in "?bhilBHILefd"])


def to_array(
    x: Any,
    device: Device | DescribedDevice | None = None,
    dtype: DType | None = None,
    *,
    shared: bool = False,
    alone: bool = False,
    later: bool = False,
) -> Value:
    """``x`` as an ``Array``: itself, or a copy on ``device`` (by default the default device), uncommitted.

    A NumPy array or scalar takes ``dtype`` if it is given, in full width; else 64 bits are narrowed (see
    ``dtypes``). With ``shared``, a Python number may be an array that Rabbet keeps: only for what goes into
    a program, is not donated and is not returned. With ``alone``, a number is an array by itself and no part
    of an operation, so transfer guards count it. With ``later``, a NumPy array of a dtype and shape that was
    converted before may become a ``Later``: only for a program that perhaps does not read it.

    Raises:
      UnexpectedTracerError: if ``x`` is a tracer of a transformation that has finished.
      TypeError: if ``x`` is not array-like.

    Example:
      >>> from rabbet.extend.functions import to_array
      >>> to_array(np.arange(3)).dtype.name, to_array(np.arange(3), dtype="int64").dtype.name
      ('int32', 'int64')
    """
    kind = type(x)
    if kind is Array:
        return x
    if alone and config.transfer_guard_host_to_device is not None and not np.ndim(x):
        aval = typeof(x) if dtype is None else ShapedArray((), dtype)
        transfer_guards.to_device(aval, device or default_device(), numbers=True)
    if dtype is None:
        if kind is np.ndarray or kind in NUMPY_NUMBERS:
            device = device or default_device()
            if kind is np.ndarray:
                put: Any = put_later if later else put_as_before
                if (array := put(x, device)) is not None:
                    return array
            host_dtype = x.dtype
            aval = ShapedArray(x.shape, dtypes.narrow(host_dtype))
            if kind is np.ndarray and aval.dtype is host_dtype and host_dtype.isbuiltin == 1:
                # Nothing to convert: without the calls of the way that all others take, which are a twentieth
                # of what a small program with such an argument costs.
                if aval.shape:
                    transfer_guards.to_device(aval, device)
                spec = placement(aval, device, False)
                if spec.layout is None:
                    if len(_as_they_are) >= MOST_KINDS:
                        _as_they_are.clear()
                    array = callback_errors.translated(put_whole, x, aval, spec)
                    _as_they_are[host_dtype, x.shape, device, config.enable_x64] = spec
                    return array
            return host_array(x, aval, device)
        if kind is float or kind is int or kind is bool:
            make = scalar_array if shared else fresh_scalar
            return make(x, type_of_number(kind), device or default_device())
    if kind is Tracer:
        raise leaked(x)
    if hasattr(x, "__jax_array__"):
        return to_array(array_of(x), device)
    if dtype is not None:
        refuse_masked(x)
        host = np.asarray(x)
        return host_array(host, ShapedArray(host.shape, dtype), device or default_device())
    if not isinstance(x, NUMBERS):
        x = foreign(x)
    aval = typeof(x)
    if python_scalars.is_python_scalar(x) and type(x) is not complex:
        return (scalar_array if shared else fresh_scalar)(x, aval, device or default_device())
    return host_array(x, aval, device or default_device())


NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)


def foreign(x: Any) -> Any:
    """An array of another library as one of NumPy's, by DLPack or NumPy's protocols; anything else as it is.

    Raises:
      TypeError: for one on another device than the processor.
    """
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        kind, _ = x.__dlpack_device__()
        if kind not in dlpack.CPU_LIKE:
            raise TypeError(
                f"{type(x).__name__} lies in a device's memory; take it by rb.dlpack.from_dlpack(x), which "
                "shares it"
            )
        try:
            return dlpack.consume(dlpack.capsule_of(x))
        except (BufferError, TypeError, ValueError, RuntimeError):
            pass  # such as a tensor that requires a gradient; perhaps NumPy can read it
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__"):
        host = np.asarray(x)
        if host.dtype.kind in "biufcV":
            return host
    return x


def array_or_tracer(x: Any, *, captured: bool = False) -> Value:
    """``x`` as transformations take it: arrays and tracers as they are, NumPy arrays and scalars as arrays
    on the default device.

    With ``captured``, an array gets a handle of its own, so that the program that captured it works on
    whatever becomes of the user's array.

    Raises:
      TypeError: if ``x`` is not array-like.

    Example:
      >>> from rabbet.extend.functions import array_or_tracer
      >>> array_or_tracer(np.arange(3))
      Array([0, 1, 2], dtype=int32)
      >>> x = rb.device_put(np.float32(1))
      >>> array_or_tracer(x) is x
      True
    """
    if type(x) is not Array and type(x) is not Tracer:
        x = to_array(x)
    return ownership.captured(x) if captured else x


def operands(op: Any, args: Any, places: Any = ()) -> Any:
    """The arguments of an eager operation as arrays on one device; scalars take the dtype of the arrays
    beside them.

    Returns:
      (arrays, device, committed)
    """
    avals = None
    if any(python_scalars.is_python_scalar(a) for a in args):
        for a in args:
            if type(a) is Tracer:
                raise leaked(a)
        avals = python_scalars.operand_avals(op, args, typeof)
    device, committed = common_device(deciding(op, args), op.primitive.name, places=places)
    arrays = []
    for i, a in enumerate(args):
        if type(a) is Array:
            arrays.append(a if a.spec.device is device else copy_to_device(a, device, a.spec.committed))
        elif avals is not None and python_scalars.is_python_scalar(a):
            arrays.append(scalar_array(a, avals[i], device))
        else:
            arrays.append(to_array(a, device))
    if type(device) is DeviceGroup:
        in_one_memory(args, arrays)
    return arrays, device, committed


def deciding(op: Any, args: Any) -> Any:
    """The arguments, but None for those of a call that its program does not read, which may lie anywhere."""
    if not op.primitive.is_call:
        return args
    alone = [type(a) is Array and a.spec.committed and a.spec.layout is None for a in args]
    if len({a.spec.device for a, one in zip(args, alone, strict=True) if one}) < 2:
        return args
    read = inputs_read(op.params["jaxpr"])
    return [None if one and not r else a for a, one, r in zip(args, alone, read, strict=True)]


def in_one_memory(args: tuple[Value, ...], arrays: list[Value]) -> None:
    """Bring what nobody put anywhere to the memory in which the others of ``arrays`` lie."""
    put = [type(a) is Array and a.spec.committed for a in args]
    layouts = {x.spec.layout for x, p in zip(arrays, put, strict=True) if p and x.aval.memory is not None}
    if len(layouts) != 1:
        return
    (layout,) = layouts
    for i, (x, p) in enumerate(zip(arrays, put, strict=True)):
        if not p and x.ndim and x.aval.memory is None:
            there = x.spec.layout.with_memory_kind(layout.other_memory)
            arrays[i] = spread(raw_values.to_numpy(x.raw), x.aval, there)


def common_device(values: Any, what: Any, name: Any = "argument {}".format, places: Any = ()) -> Any:
    """The device on which to compute: that of the committed arrays, which must agree; else the default one,
    wherever uncommitted arrays are.

    Args:
      values: arrays, and others that do not matter here.
      what: who computes, for the message: a text or a function.
      name: ``name(i)`` is how the user would call ``values[i]``.
      places: shardings that the program names, over whose devices it has to run.

    Returns:
      (device, committed); for arrays over several devices their ``DeviceGroup``.

    Raises:
      ValueError: for arrays that were put on different devices; names two of them.

    Example:
      >>> from rabbet.extend.backend import common_device
      >>> x = rb.device_put(np.float32(1), rb.devices()[0])
      >>> common_device([x, 2.0], "my function") == (rb.devices()[0], True)
      True
    """
    found = None
    for sharding in places:
        if not sharding.has_devices:
            continue
        if found is None:
            found = sharding.group
        elif sharding.group is not found:
            raise ShardingError(
                f"{what if isinstance(what, str) else describe_function(what)} names shardings over "
                f"different devices: {found} and {sharding.group}, that of {sharding}; one program runs on "
                "one set of devices, in one order"
            )
    for x in values:
        if type(x) is Array:
            spec = x.spec
            if spec.committed:
                if found is None:
                    found = spec.device
                elif spec.device is not found and not is_only(spec.device, found):
                    if places and not any(s.committed and s.device is found for s in specs_of(values)):
                        raise ShardingError(not_there(values, what, name, x, found))
                    raise ValueError(different_devices(values, what, name))
    nameless = [s for s in places if not s.has_devices]
    if found is not None:
        for sharding in nameless:
            sharding.on(found)  # which refuses another number of devices
        return found, True
    if nameless:
        return nameless[0].group, True  # it says what to do
    default = config.default_sharding
    if default is not None:
        return default.group, True
    return default_device(), False


def default_of(arrays: Any, device: Any) -> tuple:
    """``config.default_sharding`` in a tuple, where it says how a program of these arrays on ``device`` is
    laid out: nobody has placed them, or there are none. Else an empty one.

    Raises:
      ShardingError: for an array on another mesh with axes of type ``Explicit``.
    """
    default = config.default_sharding
    if default is None or device is not default.group:
        return ()
    default.refuse_others([a.spec.layout for a in arrays])
    return (default,) if all(type(a.spec.layout) is EverywhereSharding for a in arrays) else ()


def is_only(device: DeviceGroup | Device, group: DeviceGroup | Device) -> bool:
    """Whether a group is of this one device alone, or the other way round."""
    one, other = getattr(device, "devices", (device,)), getattr(group, "devices", (group,))
    return one == other


def specs_of(values: Any) -> Any:
    """The placements of the arrays among ``values``."""
    return [x.spec for x in values if type(x) is Array]


def not_there(values: Any, what: Any, name: Any, x: Any, group: Any) -> Any:
    """The message for an array that is on other devices than the program names."""
    i = next(i for i, v in enumerate(values) if v is x)
    return (
        f"{what if isinstance(what, str) else describe_function(what)} names a sharding over {group}, and "
        f"{name(i)}, {x.aval.str_short()}, is on {x.spec.device}\n"
        "  to fix: bring it there, as in rb.device_put(x, sharding)"
    )


def different_devices(values: Any, what: Any, name: Any) -> Any:
    """The message for values of which two were put on different devices: the first, and one elsewhere."""
    placed = [(i, x) for i, x in enumerate(values) if type(x) is Array and x.spec.committed]
    one, other = placed[0], next(p for p in placed if p[1].spec.device is not placed[0][1].spec.device)
    described = [f"{name(i)}, {x.aval.str_short()}, is on {x.spec.device}" for i, x in (one, other)]
    return (
        f"{what if isinstance(what, str) else describe_function(what)} got arrays that were put on different "
        f"devices: {', and '.join(described)}\n"
        "  to fix: bring them to one device, as in rb.device_put(x, other.device)"
    )


def copy_to_device(array: Value, device: Any, committed: bool) -> Value:
    """``array`` copied to ``device`` (the same memory if it is there).

    Example:
      >>> from rabbet.extend.backend import copy_to_device
      >>> x = rb.device_put(np.float32(1))
      >>> copy_to_device(x, rb.devices()[0], True).committed
      True
    """
    if array.raw.is_deleted():
        raise array.deleted()
    if array.spec.layout is not None and array.spec.device is device:
        return array
    spec = placement(array.aval, device, committed)
    if array.spec.device is device:
        return Array(array.raw, spec)
    if spec.layout is not None or array.spec.layout is not None:
        refuse_addends(array)
        transfer_guards.between(array.aval, device)
        return from_host(
            callback_errors.translated(raw_values.to_numpy, array.raw), array.aval, device, committed
        )
    transfer_guards.between(array.aval, device)
    return Array(
        callback_errors.translated(raw_values.copy_to_device, array.raw, device.raw, spec.sharding), spec
    )


def with_weak_type(array: Value, weak_type: bool) -> Value:
    """The same memory under an aval with or without a weak type."""
    if array.aval.weak_type == weak_type:
        return array
    aval = ShapedArray(array.aval.shape, array.aval.dtype, weak_type)
    return Array(array.raw, array.spec.of(aval))


__all__ = [
    "array_or_tracer",
    "common_device",
    "copy_to_device",
    "host_array",
    "operands",
    "scalar_array",
    "to_array",
    "with_weak_type",
]
