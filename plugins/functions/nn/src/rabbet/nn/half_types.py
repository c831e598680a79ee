"""Activations of half types and smaller ones: computed in single precision and rounded once, as their slopes.

In the half type their tails are lost (``silu(-11)`` and ``gelu(-4)`` would be 0 in float16). It is one
operation, so that reverse mode keeps one array of the half type, the slope.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from rabbet import dtypes, lax
from rabbet.extend.primitive import Dual, Primitive
from rabbet.extend.transform import typeof
from rabbet.nn.smooth import not_below, smooth_activation

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op, ShapedArray
    from rabbet.typing import Value

HALF = math.sqrt(0.5)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def normal(x: Value) -> Value:
    """The normal distribution function."""
    return lax.mul(lax.erfc(lax.mul(x, -HALF)), 0.5)


def silu(x: Value) -> tuple[Value, Value]:
    return smooth(x, "silu")


def mish(x: Value) -> tuple[Value, Value]:
    return smooth(x, "mish")


def smooth(x: Value, function: str) -> tuple[Value, Value]:
    return tuple([smooth_activation(x, function=function, order=order) for order in (0, 1)])


def gelu(x: Value) -> tuple[Value, Value]:
    p = normal(x)
    density = lax.mul(lax.exp(lax.mul(lax.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return lax.mul(not_below(x), p), lax.add(p, lax.mul(lax.clamp(-100.0, x, 100.0), density))


def gelu_by_tanh(x: Value) -> tuple[Value, Value]:
    return smooth(x, "gelu_by_tanh")


def selu(x: Value) -> tuple[Value, Value]:
    above, below = lax.gt(x, 0.0), lax.min(x, 0.0)
    value = lax.select(above, x, lax.mul(lax.expm1(below), SELU_ALPHA))
    slope = lax.select(above, lax.full_like(x, 1), lax.mul(lax.exp(below), SELU_ALPHA))
    return lax.mul(value, SELU_SCALE), lax.mul(slope, SELU_SCALE)


def soft_sign(x: Value) -> tuple[Value, Value]:
    near = lax.clamp(-1e30, x, 1e30)
    size = lax.div(1.0, lax.add(lax.abs(near), 1.0))
    return lax.mul(near, size), lax.mul(size, size)


def hard_sigmoid(x: Value) -> tuple[Value, Value]:
    value = lax.div(lax.clamp(0.0, lax.add(x, 3.0), 6.0), 6.0)
    return value, lax.select(lax.lt(lax.abs(x), 3.0), lax.full_like(x, 1 / 6), lax.full_like(x, 0))


def hard_silu(x: Value) -> tuple[Value, Value]:
    gate = hard_sigmoid(x)[0]
    inside = lax.div(lax.add(lax.mul(lax.clamp(-3.0, x, 3.0), 2.0), 3.0), 6.0)
    return lax.mul(lax.max(x, -3.0), gate), lax.select(lax.lt(lax.abs(x), 3.0), inside, gate)


def sparse_plus(x: Value) -> tuple[Value, Value]:
    half = lax.mul(lax.add(lax.clamp(-1.0, x, 1.0), 1.0), 0.5)
    return lax.select(lax.ge(x, 1.0), x, lax.mul(half, half)), half


def sparse_sigmoid(x: Value) -> tuple[Value, Value]:
    """The slope at -1 and 1 is the mean of those beside."""
    slope = lax.mul(lax.sub(lax.sign(lax.add(x, 1.0)), lax.sign(lax.sub(x, 1.0))), 0.25)
    return lax.mul(lax.clamp(0.0, lax.add(x, 1.0), 2.0), 0.5), slope


BY_NAME: dict[str, Callable[[Value], tuple[Value, Value]]] = {
    f.__name__: f
    for f in (
        silu, mish, gelu, gelu_by_tanh, selu, soft_sign, hard_sigmoid, hard_silu, sparse_plus, sparse_sigmoid
    )
}  # fmt: skip


def of_half_type(x: ShapedArray, function: str) -> ShapedArray:
    if not is_half(x):
        raise TypeError(f"half_activation takes an array of a half type, got {x.str_short()}")
    return x


half_activation = Primitive(
    "half_activation", of_half_type, kinds=("elementwise", "finite_slope"), operands=("x",),
    doc="an activation of a half type, computed in single precision",
    parameters={"function": "str: which one, a name in BY_NAME"},
)  # fmt: skip


@half_activation.decompose
def in_single(op: Op, x: Value) -> Value:
    return rounded(op, x, 0)


def rounded(op: Op, x: Value, which: int) -> Value:
    """The value (0) or the slope (1), rounded once."""
    wide = lax.convert_element_type(x, "float32")
    return lax.convert_element_type(BY_NAME[op.params["function"]](wide)[which], typeof(x).dtype)


@half_activation.rule("jvp")
def jvp_half_activation(op: Op, x: Dual) -> Dual:
    return Dual(op(x.primal), lax.mul(x.tangent, rounded(op, x.primal, 1)))


def is_half(x: Value | ShapedArray) -> bool:
    return dtypes.kind(x.dtype) == "f" and dtypes.itemsize_bits(x.dtype) <= 16


__all__ = ["SELU_ALPHA", "SELU_SCALE", "half_activation", "is_half"]
