"""``rabbet.Array``: our own class around a PJRT buffer.

What needs operations (arithmetic, indexing, ``.sum()``) is given to this class and to tracers alike when
``rabbet`` is composed, by ``rabbet.lax.operators``; here stands what an array can do by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import asarray

from rabbet import dtypes
from rabbet.errors import DeletedArrayError
from rabbet.messages.signal_errors import is_of_handler
from rabbet.messages.tracebacks import fold_traceback, folds_itself
from rabbet.runtime.arrays import callback_errors, printable_values, transfer_guards
from rabbet.runtime.arrays.host_parts import device_of, parts_here, refuse_addends, stored
from rabbet.runtime.arrays.placement import part_placement, placement, spread_placement
from rabbet.runtime.arrays.sharding import SingleDeviceSharding
from rabbet.runtime.jaxlib import adapter, dlpack, raw_shards, raw_values, signals_while_reading
from rabbet.runtime.jaxlib.inside_callback import running
from rabbet.runtime.jaxlib.shared_memory import GivenUp, is_shared
from rabbet.runtime.platforms.devices import default_device
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.runtime.arrays.placement import Placement
    from rabbet.runtime.arrays.sharding import Sharding
    from rabbet.typing import Value


class ArrayType(type):
    """Makes ``isinstance(x, Array)`` hold for traced values too: a transformed function sees arrays."""

    def __instancecheck__(cls, x: Any) -> bool:
        return type(x) is cls or type(x) is Tracer


class Array(metaclass=ArrayType):
    """An array on a device. Made by ``rabbet.numpy`` functions, ``device_put`` and computations; immutable.

    Computation is asynchronous where the backend gains by it: an array may exist before its values do.
    Reading them waits.

    Example:
      >>> x = rnp.array([1.0, 2.0])
      >>> isinstance(x, rb.Array), x.shape, x.dtype.name
      (True, (2,), 'float32')
      >>> (x + 1).tolist(), x.sum()
      ([2.0, 3.0], Array(3., dtype=float32))
    """

    __slots__ = ("raw", "aval", "spec", "__weakref__")
    __array_priority__ = 100

    def __init__(self, raw: Any, spec: Any) -> None:
        self.raw = raw
        self.spec = spec
        self.aval = spec.aval

    # ------------------------------------------------------------------------------------------ what it is
    shape = property(lambda self: self.aval.shape, doc="The shape, a tuple of ints.")
    dtype = property(lambda self: self.aval.dtype, doc="The dtype, a NumPy dtype or an extended one.")
    ndim = property(lambda self: self.aval.ndim, doc="The number of dimensions.")
    size = property(lambda self: self.aval.size, doc="The number of elements.")
    weak_type = property(lambda self: self.aval.weak_type, doc="Whether the dtype gives way in promotion.")
    itemsize = property(lambda self: self.aval.dtype.itemsize, doc="Bytes per element.")
    nbytes = property(lambda self: self.aval.size * self.aval.dtype.itemsize, doc="Bytes in all.")
    device = property(
        lambda self: self.spec.device if self.spec.layout is None else device_of(self.spec.layout.public),
        doc="The device that holds the array; its sharding, where there are several.",
    )
    committed = property(
        lambda self: self.spec.committed, doc="Whether the array was put on its device on purpose."
    )
    sharding = property(
        lambda self: (
            SingleDeviceSharding(self.spec.device) if self.spec.layout is None else self.spec.layout.public
        ),
        doc="How the array is laid over devices.",
    )
    is_fully_addressable = property(
        lambda self: self.sharding.is_fully_addressable, doc="Whether this process can read all of it."
    )
    is_fully_replicated = property(
        lambda self: not self.sharding.addends and set(self.sharding.tiles(self.aval.ndim)[0]) <= {1},
        doc="Whether every device holds all of it.",
    )
    addressable_shards = property(
        lambda self: shards(self), doc="Its parts on devices of this process: a list of ``Shard``."
    )
    global_shards = property(
        lambda self: shards(self, everywhere=True),
        doc="Its parts on all devices: a list of ``Shard``; those of other processes have no data.",
    )

    def devices(self) -> set[Any]:
        """The set of devices that hold the array."""
        return self.sharding.device_set

    def __len__(self) -> int:
        return len(self.aval)

    # Not hashable, and said so as Python's containers say it: isinstance(x, Hashable) is false.
    __hash__ = None  # type: ignore[assignment]

    # -------------------------------------------------------------------------------- waiting and deleting
    def block_until_ready(self) -> Value:
        """Wait until the values are computed; return the array. Errors of the computation are raised here."""
        raw = self.raw
        if raw.is_deleted():
            raise self.deleted()
        try:
            raw.block_until_ready()
        except Exception as error:
            failure = callback_errors.behind(error)
            if failure is None:
                raise
        else:
            return self
        raise failure

    def is_ready(self) -> bool:
        """Whether the values are computed."""
        if self.raw.is_deleted():
            raise self.deleted()
        return self.raw.is_ready()

    def is_deleted(self) -> bool:
        """Whether the memory was given up, by ``delete`` or by donation."""
        return self.raw.is_deleted()

    def on_device_size_in_bytes(self) -> Any:
        """Bytes of memory that its parts take on all their devices together, as the runtime counts them."""
        if self.raw.is_deleted():
            raise self.deleted()
        return self.raw.on_device_size_in_bytes()

    def delete(self) -> None:
        """Give up the memory now, but for what other arrays share of it: those over several devices and their
        ``addressable_shards``. Using the array afterwards raises ``DeletedArrayError``.
        """
        # Within a callback the program that called it may be reading the array: jaxlib would wait for its
        # end, which waits for us.
        if running.depth or is_shared(self.raw):
            self.raw = GivenUp(self.raw.aval)
        else:
            self.raw.delete()

    def copy_to_host_async(self) -> None:
        """Begin copying the values to the host, so that a later ``numpy.asarray`` waits less."""
        if self.raw.is_deleted():
            raise self.deleted()
        adapter.start_copy_to_host([self.raw])

    # ----------------------------------------------------------------------------------------- to the host
    def _value(self) -> np.ndarray:
        lent = self.spec.lent
        if lent is not None:
            try:
                value = asarray(self.raw)
                if value.dtype is lent:  # else NumPy made an array of one object
                    return value
            except Exception as error:  # once more below, where it is said what is wrong
                if is_of_handler(error):
                    raise
        if isinstance(self.aval.dtype, dtypes.ExtendedDType):
            key = issubclass(self.aval.dtype.type, dtypes.prng_key)
            ask = "rabbet.random.key_data(x)" if key else "rabbet.extend.primitive.to_physical(x)"
            raise TypeError(
                f"an array of dtype {self.aval.dtype} has no NumPy form; {ask} gives what it stores"
            )
        if self.raw.is_deleted():
            raise self.deleted()
        if self.aval.dtype == dtypes.float0:
            return np.zeros(self.aval.shape, dtypes.float0)
        refuse_addends(self)
        transfer_guards.to_host(self.aval, self.spec.device)
        value = callback_errors.translated(raw_values.to_numpy, self.raw)
        return value if self.aval.codes is None else value.view(self.aval.dtype)

    def deleted(self) -> Exception:
        """The error for using this array after it was deleted or donated."""
        return DeletedArrayError(
            f"array {self.aval.str_short()} has been deleted or donated to a computation; "
            f"use the computation's result, or do not donate this argument"
        )

    @folds_itself
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        try:
            if signals_while_reading.pending:
                signals_while_reading.tell(self)
            lent = self.spec.lent
            try:  # what _value does first, without the call
                value = None if lent is None else asarray(self.raw)
            except Exception as error:
                if is_of_handler(error):
                    raise
                value = None
            if value is None or value.dtype is not lent:
                value = self._value()
            if dtype is not None and value.dtype != dtype:
                if copy is False:
                    raise ValueError(
                        f"converting {self.aval.str_short()} to {np.dtype(dtype)} needs a "
                        "copy, which copy=False forbids"
                    )
                return dtypes.host_cast(value, np.dtype(dtype))
            return value.copy() if copy else value
        except Exception as error:
            fold_traceback(error)
            raise

    @folds_itself
    def __buffer__(self, flags: int) -> Any:
        # Python asks for this from 3.12 on; there, memoryview(x) reads the values without a copy.
        try:
            if signals_while_reading.pending:
                signals_while_reading.forget()
            if self.aval.codes is not None and dtypes.has_own_format(self.aval.dtype):
                raise BufferError("NumPy cannot read these numbers; np.asarray(x, 'float32') converts them")
            values: Any = self._value()  # NumPy says that it is a Buffer from Python 3.12 on
            return memoryview(values)
        except Exception as error:
            if is_of_handler(error):
                signals_while_reading.remember(self, error)
            fold_traceback(error)
            raise
        except BaseException as error:  # NumPy would drop it
            signals_while_reading.remember(self, error)
            raise

    def item(self, *index: int) -> float:
        """One element as a Python scalar; ``index`` as for ``numpy.ndarray.item``."""
        return printable_values.numbers(self).item(*index)

    def tolist(self) -> Any:
        """The values as nested lists of Python scalars."""
        return printable_values.numbers(self).tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The values as bytes, in row-major order by default."""
        return self._value().tobytes(order)

    def _scalar(self, convert: Any) -> complex:
        if self.aval.size != 1 or self.aval.ndim > 0:
            raise TypeError(
                f"only an array without dimensions converts to {convert.__name__}, got "
                f"{self.aval.str_short()}; "
                f"take an element first, as in x[0] or x.item()"
            )
        if dtypes.kind(self.aval.dtype) == "c" and convert is not complex:
            raise TypeError(
                f"a complex array does not convert to {convert.__name__} "
                f"({self.aval.str_short()}); take x.real or abs(x)"
            )
        return convert(printable_values.numbers(self)[()])

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            raise ValueError(
                f"the truth value of an array of {self.aval.size} elements ({self.aval.str_short()}) is "
                "ambiguous; use x.any() or x.all()"
            )
        return bool(printable_values.numbers(self).reshape(())[()])

    def __int__(self) -> Any:
        return self._scalar(int)

    def __float__(self) -> Any:
        return self._scalar(float)

    def __complex__(self) -> complex:
        return self._scalar(complex)

    def __index__(self) -> int:
        if dtypes.kind(self.aval.dtype) not in "iu" or self.aval.ndim:
            raise TypeError(
                f"only integer arrays without dimensions can be an index, got {self.aval.str_short()}"
            )
        return int(self._value()[()])

    def __format__(self, spec: str) -> str:
        if spec and self.aval.ndim == 0:
            return format(printable_values.numbers(self)[()], spec)
        try:
            return format(str(self), spec)
        except ValueError:
            raise TypeError(
                f"the format {spec!r} is for one number, and this is an array {self.aval.str_short()}; for "
                "each of its numbers: numpy.array2string(x, formatter=...)"
            ) from None

    def __str__(self) -> str:
        if printable_values.is_stored_only(self.aval.dtype) or not is_readable(self):
            return repr(self)
        return str(printable_values.numbers(self))

    def __repr__(self) -> str:
        if self.raw.is_deleted():
            return f"Array({self.aval.str_short()}, deleted)"
        if not is_readable(self):
            return f"Array(shape={self.aval.shape}, dtype={self.aval.dtype.name})"
        if printable_values.is_stored_only(self.aval.dtype):
            stored = raw_values.to_numpy(self.raw)
            return f"Array({self.aval.shape}, dtype={self.aval.dtype}) overlaying:\n{stored}"
        weak = ", weak_type=True" if self.aval.weak_type else ""
        tail = f"dtype={printable_values.name_of(self.aval.dtype)}{weak})"
        text = printable_values.text(self, prefix="Array(")
        if self.aval.size == 0:
            text = f"[], shape={self.aval.shape}"
        last = text.rsplit("\n", 1)[-1]
        gap = " " if len(last) + len(tail) < 70 else "\n      "
        return f"Array({text},{gap}{tail}"

    # ------------------------------------------------------------------------------------- other libraries
    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        if self.raw.is_deleted():
            raise self.deleted()
        refuse_addends(self)
        if self.aval.codes is not None:
            name = dtypes.spec(self.aval.dtype).name
            raise BufferError(f"{name} has no DLPack form; convert first, x.astype('float32')")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the array is on {self.__dlpack_device__()}, not on {dl_device}; move it")
        return raw_values.to_dlpack((self.__deepcopy__({}) if copy else self).raw, stream)

    def __dlpack_device__(self) -> tuple[int, ...]:
        spec = self.spec
        device = spec.device if spec.layout is None else spec.layout.group.local_devices[0]
        return dlpack.device_of(device.platform, device.raw.local_hardware_id)

    def unsafe_buffer_pointer(self) -> int:
        """The address of the values in the device's memory, for foreign code; it waits for them. Unsafe: the
        memory must not be written to, and lives as long as the array.
        """
        if self.raw.is_deleted():
            raise self.deleted()
        self.block_until_ready()
        return self.raw.unsafe_buffer_pointer()

    def __reduce__(self) -> tuple[tuple[Any, ...] | Callable[..., Any], ...]:
        if isinstance(self.aval.dtype, dtypes.ExtendedDType):
            return _unpickle_physical, (raw_values.to_numpy(self.raw), self.aval)
        return _unpickle, (self._value(), self.aval.weak_type)

    def __copy__(self) -> Value:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[Any, Any]) -> Value:
        if self.raw.is_deleted():
            raise self.deleted()
        if self.spec.layout is not None:
            return copy_of_parts(self)
        raw = raw_values.copy_to_device(self.raw, self.spec.device.raw, self.spec.sharding, always_copy=True)
        return Array(raw, self.spec)

    def addressable_data(self, index: int) -> Value:
        """The part of the array on this process's device number ``index``."""
        parts = shards(self)
        if not -len(parts) <= index < len(parts):
            raise IndexError(f"there is no part {index}: the array has {len(parts)}, one for each device")
        return parts[index].data


