"""What an index expression means: ``x[index]`` taken apart into one entry per dimension, and arrays.

An entry says what happens to a dimension, and is hashable: entries choose the program. Whatever may vary from
call to call stands beside them as operands. Entries are

- ``NEW``: a new dimension of size 1, ``ALL``: a dimension as it is; - ``Box(start, size, step)``: a slice;
``BoxFrom(size)``: the same with step 1, its start being an operand; - ``At(position)``: an integer; ``HERE``:
the same as an operand, known to be in range; ``SCALAR``: one that is not, counted from the end if negative; -
``ARRAY``: an array of integers, an operand; ``FLAG``: the same for a bare True or False, which is a mask over
no dimension: it indexes a new dimension of size 1.

Called on arrays, integers and starts of slices are operands, so that ``x[2]`` and ``x[3]`` are one program;
under a transformation they are part of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rabbet import dtypes
from rabbet.config import config
from rabbet.dtypes.array_protocol import array_of
from rabbet.errors import NonConcreteBooleanIndexError
from rabbet.lax import shapes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.lax.indexing.dynamic_slices import Slice
from rabbet.lax.promotion import opened
from rabbet.lax.refusals import unknown
from rabbet.messages.spelling import counted
from rabbet.primitives import convert
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.program.dimensions import is_symbolic, reach_of
from rabbet.runtime.arrays.array import Array
from rabbet.trace.argument_origins import STATIC as MAKE_STATIC
from rabbet.trace.argument_origins import origin
from rabbet.trace.interpreter import typeof
from rabbet.trace.tracer import Tracer

INT32 = np.iinfo(np.int32)
NEW, ALL, HERE, SCALAR, ARRAY, FLAG = "new", "all", "here", "scalar", "array", "flag"


class At(NamedTuple):
    """The static position ``position``, not negative."""

    position: int


class Box(NamedTuple):
    """``size`` elements from ``start``, ``step`` apart; ``step`` may be negative."""

    start: int
    size: int
    step: int


class BoxFrom(NamedTuple):
    """``size`` elements in a row; where they start is an operand."""

    size: int


class Plan(NamedTuple):
    """``entries`` for every dimension and new one; ``operands`` in the order of the entries that need one."""

    entries: tuple
    operands: list


def parse(aval: ShapedArray, index: Any, eager: bool, outside: bool = False, wrap: bool = True) -> Plan:
    """The ``Plan`` of ``x[index]`` for an ``x`` of type ``aval``.

    Args:
      aval: the type of the indexed array.
      index: what stood between the brackets.
      eager: whether integers become operands.
      outside: whether static integers may be out of range, since a mode says what happens then.
      wrap: whether negative integers count from the end.

    Raises:
      IndexError: too many indices, a static one out of range, a mask of another shape, a slice with unknown
        bounds.
      TypeError: an index of another type.
      NonConcreteBooleanIndexError: a mask whose values are not known while a function is traced.
    """
    if config.index_rules == "clamped":
        outside = True
        refuse_sequence(index)
    items = [proper(item, aval) for item in (index if type(index) is tuple else (index,))]
    entries, operands = [], []
    shape, at = aval.shape, 0
    for item in fill_up(items, aval):
        kind = type(item)
        if item is None:
            entries.append(NEW)
            continue
        if kind is Slice:
            entry, operand = of_dynamic_slice(item, shape[at])
        elif kind is slice:
            entry, operand = of_slice(item, shape[at], eager)
        elif kind is int:
            entry, operand = of_int(item, at, aval, eager, outside, wrap)
        elif dtypes.kind(item.dtype) == "b":
            found = of_mask(item, at, aval)
            entries += [ARRAY if item.ndim else FLAG] * len(found)
            operands += found
            at += item.ndim
            continue
        else:
            entry, operand = (ARRAY if item.ndim else SCALAR), item
            if not item.ndim and shape[at] == 0:
                raise IndexError(
                    f"cannot take an element along dimension {at} of {aval.str_short()}: it is empty"
                )
        entries.append(entry)
        if operand is not None:
            operands.append(operand)
        at += 1
    return Plan(tuple(entries), operands)


def refuse_sequence(index: Any) -> None:
    """Raise TypeError for a list, or another sequence that is not a tuple, as an index by itself."""
    if isinstance(index, (list, range)):
        raise TypeError(
            f"a {type(index).__name__} is not an index while config.index_rules is 'clamped': using a non-"
            "tuple sequence for multidimensional indexing is not allowed; use x[numpy.array(index)], or "
            "x[tuple(index)]"
        )


def proper(item: Any, aval: ShapedArray) -> Any:
    """One index as an int, a slice, None, Ellipsis or an array of integers or booleans; anything else is
    refused.
    """
    kind = type(item)
    if kind is int or kind is slice or item is None or item is Ellipsis:
        return item
    if kind is Slice:
        return item if item.is_dynamic_start else item.as_slice()
    if kind is Array or kind is Tracer:
        if dtypes.kind(item.aval.dtype) in "biu":
            return item
        raise not_an_index(item.aval.str_short(), aval)
    if isinstance(item, (list, tuple, range)):
        return proper_sequence(item, aval)
    if isinstance(item, (np.ndarray, np.generic, bool)):
        return proper_host(item, aval)
    if hasattr(item, "__jax_array__"):
        return proper(array_of(item), aval)
    if hasattr(item, "__index__"):
        return item.__index__()
    raise not_an_index(f"{kind.__name__} {item!r}", aval)


def proper_sequence(item: Any, aval: ShapedArray) -> Any:
    """A list, tuple or range of integers, of arrays of them, or of such sequences, as one array."""
    leaves = list(leaves_in(item))
    if any(type(x) is Tracer for x in leaves):
        for x in leaves:
            if dtypes.kind(typeof(x).dtype) not in "iu":
                raise not_an_index(f"a sequence that holds {typeof(x).str_short()}", aval)
        return stacked(item, dtypes.result_type(*leaves))
    try:
        host = np.asarray(on_host(item))
    except ValueError:
        raise not_an_index(f"a sequence whose parts differ in length, {item!r:.60},", aval) from None
    return proper_host(host.astype(np.int32) if not host.size else host, aval)


def leaves_in(item: Any) -> Iterator:
    """What nested sequences hold; objects with ``__jax_array__`` as their arrays."""
    for x in item:
        if isinstance(x, (list, tuple, range)):
            yield from leaves_in(x)
        else:
            yield opened(x)


def on_host(item: Any) -> Any:
    """Nested sequences with the values of their arrays."""
    if isinstance(item, (list, tuple, range)):
        return [on_host(x) for x in item]
    item = opened(item)
    return np.asarray(item) if type(item) is Array else item


def stacked(item: Any, dtype: DTypeLike) -> ArrayOrTracer:
    """Nested sequences as one traced array of a dtype."""
    if isinstance(item, (list, tuple, range)):
        return shapes.stack([stacked(x, dtype) for x in item])
    item = opened(item)
    if python_scalars.is_python_scalar(item):
        return np.asarray(item, dtype)
    return convert.to_dtype(item, dtype)


def proper_host(item: Any, aval: ShapedArray) -> int | np.ndarray:
    """A NumPy array or scalar as an int or a NumPy array."""
    host = np.asarray(item)
    if host.dtype.kind not in "biu":
        raise not_an_index(f"{type(item).__name__} of {host.dtype}", aval)
    return int(host) if host.ndim == 0 and host.dtype.kind != "b" else host


FLOATING = ("float", "f16[", "f32[", "f64[")


def not_an_index(what: str, aval: ShapedArray) -> TypeError:
    """The error for an index of a wrong type."""
    return TypeError(
        f"{what} cannot index {aval.str_short()}: an index is an integer, a slice, None, '...', an array of "
        "integers or booleans, or a tuple of these"
        + ("; convert floating positions with astype(int)" if any(word in what for word in FLOATING) else "")
    )


def consumed(item: Any) -> int:
    """How many dimensions an index takes: a mask as many as it has."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if type(item) not in (int, slice, Slice) and dtypes.kind(item.dtype) == "b" else 1


