"""``x[index]``: NumPy's indexing of arrays and tracers.

Integers, slices, ``...``, ``None``, arrays of integers, masks, and tuples of them mean what they mean in
NumPy. Two differences. A static integer out of range raises ``IndexError`` as in NumPy, but a computed
position is clamped to the array, because a compiled program cannot raise; ``x.at[index].get(mode=...,
fill_value=...)`` offers other ways. And arrays do not change: ``x.at[index].set(value)`` returns a changed
copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from rabbet.config import config
from rabbet.lax import shapes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer
from rabbet.lax.indexing.arrays import lifted, take_arrays
from rabbet.lax.indexing.boxes import take_box, without_slices
from rabbet.lax.indexing.plans import ALL, ARRAY, HERE, BoxFrom, out_of_range, parse
from rabbet.messages.tracebacks import fold_traceback, folds_itself
from rabbet.primitives import calls
from rabbet.program.avals import ShapedArray
from rabbet.program.context import context
from rabbet.program.dimensions import exceeds
from rabbet.rules.operator import Op
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.arrays.values import scalar_array, to_array
from rabbet.runtime.evaluation import EVALUATION
from rabbet.runtime.fused import fused
from rabbet.runtime.housekeeping import on_clear_caches
from rabbet.trace.staging import stage

INT32, INT64 = ShapedArray((), np.dtype("int32")), ShapedArray((), np.dtype("int64"))

# How many rows one program of ``for row in x`` returns.
ROWS_AT_ONCE = 64


# ------------------------------------------------------------------------------------------------ reading
def take_traced(
    x: ArrayLike, *operands: Any, entries: tuple, mode: Any = None, fill_value: Any = None,
    indices_are_sorted: bool = False, unique_indices: bool = False, wrap: bool = True,
) -> ArrayOrTracer:  # fmt: skip
    """What ``x[...]`` computes, by primitives; ``entries`` and ``operands`` as ``parse`` gives them."""
    x, entries, _ = lifted(x, entries)
    if ARRAY not in entries:
        return take_box(x, entries, operands, mode, fill_value, wrap)
    slices, starts, rest, arrays = without_slices(entries, operands)
    return take_arrays(
        take_box(x, slices, starts), rest, arrays, mode=mode, fill_value=fill_value,
        indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, wrap=wrap,
    )  # fmt: skip


take = fused(
    take_traced, static=("entries", "mode", "fill_value", "indices_are_sorted", "unique_indices", "wrap")
)


def getitem(self: Any, index: Any) -> ArrayOrTracer:
    """The elements that ``index`` selects, as in NumPy; static integers out of range raise ``IndexError``."""
    try:
        if not is_eager(self):
            plan = parse(self.aval, index, False)
            return take_traced(self, *plan.operands, entries=plan.entries)
        if type(index) is int and self.aval.shape:
            size = self.aval.shape[0]
            if -size <= index < size or config.index_rules == "checked":
                return row(self, index)
        plan = parse(self.aval, index, True)
        return take(self, *on_device(plan.operands, self.spec.device), entries=plan.entries)
    except Exception as error:
        fold_traceback(error)
        raise


folds_itself(getitem)


def is_eager(x: ArrayLike) -> bool:
    """Whether an operation on ``x`` is executed at once."""
    return type(x) is Array and context.interpreter is EVALUATION


def on_device(operands: Sequence[Any], device: Any) -> list:
    """The operands of a plan as arrays beside the indexed one."""
    return [scalar_array(i, INT32, device) if type(i) is int else to_array(i, device) for i in operands]


MOST_ROW_CALLS = 1024
_row_calls = {}
on_clear_caches(_row_calls.clear)


def row(x: ArrayLike, index: Any) -> ArrayOrTracer:
    """``x[index]`` for an array and a Python int: the shortest way to the one program of all its rows."""
    aval = x.aval
    if index < 0:
        index += aval.shape[0]
    if not 0 <= index < aval.shape[0]:
        raise out_of_range(index if index >= 0 else index - aval.shape[0], 0, aval)
    call = _row_calls.get(aval)
    if call is None:
        if len(_row_calls) >= MOST_ROW_CALLS:
            _row_calls.clear()
        entries = (HERE, *[ALL] * (aval.ndim - 1))
        wide = INT64 if exceeds(aval.shape[0], 2**31 - 1) else INT32
        call = call_for(lambda x, i: [take_traced(x, i, entries=entries)], aval, wide)
        call = _row_calls[aval] = call, wide
    op, position = call
    return EVALUATION.process(op, (x, scalar_array(index, position, x.spec.device)))[0]


def call_for(function: Callable, aval: ShapedArray, position: ShapedArray) -> Op:
    """The operator that calls ``function(x, position)`` for an ``x`` of type ``aval``."""
    return calls.call_op(stage(function, [aval, position], "index").jaxpr, "index")


# --------------------------------------------------------------------------------------------- row by row
def iterate(self: Any) -> Iterator:
    """The slices along the first dimension, a few dozen by each program that is run."""
    if not self.aval.ndim:
        raise TypeError(f"an array without dimensions ({self.aval.str_short()}) cannot be iterated")
    if not is_eager(self):
        return iter([self[i] for i in range(self.aval.shape[0])])
    return _rows(self)


def _rows(x: ArrayLike) -> Iterator:
    size = x.aval.shape[0]
    try:
        for start in range(0, size, ROWS_AT_ONCE):
            yield from _some_rows(
                x, scalar_array(start, INT32, x.spec.device), count=min(ROWS_AT_ONCE, size - start)
            )
    except Exception as error:  # in the generator itself: nobody stands between it and the user's loop
        fold_traceback(error)
        raise


@fused(static=("count",))
def _some_rows(x: ArrayLike, start: ArrayLike, *, count: int) -> list:
    part = take_traced(x, start, entries=(BoxFrom(count), *[ALL] * (x.ndim - 1)))
    return shapes.unstack(part)


# ------------------------------------------------------------------------------------------------ methods
def setitem(self: Any, index: Any, value: Any) -> NoReturn:
    """Arrays do not change: says what to write instead."""
    raise TypeError(
        f"arrays do not change in place, and this one ({self.aval.str_short()}) was assigned to; write "
        f"x = x.at[index].set(value), or x.at[index].add(value) for '+='. Inside a compiled program this "
        "makes no copy."
    )


__all__ = ["getitem", "iterate", "setitem", "take_traced"]
