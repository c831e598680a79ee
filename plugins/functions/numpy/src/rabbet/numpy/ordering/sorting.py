"""Sorting, and searching what is sorted."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.shapes import exceeds
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.logic import less, less_equal
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import (
    axis_of,
    check,
    comparison_dtype,
    index_dtype,
    integer_dtype,
    kind_of,
    place_dtype,
    weak_as,
)

if TYPE_CHECKING:
    from rabbet.typing import DTypeLike, Value


def lined_up(name: str, a: Value, axis: int | None) -> tuple[Value, int]:
    """The array, flattened for no axis, and a non-negative axis; an array without dimensions is refused."""
    a = array_of(name, a)
    if axis is None:
        return lax.reshape(a, (a.size,)), 0
    if not a.ndim:
        raise ShapeError(f"{name} takes arrays with at least one dimension, or axis=None")
    return a, axis_of(name, axis, a.ndim)


# NumPy's algorithms. They give one result here; `stable` says whether equal elements keep their order.
KINDS = ("quicksort", "mergesort", "heapsort", "stable")
METHODS = ("scan", "scan_unrolled", "sort", "compare_all")


def no_fields(name: str, order: Any, kind: Any = None) -> None:
    """Refuse NumPy's ``order``, which names fields of records, and a ``kind`` that NumPy does not know."""
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise ValueError(f"{name}: kind must be None or one of {', '.join(KINDS)}, got {kind!r:.60}")
    if order is not None:
        raise TypeError(f"{name}: order= names fields of records, which arrays do not have")


@fused(static=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: Value,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: Any = None,
    stable: bool = True,
    descending: bool = False,
) -> Value:
    """``a`` sorted along ``axis``, NaN last; for None, all elements in one dimension.

    Args:
      descending: from the largest on (then NaN comes first).
      stable: whether equal elements keep their order, which matters to ``argsort``.

    Example:
      >>> rnp.sort(rnp.array([[3, 1], [2, 4]]), axis=0)
      Array([[2, 1],
             [3, 4]], dtype=int32)
    """
    no_fields("sort", order, kind)
    a, axis = lined_up("sort", a, axis)
    out = weak_as(lax.sort(a, axis, is_stable=stable), a)
    return lax.rev(out, (axis,)) if descending else out


