"""Bringing operands together: NumPy's promotion of dtypes and broadcasting of shapes, in front of the
primitives.
"""

import warnings

import numpy as np

from rabbet import dtypes
from rabbet.config import config
from rabbet.lax import shapes
from rabbet.messages.source_positions import stacklevel
from rabbet.primitives import convert
from rabbet.program import python_scalars
from rabbet.runtime.array import Array
from rabbet.runtime.values import to_array
from rabbet.trace.interpreter import Tracer, typeof


def promoted(*operands):
    """The operands in their common dtype and shape, by the promotion lattice and NumPy's broadcasting;
    scalars stay scalars.
    """
    avals = [typeof(x) for x in operands]
    dtype, weak = dtypes.promote(*operands)
    return spread([cast(x, a, dtype, weak) for x, a in zip(operands, avals, strict=True)])


def beside(x, y):
    """Two operands in their common dtype, and in one shape unless one is a scalar: elementwise primitives
    spread it themselves.
    """
    a, b = typeof(x), typeof(y)
    if a.dtype != b.dtype or a.weak_type != b.weak_type:
        dtype, weak = dtypes.promote(x, y)
        x, y = cast(x, a, dtype, weak), cast(y, b, dtype, weak)
    return (x, y) if a.shape == b.shape or not a.shape or not b.shape else spread([x, y])


def cast(x, aval, dtype, weak=False):
    """``x`` in ``dtype``; Python scalars stay as they are, they adopt it."""
    if python_scalars.is_python_scalar(x) and python_scalars.fits(x, dtype):
        return x
    if aval.dtype == dtype and (weak or not aval.weak_type or aval.ndim == 0):
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        host = np.asarray(x).astype(dtype)
        if dtypes.narrow(dtype) == dtype:
            return host
        # NumPy values of 64 bits would be narrowed again by whoever takes them next.
        return python_scalars.typed(host, dtype) if host.ndim == 0 else to_array(host, dtype=dtype)
    return convert.convert_element_type(x, new_dtype=dtype, weak_type=weak)


def spread(operands):
    """The operands broadcast to one shape, Python scalars aside."""
    operands = list(operands)
    sizes = [typeof(x).shape for x in operands]
    if len(set(sizes)) > 1:
        full = shapes.broadcast_shapes(*sizes)
        for i, (x, s) in enumerate(zip(operands, sizes, strict=True)):
            if s != full and not python_scalars.is_python_scalar(x):
                operands[i] = shapes.broadcast_to(rank_promotion(x, s, full), full)
    return operands


def rank_promotion(x, have, full):
    """``x``, checked against ``config.numpy_rank_promotion``."""
    if len(have) != len(full) and have and config.numpy_rank_promotion != "allow":
        message = (
            f"operands of shapes {have} and {full} differ in rank, and numpy_rank_promotion is not 'allow'"
        )
        if config.numpy_rank_promotion == "raise":
            raise ValueError(message)
        warnings.warn(message, stacklevel=stacklevel())
    return x


def is_array_like(x):
    """Whether ``x`` may stand beside an array in arithmetic: arrays, NumPy arrays and numbers."""
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic, Tracer, Array))