def is_readable(array: Value) -> bool:
    """Whether this process has all values of an array."""
    layout = array.spec.layout
    return layout is None or (not layout.addends and (layout.group.is_local or array.is_fully_replicated))


class Shard:
    """The part of an array that one device holds.

    Attributes:
      device: the ``Device``.
      index: a tuple of slices: where the part stands in the whole.
      replica_id: its number among the devices that hold the same part.
      data: the part, an ``Array`` on that device, which shares the memory; None on a device of another
        process.

    Example:
      >>> from rabbet.extend.sharding import Shard
      >>> (shard,) = rb.device_put(np.ones(3)).addressable_shards
      >>> type(shard) is Shard, shard.index, shard.replica_id
      (True, (slice(None, None, None),), 0)
    """

    __slots__ = ("data", "device", "index", "replica_id")

    def __init__(self, device: Any, index: Any, replica_id: Any, data: Any) -> None:
        self.device, self.index, self.replica_id, self.data = device, index, replica_id, data

    def __repr__(self) -> Any:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def shards(array: Value, *, everywhere: bool = False) -> list[Shard]:
    """The parts of an array, one for each device of this process, or of all processes."""
    if array.raw.is_deleted():
        raise array.deleted()
    aval, layout = array.aval, array.spec.layout
    if layout is None:
        return [Shard(array.spec.device, (slice(None),) * aval.ndim, 0, array)]
    local = aval.update(shape=layout.shard_shape(aval.shape))
    devices = layout.group.local_devices
    raws = raw_shards.shards_of(
        array.raw, [local.physical] * len(devices), [d.raw for d in devices], layout.other_memory
    )
    specs = [part_placement(local, d, layout) for d in devices]
    data = {d: Array(r, spec) for d, r, spec in zip(devices, raws, specs, strict=True)}
    seen: dict = {}
    found = []
    for device, index in layout.devices_indices_map(aval.shape).items():
        key = tuple([(s.start, s.stop) for s in index])
        seen[key] = seen.get(key, -1) + 1
        if everywhere or device in data:
            found.append(Shard(device, index, seen[key], data.get(device)))
    return found


