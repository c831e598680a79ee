"""Changing elements by a function of what they are: ``scatter_apply``, and ``x.at[index].apply``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.lax.array_types import ArrayLike, ArrayOrTracer
from rabbet.lax.creation import full
from rabbet.lax.dynamic import widened
from rabbet.lax.gathering import tuples_of
from rabbet.lax.loops import while_loop
from rabbet.messages.function_names import describe_function, named_like
from rabbet.primitives import checks, elementwise, logic, reductions, scalar_programs
from rabbet.primitives import scatter as scatters
from rabbet.primitives.gather import GatherScatterMode
from rabbet.program.avals import ShapedArray
from rabbet.program.jaxpr import consts_as_inputs
from rabbet.runtime.arrays.values import array_or_tracer
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage
from rabbet.trace.tracer import is_tracer

if TYPE_CHECKING:
    from rabbet.typing import Value


def elementwise_function(name: str, func: Callable, dtype_of: ShapedArray) -> Callable:
    """``func`` of a scalar as a function of an array of any shape: applied to each element.

    Args:
      name: whose argument it is, for messages.
      func: from a scalar to a scalar of the same dtype.
      dtype_of: an aval with the dtype.
    """
    scalar = dtype_of.update(shape=(), weak_type=False)
    flat = named_like(lambda x: [array_or_tracer(func(x))], func)
    closed = stage(flat, [scalar], getattr(func, "__name__", "func"))
    checks.no_effects(name, closed, func)
    (out,) = closed.out_avals
    if out.shape or out.dtype != scalar.dtype:
        raise TypeError(
            f"{name}: {describe_function(func)} must return a scalar of the dtype of its argument, "
            f"{scalar.str_short()}, it returned {out.str_short()}"
        )
    program, consts = scalar_programs.without_calls(consts_as_inputs(closed)), list(closed.consts)
    return lambda x: scalar_programs.at_each_place(program, [x], consts)[0]


def one_array(func: Callable, out: Any) -> Any:
    """What an elementwise function returned. Raises TypeError for a tuple, list or dict of arrays."""
    if isinstance(out, (tuple, list, dict)):
        raise TypeError(
            f"apply: {describe_function(func)} must return one array, it returned a {type(out).__name__}"
        )
    return out


def repeated(func: Callable, x: ArrayLike, counts: ArrayLike) -> ArrayOrTracer:
    """``x`` with ``func`` applied to each element as often as ``counts`` says."""

    if not is_tracer(counts) and not is_tracer(x):
        most = int(np.asarray(counts).max(initial=0))
        for i in range(most):
            x = logic.select_n(logic.gt(counts, i), x, one_array(func, func(x)))
        return x

    def unfinished(state: tuple) -> ArrayOrTracer:
        _, left = state
        return reductions.reduce_or(logic.gt(left, 0), axes=tuple(range(typeof(left).ndim)))

    def once_more(state: tuple) -> tuple:
        values, left = state
        values = logic.select_n(logic.gt(left, 0), values, func(values))
        return values, elementwise.sub(left, 1)

    return while_loop(unfinished, once_more, (x, counts))[0]


def scatter_apply(
    operand: ArrayLike, scatter_indices: ArrayLike, func: Callable, dimension_numbers: Any, *,
    update_shape: Sequence[int] = (), indices_are_sorted: bool = False, unique_indices: bool = False,
    mode: Any = None,
) -> Value:  # fmt: skip
    """``operand`` with ``func`` applied to windows; where two meet, it is applied twice.

    Args:
      operand: an array.
      scatter_indices: integers; the last dimension holds index vectors.
      func: from a scalar to a scalar of the same dtype.
      dimension_numbers: a ``ScatterDimensionNumbers``.
      update_shape: the shape that updates would have: the windows, side by side.
      indices_are_sorted, unique_indices: promises about the index vectors. With unique indices the function
        is evaluated for the windows alone, and reverse mode goes through.
      mode: for windows that leave the array: ``"drop"`` (default), ``"clip"`` to move them inside,
        ``"promise_in_bounds"``.

    Raises:
      TypeError: if numbers and shapes do not fit together, or ``func`` returns another dtype.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_apply(rnp.arange(3.0), rnp.array([[1]]), lax.neg, numbers, update_shape=(1,))
      Array([ 0., -1.,  2.], dtype=float32)
    """
    operand, indices = array_or_tracer(operand), widened(scatter_indices)
    apply = elementwise_function("scatter_apply", func, typeof(operand))
    params = {
        "dimension_numbers": tuples_of(dimension_numbers), "indices_are_sorted": bool(indices_are_sorted),
        "unique_indices": bool(unique_indices), "mode": GatherScatterMode.from_any(mode),
    }  # fmt: skip
    update_shape = tuple([operator.index(n) for n in update_shape])
    if unique_indices:
        op = scatters.scatter.op(**params)
        old = scatters.gather_back(op, operand, indices, update_shape)
        return op(operand, indices, apply(old))
    ones = full(update_shape, 1, np.int32)
    counts = scatters.scatter_add(full(typeof(operand).shape, 0, np.int32), indices, ones, **params)
    return repeated(apply, operand, counts)


__all__ = ["elementwise_function", "repeated", "scatter_apply"]
