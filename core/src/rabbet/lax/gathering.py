"""Reading and writing at many computed positions, with the numbers of StableHLO: gather, scatter and its
relatives.

Most programs want ``x[index]`` and ``x.at[index].set(...)`` instead, which become these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.lax.array_types import ArrayLike, ArrayOrTracer
from rabbet.lax.dynamic import widened
from rabbet.primitives import convert
from rabbet.primitives import gather as gathers
from rabbet.primitives import gather_rules as _gather_rules  # noqa: F401 - its transposition
from rabbet.primitives import scatter as scatters
from rabbet.primitives.gather import FILL_OR_DROP, GatherDimensionNumbers, GatherScatterMode
from rabbet.primitives.scatter import ScatterDimensionNumbers
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.typing import Value


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Value = None,
) -> Value:
    """Windows of ``operand`` at the positions that the last dimension of ``start_indices`` holds.

    Args:
      operand: an array.
      start_indices: integers; the last dimension holds index vectors.
      dimension_numbers: a ``GatherDimensionNumbers``.
      slice_sizes: the window's sizes, one per dimension of ``operand``.
      unique_indices, indices_are_sorted: promises about the index vectors; results are undefined if they are
        broken.
      mode: for windows that leave the array: ``"fill"`` (default) reads ``fill_value``, ``"clip"`` moves them
        inside, ``"promise_in_bounds"`` says that there are none. Or a ``GatherScatterMode``.
      fill_value: by default NaN; the smallest signed, the largest unsigned integer; True.

    Raises:
      TypeError: if numbers and shapes do not fit together.

    Example:
      >>> dims = lax.GatherDimensionNumbers((1,), (0,), (0,))
      >>> x = rnp.arange(6).reshape(3, 2)
      >>> lax.gather(x, rnp.array([[2], [0]]), dims, slice_sizes=(1, 2))
      Array([[4, 5],
             [0, 1]], dtype=int32)
    """
    mode = GatherScatterMode.from_any(mode)
    return gathers.gather(
        operand, widened(start_indices),
        dimension_numbers=tuples_of(dimension_numbers, GatherDimensionNumbers),
        slice_sizes=tuple([s.__index__() for s in slice_sizes]), indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices), mode=mode,
        fill_value=fill_of(fill_value) if mode is FILL_OR_DROP else None,
    )  # fmt: skip


def fill_of(value: Any) -> Any:
    """A fill value as a parameter: a hashable scalar, every NaN being the same object."""
    if value is None:
        return None
    if getattr(value, "shape", ()) != () or not hasattr(value, "__hash__") or hasattr(value, "aval"):
        raise TypeError(
            f"fill_value must be a Python or NumPy scalar, known before the program runs, got {value!r}"
        )
    return np.nan if value != value else value


def tuples_of(numbers: Any, wanted: Any = ScatterDimensionNumbers) -> Any:
    """Dimension numbers whose fields are tuples of ints.

    Raises:
      TypeError: if they are not of the class ``wanted``, or a field is not a sequence of ints.
    """
    if not isinstance(numbers, wanted):
        raise TypeError(f"dimension_numbers must be a lax.{wanted.__name__}, got {numbers!r:.80}")
    try:
        return wanted(*[tuple([d.__index__() for d in field]) for field in numbers])
    except (AttributeError, TypeError):
        raise TypeError(f"the fields of dimension_numbers must be tuples of ints, got {numbers!r}") from None


def _scatterer(primitive: Primitive, doc: str, result: str) -> Callable:
    """The public function of a scatter primitive."""

    def scatterer(
        operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike, dimension_numbers: Any, *,
        indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
    ) -> ArrayOrTracer:  # fmt: skip
        dtype = typeof(operand).dtype
        if typeof(updates).weak_type or not hasattr(updates, "dtype"):
            updates = convert.to_dtype(updates, dtype)
        return primitive(
            operand, widened(scatter_indices), updates, dimension_numbers=tuples_of(dimension_numbers),
            indices_are_sorted=bool(indices_are_sorted), unique_indices=bool(unique_indices),
            mode=GatherScatterMode.from_any(mode),
        )  # fmt: skip

    scatterer.__name__ = scatterer.__qualname__ = primitive.name
    scatterer.__doc__ = f"""{doc}

    Args:
      operand: an array.
      scatter_indices: integers; the last dimension holds index vectors.
      updates: an array of the operand's dtype: the windows, side by side.
      dimension_numbers: a ``ScatterDimensionNumbers``.
      unique_indices, indices_are_sorted: promises about the index vectors; results are undefined if they
        are broken.
      mode: for windows that leave the array: ``"drop"`` (default), ``"clip"`` to move them inside,
        ``"promise_in_bounds"``.

    Raises:
      TypeError: if dtypes differ, or numbers and shapes do not fit together.

    Example:
      >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.{primitive.name}(rnp.array([2, 3, 4]), rnp.array([[0], [2]]), rnp.array([5, 3]), dims)
      Array({result}, dtype=int32)
    """
    return scatterer


scatter = _scatterer(
    scatters.scatter, "``operand`` with windows replaced; where two meet, either may win.", "[5, 3, 3]",
)  # fmt: skip
scatter_add = _scatterer(
    scatters.scatter_add, "``operand`` with windows added to it; where they meet, all count.", "[7, 3, 7]",
)  # fmt: skip
scatter_sub = _scatterer(
    scatters.scatter_sub, "``operand`` with windows subtracted from it; where they meet, all count.",
    "[-3, 3, 1]",
)  # fmt: skip
scatter_mul = _scatterer(
    scatters.scatter_mul, "``operand`` with windows multiplied in; where they meet, all count.",
    "[10, 3, 12]",
)  # fmt: skip
scatter_min = _scatterer(
    scatters.scatter_min, "``operand``, elementwise at most what the windows hold.", "[2, 3, 3]",
)  # fmt: skip
scatter_max = _scatterer(
    scatters.scatter_max, "``operand``, elementwise at least what the windows hold.", "[5, 3, 4]",
)  # fmt: skip

__all__ = [
    "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "gather", "scatter",
    "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub",
]  # fmt: skip
