"""Checks that shape rules share, with messages that say what was given and what is needed."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.errors import AxisError, DTypeError
from rabbet.messages.function_names import describe_function
from rabbet.messages.spelling import counted
from rabbet.primitives import layout
from rabbet.program.avals import ShapedArray
from rabbet.program.effects import effect_names
from rabbet.rules.primitive import ShapesDiffer
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.program.jaxpr import ClosedJaxpr
    from rabbet.rules.primitive import Primitive
    from rabbet.typing import Value

FLOATS = "f"
INEXACT = "fc"
NUMBERS = "iufc"
REALS = "iuf"
INTEGERS = "iu"
BITS = "biu"
ANY = "biufcVk"

_words = {
    "b": "boolean",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "floating",
    "c": "complex",
    "k": "key",
}


def describe(kinds: str) -> str:
    """Kind letters in words."""
    return " or ".join(_words[k] for k in kinds if k in _words)


def accept(name: str, kinds: str, *avals: ShapedArray) -> None:
    """Refuse avals whose dtype kind is not among ``kinds``; for shape rules.

    Args:
      name: of the primitive, for messages.
      kinds: letters: ``b`` for booleans, ``i`` and ``u`` for integers, ``f`` for floats, ``c`` for complex
        numbers.

    Raises:
      DTypeError: says what the primitive takes.

    Example:
      >>> from rabbet.extend.primitive import accept
      >>> accept("halve", "fc", rb.typeof(1))
      Traceback (most recent call last):
        ...
      rabbet.errors.DTypeError: halve takes floating or complex arrays, got i32[]
    """
    for aval in avals:
        if dtypes.kind(aval.dtype) not in kinds:
            raise DTypeError(f"{name} takes {describe(kinds)} arrays, got {aval.str_short()}")


def no_effects(name: str, program: ClosedJaxpr, function: Primitive | Callable[..., Any]) -> None:
    """Refuse a function that does something besides computing, where nobody says how often it is called, and
    in which order.

    Args:
      name: of the function that it was given to, for messages.
      program: what the function was staged to.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.rules import no_effects
      >>> no_effects("reduce", stage(lambda x: [lax.neg(x)], [rb.typeof(1.0)]), lax.neg)
    """
    if program.effects:
        raise TypeError(
            f"{name} takes a function that only computes; {describe_function(function)} has effects "
            f"({effect_names(program.effects)}), and how often and in which order it is called is not fixed. "
            "lax.scan and lax.fori_loop have an order"
        )


def same_dtype(name: str, *avals: ShapedArray) -> None:
    """Refuse avals of different dtypes.

    Example:
      >>> from rabbet.extend.rules import same_dtype
      >>> same_dtype("join", rb.typeof(np.ones(2, np.float32)), rb.typeof(np.float32(1)))
    """
    first = avals[0].dtype
    for aval in avals[1:]:
        if aval.dtype != first:
            shown = ", ".join(a.str_short() for a in avals)
            raise DTypeError(
                f"{name} takes arrays of one dtype, got {shown}; convert one of them with astype "
                f"(rabbet.numpy functions promote dtypes by themselves)"
            )


def elementwise_aval(name: str, *avals: ShapedArray) -> ShapedArray:
    """The type of an elementwise result: one shape, scalars aside; one dtype; weak if all are.

    For shape rules. Where callers give arrays of one rank with sizes of 1, the operands are spread and the
    rule is asked again.

    Args:
      name: of the primitive, for messages.
      avals: the types of its operands.

    Raises:
      TypeError: shapes or dtypes differ.

    Example:
      >>> from rabbet.extend.primitive import ShapedArray, elementwise_aval
      >>> row, number = ShapedArray((3,), "float32"), ShapedArray((), "float32")
      >>> elementwise_aval("hypot", row, number) is row
      True
    """
    first = avals[0]
    if len(avals) == 1:
        return first
    weak = first.weak_type
    shape = first.shape
    for aval in avals[1:]:
        if aval.shape != shape:
            if not shape:
                shape = aval.shape
            elif aval.shape:
                shown = ", ".join(a.str_short() for a in avals)
                raise ShapesDiffer(
                    f"{name} takes arrays of one shape (or scalars, or sizes of 1 beside others), got "
                    f"{shown}; broadcast them first (rabbet.numpy functions broadcast by themselves)",
                    aligned,
                )
        weak = weak and aval.weak_type
    same_dtype(name, *avals)
    if shape == first.shape and weak == first.weak_type:
        return first
    return ShapedArray(shape, first.dtype, weak)


def aligned(args: tuple[Value, ...]) -> list[Value] | None:
    """Operands of one rank, sizes of 1 repeated to those of the others; None where they do not fit or do
    already. Scalars stay.
    """
    sizes = [typeof(x).shape for x in args]
    arrays = [shape for shape in sizes if shape]
    if len({len(shape) for shape in arrays}) != 1 or len(set(arrays)) == 1:
        return None
    full = []
    for along in zip(*arrays, strict=True):
        larger = {n for n in along if n != 1} or {1}
        if len(larger) > 1:
            return None
        full.append(larger.pop())
    every = tuple(range(len(full)))
    spread = layout.broadcast_in_dim
    return [
        x if shape in ((), tuple(full)) else spread(x, shape=tuple(full), broadcast_dimensions=every)
        for x, shape in zip(args, sizes, strict=True)
    ]


def whole_axis(name: Any, axis: Any) -> Any:
    """An axis as an int."""
    if not hasattr(type(axis), "__index__"):
        raise TypeError(f"{name}: an axis is an integer, got {type(axis).__name__} {axis!r:.60}")
    return operator.index(axis)


def axis_in_range(name: str, axis: int, ndim: int) -> int:
    """A non-negative axis from one that may count from the end.

    Args:
      name: of the function, for messages.

    Raises:
      ValueError: the axis is out of range.

    Example:
      >>> from rabbet.extend.rules import axis_in_range
      >>> axis_in_range("sum", -1, 3)
      2
    """
    if type(axis) is not int:
        axis = whole_axis(name, axis)
    if not -ndim <= axis < ndim:
        raise _outside(name, axis, ndim)
    return axis % ndim if ndim else axis


def _outside(name: str, axis: int, ndim: int) -> Exception:
    return AxisError(f"{name}: axis {axis} is out of range for an array of {counted(ndim, 'dimension')}")


def axes_valid(name: str, axes: tuple[int, ...], ndim: int) -> None:
    """Refuse repeated, negative or too large axes, as primitives take them.

    Example:
      >>> from rabbet.extend.rules import axes_valid
      >>> axes_valid("sum", (0, 0), 2)
      Traceback (most recent call last):
        ...
      rabbet.errors.AxisError: sum: axes (0, 0) repeat one
    """
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: axes {axes} repeat one")
    for axis in axes:
        if not 0 <= axis < ndim:
            raise _outside(name, axis, ndim)
