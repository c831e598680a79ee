"""Draws of integers and booleans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.functions import fused, is_python_scalar, obeys_out_sharding
from rabbet.extend.transform import typeof
from rabbet.random.arguments import (
    broadcast,
    common_shape,
    dtype_of,
    index_dtype,
    operand,
    parameter,
    scalar,
    shape_of,
    wide,
)  # fmt: skip
from rabbet.random.continuous import gumbels, high_mode, tiny
from rabbet.random.generator import above_zero, fine_unit, random_bits, unit, unsigned
from rabbet.random.keys import subkeys, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value


# ------------------------------------------------------------------------------------------------ randint
@obeys_out_sharding
def randint(
    key: Value,
    shape: int | Sequence[int],
    minval: Value,
    maxval: Value,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Integers spread evenly over [minval, maxval); where that is empty, ``minval``.

    Args:
      key: a single key.
      shape: the shape of the result.
      minval, maxval: integers, or integer arrays that broadcast to ``shape``. What lies outside of
        ``dtype`` is moved to its ends, so that any ``maxval`` beyond its largest value includes that value.
      dtype: an integer dtype, by default that of a Python int.

    Raises:
      TypeError: if ``dtype`` or a bound is not an integer. ValueError: if a bound does not broadcast to
        ``shape``.

    Example:
      >>> x = random.randint(random.key(0), (100,), 1, 7)
      >>> bool((x >= 1).all() & (x < 7).all())
      True
    """
    found = dtype_of(dtype, int, "iu", "randint")
    limits = dtypes.iinfo(found)
    low, _ = _number(minval, found, limits.min, limits.max)
    # Narrow integers are drawn as wider ones, in which one past the largest value is a number like any other.
    high, beyond = _number(maxval, found, limits.min, limits.max + _narrow(found))
    return _randint(key, low, high, beyond and not _narrow(found), shape, found)


def _narrow(dtype):
    return dtypes.itemsize_bits(dtype) < 32


def _number(x, dtype, least, most):
    """(a number moved into the range, whether it was above it); arrays are left to the program."""
    if not isinstance(x, (bool, int, float, np.generic)):
        return x, False
    value = int(x)
    clipped = min(max(value, least), most)
    return parameter_int(clipped, _drawn_as(dtype)), value > most


def parameter_int(value, dtype):
    """An integer, ready for a fused function."""
    if wide(dtype):
        return parameter(dtypes.host_cast(np.asarray(value), dtype), dtype)
    return value if value < 2**31 else dtype.type(value)


def _drawn_as(dtype):
    return np.dtype("int32" if dtypes.kind(dtype) == "i" else "uint32") if _narrow(dtype) else dtype


@fused(static=("through", "shape", "dtype"))
def _randint(key, minval, maxval, through, shape, dtype):
    shape = shape_of(shape, "randint")
    drawn, limits = _drawn_as(dtype), dtypes.iinfo(dtype)
    low = _into(minval, drawn, limits.min, limits.max, "minval")
    high = _into(maxval, drawn, limits.min, limits.max + _narrow(dtype), "maxval")
    if not through and _exceeds(maxval, dtype):
        through = broadcast(
            lax.gt(maxval, scalar(limits.max, typeof(maxval).dtype)), shape, "randint", "maxval"
        )
    low, high = broadcast(low, shape, "randint", "minval"), broadcast(high, shape, "randint", "maxval")
    offsets = evenly(words_of(key, "randint"), shape, low, high, through)
    return lax.convert_element_type(lax.add(low, lax.convert_element_type(offsets, drawn)), dtype)


def _into(x, dtype, least, most, what):
    """A bound as ``dtype``, what is outside ``[least, most]`` moved to the ends."""
    if is_python_scalar(x):
        return scalar(x, dtype)
    aval = typeof(x)
    if dtypes.kind(aval.dtype) == "f":
        x, aval = lax.convert_element_type(x, index_dtype()), aval.update(dtype=index_dtype())
    if dtypes.kind(aval.dtype) not in "iub":
        raise TypeError(f"randint: {what} is an integer, got {aval.str_short()}")
    if aval.dtype != dtype and dtypes.kind(aval.dtype) != "b":
        have = dtypes.iinfo(aval.dtype)
        x = lax.clamp(scalar(max(least, have.min), aval.dtype), x, scalar(min(most, have.max), aval.dtype))
    elif aval.dtype == dtype and (least, most) != (dtypes.iinfo(dtype).min, dtypes.iinfo(dtype).max):
        x = lax.clamp(scalar(least, dtype), x, scalar(most, dtype))
    return lax.convert_element_type(x, dtype)