@fused(static=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(
    a: Value,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: Any = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Value:
    """The positions that sort ``a`` along ``axis``: int32, or ``dtype``, an integer dtype that holds them.
    Arguments as for ``sort``; equal elements keep their order.

    Raises:
      ValueError: for another ``dtype``.

    Example:
      >>> rnp.argsort(rnp.array([3, 1, 2]))
      Array([1, 2, 0], dtype=int32)
      >>> rnp.argsort(rnp.array([3, 1, 2]), descending=True)
      Array([0, 2, 1], dtype=int32)
    """
    no_fields("argsort", order, kind)
    a, axis = lined_up("argsort", a, axis)
    dtype = place_dtype(a.shape[axis]) if dtype is None else integer_dtype("argsort", dtype)
    if exceeds(a.shape[axis] - 1, dtypes.iinfo(dtype).max):
        last = a.shape[axis] - 1
        raise ValueError(f"argsort: {dtype} cannot hold positions up to {last}; take a wider dtype")
    counted = lax.broadcasted_iota(dtype, a.shape, axis)
    if not descending:
        return lax.sort((a, counted), axis, is_stable=stable, num_keys=1)[1]
    # Sorting the reversed array and reversing again keeps equal elements in order.
    reverse = lax.sort((lax.rev(a, (axis,)), lax.rev(counted, (axis,))), axis, is_stable=stable, num_keys=1)[
        1
    ]
    return lax.rev(reverse, (axis,))


@fused(static=("axis", "batch_size"))
def lexsort(keys: Any, axis: int = -1, *, batch_size: int = 16) -> Value:
    """The positions that sort by several keys, the last key first: int32.

    Args:
      keys: a sequence of arrays of one shape, or an array of them.
      batch_size: without effect on the result: one sort takes all the keys.

    Raises:
      TypeError: if there are no keys. ValueError: if ``batch_size`` is not positive.

    Example:
      >>> rnp.lexsort((rnp.array([2, 1, 2]), rnp.array([0, 0, -1])))
      Array([2, 1, 0], dtype=int32)
    """
    if operator.index(batch_size) < 1:
        raise ValueError(f"lexsort: batch_size must be positive, got {batch_size}")
    keys = [array_of("lexsort", k) for k in (keys if isinstance(keys, (tuple, list)) else list(keys))]
    if not keys:
        raise TypeError("lexsort needs at least one key")
    if not keys[0].ndim:  # numbers: there is one place
        return lax.full((), 0, place_dtype(1))
    axis = axis_of("lexsort", axis, keys[0].ndim)
    counted = lax.broadcasted_iota(place_dtype(keys[0].shape[axis]), keys[0].shape, axis)
    return lax.sort((*reversed(keys), counted), axis, num_keys=len(keys))[-1]


def sort_complex(a: Value) -> Value:
    """``a`` sorted along its last dimension, as complex numbers: by real part, then by imaginary part.

    Example:
      >>> rnp.sort_complex(rnp.array([2.0, 1 + 1j, 1.0]))
      Array([1.+0.j, 1.+1.j, 2.+0.j], dtype=complex64)
    """
    a = array_of("sort_complex", a)
    return sort(lax.convert_element_type(a, dtypes.to_complex(a.dtype)))


@fused(static=("kth", "axis"))
def partition(a: Value, kth: int, axis: int = -1) -> Value:
    """``a`` with the element number ``kth`` of the sorted order in its place, smaller ones before it,
    larger ones after; here sorted.

    Example:
      >>> rnp.partition(rnp.array([4, 1, 3, 2]), 1)[1]
      Array(2, dtype=int32)
    """
    a, axis = lined_up("partition", a, axis)
    axis_of("partition (kth)", kth, a.shape[axis])
    return lax.sort(a, axis)


@fused(static=("kth", "axis"))
def argpartition(a: Value, kth: int, axis: int = -1) -> Value:
    """The positions that partition ``a``, see ``partition``: int32.

    Example:
      >>> x = rnp.array([5, 1, 4, 2])
      >>> x[rnp.argpartition(x, 1)[:2]].sort()
      Array([1, 2], dtype=int32)
    """
    a, axis = lined_up("argpartition", a, axis)
    axis_of("argpartition (kth)", kth, a.shape[axis])
    return lax.convert_element_type(argsort(a, axis), index_dtype(a.shape[axis]))


def top_k(a: Value, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True) -> Any:
    """The ``k`` largest elements along ``axis``, from the largest on, and their positions.

    Args:
      mode: ``"smallest"``: the smallest ones, from the smallest on; NaN counts as the largest of all.
      sorted: False: in any order; here they are sorted nevertheless.

    Raises:
      ValueError: for another ``mode``, complex numbers, or where there are fewer than ``k`` elements.

    Example:
      >>> rnp.top_k(rnp.array([3, 1, 4]), 2)
      [Array([4, 3], dtype=int32), Array([2, 0], dtype=int32)]
    """
    a, k = array_of("top_k", a), operator.index(k)
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}")
    if kind_of(a) == "c":
        raise DTypeError("top_k is not defined on complex numbers, which have no order")
    if mode == "largest":
        return lax.top_k(a, k, axis=axis)
    return smallest(a, k, axis_of("top_k", axis, a.ndim))


@fused(static=("k", "axis"))
def smallest(a: Value, k: int, axis: int) -> tuple[Value, ...]:
    """The first ``k`` of the sorted line, and their positions."""
    n = a.shape[axis]
    if not 0 <= k <= n:
        raise ValueError(f"top_k: {k} elements of {n} along axis {axis} of {a.aval.str_short()}")
    ordered = lax.sort((a, lax.broadcasted_iota(place_dtype(n), a.shape, axis)), axis, num_keys=1)
    return tuple([lax.slice_in_dim(x, 0, k, axis=axis) for x in ordered])


@fused(static=("side", "method"))
def searchsorted(
    a: Value, v: Value, side: str = "left", sorter: Value | None = None, *, method: str = "scan"
) -> Value:
    """For each element of ``v`` where it belongs in the sorted vector ``a``: int32.

    Args:
      a: a sorted vector.
      v: what to look for.
      side: ``"left"``: before equal elements, ``"right"``: after them.
      sorter: positions that sort ``a``, if it is not sorted.
      method: any of JAX's names; all give one result.

    Raises:
      ValueError: if ``a`` is not a vector, or for another ``side``.

    Example:
      >>> rnp.searchsorted(rnp.array([1, 3, 5]), rnp.array([0, 3, 9]))
      Array([0, 1, 3], dtype=int32)
    """
    check("searchsorted", a, v)
    a, v = array_of("searchsorted", a), array_of("searchsorted", v)
    if a.ndim != 1:
        raise ShapeError(f"searchsorted looks in a vector, got {a.aval.str_short()}")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if method not in METHODS:
        raise ValueError(
            f"searchsorted: method must be 'scan', 'scan_unrolled', 'sort' or 'compare_all', got {method!r}"
        )
    dtype = comparison_dtype(a, v)
    a, v = lax.convert_element_type(a, dtype), lax.convert_element_type(v, dtype)
    if sorter is not None:
        a = a[sorter]
    return bisected(a, v, side)


def bisected(a: Value, v: Value, side: str) -> Value:
    """Binary search for all of ``v`` at once; the number of steps is known from the length.

    Barriers keep each step apart, and ``v`` from what computes it. XLA would write the steps as one loop, in
    which each element computes its earlier steps anew for each use: of a hundred numbers that are drawn the
    program did not get compiled in a minute, and ten thousand took four times as long to find.
    """
    n = a.shape[0]
    dtype = index_dtype(n)
    low, high = lax.full(v.shape, 0, dtype), lax.full(v.shape, n, dtype)
    v = lax.optimization_barrier(v)
    for _ in range(n.bit_length()):
        middle = lax.shift_right_arithmetic(lax.add(low, high), 1)
        found = a.at[middle].get(mode="clip")
        goes_right = after(found, v, side)
        open_ = lax.lt(low, high)
        low = lax.select(lax.bitwise_and(open_, goes_right), lax.add(middle, 1), low)
        high = lax.select(lax.bitwise_and(open_, lax.bitwise_not(goes_right)), middle, high)
        low, high = lax.optimization_barrier((low, high))
    return low


def after(found: Value, v: Value, side: str) -> Value:
    """Whether ``v`` belongs after an element; NaN counts as the largest."""
    if side == "left":
        out = known_order(found, less(found, v))
        return (
            out
            if kind_of(v) not in "fc"
            else lax.bitwise_or(out, lax.bitwise_and(lax.ne(v, v), lax.eq(found, found)))
        )
    out = known_order(found, less_equal(found, v))
    return out if kind_of(v) not in "fc" else lax.bitwise_or(out, lax.ne(v, v))


def known_order(found: Value, before: Value) -> Value:
    """``before``, but no complex number with NaN in a part comes before another."""
    return lax.bitwise_and(before, lax.eq(found, found)) if kind_of(found) == "c" else before


@fused(static=("right", "method"))
def digitize(x: Value, bins: Value, right: bool = False, *, method: str | None = None) -> Value:
    """The number of the bin of each element, by the bins' edges, which increase or decrease: int32.

    Args:
      right: whether a bin includes its right edge rather than its left one.
      method: None or one that ``searchsorted`` takes; all give one result.

    Example:
      >>> rnp.digitize(rnp.array([0.2, 1.5, 3.0]), rnp.array([0.0, 1.0, 2.0]))
      Array([1, 2, 3], dtype=int32)
    """
    if method is not None and method not in METHODS:
        raise ValueError(f"digitize: method must be None or one of {', '.join(METHODS)}, got {method!r:.60}")
    x, bins = array_of("digitize", x), array_of("digitize", bins)
    if bins.ndim != 1:
        raise ShapeError(f"digitize: bins must be a vector of edges, got {bins.aval.str_short()}")
    side = "left" if right else "right"
    if not bins.shape[0]:
        return lax.full(x.shape, 0, index_dtype(0))
    rising = searchsorted(bins, x, side=side)
    falling = lax.sub(bins.shape[0], searchsorted(lax.rev(bins, (0,)), x, side=side))
    increases = less_equal(bins[0], bins[-1])
    return lax.select(increases, rising, lax.convert_element_type(falling, typeof(rising).dtype))


__all__ = [
    "argpartition",
    "argsort",
    "digitize",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
    "top_k",
]