def fill_up(items: list, aval: ShapedArray) -> list:
    """The indices with the ellipsis, or the end, filled up by whole slices."""
    used = sum([consumed(item) for item in items])
    missing = aval.ndim - used
    if missing < 0:
        raise IndexError(
            f"too many indices: {aval.str_short()} has {counted(aval.ndim, 'dimension')}, {used} were indexed"
        )
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can hold only one ellipsis ('...')")
    where = dots[0] if dots else len(items)
    return [*items[:where], *[slice(None)] * missing, *items[where + len(dots) :]]


def of_int(i: int, axis: int, aval: ShapedArray, eager: bool, outside: bool, wrap: bool) -> tuple:
    """The entry and operand of a static integer. One out of range is like a computed one if that may be."""
    size = aval.shape[axis]
    if not (-size if wrap else 0) <= i < size:
        if not outside or not size:
            raise out_of_range(i, axis, aval)
        return SCALAR, np.asarray(min(max(i, INT32.min), INT32.max), np.int32)
    i = i + size if i < 0 else i
    return (HERE, i) if eager else (At(i), None)


def out_of_range(i: int, axis: int, aval: ShapedArray) -> IndexError:
    """The error for a static integer out of range."""
    return IndexError(
        f"index {i} is out of range for dimension {axis} of size {aval.shape[axis]} of {aval.str_short()}"
    )


