"""Dimensions that are expressions over sizes that are known when a program is called."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rabbet.typing import Value


class SymbolicDimension:
    """The base class of dimensions that are not numbers while a function is traced.

    A subclass has integer arithmetic, with ints too, whose results are ints where they are known; ``==``,
    which says whether two dimensions are equal whatever the sizes are, and other comparisons, which raise
    where that depends on the sizes; ``at_least(n)`` and ``at_most(n)``, the larger and the smaller of it and
    another dimension; and ``__jax_array__``, the array that it is beside arrays. Programs with such
    dimensions are lowered with a ``rabbet.extend.backend.lower_program(..., symbolic=...)`` that says what
    they are.

    Example:
      >>> from rabbet.extend.primitive import ShapedArray
      >>> from rabbet.extend.shapes import SymbolicDimension
      >>> class Rows(SymbolicDimension):
      ...     def __mul__(self, other):
      ...         return self
      ...     __rmul__ = __mul__
      ...     def __str__(self):
      ...         return "rows"
      >>> x = ShapedArray((Rows(), 3), "float32")
      >>> x.str_short(), x.mlir, x.is_symbolic
      ('f32[rows,3]', 'tensor<?x3xf32>', True)
    """

    __slots__ = ()

    def at_least(self, other: Any) -> Any:
        """The larger of it and another dimension."""
        raise NotImplementedError(f"{type(self).__name__} has no at_least")

    def at_most(self, other: Any) -> Any:
        """The smaller of it and another dimension."""
        raise NotImplementedError(f"{type(self).__name__} has no at_most")

    def __jax_array__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __jax_array__")


def dimension_of(size: Value) -> Any:
    """A dimension: symbolic as it is, else the int that it means.

    Raises:
      TypeError: for what is not a whole number.

    Example:
      >>> from rabbet.extend.shapes import dimension_of
      >>> dimension_of(np.int64(3))
      3
    """
    return size if isinstance(size, SymbolicDimension) else operator.index(size)


def whole_number(who: str, what: str, value: Any) -> int:
    """An argument that counts something, as an int; no number is rounded.

    Args:
      who: the function, for the message.
      what: the argument.
      value: an int, or whatever Python takes for one (``__index__``): a NumPy integer, an array of one.

    Raises:
      TypeError: for anything else, 1.5 and 2.0 too.

    Example:
      >>> from rabbet.extend.shapes import whole_number
      >>> whole_number("take_rows", "count", np.int64(3))
      3
      >>> whole_number("take_rows", "count", 1.5)
      Traceback (most recent call last):
        ...
      TypeError: take_rows: count must be an integer, got float 1.5
    """
    if not hasattr(type(value), "__index__"):
        raise TypeError(f"{who}: {what} must be an integer, got {type(value).__name__} {value!r:.60}")
    return operator.index(value)


def flag(who: str, what: str, value: Any) -> bool:
    """An argument that switches something, as a bool.

    Args:
      who: the function, for the message.
      what: the argument.
      value: a bool or a number, also one of NumPy's or an array of one element, or None, which is False.

    Raises:
      TypeError: for anything else, such as a text: ``"no"`` would switch it on.

    Example:
      >>> from rabbet.extend.shapes import flag
      >>> flag("take_rows", "in_order", np.True_)
      True
      >>> flag("take_rows", "in_order", "no")
      Traceback (most recent call last):
        ...
      TypeError: take_rows: in_order must be True or False, got str 'no'
    """
    numbers = int, float, np.bool_, np.number, np.ndarray  # np.str_ is a text
    if value is None or isinstance(value, numbers) or hasattr(value, "aval"):
        return bool(value)
    raise TypeError(f"{who}: {what} must be True or False, got {type(value).__name__} {value!r:.60}")


def reach_of(item: Any, size: Any) -> Any:
    """What ``range(*item.indices(size))`` is for a slice of a symbolic dimension, or with symbolic bounds:
    the first position, how many, and the step.

    Raises:
      NotImplementedError: for a negative step with bounds.
    """
    step = 1 if item.step is None else operator.index(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        if item.start is not None or item.stop is not None:
            raise NotImplementedError(
                f"a slice of the symbolic dimension {size} with a negative step takes no bounds, got {item}; "
                "slice first, then turn it around"
            )
        return size - 1, _quotient(size, -step), step
    start = 0 if item.start is None else _clipped(item.start, size)
    stop = size if item.stop is None else _clipped(item.stop, size)
    return start, _quotient(at_least(stop - start, 0), step), step


def _quotient(size: Any, step: Any) -> Any:
    return size if step == 1 else (size + (step - 1)) // step


def _clipped(bound: Any, size: Any) -> Any:
    bound = dimension_of(bound)
    return at_least(size + bound, 0) if bound < 0 else at_most(bound, size)


def exceeds(size: int, most: int) -> bool:
    """Whether a dimension is larger than a number so large that symbolic ones, counted in 32 bits, are not.

    Example:
      >>> from rabbet.extend.shapes import exceeds
      >>> exceeds(2**40, 2**32)
      True
    """
    return not isinstance(size, SymbolicDimension) and size > most


def at_least(x: Any, n: Any) -> Any:
    """The larger of two dimensions."""
    if isinstance(x, SymbolicDimension):
        return x.at_least(n)
    return n.at_least(x) if isinstance(n, SymbolicDimension) else max(x, n)


def at_most(x: Any, n: Any) -> Any:
    """The smaller of two dimensions."""
    if isinstance(x, SymbolicDimension):
        return x.at_most(n)
    return n.at_most(x) if isinstance(n, SymbolicDimension) else min(x, n)


def broadcast(shapes: Any) -> Any:
    """The shape that shapes with symbolic dimensions broadcast to.

    Raises:
      ValueError: where two dimensions are neither equal, whatever the sizes are, nor 1.
    """
    longest = max(map(len, shapes))
    padded = [(1,) * (longest - len(s)) + tuple(s) for s in shapes]
    out = []
    for column in zip(*padded, strict=True):
        wide = [d for d in column if d != 1]
        if any(d != wide[0] for d in wide):
            raise ValueError(f"the dimensions {', '.join(map(str, wide))} are neither equal nor 1")
        out.append(wide[0] if wide else 1)
    return tuple(out)


def is_symbolic(shape: tuple[int | None, ...]) -> bool:
    """Whether some dimension of a shape is symbolic."""
    return any(isinstance(d, SymbolicDimension) for d in shape)


__all__ = ["SymbolicDimension", "broadcast", "dimension_of", "exceeds", "is_symbolic", "reach_of"]
