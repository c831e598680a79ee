"""Arrays and indices written as indices: ``r_[0:3, 7]``, ``mgrid[0:2, 0:3]``, ``s_[::2]``, ``ix_``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from rabbet import lax
from rabbet.extend.functions import folded
from rabbet.numpy.creation.conversion import array
from rabbet.numpy.creation.new_arrays import arange, linspace, ones
from rabbet.numpy.indexing.searching import nonzero
from rabbet.numpy.shapes.joining import concatenate
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import as_array, kind_of
from rabbet.numpy.support.types import result_type

if TYPE_CHECKING:
    from rabbet.typing import Value


def span_of(who: Any, item: Any) -> Any:
    """The numbers that a slice describes: ``start:stop:step``, or with an imaginary step, such as ``5j``,
    that many numbers from ``start`` to ``stop``, both included.
    """
    start, stop = 0 if item.start is None else item.start, item.stop
    step = 1 if item.step is None else item.step
    if stop is None:
        raise ValueError(f"{who}: a slice needs an end, got {item}")
    if isinstance(step, complex):
        if step.real or step.imag != int(step.imag):
            raise ValueError(f"{who}: an imaginary step counts numbers, as 5j does; got {step}")
        return linspace(start, stop, int(abs(step.imag)))
    return arange(start, stop, step)


# ------------------------------------------------------------------------------------------------- grids
@folded
class Grid:
    """Coordinates of a grid: ``grid[0:2, 0:3]``. See ``mgrid`` and ``ogrid``."""

    def __init__(self, name: Any, dense: Any) -> None:
        self.name, self.dense = name, dense

    def __repr__(self) -> Any:
        return f"rabbet.numpy.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return span_of(self.name, key)
        lines = [span_of(self.name, item) for item in key]
        dtype = result_type(*lines) if lines else None
        rank, out = len(lines), []
        for axis, line in enumerate(lines):
            shape = [line.shape[0] if d == axis else 1 for d in range(rank)]
            out.append(lax.reshape(lax.convert_element_type(line, dtype), shape))
        if not self.dense:
            return out
        if not out:
            return arange(0)
        full = tuple([line.shape[0] for line in lines])
        return lax.stack([lax.broadcast_in_dim(x, full, tuple(range(rank))) for x in out])


mgrid = Grid("mgrid", True)
"""``mgrid[0:2, 0:3]``: the coordinates of all points of a grid, an array of shape ``(2, 2, 3)``."""
ogrid = Grid("ogrid", False)
"""``ogrid[0:2, 0:3]``: the coordinates of a grid along each axis, as arrays that broadcast."""


def ix_(*args: Any) -> tuple[Value, ...]:
    """Vectors of positions as an index of the grid that they span: ``x[ix_([0, 2], [1, 3])]`` has four
    elements.

    Args:
      args: vectors of integers, or of booleans, whose values must be known.

    Returns:
      a tuple of arrays that broadcast against each other.

    Raises:
      ValueError: for arrays with more or fewer dimensions than one.

    Example:
      >>> rnp.arange(9).reshape(3, 3)[rnp.ix_(rnp.array([0, 2]), rnp.array([1, 2]))]
      Array([[1, 2],
             [7, 8]], dtype=int32)
    """
    out, rank = [], len(args)
    for axis, positions in enumerate(args):
        if isinstance(positions, (list, tuple, range)):
            positions = array(positions)
        positions = array_of("ix_", positions)
        if positions.ndim != 1:
            raise ValueError(f"ix_ takes vectors, got {positions.aval.str_short()}")
        if kind_of(positions) == "b":
            (positions,) = nonzero(positions)
        if not positions.shape[0]:
            positions = lax.convert_element_type(positions, int)
        out.append(lax.reshape(positions, [positions.shape[0] if d == axis else 1 for d in range(rank)]))
    return tuple(out)


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> tuple[Value, ...]:
    """The positions of the elements of a matrix of ``n`` rows and columns that ``mask_func`` keeps.

    Args:
      n: an int.
      mask_func: a function of a matrix and ``k``, such as ``triu``.
      k: passed on to it.
      size: how many positions, for a ``mask_func`` whose result is traced; see ``nonzero``.

    Returns:
      two vectors of integers, rows and columns.

    Example:
      >>> rnp.mask_indices(2, rnp.triu)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return nonzero(mask_func(ones((operator.index(n),) * 2), k), size=size)


