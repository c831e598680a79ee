"""Activations: functions of one array, elementwise. They compute in floats; integers and booleans are
converted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import fused, is_array_like, with_weak_type
from rabbet.extend.transform import Tracer, typeof
from rabbet.nn.half_types import SELU_ALPHA, SELU_SCALE, half_activation, is_half
from rabbet.nn.smooth import smooth_activation

if TYPE_CHECKING:
    from rabbet.typing import Value

ARRAYS = frozenset((Array, Tracer))
ORDERS = {"greater": lax.gt, "greater_equal": lax.ge, "less": lax.lt, "less_equal": lax.le}


def as_array(name, x):
    """``x`` as an array.

    Raises:
      TypeError: if it is neither an array nor a number.
    """
    if type(x) in ARRAYS:
        return x
    if not is_array_like(x):
        raise TypeError(
            f"{name} takes an array or a number, got a {type(x).__name__}; make it an array first"
        )
    return rnp.asarray(x)


def as_float(name, x, weak=True, *, with_number=False):
    """``x`` as an array of a float dtype; integers and booleans are converted, those with a weak type to one
    with a weak type, unless ``weak`` is False. ``with_number``: as beside a Python float, to its weak dtype.
    """
    x = as_array(name, x)
    if dtypes.kind(x.dtype) in "fc":
        return x if weak or not x.weak_type else with_weak_type(x, False)
    if not x.weak_type and not with_number:
        return lax.convert_element_type(x, dtypes.to_inexact(x.dtype))
    return with_weak_type(x, weak, dtypes.scalar_dtype(float))


def as_integer(x):
    """Booleans as beside a Python integer, in its weak dtype; another array as it is."""
    return with_weak_type(x, True, dtypes.scalar_dtype(int)) if dtypes.kind(x.dtype) == "b" else x


def compared(order, x, y):
    """Where ``x`` is in an order to the number ``y``; complex numbers by their real part, then their
    imaginary part, as in NumPy.
    """
    return getattr(rnp, order)(x, y) if dtypes.kind(x.dtype) == "c" else ORDERS[order](x, y)


def positive_part(x):
    """``max(x, 0)``, NaN where ``x`` is, with derivative 0 at 0 and there: a selection, where a maximum would
    share the derivative between its two sides.
    """
    return lax.select(compared("greater", x, 0), x, lax.max(lax.stop_gradient(x), 0))


@fused
def relu(x: Value) -> Value:
    """``max(x, 0)``, in the dtype of ``x``. Its derivative at 0 is 0.

    Raises:
      TypeError: if ``x`` is neither an array nor a number.

    Example:
      >>> nn.relu(rnp.array([-1.0, 2.0]))
      Array([0., 2.], dtype=float32)
    """
    x = as_array("relu", x)
    return positive_part(as_integer(x))


@fused
def relu6(x: Value) -> Value:
    """``min(max(x, 0), 6)``. Its derivative at 0 and at 6 is 0.

    Example:
      >>> nn.relu6(rnp.array([-1.0, 2.0, 8.0]))
      Array([0., 2., 6.], dtype=float32)
    """
    x = as_float("relu6", x, with_number=True)
    return lax.select(compared("less", x, 6), positive_part(x), lax.min(lax.stop_gradient(x), 6))


def sigmoid(x: Value) -> Value:
    """``1 / (1 + exp(-x))``.

    Example:
      >>> nn.sigmoid(rnp.array([-1.0, 0.0]))
      Array([0.26894143, 0.5       ], dtype=float32)
    """
    return lax.logistic(x) if type(x) in ARRAYS and x.aval.kind in "fc" else logistic(x)


@fused
def logistic(x):
    return lax.logistic(as_float("sigmoid", x))


def tanh(x: Value) -> Value:
    """The hyperbolic tangent.

    Example:
      >>> nn.tanh(rnp.array([-1.0, 0.0, 1.0]))
      Array([-0.7615942,  0.       ,  0.7615942], dtype=float32)
    """
    return rnp.tanh(x)


def identity(x: Value) -> Value:
    """``x`` itself.

    Example:
      >>> nn.identity(rnp.array([1.0, 2.0]))
      Array([1., 2.], dtype=float32)
    """
    return as_array("identity", x)


def softplus(x: Value) -> Value:
    """``log(1 + exp(x))`` without overflow: a smooth ``relu``.

    Example:
      >>> nn.softplus(rnp.array([-100.0, 0.0, 100.0]))
      Array([  0.       ,   0.6931472, 100.       ], dtype=float32)
    """
    x = as_array("softplus", x)
    return rnp.logaddexp(as_float("softplus", x) if dtypes.kind(x.dtype) in "iu" else x, 0.0)


def log_sigmoid(x: Value) -> Value:
    """``log(sigmoid(x))`` without underflow.

    Example:
      >>> nn.log_sigmoid(rnp.array([-100.0, 0.0]))
      Array([-100.       ,   -0.6931472], dtype=float32)
    """
    return minus_softplus_of_minus(x)


@fused
def minus_softplus_of_minus(x):
    return lax.neg(softplus(lax.neg(as_float("log_sigmoid", x))))


@fused
def soft_sign(x: Value) -> Value:
    """``x / (1 + |x|)``.

    Example:
      >>> nn.soft_sign(rnp.array([-1.0, 3.0]))
      Array([-0.5 ,  0.75], dtype=float32)
    """
    x = as_float("soft_sign", x)
    if is_half(x):
        return half_activation(x, function="soft_sign")
    if dtypes.kind(x.dtype) == "c":
        return rnp.divide(x, lax.add(lax.abs(x), 1.0))
    far = lax.gt(lax.abs(x), 1.0)
    beyond = lax.mul(lax.sign(x), lax.sub(1.0, lax.div(1.0, lax.add(lax.abs(x), 1.0))))
    near = lax.select(far, lax.full_like(x, 0), x)
    return lax.select(far, beyond, lax.div(near, lax.add(lax.abs(near), 1.0)))


@fused
def silu(x: Value) -> Value:
    """``x * sigmoid(x)``, also called swish.

    Example:
      >>> nn.silu(rnp.array([-1.0, 2.0]))
      Array([-0.26894143,  1.761594  ], dtype=float32)
    """
    x = as_float("silu", x)
    if is_half(x):
        return half_activation(x, function="silu")
    if dtypes.kind(x.dtype) == "c":
        return lax.mul(x, lax.logistic(x))
    return smooth_activation(x, function="silu", order=0)


swish = silu


@fused
def mish(x: Value) -> Value:
    """``x * tanh(softplus(x))``.

    Example:
      >>> nn.mish(rnp.array([-1.0, 2.0]))
      Array([-0.30340144,  1.943959  ], dtype=float32)
    """
    x = as_float("mish", x)
    if is_half(x):
        return half_activation(x, function="mish")
    if dtypes.kind(x.dtype) == "c":
        return lax.mul(x, lax.tanh(softplus(x)))
    return smooth_activation(x, function="mish", order=0)


@fused(static=("approximate",))
def gelu(x: Value, approximate: bool = True) -> Value:
    """``x`` times the normal distribution function at ``x``.

    Args:
      x: an array.
      approximate: True: by the usual formula with ``tanh``; False: by the error function.

    Example:
      >>> nn.gelu(rnp.array([-1.0, 2.0]))
      Array([-0.15880796,  1.9545977 ], dtype=float32)
    """
    x = as_float("gelu", x)
    if is_half(x):
        return half_activation(x, function="gelu_by_tanh" if approximate else "gelu")
    if dtypes.kind(x.dtype) == "c":
        return x_times_share(x, approximate)
    if approximate:
        return smooth_activation(x, function="gelu_by_tanh", order=0)
    near = lax.clamp(-100.0, x, 100.0)  # beyond it is 0 and x, and a cube or a product could be infinite
    return lax.select(lax.gt(x, 100.0), x, x_times_share(near, approximate=False))


def x_times_share(x, approximate):
    """``x`` times the normal distribution function; ``(1 + tanh u) / 2`` is ``logistic(2 u)``, in which
    nothing cancels.
    """
    if approximate:
        inner = lax.add(lax.mul(lax.mul(x, x), 0.044715), 1.0)
        return lax.mul(x, lax.logistic(lax.mul(lax.mul(x, inner), 2 * math.sqrt(2 / math.pi))))
    return lax.mul(lax.mul(x, 0.5), lax.erfc(lax.mul(x, -math.sqrt(0.5))))


def exponential_below_zero(x, scale, rate=None):
    """``x`` above zero, ``scale * (exp(x / rate) - 1)`` below. The exponential sees no positive ``x``, so
    it never overflows.
    """
    positive = compared("greater", x, 0.0)
    below = lax.select(positive, lax.full_like(x, 0), x)
    below = below if rate is None else rnp.divide(below, rate)
    return rnp.where(positive, x, rnp.multiply(scale, lax.expm1(below)))


@fused
def elu(x: Value, alpha: Value = 1.0) -> Value:
    """``x`` above zero, ``alpha * (exp(x) - 1)`` below.

    Example:
      >>> nn.elu(rnp.array([-1.0, 2.0]))
      Array([-0.63212055,  2.        ], dtype=float32)
    """
    return exponential_below_zero(as_float("elu", x, with_number=True), alpha)


@fused
def celu(x: Value, alpha: Value = 1.0) -> Value:
    """``x`` above zero, ``alpha * (exp(x / alpha) - 1)`` below: ``elu`` with a continuous derivative.

    Example:
      >>> nn.celu(rnp.array([-1.0, 2.0]))
      Array([-0.63212055,  2.        ], dtype=float32)
    """
    return exponential_below_zero(as_float("celu", x, with_number=True), alpha, alpha)


@fused
def selu(x: Value) -> Value:
    """``elu`` scaled so that means and variances of layers stay near 0 and 1.

    Example:
      >>> nn.selu(rnp.array([-1.0, 2.0]))
      Array([-1.1113307,  2.101402 ], dtype=float32)
    """
    x = as_float("selu", x, with_number=True)
    if is_half(x):
        return half_activation(x, function="selu")
    return lax.mul(exponential_below_zero(x, SELU_ALPHA), SELU_SCALE)


@fused
def leaky_relu(x: Value, negative_slope: Value = 0.01) -> Value:
    """``x`` above zero, ``negative_slope * x`` below.

    Example:
      >>> nn.leaky_relu(rnp.array([-1.0, 2.0]))
      Array([-0.01,  2.  ], dtype=float32)
    """
    x = as_float("leaky_relu", x, with_number=True)
    return rnp.where(compared("greater_equal", x, 0.0), x, rnp.multiply(negative_slope, x))


@fused
def hard_tanh(x: Value) -> Value:
    """``x`` kept between -1 and 1; integers stay integers.

    Example:
      >>> nn.hard_tanh(rnp.array([-3.0, 0.5, 3.0]))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = as_integer(as_array("hard_tanh", x))
    one = lax.full_like(x, 1)
    if dtypes.kind(x.dtype) == "u":
        return lax.min(x, one)
    above, below = compared("greater", x, 1), compared("less", x, -1)
    return lax.select(above, one, lax.select(below, lax.neg(one), x))