def copy_of_parts(array: Value) -> Value:
    """A copy of an array over several devices, part by part."""
    spec, parts = array.spec, [part.data for part in shards(array)]
    if spec.layout.order is not None or spec.layout.addends:  # which a copy within the device has
        raws = [raw_values.copy_in_order(part.raw) for part in parts]
        return Array(raw_shards.join_shards(raws, array.aval.physical, spec.sharding), spec)
    host = [np.array(raw_values.to_numpy(part.raw)) for part in parts]
    raws = [part.spec.device.raw for part in parts]
    return Array(adapter.put_shards(host, array.aval.physical, raws, spec.sharding), spec)


def spread(host: np.ndarray, aval: ShapedArray, layout: Sharding, *, private: bool = False) -> Value:
    """An ``Array`` of type ``aval`` over several devices from a NumPy array of its physical type."""
    spec = spread_placement(aval, layout)
    raws = [device.raw for device in layout.group.local_devices]  # asked each time: a fork is told here
    parts = [host[i] for i in parts_here(layout, aval.shape)]
    return Array(adapter.put_shards(parts, aval.physical, raws, spec.sharding, private=private), spec)


def alias(array: Value) -> Value:
    """The same memory under a handle of its own: to delete or donate one leaves the other as it is.

    On the CPU nothing is copied: what the new handle keeps alive is a view of the memory. Elsewhere two
    handles cannot share memory, and the values are copied on the device.

    Raises:
      DeletedArrayError: if `array` was deleted.
    """
    raw, spec = array.raw, array.spec
    if raw.is_deleted():
        raise array.deleted()
    if spec.layout is not None:
        return array.__deepcopy__({})
    device = spec.device
    if device.platform == "cpu":
        view = raw_values.to_numpy(raw)
        return Array(adapter.put(view, raw.aval, device.raw, spec.sharding, private=True), spec)
    return Array(raw_values.copy_to_device(raw, device.raw, spec.sharding, always_copy=True), spec)


