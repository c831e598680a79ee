"""Which part of a reference is read or written: steps that are applied one after the other.

A ``Place`` is static and hashable, a parameter of ``load`` and ``store``. What is only known when the kernel
runs (starts, arrays of indices) is operands beside it, in the order of the steps and of their dimensions.
"""

import math
from dataclasses import dataclass
from typing import Any

from rabbet.extend.primitive import ShapedArray


@dataclass(frozen=True, slots=True)
class At:
    """One index of a dimension, which disappears. ``start`` is an int, or None: an operand, an i32 scalar."""

    start: int | None

    def __str__(self) -> str:
        return "?" if self.start is None else str(self.start)


@dataclass(frozen=True, slots=True)
class Range:
    """``size`` indices of a dimension from ``start`` on, every ``step``-th. ``start`` as for ``At``."""

    start: int | None
    size: int
    step: int = 1

    def __str__(self) -> str:
        every = "" if self.step == 1 else f":{self.step}"
        if self.start is None:
            return f"?+{self.size}{every}"
        return f"{self.start}:{self.start + self.size * self.step}{every}"


@dataclass(frozen=True, slots=True)
class Gather:
    """Indices of a dimension from an operand, an array of i32 of the shape that the ``Index`` says."""

    def __str__(self) -> str:
        return "array"


@dataclass(frozen=True, slots=True)
class Index:
    """A part of an array, an ``At``, ``Range`` or ``Gather`` for each dimension.

    The result has the dimensions of the ranges in order. Where there are arrays of indices, their common
    ``shape`` stands among those, from position ``at`` on, as NumPy has it.
    """

    dims: tuple[At | Range | Gather, ...]
    shape: tuple[int, ...] = ()
    at: int = 0

    @property
    def gathers(self) -> bool:
        """Whether some dimension is indexed by an array."""
        return any(isinstance(d, Gather) for d in self.dims)

    @property
    def operands(self) -> int:
        """How many operands it needs."""
        return sum(isinstance(d, Gather) or d.start is None for d in self.dims)

    def type_of(self, aval: Any) -> Any:
        """The type of the part of a value of type ``aval``."""
        if len(self.dims) != aval.ndim:
            raise TypeError(f"{len(self.dims)} indices for a reference of shape {aval.shape}")
        ranges = [d.size for d in self.dims if isinstance(d, Range)]
        between = self.shape if self.gathers else ()
        return ShapedArray((*ranges[: self.at], *between, *ranges[self.at :]), aval.dtype)

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.dims))}]"

    def is_all_of(self, shape: tuple[int, ...]) -> bool:
        """Whether it is the whole of an array of this shape."""
        return self.dims == tuple([Range(0, n) for n in shape])


@dataclass(frozen=True, slots=True)
class Bitcast:
    """The same bits as elements of another dtype. The last dimension but one changes its size with theirs;
    the last one where there is only one.
    """

    dtype: Any
    operands = 0

    def type_of(self, aval: Any) -> Any:
        """The type of what a value of type ``aval`` becomes."""
        old, new = aval.itemsize, ShapedArray((), self.dtype).itemsize
        if old == new:
            return ShapedArray(aval.shape, self.dtype)
        along = max(0, aval.ndim - 2)
        if not aval.ndim or (aval.shape[along] * old) % new:
            raise TypeError(f"a reference of type {aval.str_short()} cannot be seen as {self.dtype}")
        shape = list(aval.shape)
        shape[along] = shape[along] * old // new
        return ShapedArray(tuple(shape), self.dtype)


@dataclass(frozen=True, slots=True)
class Reshape:
    """The same elements in another shape."""

    shape: tuple[int, ...]
    operands = 0

    def type_of(self, aval: Any) -> Any:
        """The type of what a value of type ``aval`` becomes."""
        if math.prod(self.shape) != aval.size:
            raise TypeError(f"a reference of shape {aval.shape} cannot be seen in shape {self.shape}")
        return ShapedArray(self.shape, aval.dtype)


@dataclass(frozen=True, slots=True)
class Transpose:
    """The same elements with the dimensions in another order."""

    permutation: tuple[int, ...]
    operands = 0

    def type_of(self, aval: Any) -> Any:
        """The type of what a value of type ``aval`` becomes."""
        return ShapedArray(tuple([aval.shape[d] for d in self.permutation]), aval.dtype)


@dataclass(frozen=True, slots=True)
class Place:
    """Steps that lead from a reference to a part of it; without steps it is the whole.

    Example:
      >>> from rabbet.experimental.pallas.targets import At, Index, Place, Range
      >>> place = Place((Index((At(None), Range(0, 8))),))
      >>> place.operands, place.type_of(rb.typeof(np.zeros((4, 16), np.float32))).shape
      (1, (8,))
    """

    steps: tuple[Index | Bitcast | Reshape | Transpose, ...] = ()

    @property
    def operands(self) -> int:
        """How many operands its steps need together."""
        return sum(step.operands for step in self.steps)

    def type_of(self, aval: Any) -> Any:
        """The type of the part of a value of type ``aval``."""
        for step in self.steps:
            aval = step.type_of(aval)
        return ShapedArray(aval.shape, aval.dtype)

    def __str__(self) -> str:
        return "".join(map(str, self.steps)) or "[...]"


WHOLE = Place()

__all__ = ["WHOLE", "At", "Bitcast", "Gather", "Index", "Place", "Range", "Reshape", "Transpose"]
