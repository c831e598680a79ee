"""NumPy's functions that write into an array: here they return a changed copy, and ``inplace`` must be False.

``x.at[index].set(value)`` says most of this more plainly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused
from rabbet.numpy.creation.conversion import array
from rabbet.numpy.elementwise.arithmetic import remainder
from rabbet.numpy.elementwise.logic import truth
from rabbet.numpy.elementwise.selection_and_rounding import clip
from rabbet.numpy.indexing.taking import integer_indices
from rabbet.numpy.reductions.reducing import converted, spread_to
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import as_array, check, kind_of, weak_by

if TYPE_CHECKING:
    from rabbet.typing import Value


def not_in_place(name: Any, inplace: Any, error: Any) -> None:
    """Refuse ``inplace=True``, which is the default, as in NumPy."""
    if inplace:
        raise error(f"{name}: arrays do not change; pass inplace=False and use the array that is returned")


def values_for(name: Any, values: Any, dtype: Any) -> Any:
    """Values in one dimension and the dtype of the array that they are put into."""
    values = array(values) if isinstance(values, (list, tuple, range)) else array_of(name, values)
    values = converted(values, dtype)
    return lax.reshape(values, (values.size,))


@fused(static=("inplace",))
@weak_by(1)
def place(arr: Value, mask: Value, vals: Value, *, inplace: bool = True) -> Value:
    """A copy of ``arr`` with the elements under a mask replaced by ``vals`` in order, from the start again as
    often as needed.

    Args:
      arr: an array.
      mask: booleans, as many as ``arr`` has elements.
      vals: values, taken flat.
      inplace: must be False.

    Raises:
      ValueError: for ``inplace=True``, a mask of another size, no values.

    Example:
      >>> rnp.place(rnp.arange(3), rnp.array([False, True, True]), rnp.array([8, 9]), inplace=False)
      Array([0, 8, 9], dtype=int32)
    """
    not_in_place("place", inplace, ValueError)
    check("place", arr, mask)
    arr, mask, vals = as_array(arr), truth(as_array(mask)), values_for("place", vals, as_array(arr).dtype)
    if mask.size != arr.size:
        raise ValueError(f"place: the mask has {mask.size} elements, the array {arr.size}")
    if not vals.size:
        if not arr.size:
            return arr
        raise ValueError("place: there are no values to put in")
    flags = lax.reshape(mask, (mask.size,))
    number = lax.sub(lax.cumsum(lax.convert_element_type(flags, "int32"), 0), 1)
    chosen = vals[remainder(number, vals.size)]
    return lax.reshape(lax.select(flags, chosen, lax.reshape(arr, (arr.size,))), arr.shape)


@fused(static=("mode", "inplace"))
def put(a: Value, ind: Value, v: Value, mode: str | None = None, *, inplace: bool = True) -> Value:
    """A copy of ``a`` with elements at positions in row-major order replaced.

    Args:
      a: an array.
      ind: integers, taken flat.
      v: values, taken flat, from the start again as often as needed.
      mode: for positions outside: ``"clip"`` (default) takes the nearest one, ``"wrap"`` counts round.
      inplace: must be False.

    Raises:
      ValueError: for ``inplace=True``, another mode. NotImplementedError: for ``"raise"``, which a compiled
        program cannot do.

    Example:
      >>> rnp.put(rnp.arange(4), rnp.array([0, 2]), rnp.array([8, 9]), inplace=False)
      Array([8, 1, 9, 3], dtype=int32)
    """
    not_in_place("put", inplace, ValueError)
    check("put", a)
    a = as_array(a)
    ind = array(ind) if isinstance(ind, (list, tuple, range)) else ind
    at = integer_indices("put", ind)
    at, v = lax.reshape(at, (at.size,)), values_for("put", v, a.dtype)
    if mode == "raise":
        raise NotImplementedError(
            "put: a compiled program cannot raise for a position outside; use mode='clip' or mode='wrap'"
        )
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"put: mode must be 'clip' or 'wrap', got {mode!r}")
    if not a.size or not at.size:
        return a
    if not v.size:
        raise ValueError("put: there are no values to put in")
    v = v[np.arange(at.size, dtype="int32") % v.size]
    if mode == "wrap":
        at = remainder(at, a.size)
    else:
        at = lax.select(lax.lt(at, 0), lax.add(at, a.size), at) if kind_of(at) == "i" else at
        at = clip(at, 0, a.size - 1)
    return lax.reshape(lax.reshape(a, (a.size,)).at[at].set(v, mode="promise_in_bounds"), a.shape)


@fused(static=("wrap", "inplace"))
def fill_diagonal(a: Value, val: Value, wrap: bool = False, *, inplace: bool = True) -> Value:
    """A copy of ``a`` with its diagonal replaced: the elements whose coordinates are all the same.

    Args:
      a: an array of two dimensions or more; of more than two, all must have one size.
      val: a number, or values that fill the diagonal in order, from the start again as often as needed.
      wrap: begin a new diagonal below the end of a tall matrix.
      inplace: must be False.

    Raises:
      NotImplementedError: for ``inplace=True``. ValueError: for an array that has no diagonal.

    Example:
      >>> rnp.fill_diagonal(rnp.zeros((2, 2)), 5.0, inplace=False)
      Array([[5., 0.],
             [0., 5.]], dtype=float32)
    """
    not_in_place("fill_diagonal", inplace, NotImplementedError)
    check("fill_diagonal", a)
    a = as_array(a)
    if a.ndim < 2:
        raise ShapeError(f"fill_diagonal takes arrays of at least two dimensions, got {a.aval.str_short()}")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError(f"fill_diagonal: all dimensions must have one size, got {a.aval.str_short()}")
    if not a.size:
        return a
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + sum(a.shape[0] ** d for d in range(1, a.ndim))
    end = a.size if a.ndim > 2 or wrap else min(a.size, a.shape[1] * a.shape[1])
    at = np.arange(0, end, step, dtype="int32")
    values = values_for("fill_diagonal", val, a.dtype)
    values = spread_to(values, at.shape) if values.size == 1 else values[np.arange(at.size) % values.size]
    return lax.reshape(lax.reshape(a, (a.size,)).at[at].set(values), a.shape)


__all__ = ["fill_diagonal", "place", "put"]
