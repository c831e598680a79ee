"""From whatever holds numbers to arrays: ``array``, ``asarray``, ``astype``, ``copy``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import Array, device_put, dtypes, lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import is_evaluating, is_python_scalar, obeys_out_sharding, to_array
from rabbet.extend.primitive import keep_apart
from rabbet.extend.sharding import Sharding
from rabbet.extend.transform import Interpreter, Tracer, array_of, typeof

if TYPE_CHECKING:
    from rabbet.typing import DType, DTypeLike, Value


@obeys_out_sharding
def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """An array of the values of ``object``.

    Args:
      object: an array, a number, nested sequences of these, or anything that NumPy reads as an array.
      dtype: of the result. By default that of the values, 64 bits narrowed to 32; a number alone is weakly
        typed.
      copy: True: memory of its own.
      order: ignored, as arrays have no visible layout; ``"K"`` or ``"C"``.
      ndmin: add leading dimensions of size 1 up to this many.
      device: where to put it.
      out_sharding: the same, as a ``SingleDeviceSharding``.

    Raises:
      TypeError: for what holds no numbers.
      ValueError: for nested sequences of different lengths.
      OverflowError: for a Python int that does not fit the dtype.

    Example:
      >>> rnp.array([[1, 2], [3, 4]])
      Array([[1, 2],
             [3, 4]], dtype=int32)
      >>> rnp.array(1.5, dtype="float64").dtype
      dtype('float64')
    """
    if order not in ("K", "C", "A", None):
        raise NotImplementedError(
            f"array: order must be 'K', 'C' or 'A', got {order!r}: arrays have no layout to choose"
        )
    dtype = None if dtype is None else dtypes.requested(dtype)
    out = converted(object, dtype)
    if copy and out is object:
        out = out.__deepcopy__({}) if type(out) is Array else copy_of_tracer(out)
    if ndmin > out.ndim:
        out = lax.expand_dims(out, tuple(range(ndmin - out.ndim)))
    return on_device(out, device)


def on_device(x: Value, device: Any) -> Any:
    """``x`` put on a device or over several, if they are named. A program runs where its arguments are: in it
    only a cut over several devices is asked for.
    """
    if device is None:
        return x
    if type(x) is Array:
        return x.to_device(device)
    return device_put(x, device) if isinstance(device, Sharding) and device.num_devices > 1 else x


@obeys_out_sharding
def asarray(
    a: Value,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """``a`` as an array: itself if it is one of the dtype, else as ``array`` makes it.

    Raises:
      ValueError: with ``copy=False`` if a copy is needed.

    Example:
      >>> import numpy as np
      >>> rnp.asarray(np.arange(3.0))
      Array([0., 1., 2.], dtype=float32)
    """
    if copy is False and type(a) not in (Array, Tracer):
        raise ValueError(f"asarray: a {type(a).__name__} has to be copied, so copy=False cannot be honoured")
    return array(a, dtype, copy=bool(copy), order=order, device=device)


def copy_of_tracer(x: Any) -> Any:
    """``x`` with memory of its own, where a transformation runs on arrays. Nobody else can hold the memory of
    a value within a program, be it transformed there or not: a copy would be a barrier that costs time.
    """
    level = x.interpreter
    while isinstance(level, Interpreter):
        if level.stages:
            return x
        level = level.parent
    return keep_apart(x)


def converted(x: Any, dtype: DType | None) -> Any:
    """``x`` as an array of ``dtype``, or of its own."""
    if isinstance(dtype, dtypes.ExtendedDType):
        x = converted(x, None)
        return x if x.dtype == dtype else lax.convert_element_type(x, dtype)
    if type(x) is Array or type(x) is Tracer:
        return x if dtype is None or x.dtype == dtype else lax.convert_element_type(x, dtype)
    if is_python_scalar(x):
        alone = is_evaluating(alone=True)
        if dtype is None:
            return to_array(x, alone=alone)
        return to_array(dtypes.numpy_scalar(x, dtype), dtype=dtype, alone=alone)
    if isinstance(x, (np.ndarray, np.generic)):
        return from_numpy(x, dtype)
    if isinstance(x, (list, tuple, range)):
        return from_sequence(x, dtype)
    if hasattr(x, "__jax_array__"):
        return converted(array_of(x), dtype)
    if isinstance(x, (int, float, complex)):  # subclasses of the numbers, such as enums
        return converted(dtypes.scalar_type_of(x)(x), dtype)
    if (
        x is None
        or isinstance(x, (str, bytes))
        or not (hasattr(x, "__array__") or hasattr(x, "__array_interface__") or is_buffer(x))
    ):
        if is_listed(x):
            return from_sequence([x[i] for i in range(len(x))], dtype)
        raise DTypeError(
            f"array: a {type(x).__name__} holds no numbers; give an array, numbers or nested lists of numbers"
        )
    return from_numpy(np.asarray(x), dtype)


def is_listed(x: Any) -> bool:
    """Whether ``x`` has a length and parts by number, as a deque has, and an object with ``__len__`` and
    ``__getitem__``.
    """
    own = type(x)
    return (
        hasattr(own, "__len__") and hasattr(own, "__getitem__") and not isinstance(x, (str, bytes, Mapping))
    )


def is_buffer(x: Any) -> bool:
    """Whether ``x`` offers its memory."""
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def from_numpy(x: Any, dtype: DType | None) -> Value:
    """A NumPy array or scalar as an array: narrowed if no dtype was asked for, else exactly as asked."""
    if x.dtype.kind in "OSUMmV" and not is_known(x.dtype):
        raise TypeError(
            f"array: NumPy's dtype {x.dtype} has no equal here; convert it to a number dtype first"
        )
    typeof(x)  # refuses what is not an array of ours, as those with a mask
    if dtype is None or isinstance(dtype, dtypes.ExtendedDType):
        return to_array(x, alone=is_evaluating(alone=True))
    return to_array(cast_numpy(x, dtype), dtype=dtype, alone=is_evaluating(alone=True))


def cast_numpy(x: np.ndarray, dtype: DType) -> np.ndarray:
    """A NumPy array in another dtype; complex numbers lose their imaginary part without a warning."""
    x = np.asarray(x)
    if x.dtype.kind == "c" and dtypes.kind(dtype) not in "cb":
        x = x.real
    return dtypes.host_cast(x, dtype)


def is_known(dtype: DType) -> bool:
    """Whether a NumPy dtype is one of ours."""
    try:
        dtypes.canonicalize(dtype)
    except TypeError:
        return False
    return True


def from_sequence(x: Any, dtype: DType | None) -> Value:
    """Nested sequences as an array."""
    try:
        leaves = list(flattened(x))
    except RecursionError:
        leaves = None
    if leaves is None:
        raise ValueError(
            "array: the nested sequences contain themselves, or are deeper than Python's recursion limit of "
            f"{sys.getrecursionlimit()}"
        )
    if dtype is None:
        dtype = dtype_of_leaves(leaves)
    if any(type(v) is Tracer or isinstance(getattr(v, "dtype", None), dtypes.ExtendedDType) for v in leaves):
        return stacked(x, dtype)
    try:
        if dtype.isbuiltin != 1 and dtypes.kind(dtype) in "iu":
            refuse_outside(leaves, dtype)
        host = np.array(
            on_host(x),
            dtype if all(is_python_scalar(v) for v in leaves) and dtypes.kind(dtype) in "biu" else None,
        )
    except ValueError as error:
        raise ValueError(
            f"array: the nested sequences differ in length, so they make no array ({error})"
        ) from None
    except OverflowError as error:
        raise OverflowError(
            f"array: {error}; ask for a wider dtype, as in array(..., dtype='int64')"
        ) from None
    return from_numpy(host, dtype)


def refuse_outside(leaves: Any, dtype: Any) -> None:
    """Raise OverflowError for a Python int beyond a plugin's integer dtype, where NumPy would wrap it."""
    spec = dtypes.spec(dtype)
    for v in leaves:
        if type(v) is int and not spec.smallest <= v <= spec.largest:
            raise OverflowError(f"Python integer {v} out of bounds for {spec.name}")


