"""Reductions by any computation: over dimensions, ``reduce``, and over sliding windows, ``reduce_window``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
from rabbet import dtypes, lax, tree
from rabbet.errors import ShapeError
from rabbet.extend.functions import array_or_tracer, describe_function, named_like, obeys_out_sharding
from rabbet.extend.passes import consts_as_inputs, is_elementwise, stage, without_calls
from rabbet.extend.primitive import (
    full_of_type,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)  # fmt: skip
from rabbet.extend.rules import axis_in_range, extreme, no_effects, to_dtype
from rabbet.extend.transform import is_tracer, typeof

from rabbet_convolution.padding import int_tuple, padding_pairs
from rabbet_convolution.primitives import computations, window_sums, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from rabbet.typing import Value


# ------------------------------------------------------------------------------------- computations
class Computation:
    """A monoid's operation staged for scalars: the program, what it captured, what is known about it."""

    def __init__(self, name, computation, operands, inits):
        leaves, self.tree = tree.flatten(operands)
        self.operands = [array_or_tracer(x) for x in leaves]
        starts, init_tree = tree.flatten(inits)
        if init_tree != self.tree:
            raise ShapeError(
                f"{name}: operands and initial values must have one structure, got {self.tree} and "
                f"{init_tree}"
            )
        if not leaves:
            raise ShapeError(f"{name} needs at least one array")
        self.given = starts
        avals = [typeof(x).strong() for x in self.operands]
        self.inits = [_initial(s, a) for s, a in zip(starts, avals, strict=True)]
        elements = [a.update(shape=()) for a in avals]

        def flat(*args):
            n = len(elements)
            pair = (
                tree.unflatten(self.tree, list(args[:n])),
                tree.unflatten(self.tree, list(args[n:])),
            )
            result = computation(*pair)
            if {type(operands), type(result)} == {list, tuple}:
                result = type(operands)(result)
            outs, out_tree = tree.flatten(result)
            if out_tree != self.tree:
                raise ShapeError(
                    f"{name}: {describe_function(computation)} must return the structure of one element, "
                    f"{self.tree}, it returned {out_tree}"
                )
            return [
                to_dtype(x, a.dtype) if typeof(x).weak_type else array_or_tracer(x)
                for x, a in zip(outs, elements, strict=True)
            ]

        closed = stage(
            named_like(flat, computation), elements * 2, getattr(computation, "__name__", "computation")
        )
        no_effects(name, closed, computation)
        self.program, self.consts = without_calls(consts_as_inputs(closed)), list(closed.consts)
        computations.check_computation(
            name, _without(self.program, len(self.consts)), avals, [typeof(x) for x in self.inits]
        )

    @property
    def one_primitive(self):
        """The primitive that the whole computation is, with the two elements as its operands; or None."""
        program = self.program
        if len(program.equations) != 1 or len(program.invars) != 2:
            return None
        (eqn,) = program.equations
        both = set(map(id, eqn.inputs)) == set(map(id, program.invars))
        return eqn.op.primitive if both and eqn.outputs == program.outvars else None

    @property
    def is_closed(self):
        """Whether it can be a region of an operation: elementwise, and nothing captured."""
        return not self.consts and is_elementwise(self.program)

    def starts_with(self, value):
        """Whether the only initial value is known, and is ``value``."""
        (start,) = self.given
        return not is_tracer(start) and bool(np.asarray(start) == value)

    def rebuilt(self, outs):
        """Results as the operands' pytree."""
        return tree.unflatten(self.tree, list(outs))


def _initial(value, aval):
    """An initial value in the dtype of its operand, if it is a number that gives way to it."""
    if hasattr(value, "aval"):
        return to_dtype(value, aval.dtype) if value.aval.weak_type else value
    if np.ndim(value) == 0:
        scalar = value[()] if isinstance(value, np.ndarray) else value
        if aval.kind in "iu" and isinstance(scalar, (float, np.floating)):
            scalar = _as_integer(float(scalar), aval.dtype)
        if not aval.is_extended and dtypes.kind_rank(type(scalar)) <= dtypes.kind_rank(aval.dtype):
            return full_of_type(aval.update(shape=()), scalar)
    return value


def _as_integer(value, dtype):
    """A whole number as an int; an infinity as the integer at that end. Another float stays what it is."""
    if np.isinf(value):
        limits = dtypes.iinfo(dtype)
        return int(limits.max if value > 0 else limits.min)
    return int(value) if value.is_integer() else value


class _Signature:
    """The types of a program without its captured arrays."""

    def __init__(self, in_avals, out_avals):
        self.in_avals, self.out_avals = in_avals, out_avals


def _without(program, captured):
    return _Signature(program.in_avals[captured:], program.out_avals)


# For a computation that is one primitive: its reduction, the neutral element, the kinds of dtypes.
_REDUCTIONS = {
    lax.add: (reduce_sum, lambda dtype: 0, "iufc"),
    lax.mul: (reduce_prod, lambda dtype: 1, "iufc"),
    lax.max: (reduce_max, lambda dtype: extreme(dtype, False), "biuf"),
    lax.min: (reduce_min, lambda dtype: extreme(dtype, True), "biuf"),
    lax.bitwise_and: (reduce_and, lambda dtype: ~np.zeros((), dtype), "biu"),
    lax.bitwise_or: (reduce_or, lambda dtype: 0, "biu"),
    lax.bitwise_xor: (reduce_xor, lambda dtype: 0, "biu"),
}


