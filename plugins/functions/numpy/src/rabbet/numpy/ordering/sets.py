"""Sets of elements: what is in both of two arrays, in either, in just one.

As for ``unique``, outside of ``jit`` the values are looked at; inside, ``size`` says how long the result is.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.functions import fused
from rabbet.extend.transform import Tracer
from rabbet.numpy.creation.conversion import asarray
from rabbet.numpy.indexing.searching import SIZE, flattened, looked_at, positions
from rabbet.numpy.ordering.unique_elements import comparable, run_starts, unique
from rabbet.numpy.support.arguments import check, comparison_dtype, weak_as

if TYPE_CHECKING:
    from rabbet.typing import Value


def union1d(ar1: Value, ar2: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """The different elements of both arrays, sorted.

    Args:
      ar1, ar2: arrays, taken flat.
      size: how long the result is; needed under ``jit``. What is more is cut off.
      fill_value: what stands in missing places, by default the smallest element.

    Raises:
      ConcretizationTypeError: for a traced array without ``size``.

    Example:
      >>> rnp.union1d(rnp.array([3, 1]), rnp.array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    a, b = in_one_dtype("union1d", ar1, ar2)
    if size is None:
        found = np.union1d(*[comparable(looked_at("union1d", x, SIZE)) for x in (a, b)])
        if not traced(a, b):
            return asarray(found, a.dtype)
        size = len(found)
    return unique(lax.concatenate([a, b], 0), size=size, fill_value=fill_value)


def intersect1d(
    ar1: Value,
    ar2: Value,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Value = None,
) -> tuple[Value, ...] | Value:
    """The different elements that are in both arrays, sorted. Further arguments as for ``union1d``.

    Args:
      assume_unique: a promise that no array has an element twice.
      return_indices: also return the first position of each in the two arrays; where one is missing, the
        array's size.
      fill_value: what stands in missing places, by default the smallest common element.

    Example:
      >>> rnp.intersect1d(rnp.array([3, 1, 2]), rnp.array([2, 3, 4]))
      Array([2, 3], dtype=int32)
    """
    name = "intersect1d"
    a, b = in_one_dtype(name, ar1, ar2, exact=True)
    dtype = dtypes.result_type(ar1, ar2)
    if size is None:
        hosts = comparable(looked_at(name, a, SIZE)), comparable(looked_at(name, b, SIZE))
        options: Any = {"assume_unique": assume_unique, "return_indices": return_indices}
        found = np.intersect1d(*hosts, **options)
        values, *places = found if return_indices else (found,)
        if not traced(a, b):
            values = asarray(values.astype(dtype), dtype)
            index = dtypes.scalar_dtype(int)
            return (values, *[asarray(i.astype(index)) for i in places]) if return_indices else values
        size = len(values)
    values, *places = common(a, b, fill_value, operator.index(size), bool(assume_unique))
    values = lax.convert_element_type(values, dtype)
    return (values, *places) if return_indices else values


def setdiff1d(
    ar1: Value,
    ar2: Value,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Value = None,
) -> Value:
    """The different elements of the first array that the second lacks, sorted. Further arguments as for
    ``union1d``.

    Args:
      assume_unique: a promise that no array has an element twice; then they stay in their order.
      fill_value: what stands in missing places, by default 0.

    Example:
      >>> rnp.setdiff1d(rnp.array([3, 1, 2]), rnp.array([2]))
      Array([1, 3], dtype=int32)
    """
    name = "setdiff1d"
    a, b = in_one_dtype(name, ar1, ar2, exact=True)
    dtype = asarray(ar1).dtype
    if size is None:
        hosts = comparable(looked_at(name, a, SIZE)), comparable(looked_at(name, b, SIZE))
        out = np.setdiff1d(*hosts, assume_unique=assume_unique)
        if not traced(a, b):
            return asarray(out.astype(dtype), dtype)
        size = len(out)
    fill = 0 if fill_value is None else fill_value
    out = missing(a, b, fill, operator.index(size), bool(assume_unique))
    return weak_as(lax.convert_element_type(out, dtype), asarray(ar1))


def setxor1d(
    ar1: Value, ar2: Value, assume_unique: bool = False, *, size: int | None = None, fill_value: Value = None
) -> Value:
    """The different elements that are in just one of the arrays, sorted. Further arguments as for
    ``union1d``.

    Args:
      assume_unique: a promise that no array has an element twice.
      fill_value: what stands in missing places, by default the smallest such element.

    Example:
      >>> rnp.setxor1d(rnp.array([1, 2]), rnp.array([2, 3]))
      Array([1, 3], dtype=int32)
    """
    name = "setxor1d"
    a, b = in_one_dtype(name, ar1, ar2)
    if size is None:
        hosts = comparable(looked_at(name, a, SIZE)), comparable(looked_at(name, b, SIZE))
        out = np.setxor1d(*hosts, assume_unique=assume_unique)
        if not traced(a, b):
            return asarray(out, a.dtype)
        size = len(out)
    return in_one(a, b, fill_value, operator.index(size), bool(assume_unique))


def traced(*arrays: Any) -> Any:
    """Whether one is a tracer: then the values found give a length alone, and derivatives need the rest."""
    return any(type(x) is Tracer for x in arrays)


def in_one_dtype(name: str, *arrays: np.ndarray, exact: bool = False) -> list[Value]:
    """Arrays in one dtype and one dimension, their values known as far as they were.

    It is their common dtype or, where they are only compared, one that holds their integers.
    """
    check(name, *arrays)
    dtype = comparison_dtype(*arrays) if exact else dtypes.result_type(*arrays)
    return [flattened(name, asarray(x, dtype)) for x in arrays]


def ordered_set(a: Value, assume_unique: bool) -> tuple[Value, ...]:
    """The elements sorted, where each was, and which are the first of their kind."""
    ordered, where = lax.sort((a, lax.iota(dtypes.scalar_dtype(int), a.size)), 0, num_keys=1)
    return ordered, where, lax.full(a.shape, True) if assume_unique else run_starts(ordered, equal_nan=True)


def pairs(a: Value, b: Value) -> Value:
    """Whether an element of ``a`` and one of ``b`` are equal, a matrix."""
    return lax.eq(lax.broadcast_in_dim(a, (a.size, b.size), (0,)), lax.expand_dims(b, (0,)))


def taken(values: Value, places: Value, fill: Value | None) -> Any:
    """The elements at places, ``fill`` where they are beyond the last; None stands for the first of them."""
    n = values.shape[0]
    there = lax.lt(places, n)
    found = values.at[places].get(mode="clip") if n else lax.full(places.shape, 0, values.dtype)
    if fill is None:
        fill = lax.select(there[0], found[0], lax.full_like(found[0], 0)) if places.size else 0
    return lax.select(there, found, lax.full_like(found, lax.convert_element_type(fill, values.dtype)))


@fused(static=("size", "assume_unique"))
def common(a: Value, b: Value, fill: Any, size: int, assume_unique: bool) -> tuple[Value, ...]:
    """``intersect1d`` of a known length: values and positions."""
    ordered, where, first = ordered_set(a, assume_unique)
    equal = pairs(ordered, b)
    both = lax.bitwise_and(first, lax.reduce_or(equal, (1,)))
    (places,) = positions(both, size, [a.size])
    other = lax.argmax(equal, 1, where.dtype) if b.size else where
    return taken(ordered, places, fill), taken(where, places, a.size), taken(other, places, b.size)


@fused(static=("size", "assume_unique"))
def missing(a: Value, b: Value, fill: Value, size: int, assume_unique: bool) -> Value:
    """``setdiff1d`` of a known length."""
    ordered, _, first = (a, None, lax.full(a.shape, True)) if assume_unique else ordered_set(a, False)
    lacks = lax.bitwise_and(first, lax.bitwise_not(lax.reduce_or(pairs(ordered, b), (1,))))
    return taken(ordered, positions(lacks, size, [a.size])[0], fill)


@fused(static=("size", "assume_unique"))
def in_one(a: Any, b: Any, fill: Any, size: Any, assume_unique: Any) -> Any:
    """``setxor1d`` of a known length."""
    kept = []
    for x, y in ((a, b), (b, a)):
        ordered, _, first = ordered_set(x, assume_unique)
        elsewhere = lax.reduce_or(pairs(ordered, y), (1,))
        kept.append((lax.bitwise_and(first, lax.bitwise_not(elsewhere)), ordered))
    chosen, values = [lax.concatenate(part, 0) for part in zip(*kept)]
    values, chosen = lax.sort((values, chosen), 0, num_keys=1)
    return taken(values, positions(chosen, size, [values.size])[0], fill)


__all__ = ["intersect1d", "setdiff1d", "setxor1d", "union1d"]
