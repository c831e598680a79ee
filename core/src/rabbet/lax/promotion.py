"""Bringing operands together: NumPy's promotion of dtypes and broadcasting of shapes, in front of the
primitives.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.config import config
from rabbet.dtypes.array_protocol import array_of
from rabbet.lax import broadcasting
from rabbet.lax.array_types import ArrayLike, DTypeLike
from rabbet.messages.operation_origin import asked_by_library
from rabbet.messages.source_positions import stacklevel
from rabbet.primitives import convert
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.arrays.values import to_array
from rabbet.trace.interpreter import typeof
from rabbet.trace.tracer import Tracer


def promote_operands(*operands: Any, to: Any = None) -> list:
    """The operands in their common dtype and shape, a list; bare numbers stay numbers.

    Args:
      operands: arrays, NumPy arrays and numbers.
      to: ``(dtype, weak)``, the dtype to take instead and whether it is weak; by default what the operands
        promote to.

    Example:
      >>> from rabbet.extend.functions import promote_operands
      >>> x, y, z = promote_operands(np.ones((2, 1), np.float16), np.ones(3, np.float32), 2.0)
      >>> rb.typeof(x).str_short(), rb.typeof(y).str_short(), z
      ('f32[2,3]', 'f32[2,3]', 2.0)
    """
    xs = [opened(x) for x in operands]
    avals = [typeof(x) for x in xs]
    dtype, weak = dtypes.promote(*xs) if to is None else to
    return broadcast_operands([cast_operand(x, a, dtype, weak) for x, a in zip(xs, avals, strict=True)])


def opened(x: Any) -> Any:
    """The array that an object gives by ``__jax_array__``; everything else as it is."""
    if type(x) is Array or type(x) is Tracer or not hasattr(x, "__jax_array__"):
        return x
    return array_of(x)


def beside(x: ArrayLike, y: ArrayLike) -> Sequence[Any]:
    """Two operands in their common dtype, and in one shape unless one is a scalar: elementwise primitives
    spread it themselves.
    """
    a, b = typeof(x), typeof(y)
    if a.dtype != b.dtype or a.weak_type != b.weak_type:
        dtype, weak = dtypes.promote(x, y)
        x, y = cast_operand(x, a, dtype, weak), cast_operand(y, b, dtype, weak)
    return (x, y) if a.shape == b.shape or not a.shape or not b.shape else broadcast_operands([x, y])


def cast_operand(x: ArrayLike, aval: ShapedArray, dtype: DTypeLike, weak: bool = False) -> Any:
    """``x`` in ``dtype``; Python scalars stay as they are, they adopt it.

    Args:
      x: an array, a tracer, a NumPy array or a number.
      aval: its type, ``typeof(x)``.
      dtype: the dtype to bring it to.
      weak: whether the result gives way in promotion.

    Example:
      >>> from rabbet.extend.functions import cast_operand
      >>> from rabbet.extend.transform import typeof
      >>> x = rb.device_put(np.arange(3))
      >>> cast_operand(x, typeof(x), np.dtype("float32")).dtype.name
      'float32'
    """
    if python_scalars.is_python_scalar(x) and python_scalars.fits(x, dtype):
        return x
    if aval.dtype == dtype and (weak or not aval.weak_type or aval.ndim == 0):
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        host = dtypes.host_cast(np.asarray(x), dtype)
        if dtypes.narrow(dtype) == dtype:
            return host
        # NumPy values of 64 bits would be narrowed again by whoever takes them next.
        return python_scalars.typed(host, dtype) if host.ndim == 0 else to_array(host, dtype=dtype)
    return convert.convert_element_type(x, new_dtype=dtype, weak_type=weak)


def broadcast_operands(operands: Sequence[Any]) -> list:
    """The operands broadcast to one shape, Python scalars aside.

    Example:
      >>> from rabbet.extend.functions import broadcast_operands
      >>> [np.shape(x) for x in broadcast_operands([np.ones((2, 1)), np.ones(3), 1.0])]
      [(2, 3), (2, 3), ()]
    """
    operands = list(operands)
    sizes = [typeof(x).shape for x in operands]
    if len(set(sizes)) > 1:
        full = broadcasting.broadcast_shapes(*sizes)
        for i, (x, s) in enumerate(zip(operands, sizes, strict=True)):
            if s != full and not python_scalars.is_python_scalar(x):
                operands[i] = broadcasting.broadcast_to(rank_promotion(x, s, full), full)
    return operands


def rank_promotion(x: ArrayLike, have: Any, full: Any) -> Any:
    """``x``, of the shape ``have``, checked against ``config.numpy_rank_promotion`` before it is broadcast
    to the shape ``full``. What a library does within its functions is not refused.

    Example:
      >>> from rabbet.extend.wrapping import rank_promotion
      >>> rank_promotion(1.0, (), (3,))
      1.0
    """
    if len(have) != len(full) and have and config.numpy_rank_promotion != "allow":
        if asked_by_library():
            return x
        why = f"operands of shapes {have} and {full} differ in rank, and numpy_rank_promotion is not 'allow'"
        if config.numpy_rank_promotion == "raise":
            raise ValueError(f"could not be broadcast together: {why}")
        warnings.warn(why, stacklevel=stacklevel())
    return x


def is_array_like(x: Any) -> bool:
    """Whether ``x`` may stand beside an array in arithmetic: arrays, NumPy arrays, numbers, and objects that
    give an array by ``__jax_array__``.

    Example:
      >>> from rabbet.extend.functions import is_array_like
      >>> is_array_like(np.ones(3)), is_array_like([1.0, 2.0])
      (True, False)
    """
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic, Tracer, Array)) or (
        hasattr(x, "__jax_array__") and not isinstance(x, type)
    )