def of_slice(item: Any, size: int, eager: bool) -> tuple:
    """The entry and operand of a slice."""
    for bound in (item.start, item.stop, item.step):
        if type(bound) is Tracer:
            advice = (
                "For a slice of a fixed size at a computed position write x[rb.ds(start, size)]; to leave "
                f"out elements, rabbet.numpy.where; or {MAKE_STATIC}."
            )
            raise IndexError(
                "the bounds of a slice must be known while a function is traced, for they decide a shape: "
                f"x[start:stop] got {unknown(bound, advice)}"
            )
    if is_symbolic((size, item.start, item.stop)):
        start, n, step = reach_of(item, size)
        return (ALL, None) if n == size and step == 1 else (Box(start, n, step), None)
    try:
        reach = range(*item.indices(size))
    except TypeError:
        raise TypeError(f"the bounds of a slice are integers or None, got {item}") from None
    n, step = len(reach), reach.step
    if n == size and step == 1:
        return ALL, None
    if n <= 1:
        step = 1
    if step == 1 and eager and n:
        return BoxFrom(n), reach.start
    return Box(reach.start if n else 0, n, step), None


def of_dynamic_slice(item: Any, size: int) -> tuple:
    """The entry and operand of a slice whose start is computed, counted from the end if negative."""
    start, step = item.start, item.stride
    if start.ndim or dtypes.kind(start.dtype) not in "iu":
        raise TypeError(f"ds: the start is an integer without dimensions, got {start.aval.str_short()}")
    if dtypes.kind(start.dtype) == "i":
        start = start + size * (start < 0)
    if step == 1 and item.size <= size:
        return BoxFrom(item.size), start
    return ARRAY, start + np.arange(0, item.size, step, dtype=np.int32)


def of_mask(mask: ArrayLike, axis: int, aval: ShapedArray) -> list:
    """A mask as the positions where it is true: one array of integers per dimension (or one of zeros, for a
    bare flag).
    """
    if mask.shape != aval.shape[axis : axis + mask.ndim] and not empty_by_rule(mask):
        raise IndexError(
            f"a mask of the shape {mask.shape} cannot index {aval.str_short()} at dimension {axis}: it must "
            f"have the shape {aval.shape[axis : axis + mask.ndim]}"
        )
    if type(mask) is Tracer:
        mask = known_mask(mask, aval)
    found = np.nonzero(np.atleast_1d(np.asarray(mask)))
    return [where.astype(np.int32) for where in found]


def empty_by_rule(mask: ArrayLike) -> bool:
    """Whether a mask selects nothing, whatever its shape is, by the rules of clamping."""
    return 0 in mask.shape and config.index_rules == "clamped"


def known_mask(mask: ArrayLike, aval: ShapedArray) -> np.ndarray:
    """The values of a traced mask, where its transformation knows them."""
    from rabbet.lax.refusals import concrete

    known = concrete(mask)
    if known is None:
        raise NonConcreteBooleanIndexError(
            f"{aval.str_short()} was indexed with a mask {mask.aval.str_short()} whose values are not known "
            f"in {mask.interpreter.describe()}: the shape of the result would depend on them.{origin(mask)} "
            "To choose between elements use rabbet.numpy.where(mask, x, other); to change those under the "
            "mask, x.at[mask].set(value) works; for their positions, rabbet.numpy.nonzero(mask, size=n)"
        )
    return known("numpy.asarray()")()


def is_mask(item: Any) -> bool:
    """Whether an index is a single array of booleans."""
    if isinstance(item, (bool, np.bool_)):
        return True
    return isinstance(item, (Array, Tracer, np.ndarray)) and dtypes.kind(typeof(item).dtype) == "b"


__all__ = [
    "ALL",
    "ARRAY",
    "FLAG",
    "HERE",
    "NEW",
    "SCALAR",
    "At",
    "Box",
    "BoxFrom",
    "Plan",
    "is_mask",
    "parse",
]
