"""Making arrays: filled with a value, or with positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.errors import ShapeError
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.lax.broadcasting import sizes_of
from rabbet.primitives import shape as _shape
from rabbet.primitives import zeros
from rabbet.primitives.checks import axis_in_range
from rabbet.primitives.extended_dtypes import from_physical
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray, ShapeDtypeStruct
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.transfer import obey_sharding, obeys_out_sharding
from rabbet.trace.interpreter import typeof
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.typing import Value


def full(shape: Any, fill_value: Value, dtype: DTypeLike = None, *, sharding: Any = None) -> Value:
    """An array of ``shape`` filled with a scalar; its dtype, if none is given, is that of the value. Of keys
    of random numbers an integer gives the bits.

    Example:
      >>> lax.full((2,), 7.0)
      Array([7., 7.], dtype=float32, weak_type=True)
    """
    if sharding is not None:
        return obey_sharding("full", _strong(full(shape, fill_value, dtype)), sharding, "sharding")
    if dtype is not None:
        dtype = dtypes.requested(dtype)
    out = _filled(sizes_of(shape, "shape"), fill_value, dtype)
    return out if dtype is None else _strong(out)


def _filled(shape: tuple[int, ...], fill_value: Value, dtype: Any) -> Value:
    """``full`` with a dtype that nobody need have written out: it may be an operand's."""
    value = typeof(fill_value)
    if value.shape:
        raise ShapeError(f"full needs a scalar, got {value.str_short()}")
    if isinstance(dtype, dtypes.ExtendedDType):
        if value.dtype != dtype:
            return _stored(shape, fill_value, dtype)
        dtype = None
    weak = dtype is None and value.weak_type
    wanted = value.dtype if dtype is None else dtype
    if isinstance(fill_value, (bool, int, float, complex)):
        fill_value = python_scalars.filling(fill_value, wanted, asked=True)
    elif value.dtype != wanted:
        from rabbet.lax.values import in_type

        fill_value = in_type(fill_value, wanted, False)
    out = _shape.broadcast_in_dim(fill_value, shape=shape, broadcast_dimensions=())
    if weak and not typeof(out).weak_type:
        from rabbet.lax.values import with_weak_type

        return with_weak_type(out)
    return out


def _stored(shape: tuple[int, ...], fill_value: Any, dtype: dtypes.ExtendedDType) -> ArrayOrTracer:
    """An array of an extended dtype of whose stored numbers each is ``fill_value``."""
    aval = ShapedArray(shape, dtype)
    if typeof(fill_value).kind not in "iub":
        raise TypeError(
            f"full: elements of {dtype} are stored as {aval.physical.dtype}, got "
            f"{typeof(fill_value).str_short()} to fill them with"
        )
    return from_physical(_filled(aval.physical.shape, fill_value, aval.physical.dtype), dtype=dtype)


@obeys_out_sharding
def empty(shape: Any, dtype: DTypeLike, *, out_sharding: Any = None) -> Value:
    """An array whose elements nobody should read before they are written; they are zeros.

    Example:
      >>> lax.empty((2,), "float32").shape
      (2,)
    """
    return full(shape, 0, dtype)


def full_like(
    x: ArrayLike, fill_value: Value, dtype: DTypeLike = None, shape: Any = None, sharding: Any = None,
) -> Value:  # fmt: skip
    """An array like ``x``, weak if that is, filled with a scalar; shape and dtype can be changed.

    If the shape is the same it lies as the type of ``x`` says, over axes of type ``Explicit`` or within
    ``shard_map``, or outside of traced functions as ``x`` does, if that was put somewhere and is not weak;
    ``sharding`` says otherwise.

    Example:
      >>> lax.full_like(rnp.arange(3), 7)
      Array([7, 7, 7], dtype=int32)
    """
    if sharding is not None:
        return obey_sharding(
            "full_like", _strong(full_like(x, fill_value, dtype, shape)), sharding, "sharding"
        )
    if isinstance(getattr(x, "shape", None), (tuple, list)) and not hasattr(x, "aval"):  # it looks like one
        aval = ShapedArray(tuple(x.shape), dtypes.narrow(x.dtype), bool(getattr(x, "weak_type", False)))
    else:
        aval = typeof(x)
    sizes = aval.shape if shape is None else sizes_of(shape, "shape")
    out = _filled(sizes, fill_value, aval.dtype if dtype is None else dtypes.requested(dtype))
    if type(x) is Tracer and aval.spread is not None and typeof(out).shape == aval.shape:
        out = zeros.fitted(out, typeof(out).update(spread=aval.spread))
    if dtype is None and aval.weak_type:
        from rabbet.lax.values import with_weak_type

        return with_weak_type(out)
    return out if type(out) is not Array or aval.weak_type else _where(x, out)


def _strong(x: Any) -> Any:
    """``x`` without a weak type: what is put somewhere on purpose is not a number any more, as in JAX."""
    from rabbet.lax.values import with_weak_type

    return with_weak_type(x, False) if typeof(x).weak_type else x


def _where(x: Any, out: Any) -> Any:
    """``out`` where ``x`` was put on purpose, or where a type says that arrays of it lie."""
    put = x.committed if type(x) is Array else isinstance(x, ShapeDtypeStruct)
    if not put or x.sharding is None or out.shape != tuple(x.shape):
        return out
    return obey_sharding("full_like", out, x.sharding, "x.sharding")


def iota(dtype: DTypeLike, size: int) -> Value:
    """``[0, 1, ..., size - 1]``.

    Example:
      >>> lax.iota("float32", 3)
      Array([0., 1., 2.], dtype=float32)
    """
    return _shape.iota(dtype=dtypes.requested(dtype), shape=sizes_of((size,), "size"), dimension=0)


@obeys_out_sharding
def broadcasted_iota(
    dtype: DTypeLike, shape: Sequence[int], dimension: int, *, out_sharding: Any = None,
) -> Value:  # fmt: skip
    """An array whose elements are their index along ``dimension``.

    Example:
      >>> lax.broadcasted_iota("int32", (2, 3), 1)
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    shape = sizes_of(shape, "shape")
    return _shape.iota(
        dtype=dtypes.requested(dtype), shape=shape, dimension=axis_in_range("iota", dimension, len(shape))
    )


__all__ = [
    "broadcasted_iota",
    "empty",
    "full",
    "full_like",
    "iota",
]