def dtype_of_leaves(leaves: list[Value]) -> DType:
    """The common dtype of numbers and arrays in a list, never weak."""
    if not leaves:
        return dtypes.scalar_dtype(float)
    kinds = {type(v) for v in leaves}
    if kinds <= {bool, int, float, complex}:  # a type stands for all of its numbers
        return dtypes.result_type(*[next(v for v in leaves if type(v) is kind) for kind in kinds])
    return dtypes.result_type(*[v if is_python_scalar(v) else typeof(converted(v, None)) for v in leaves])


def flattened(x: Any) -> Iterator[Any]:
    """The leaves of nested sequences."""
    for v in x:
        if isinstance(v, (list, tuple, range)):
            yield from flattened(v)
        else:
            yield opened(v)


def on_host(x: Any) -> Any:
    """Nested sequences with their arrays as NumPy arrays."""
    if isinstance(x, (list, tuple, range)):
        return [on_host(v) for v in x]
    return x if is_python_scalar(x) else np.asarray(opened(x))


def opened(x: Value) -> Any:
    """The array that an object gives by ``__jax_array__``; everything else as it is."""
    return x.__jax_array__() if not hasattr(x, "aval") and hasattr(x, "__jax_array__") else x


def stacked(x: Any, dtype: DType) -> Value:
    """Nested sequences with tracers in them: stacked level by level."""
    parts = [stacked(v, dtype) if isinstance(v, (list, tuple, range)) else as_type(v, dtype) for v in x]
    shapes = {p.aval.shape for p in parts}
    if len(shapes) > 1:
        raise ValueError(
            f"array: the parts of a sequence differ in shape: {', '.join(map(str, sorted(shapes)))}"
        )
    return lax.stack(parts) if parts else lax.full((0,), 0, dtype)