@fused
def hard_sigmoid(x: Value) -> Value:
    """``relu6(x + 3) / 6``.

    Example:
      >>> nn.hard_sigmoid(rnp.array([-3.0, 0.0, 3.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = as_float("hard_sigmoid", x, with_number=True)
    if is_half(x):
        return half_activation(x, function="hard_sigmoid")
    return lax.div(relu6(lax.add(x, 3.0)), 6.0)


@fused
def hard_silu(x: Value) -> Value:
    """``x * hard_sigmoid(x)``, also called hard swish.

    Example:
      >>> nn.hard_silu(rnp.array([-3.0, 0.0, 3.0]))
      Array([-0.,  0.,  3.], dtype=float32)
    """
    x = as_float("hard_silu", x, with_number=True)
    if is_half(x):
        return half_activation(x, function="hard_silu")
    return lax.mul(x, hard_sigmoid(x))


hard_swish = hard_silu


@fused
def squareplus(x: Value, b: Value = 4.0) -> Value:
    """``(x + sqrt(x**2 + b)) / 2``: a smooth ``relu`` without exponentials.

    Example:
      >>> nn.squareplus(rnp.array([-1.0, 0.0]))
      Array([0.618034, 1.      ], dtype=float32)
    """
    x = as_float("squareplus", x)
    if is_half(x):
        wide = squareplus(lax.convert_element_type(x, "float32"), b)
        return lax.convert_element_type(wide, dtypes.result_type(x, b))
    if dtypes.kind(x.dtype) == "c":
        return rnp.multiply(rnp.add(x, lax.sqrt(rnp.add(lax.square(x), b))), 0.5)
    large = rnp.greater(lax.abs(x), 1)
    size = lax.abs(rnp.where(large, x, 1))
    share = rnp.multiply(b, lax.square(lax.div(1.0, size)))  # the square of the size may be infinite
    root = rnp.multiply(size, lax.sqrt(rnp.add(share, 1)))
    root = rnp.where(large, root, lax.sqrt(rnp.add(lax.square(rnp.where(large, 1, x)), b)))
    below = rnp.less(x, -1)  # where the sum of both is lost, what it is by its product with the difference
    x, root = lax.mul(x, 0.5), lax.mul(root, 0.5)
    quotient = rnp.divide(rnp.multiply(b, 0.25), rnp.where(below, rnp.subtract(root, x), 1))
    return rnp.where(below, quotient, rnp.add(x, root))


@fused
def sparse_plus(x: Value) -> Value:
    """0 below -1, ``x`` above 1, ``(x + 1)**2 / 4`` between.

    Example:
      >>> nn.sparse_plus(rnp.array([-2.0, 0.0, 2.0]))
      Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = as_float("sparse_plus", x, with_number=True)
    if is_half(x):
        return half_activation(x, function="sparse_plus")
    if dtypes.kind(x.dtype) == "c":
        between = lax.mul(lax.square(lax.add(x, 1.0)), 0.25)
        positive = rnp.where(rnp.greater_equal(x, 1.0), x, between)
        return rnp.where(rnp.less_equal(x, -1.0), 0, positive)
    inside = lax.select(lax.ge(lax.abs(x), 1.0), lax.full_like(x, 1), x)  # the square may be infinite
    between = lax.mul(lax.square(lax.add(inside, 1.0)), 0.25)
    return lax.select(lax.le(x, -1.0), lax.full_like(x, 0), lax.select(lax.ge(x, 1.0), x, between))