# ---------------------------------------------------------------------------------------------- index exp
class IndexExpression:
    """``s_[1:3, ...]``: what stands between the brackets, as a value."""

    def __init__(self, name: Any, as_tuple: Any) -> None:
        self.name, self.as_tuple = name, as_tuple

    def __repr__(self) -> Any:
        return f"rabbet.numpy.{self.name}"

    def __getitem__(self, item: tuple[Any, ...] | int) -> tuple[Any, ...] | int:
        return (item,) if self.as_tuple and not isinstance(item, tuple) else item


s_ = IndexExpression("s_", False)
"""``s_[1:3, ...]``: an index as a value, ``x[s_[1:3]]`` is ``x[1:3]``."""
index_exp = IndexExpression("index_exp", True)
"""As ``s_``, and always a tuple."""


# ------------------------------------------------------------------------------------------- joined pieces
@folded
class Joined:
    """Arrays, numbers and slices joined along an axis: ``r_[0:3, 7, x]``. See ``r_`` and ``c_``."""

    def __init__(self, name: Any, axis: Any, rank: Any, place: Any) -> None:
        self.name, self.axis, self.rank, self.place = name, axis, rank, place

    def __repr__(self) -> Any:
        return f"rabbet.numpy.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        axis, rank, place, matrix = self.axis, self.rank, self.place, None
        if items and isinstance(items[0], str):
            axis, rank, place, matrix = self.directive(items[0])
            items = items[1:]
        pieces = [self.piece(item, rank, place) for item in items]
        out = concatenate(pieces, axis)
        if matrix and out.ndim == 1:
            out = lax.expand_dims(out, (0,) if matrix == "r" else (1,))
        return out

    def directive(self, text: Any) -> Any:
        """(axis, least number of dimensions, where those of an item go, "r" or "c" or None)."""
        if text in ("r", "c"):
            return -1, self.rank, self.place, text
        try:
            axis, rank, place, *rest = [*[int(part) for part in text.split(",")], *[None] * 3][:4]
        except ValueError:
            rest = [text]
        if rest != [None] or len(text.split(",")) > 3:
            raise ValueError(
                f"{self.name}: {text!r} is not understood; a first text is 'r', 'c' or up to three ints, "
                "'axis,dimensions,first'"
            )
        return axis, self.rank if rank is None else rank, self.place if place is None else place, None

    def piece(self, item: Any, rank: Any, place: Any) -> Any:
        """One item as an array with at least ``rank`` dimensions."""
        if isinstance(item, slice):
            item, have = span_of(self.name, item), 1
        else:
            item = array(item) if isinstance(item, (list, tuple, range)) else as_array(item)
            have = item.ndim
            item = lax.reshape(item, (1,)) if not have else item
        missing = rank - item.ndim
        if missing <= 0:
            return item
        # `place` says where the item's own first dimension goes; negative, counted from the last place.
        first = place if place >= 0 else missing + 1 + place
        first = 0 if have == 0 else min(max(first, 0), missing)
        new = [d for d in range(rank) if not first <= d < first + item.ndim]
        return lax.expand_dims(item, tuple(new))


r_ = Joined("r_", 0, 1, -1)
"""``r_[0:3, 7, x]``: the pieces joined along the first axis. A slice is a range, with an imaginary step
(``0:1:5j``) that many numbers, both ends included. A first text, ``"axis,dimensions,first"``, changes the
axis, the least number of dimensions, and where a piece's own first dimension goes among them; ``"r"`` and
``"c"`` make a matrix of one row or one column.
"""
c_ = Joined("c_", -1, 2, 0)
"""``c_[x, y]``: vectors as the columns of a matrix; ``r_["-1,2,0", x, y]``."""


__all__ = ["c_", "index_exp", "ix_", "mask_indices", "mgrid", "ogrid", "r_", "s_"]