def _exceeds(x, dtype):
    """Whether an array may hold integers above the largest of a ``dtype`` that is drawn as it is."""
    if is_python_scalar(x) or _narrow(dtype) or dtypes.kind(typeof(x).dtype) not in "iu":
        return False
    return dtypes.iinfo(typeof(x).dtype).max > dtypes.iinfo(dtype).max


def evenly(words, shape, low, high, through):
    """Unsigned integers below ``high - low``, or up to it where ``through`` holds; 0 where there are none.

    Twice as many random bits as the result has, taken modulo the span, make what is left of unevenness too
    small to be seen. The upper half counts 2**bits each; modulo the span, that is the square of 2**(bits /
    2).
    """
    width = dtypes.itemsize_bits(typeof(low).dtype)
    upper, lower = (random_bits(w, shape, width) for w in subkeys(words, 2))
    span = lax.convert_element_type(lax.sub(high, low), unsigned(width))
    if through is not False:
        # Over the whole range the span becomes 0, and by XLA's rule x rem 0 = x: then the lower bits are
        # the result.
        span = lax.add(span, lax.convert_element_type(through, unsigned(width)))
    span = lax.select_n(lax.ge(low, high), span, lax.full_like(span, 1))
    half = lax.rem(lax.full_like(span, 2 ** (width // 2)), span)
    multiplier = lax.rem(lax.mul(half, half), span)
    total = lax.add(lax.mul(lax.rem(upper, span), multiplier), lax.rem(lower, span))
    return lax.rem(total, span)


# --------------------------------------------------------------------------------------------- yes and no
@obeys_out_sharding
def bernoulli(
    key: Value,
    p: Value = 0.5,
    shape: int | Sequence[int] | None = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Value:
    """Booleans that are True with probability ``p``.

    Args:
      key: a single key.
      p: a float or an array of floats.
      shape: the shape of the result; by default that of ``p``.
      mode: ``"high"`` draws from twice as many random bits, so that very small probabilities count.

    Raises:
      TypeError: if ``p`` is not a float. ValueError: if it does not broadcast to ``shape``.

    Example:
      >>> random.bernoulli(random.key(0), 0.3, (5,)).dtype
      dtype('bool')
    """
    return _bernoulli(key, p, shape, mode)


@fused(static=("shape", "mode"))
def _bernoulli(key, p, shape, mode):
    aval = typeof(p)
    if dtypes.kind(aval.dtype) != "f":
        raise TypeError(f"bernoulli: the probability p must be a float, got {aval.str_short()}")
    shape = common_shape(shape, "bernoulli", p)
    dtype = aval.dtype
    draw = fine_unit if high_mode(mode, "bernoulli") else unit
    return lax.lt(
        draw(words_of(key, "bernoulli"), shape, dtype), broadcast(operand(p, dtype), shape, "bernoulli", "p")
    )


@obeys_out_sharding
@fused(static=("shape", "dtype"))
def rademacher(
    key: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Value:
    """-1 or 1, equally likely; ``dtype`` is that of a Python int unless another one is given.

    Example:
      >>> rnp.abs(random.rademacher(random.key(0), (3,)))
      Array([1, 1, 1], dtype=int32)
    """
    shape = shape_of(shape, "rademacher")
    return signs(words_of(key, "rademacher"), shape, dtype_of(dtype, int, "iufc", "rademacher"))


def signs(words, shape, dtype):
    """-1 or 1, equally likely."""
    drawn = np.dtype("float64") if index_dtype().itemsize == 8 else np.dtype("float32")
    heads = lax.lt(unit(words, shape, drawn), 0.5)
    return lax.sub(lax.mul(lax.convert_element_type(heads, dtype), 2), 1)


@obeys_out_sharding
def geometric(
    key: Value,
    p: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """How many trials it takes, from 1 on, until one of probability ``p`` succeeds.

    Example:
      >>> bool((random.geometric(random.key(0), 0.5, (100,)) >= 1).all())
      True
    """
    found = dtype_of(dtype, int, "iu", "geometric")
    if not hasattr(p, "dtype"):
        p = float(p)
    return _geometric(key, p, shape, found)


@fused(static=("shape", "dtype"))
def _geometric(key, p, shape, dtype):
    floating = dtypes.to_inexact(typeof(p).dtype)
    p = operand(p, floating)
    shape = common_shape(shape, "geometric", p)
    logs = lax.log(above_zero(words_of(key, "geometric"), shape, floating, tiny(floating)))
    failures = lax.floor(lax.div(logs, lax.log1p(lax.neg(broadcast(p, shape, "geometric", "p")))))
    # Added as floats: beyond the largest integer is the largest integer, not the smallest.
    return lax.convert_element_type(lax.add(failures, 1.0), dtype)


# --------------------------------------------------------------------------------------------- categories
@obeys_out_sharding
@fused(static=("axis", "shape", "replace", "mode"))
def categorical(
    key: Value,
    logits: Value,
    axis: int = -1,
    shape: int | Sequence[int] | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Categories, drawn with probabilities proportional to ``exp(logits)``.

    Args:
      key: a single key.
      logits: an array of floats.
      axis: along which the categories of one distribution lie.
      shape: the shape of the result: that of ``logits`` without ``axis``, which is the default, after any
        leading dimensions.
      replace: False: the draws of one distribution, along the leading dimensions, are all different.
      mode: as for ``gumbel``.

    Returns:
      positions along ``axis``, of the dtype of a Python int (int32, where they are drawn without
      replacement).

    Example:
      >>> random.categorical(random.key(0), rnp.log(rnp.array([0.1, 0.0, 0.9])), shape=(4,)).shape
      (4,)
    """
    words = words_of(key, "categorical")
    aval = typeof(logits)
    if not aval.ndim:
        raise ValueError("categorical: logits need a dimension along which the categories lie, got a scalar")
    if not -aval.ndim <= axis < aval.ndim:
        raise ValueError(f"categorical: axis {axis} is out of range for logits {aval.str_short()}")
    axis %= aval.ndim
    dtype = dtypes.to_inexact(aval.dtype)
    logits, high = lax.convert_element_type(logits, dtype), high_mode(mode, "categorical")
    batch = (*aval.shape[:axis], *aval.shape[axis + 1 :])
    shape = batch if shape is None else shape_of(shape, "categorical")
    lead = shape[: len(shape) - len(batch)]
    if shape[len(lead) :] != batch and not _fits(batch, shape):
        raise ValueError(f"categorical: shape {shape} must end in the shape of the distributions, {batch}")
    if replace:
        full = (*shape[: len(lead) + axis], aval.shape[axis], *shape[len(lead) + axis :])
        scores = lax.add(gumbels(words, full, dtype, high), broadcast(logits, full, "categorical", "logits"))
        return lax.argmax(scores, len(lead) + axis, index_dtype())
    return _without_replacement(words, logits, axis, shape, lead, high)


def _fits(batch, shape):
    tail = shape[len(shape) - len(batch) :]
    return len(tail) == len(batch) and all(n in (1, m) for n, m in zip(batch, tail))


def _without_replacement(words, logits, axis, shape, lead, high):
    """The categories with the highest scores, as many as the leading dimensions hold."""
    aval = typeof(logits)
    count = int(np.prod(lead, dtype=int))
    if count > aval.shape[axis]:
        raise ValueError(
            f"categorical: {count} draws without replacement need as many categories, there are "
            f"{aval.shape[axis]}"
        )
    scores = lax.add(gumbels(words, aval.shape, aval.dtype, high), logits)
    order = (axis, *[d for d in range(aval.ndim) if d != axis])
    _, places = lax.top_k(scores, count, axis=axis)
    return lax.reshape(lax.transpose(places, order), shape)


__all__ = ["bernoulli", "categorical", "geometric", "rademacher", "randint"]