@fused
def sparse_sigmoid(x: Value) -> Value:
    """0 below -1, 1 above 1, ``(x + 1) / 2`` between.

    Example:
      >>> nn.sparse_sigmoid(rnp.array([-2.0, 0.0, 2.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = as_float("sparse_sigmoid", x, with_number=True)
    if is_half(x):
        return half_activation(x, function="sparse_sigmoid")
    return lax.mul(lax.min(lax.max(lax.add(x, 1.0), 0.0), 2.0), 0.5)


@fused
def log1mexp(x: Value) -> Value:
    """``log(1 - exp(-x))`` for positive ``x``, by whichever of two formulas is exact there.

    Example:
      >>> nn.log1mexp(rnp.array([1e-3, 1.0]))
      Array([-6.908255  , -0.45867515], dtype=float32)
    """
    x = as_float("log1mexp", x)
    small = compared("less_equal", x, math.log(2))
    one = lax.full_like(x, 1)
    near = lax.log(lax.neg(lax.expm1(lax.neg(lax.select(small, x, one)))))
    far = lax.log1p(lax.neg(lax.exp(lax.neg(lax.select(small, one, x)))))
    return lax.select(small, near, far)


@fused(static=("axis",))
def glu(x: Value, axis: int = -1) -> Value:
    """The first half of ``x`` along ``axis`` times the sigmoid of the second half.

    Raises:
      ValueError: if the axis has an odd number of elements.

    Example:
      >>> nn.glu(rnp.array([1.0, 2.0, 0.0, 0.0]))
      Array([0.5, 1. ], dtype=float32)
    """
    x = as_float("glu", x)
    size = x.shape[axis]
    if size % 2:
        raise ValueError(
            f"glu takes an even number of elements along axis {axis}, got {typeof(x).str_short()}"
        )
    first, second = rnp.split(x, 2, axis)
    if dtypes.kind(second.dtype) == "c":
        return lax.mul(first, lax.logistic(second))
    return lax.mul(first, smooth_activation(second, function="logistic", order=0))


__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]
