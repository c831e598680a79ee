"""``ds(start, size)``: a slice of a size that is known, whose start may be computed."""

from __future__ import annotations

import operator
from typing import Any

from rabbet.runtime.arrays.array import Array
from rabbet.trace.tracer import Tracer

NOT_GIVEN = object()


class Slice:
    """``start : start + size : stride``, where ``start`` may be a traced integer. Made by ``ds``."""

    __slots__ = ("start", "size", "stride")

    def __init__(self, start: Any, size: int, stride: int = 1) -> None:
        self.start, self.size, self.stride = start, size, stride

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is an array, known only when the program runs."""
        return type(self.start) in (Array, Tracer)

    def as_slice(self) -> slice:
        """The builtin slice, where the start is known."""
        stop = self.start + self.size
        return slice(self.start, None if self.start < 0 <= stop else stop, self.stride)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Slice:
            return NotImplemented
        return ((self.size, self.stride) == (other.size, other.stride) and self.start is other.start) or (
            not self.is_dynamic_start
            and not other.is_dynamic_start
            and (self.start, self.size, self.stride) == (other.start, other.size, other.stride)
        )

    def __hash__(self) -> int:
        start = id(self.start) if self.is_dynamic_start else self.start
        return hash((start, self.size, self.stride))

    def __repr__(self) -> str:
        return f"Slice(start={self.start!r}, size={self.size!r}, stride={self.stride!r})"


def ds(start: Any, size: Any = NOT_GIVEN, stride: int | None = None) -> slice | Slice:
    """A slice by its start and size, for ``x[...]`` and ``x.at[...]``.

    ``ds(None)`` is ``:``, ``ds(n)`` is ``:n``, ``ds(start, size)`` is ``start:start+size`` and
    ``ds(start, size, stride)`` takes every ``stride``-th of these.

    Args:
      start: an int, or an integer array without dimensions, which may be traced. One that leaves no room for
        ``size`` elements is moved back until it does.
      size: an int, or None.
      stride: an int.

    Raises:
      TypeError: for a size or stride that is not an int.

    Example:
      >>> rb.jit(lambda x, i: x[rb.ds(i, 3)])(rnp.arange(10), 4)
      Array([4, 5, 6], dtype=int32)
    """
    if size is NOT_GIVEN:
        if start is None:
            return slice(None)
        start, size = 0, start
    if start is None:
        start = 0
    for name, value in (("size", size), ("stride", stride)):
        if (value is not None and type(value) in (Array, Tracer)) or isinstance(value, slice):
            raise TypeError(f"ds: {name} must be a static int, got {value!r:.60}")
    size = None if size is None else operator.index(size)
    stride = 1 if stride is None else operator.index(stride)
    if type(start) not in (Array, Tracer):
        start = operator.index(start)
        return slice(start, None, stride) if size is None else Slice(start, size, stride)
    if size is None:
        raise TypeError("ds: a computed start needs a size")
    return Slice(start, size, stride)


dslice = ds

__all__ = ["Slice", "ds", "dslice"]
