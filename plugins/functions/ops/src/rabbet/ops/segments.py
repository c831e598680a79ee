"""Reductions by segments, each one scatter; in buckets, one for each bucket and a reduction over these."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from rabbet import Array, dtypes, lax
from rabbet.errors import ConcretizationTypeError
from rabbet.extend.functions import fused, is_python_scalar, obeys_out_sharding
from rabbet.extend.transform import is_tracer, typeof

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


def limits(dtype):
    """The smallest and the largest value of a dtype."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return False, True
    if kind in "iu":
        info = dtypes.iinfo(dtype)
        return info.min, info.max
    if kind == "c":
        return complex(-math.inf, -math.inf), complex(math.inf, math.inf)
    return -math.inf, math.inf


# How the elements of a segment come together: the method of ``x.at``, what no elements give, how buckets do.
WAYS = {
    "segment_sum": ("add", lambda dtype: 0, lax.reduce_sum),
    "segment_prod": ("multiply", lambda dtype: 1, lax.reduce_prod),
    "segment_max": ("max", lambda dtype: limits(dtype)[0], lax.reduce_max),
    "segment_min": ("min", lambda dtype: limits(dtype)[1], lax.reduce_min),
}
ARGUMENTS = """

    Args:
      data: an array; what is reduced are its elements, or its slices along the first dimension. A number, or
        a first dimension of 1, stands for as many as there are ids.
      segment_ids: a vector of integers, as long as that dimension: which segment each belongs to. They may
        repeat, and need no order.
      num_segments: how many segments there are, a static int; needed under ``jit``. By default one more than
        the largest of ``segment_ids``.
      indices_are_sorted: a promise that ``segment_ids`` is sorted.
      unique_indices: a promise that it names no segment twice.
      bucket_size: reduce parts of so many elements first, then what came of them, so that sums of many are
        more accurate. None: all at once.
      mode: what to do with ids outside, see ``x.at``; by default they are left out, negative ones too.
      out_sharding: a ``SingleDeviceSharding``.

    Returns:
      an array of shape ``(num_segments, *data.shape[1:])``. {empty}

    Raises:
      ConcretizationTypeError: for traced ids without ``num_segments``.
      TypeError: for ids that are not integers. ValueError: for ids of another shape, a negative number.

    Example:
      >>> segment_{name}(rnp.array([1, 2, 3]), rnp.array([0, 1, 0]))
      Array({result}, dtype=int32)
"""


def arrays_of(who, data, segment_ids, num_segments):
    """Data and ids as arrays, and the number of segments."""
    values = []
    for what, x in (("data", data), ("segment_ids", segment_ids)):
        if isinstance(x, (list, tuple)) or not (
            type(x) is Array
            or is_tracer(x)
            or isinstance(x, (np.ndarray, np.generic))
            or hasattr(x, "__jax_array__")
            or is_python_scalar(x)
        ):
            raise TypeError(f"{who}: {what} must be an array, got {type(x).__name__} {x!r:.60}")
        values.append(x.__jax_array__() if hasattr(x, "__jax_array__") else x)
    data, ids = values
    if dtypes.kind(typeof(ids).dtype) not in "iu":
        raise TypeError(f"{who}: segment_ids must be integers, got {typeof(ids).str_short()}")
    if typeof(ids).ndim != 1 or typeof(data).shape[:1] not in ((), (1,), typeof(ids).shape):
        raise ValueError(
            f"{who}: segment_ids must be a vector as long as the first dimension of data, got "
            f"{typeof(ids).str_short()} for {typeof(data).str_short()}"
        )
    shape = (*typeof(ids).shape, *typeof(data).shape[1:])
    if typeof(data).shape != shape:  # one element, or slice, for all
        dimensions = range(typeof(data).ndim)
        data = lax.broadcast_in_dim(data, shape=shape, broadcast_dimensions=tuple(dimensions))
    if num_segments is None:
        if is_tracer(ids):
            raise ConcretizationTypeError(
                f"{who}: the number of segments decides the shape of the result, and the ids are not known "
                "while a function is traced; give num_segments"
            )
        host = np.asarray(ids)
        num_segments = int(host.max()) + 1 if host.size else 0
    num_segments = operator.index(num_segments)
    if num_segments < 0:
        raise ValueError(f"{who}: num_segments must not be negative, got {num_segments}")
    return data, ids, num_segments


@fused(static=("who", "num", "indices_are_sorted", "unique_indices", "bucket_size", "mode"))
def reduced(data, ids, who, num, indices_are_sorted, unique_indices, bucket_size, mode):
    """One reduction by segments."""
    way, empty, over_buckets = WAYS[who]
    aval = typeof(data)
    dtype = aval.dtype
    if dtypes.kind(dtype) == "b":
        if who in ("segment_sum", "segment_prod"):
            other = "segment_max" if who == "segment_sum" else "segment_min"
            raise TypeError(
                f"{who} is not defined on booleans; use {other} for whether "
                f"{'some' if way == 'add' else 'all'} hold, or convert them to integers to count"
            )
        over_buckets = lax.reduce_or if who == "segment_max" else lax.reduce_and
    n = aval.shape[0]
    options = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices, "mode": mode}
    options["wrap_negative_indices"] = False
    if bucket_size is None:
        start = lax.full((num, *aval.shape[1:]), empty(dtype), dtype)
        return getattr(start.at[ids], way)(lax.convert_element_type(data, dtype), **options)
    buckets = -(-n // bucket_size)
    start = lax.full((num, buckets, *aval.shape[1:]), empty(dtype), dtype)
    which = lax.div(lax.iota("int32", n), bucket_size)
    options["indices_are_sorted"] = False
    parts = getattr(start.at[ids, which], way)(lax.convert_element_type(data, dtype), **options)
    return over_buckets(parts, (1,))


def segment_function(name, doc, empty, result):
    """Make one of the functions."""

    def function(
        data: Value, segment_ids: Value, num_segments: int | None = None, indices_are_sorted: bool = False,
        unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
        out_sharding: Any = None,
    ) -> Value:  # fmt: skip
        data, ids, num = arrays_of(name, data, segment_ids, num_segments)
        if bucket_size is not None and operator.index(bucket_size) < 1:
            raise ValueError(f"{name}: bucket_size must be positive, got {bucket_size}")
        mode = "drop" if mode is None else mode
        return reduced(
            data, ids, name, num, bool(indices_are_sorted), bool(unique_indices), bucket_size, mode
        )  # fmt: skip

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + ARGUMENTS.format(empty=empty, name=name.removeprefix("segment_"), result=result)
    return obeys_out_sharding(function)


segment_sum = segment_function(
    "segment_sum", "The sum of the elements of each segment.", "A segment of no elements has 0.", [4, 2]
)
segment_prod = segment_function(
    "segment_prod", "The product of the elements of each segment.", "A segment of no elements has 1.", [3, 2]
)
segment_max = segment_function(
    "segment_max",
    "The largest element of each segment.",
    "A segment of no elements has the smallest value of its dtype.",
    [3, 2],
)
segment_min = segment_function(
    "segment_min",
    "The smallest element of each segment.",
    "A segment of no elements has the largest value of its dtype.",
    [1, 2],
)

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
