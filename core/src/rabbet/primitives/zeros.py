"""Arrays of one value, and symbolic zeros made real. Tangents are added in ``elementwise.py``, cotangents of
spread operands summed in ``basic_reductions.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.primitives import layout
from rabbet.primitives.extended_dtypes import from_physical
from rabbet.program import python_scalars
from rabbet.program.sharded_types import fitted_over
from rabbet.rules.payloads import Zero
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.typing import Value


def full_of_type(aval: ShapedArray, value: np.generic | float) -> Any:
    """An array of type ``aval`` filled with a scalar; for float0, the NumPy array of that dtype, for an
    extended dtype elements stored as that scalar.

    Example:
      >>> from rabbet.extend.primitive import full_of_type
      >>> full_of_type(rb.typeof(np.ones(3, np.float32)), 7)
      Array([7., 7., 7.], dtype=float32)
    """
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    if aval.is_extended:
        stored = full_of_type(aval.physical, value)
        return from_physical(stored, dtype=aval.dtype)
    scalar = python_scalars.typed(value, aval.dtype)
    if aval.spread is not None:
        return fitted(full_of_type(aval.bare, value), aval)
    if not aval.shape:
        return scalar
    return layout.broadcast_in_dim(scalar, shape=aval.shape, broadcast_dimensions=())


def padding(x: Value) -> Value:
    """A zero to stand around ``x``: of a sum that is not added up yet it is one, too."""
    aval = typeof(x)
    one = aval.update(shape=(), weak_type=False)
    summed = aval.spread is not None and aval.spread.unreduced
    return full_of_type(one.update(spread=aval.spread.of_sums()) if summed else one.bare, 0)


def fitted(x: Value, aval: ShapedArray, entering: bool = False) -> Value:
    """``x`` as a value of type ``aval``, from which its own differs at most in what it says of devices; with
    ``entering`` it becomes a loop's first value.

    Raises:
      TypeError: the shapes differ.
    """
    own = getattr(x, "aval", None)
    shape = getattr(x, "shape", ()) if own is None else own.shape
    if shape != aval.shape:
        raise TypeError(f"a value of shape {shape} stands where {aval.str_short()} is expected")
    have = None if own is None else own.spread
    return x if have is aval.spread else fitted_over(x, have, aval, entering)


def hidden(x: Value) -> Value:
    """``x`` where results are laid out by those who take them: its type says nothing of it."""
    aval = getattr(x, "aval", None)
    return x if aval is None or aval.spread is None else aval.spread.hidden(x)


def instantiate(t: Zero | Value) -> Value:
    """``t``, or an array of zeros if it is a symbolic zero.

    Example:
      >>> from rabbet.extend.primitive import Zero, instantiate
      >>> instantiate(Zero(rb.typeof(np.ones(2, np.float32))))
      Array([0., 0.], dtype=float32)
      >>> instantiate(5.0)
      5.0
    """
    return full_of_type(t.aval, 0) if type(t) is Zero else t


def spread(t: Value, out_shape: tuple[int, ...]) -> Value:
    """A tangent of shape ``out_shape`` from one that is a scalar beside arrays.

    Example:
      >>> from rabbet.extend.rules import spread
      >>> spread(np.float32(2), (3,))
      Array([2., 2., 2.], dtype=float32)
    """
    if type(t) is Zero or typeof(t).shape == out_shape:
        return t
    return layout.broadcast_in_dim(t, shape=out_shape, broadcast_dimensions=())
