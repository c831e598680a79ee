"""``jax.lax``: with primitives as ``add_p``, ``cond`` with an operand for each branch, and functions that
take operands of one dtype alone.
"""

import functools

import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet_jax.primitives_by_name import primitive_named
from rabbet_jax.strict_operands import FUNCTIONS
from rabbet_jax.window_shapes import (
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose_shape_tuple,
    reduce_window_shape_tuple,
)


@functools.wraps(lax.cond)
def cond(pred, *operands, linear=None, **keywords):
    if len(operands) == 4 and callable(operands[1]) and callable(operands[3]) and not callable(operands[0]):
        x, true_fun, y, false_fun = operands
        return lax.cond(pred, lambda x, y: true_fun(x), lambda x, y: false_fun(y), x, y)
    return lax.cond(pred, *operands, **keywords)


NUMBERS = (bool, int, float, complex)  # Python's: this module has a function `complex`, once it is asked for


def dtype(x, *, align_type=None):
    """The dtype of an array, or what a dtype is called."""
    is_value = isinstance(x, NUMBERS) or (
        hasattr(x, "shape") and not isinstance(x, (np.dtype, type))  # dtypes have one, too
    )
    return rb.dtypes.canonicalize(rb.typeof(x).dtype if is_value else x)


def dce_sink(val, *, prevent_mlir_dce=False):
    """Take ``val`` and do nothing: no program keeps what computes it, which a compiler may drop in JAX too.

    Args:
      val: a pytree of arrays.
      prevent_mlir_dce: not offered: what the compiler must not drop is returned, or goes to ``io_callback``.
    """
    if prevent_mlir_dce:
        raise NotImplementedError("dce_sink: return the value, or hand it to io_callback, to compute it")


def shape_as_value(shape):
    """A shape as an array of int32."""
    return rb.numpy.asarray(tuple(shape), "int32").reshape(len(tuple(shape)))


def one_minus_square(x):
    """``1 - x**2``, computed as ``(1 + x) * (1 - x)``, exact near 1, with the derivative ``-2 * x``."""
    return _one_minus_square(rb.numpy.asarray(x))


@functools.cache
def _with_derivative():
    product = rb.custom_jvp(lambda x: (1 + x) * (1 - x))
    product.defjvp(lambda primals, tangents: (product(*primals), -2 * primals[0] * tangents[0]))
    return product


def _one_minus_square(x):
    return _with_derivative()(x)


globals().update(FUNCTIONS)


def __getattr__(name):
    return primitive_named(name)


ABSENT = "stop_gradient_p while_p cond_p"