@obeys_out_sharding
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[..., Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """The elements of arrays along ``dimensions``, combined by ``computation``.

    Args:
      operands: an array, or a pytree of arrays of one shape whose elements are combined together.
      init_values: scalars in the same structure; each comes first, and once.
      computation: ``computation(x, y)`` combines two elements (each a scalar, or a pytree of scalars) to
        one. It must be associative: neighbours are combined first, in their order.
      dimensions: the dimensions to reduce.

    Returns:
      arrays without those dimensions, in the structure of ``operands``.

    Raises:
      TypeError: if structures, shapes or dtypes do not fit; the message says which.

    Example:
      >>> keys, values = rnp.array([2.0, 5.0, 1.0]), rnp.array([10, 20, 30])
      >>> def larger_key(a, b):
      ...     first = a[0] > b[0]
      ...     return tuple(rnp.where(first, x, y) for x, y in zip(a, b))
      >>> lax.reduce((keys, values), (-rnp.inf, 0), larger_key, (0,))
      (Array(5., dtype=float32), Array(20, dtype=int32))
    """
    made = Computation("reduce", computation, operands, init_values)
    ndim = typeof(made.operands[0]).ndim
    axes = tuple([axis_in_range("reduce", operator.index(d), ndim) for d in dimensions])
    primitive, start, kinds = _REDUCTIONS.get(made.one_primitive, (None, None, ""))
    dtype = typeof(made.operands[0]).dtype
    if dtypes.kind(dtype) in kinds:
        out = primitive(made.operands[0], axes=axes)
        if not made.starts_with(start(dtype)):
            out = made.one_primitive(made.inits[0], out)
        return made.rebuilt([out])
    if made.is_closed:
        outs = computations.reduce(*made.operands, *made.inits, computation=made.program, dimensions=axes)
    else:
        outs = computations.reduced(made.program, made.operands, made.inits, axes, made.consts)
    return made.rebuilt(outs)


_WINDOWED = {
    lax.add: (window_sums.reduce_window_sum, lambda dtype: 0, "iufc"),
    lax.max: (window_sums.reduce_window_max, lambda dtype: extreme(dtype, False), "biuf"),
    lax.min: (window_sums.reduce_window_min, lambda dtype: extreme(dtype, True), "biuf"),
}


def reduce_window(
    operand: Value,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: int | Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """The elements of each window of arrays, combined by ``computation``.

    Args:
      operand: an array, or a pytree of arrays of one shape.
      init_value: a scalar for each, which changes nothing when it is combined: padding holds it, and a
        large window may be cut into parts that each start with it.
      computation: an associative and commutative ``computation(x, y)`` of two elements.
      window_dimensions: the window's sizes, one per dimension.
      window_strides: how far windows are apart; by default 1.
      padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"`` or a pair ``(low, high)`` per dimension.
      base_dilation, window_dilation: how far the operand's, or the window's, elements are spread; by
        default 1.

    Returns:
      arrays with an element per place of the window, in the structure of ``operand``.

    Raises:
      TypeError, ValueError: if structures, dtypes, or the numbers of entries do not fit.

    Example:
      >>> image = rnp.arange(16.0).reshape(4, 4)
      >>> lax.reduce_window(image, -rnp.inf, lax.max, (2, 2), (2, 2), "VALID")
      Array([[ 5.,  7.],
             [13., 15.]], dtype=float32)
    """
    made = Computation("reduce_window", computation, operand, init_value)
    aval = typeof(made.operands[0])
    sizes = int_tuple("window_dimensions", window_dimensions, aval.ndim)
    if len(sizes) != aval.ndim:
        raise ShapeError(
            f"reduce_window of {aval.str_short()}: window_dimensions {sizes} is of length {len(sizes)}; give "
            f"one per dimension, {aval.ndim}"
        )
    strides = int_tuple("window_strides", window_strides, aval.ndim)
    base = int_tuple("base_dilation", base_dilation, aval.ndim)
    dilation = int_tuple("window_dilation", window_dilation, aval.ndim)
    pads = padding_pairs(padding, aval.shape, sizes, strides, base, dilation)
    window = windows.Window(sizes, strides, pads, base, dilation)
    windows.check("reduce_window", aval, window)
    if not sizes:  # XLA would leave the initial values out
        return reduce(operand, init_value, computation, ())
    primitive, start, kinds = _WINDOWED.get(made.one_primitive, (None, None, ""))
    if dtypes.kind(aval.dtype) in kinds and made.starts_with(start(aval.dtype)):
        return made.rebuilt([primitive(made.operands[0], window=window)])
    if made.is_closed:
        outs = computations.reduce_window(
            *made.operands, *made.inits, computation=made.program, window=window
        )
    else:
        padded = [windows.padded(x, i, window) for x, i in zip(made.operands, made.inits, strict=True)]
        out = windows.out_shape(aval.shape, window)
        outs = computations.window_reduced(made.program, padded, made.inits, window, out, made.consts)
    return made.rebuilt(outs)


__all__ = ["reduce", "reduce_window"]