def from_host(host: Any, aval: ShapedArray, device: Any, committed: bool, *, private: bool = False) -> Value:
    """An ``Array`` of type ``aval`` from a NumPy array of its physical type (or of float0)."""
    if aval.shape:  # numbers are part of the operation that they stand in
        transfer_guards.to_device(aval, device)
    spec = placement(aval, device, committed)
    physical, host = aval.physical, stored(host, aval)
    if spec.layout is not None:
        return callback_errors.translated(functools.partial(spread, private=private), host, aval, spec.layout)
    return callback_errors.translated(put_whole, host, physical, spec, private)


def put_whole(host: np.ndarray, physical: ShapedArray, spec: Placement, private: bool = False) -> Value:
    """An ``Array`` on one device from a NumPy array in which nothing is left to convert."""
    return Array(adapter.put(host, physical, spec.device.raw, spec.sharding, private=private), spec)


def _unpickle(value: np.ndarray, weak_type: bool) -> Value:
    from rabbet.program.avals import ShapedArray

    return _unpickle_physical(value, ShapedArray(value.shape, value.dtype, weak_type))


def _unpickle_physical(value: np.ndarray, aval: ShapedArray) -> Value:
    return from_host(np.ascontiguousarray(value).reshape(aval.physical.shape), aval, default_device(), False)