def as_type(x: Value, dtype: DType) -> Value:
    """One leaf as an array of a dtype, not weak."""
    out = converted(x, dtype)
    return lax.convert_element_type(out, dtype) if out.weak_type else out


def astype(x: Value, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Value:
    """``x`` as another dtype; complex to real drops the imaginary part. With ``copy`` the result has memory
    of its own, also where the dtype stays.

    Raises:
      TypeError: for a dtype that no installed package knows.

    Example:
      >>> rnp.astype(rnp.array([1.7, -1.7]), "int32")
      Array([ 1, -1], dtype=int32)
    """
    wanted = dtypes.scalar_dtype(float) if dtype is None else dtypes.canonicalize(dtype)
    x = asarray(x)
    out = lax.convert_element_type(x, wanted)
    return on_device(array(out, copy=True) if copy and x.dtype == out.dtype else out, device)


def copy(a: Value, order: str | None = None) -> Value:
    """A copy of ``a`` with memory of its own.

    Example:
      >>> rnp.copy(rnp.arange(3))
      Array([0, 1, 2], dtype=int32)
    """
    return array(a, copy=True, order=order or "K")


def from_dlpack(x: Value, /, *, device: Any = None, copy: bool | None = None) -> Value:
    """An array over the memory of another library's tensor, which ``x.__dlpack__`` offers.

    Raises:
      TypeError: if ``x`` does not have that protocol.

    Example:
      >>> import numpy as np
      >>> rnp.from_dlpack(np.arange(3, dtype="int32"))
      Array([0, 1, 2], dtype=int32)
    """
    from rabbet import dlpack

    return dlpack.from_dlpack(x, device=device, copy=copy)


def frombuffer(buffer: Any, dtype: DTypeLike | None = float, count: int = -1, offset: int = 0) -> Value:
    r"""An array of the numbers in a buffer, read one after the other; without a dtype as Python's floats, of
    64 bits each.

    Example:
      >>> rnp.frombuffer(b"\x01\x02\x03", dtype="uint8")
      Array([1, 2, 3], dtype=uint8)
    """
    # Python's float is NumPy's, of 64 bits, in a buffer; the array has the default width.
    read = np.dtype(dtype) if dtype in (float, int, complex) else dtypes.canonicalize(dtype)
    return asarray(np.frombuffer(buffer, read, count, offset), dtypes.canonicalize(dtype))


__all__ = ["array", "asarray", "astype", "copy", "from_dlpack", "frombuffer"]
