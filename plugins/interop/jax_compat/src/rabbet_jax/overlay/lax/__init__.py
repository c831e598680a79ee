"""``jax.lax``: with primitives as ``add_p``, and ``cond`` with an operand for each branch."""

import functools

import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet_jax.named import primitive_named


@functools.wraps(lax.cond)
def cond(pred, *operands, linear=None, **keywords):
    if len(operands) == 4 and callable(operands[1]) and callable(operands[3]) and not callable(operands[0]):
        x, true_fun, y, false_fun = operands
        return lax.cond(pred, lambda x, y: true_fun(x), lambda x, y: false_fun(y), x, y)
    return lax.cond(pred, *operands, **keywords)


def dtype(x, *, align_type=None):
    """The dtype of an array, or what a dtype is called."""
    is_value = isinstance(x, (bool, int, float, complex)) or (
        hasattr(x, "shape") and not isinstance(x, (np.dtype, type))  # dtypes have one, too
    )
    return rb.dtypes.canonicalize(rb.typeof(x).dtype if is_value else x)


def __getattr__(name):
    return primitive_named(name)


ABSENT = "stop_gradient_p while_p cond_p"
