"""Choosing and rounding, elementwise: where, clip, select, round, and the parts of complex numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.functions import fused, is_python_scalar, with_weak_type
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.logic import truth
from rabbet.numpy.elementwise.transcendental import strong
from rabbet.numpy.reductions.reducing import converted, spread_to
from rabbet.numpy.support.arguments import (
    as_array,
    check,
    in_dtype,
    kind_of,
    no_out,
    promote,
    promote_to_float,
)
from rabbet.numpy.support.ufuncs import unary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.extend.primitive import Primitive
    from rabbet.typing import Value


@fused
def choose_by(condition: Value, x: Value, y: Value) -> Any:
    """``where`` with three arguments."""
    check("where", condition, x, y)
    condition = truth(condition)
    dtype, weak = dtypes.promote(x, y)
    x, y = in_dtype((x, y), dtype, weak)
    shape = lax.broadcast_shapes(typeof(condition).shape, typeof(x).shape, typeof(y).shape)
    if shape != typeof(condition).shape:
        condition = spread_to(condition, shape)
    x, y = [v if is_python_scalar(v) else spread_to(v, shape) for v in (x, y)]
    return lax.select(condition, x, y)


def where(
    condition: Value,
    x: Value | None = None,
    y: Value | None = None,
    /,
    *,
    size: Any = None,
    fill_value: Value = None,
) -> Value:
    """``x`` where ``condition`` holds, else ``y``; with the condition alone, the positions where it holds
    (see ``nonzero``).

    Args:
      condition: an array; what is not zero holds.
      x, y: arrays or numbers, promoted to one dtype; all three broadcast.
      size, fill_value: for the form with one argument, see ``nonzero``.

    Raises:
      ValueError: if just one of ``x`` and ``y`` is given.

    Example:
      >>> rnp.where(rnp.arange(4) > 1, 1.0, rnp.arange(4.0))
      Array([0., 1., 1., 1.], dtype=float32)
      >>> rnp.where(rnp.array([0, 3, 4]))
      (Array([1, 2], dtype=int32),)
    """
    if x is None and y is None:
        from rabbet.numpy.indexing.searching import nonzero

        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ShapeError("where takes a condition alone, or a condition and both x and y")
    if size is not None or fill_value is not None:
        raise ShapeError("where: size and fill_value belong to the form with the condition alone")
    return choose_by(condition, x, y)


@fused
def clip(arr: Value | None = None, /, min: Value | None = None, max: Value | None = None) -> Value:
    """``arr`` with what is below ``min`` made ``min`` and what is above ``max`` made ``max``; None: no such
    bound.

    Raises:
      ValueError: for complex arrays, and for none.

    Example:
      >>> rnp.clip(rnp.arange(5), 1, 3)
      Array([1, 1, 2, 3, 3], dtype=int32)
    """
    if arr is None:
        raise ValueError("clip takes an array first, got none")
    check("clip", arr, *[v for v in (min, max) if v is not None])
    if any(v is not None and kind_of(v) == "c" for v in (arr, min, max)):
        raise DTypeError("clip is not defined on complex numbers, which have no order")
    if min is not None:
        arr = lax.max(*promote("clip", arr, min))
    if max is not None:
        arr = lax.min(*promote("clip", arr, max))
    return as_array(arr)


@fused
def select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Value:
    """From each position's first condition that holds, the choice of the same number; ``default`` where
    none does.

    Raises:
      ValueError: if the lists differ in length or are empty.

    Example:
      >>> x = rnp.arange(4)
      >>> rnp.select([x < 1, x > 2], [x - 10, x + 10], default=0)
      Array([-10,   0,   0,  13], dtype=int32)
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"select: {len(condlist)} conditions and {len(choicelist)} choices; give as many, at least one"
        )
    dtype, weak = dtypes.promote(default, *choicelist)
    out = in_dtype((default,), dtype, weak)[0]
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        out = choose_by(condition, choice, out)
    return with_weak_type(out, weak, dtype)


# ---------------------------------------------------------------------------------------------- rounding
def rounding(name: str, primitive: Primitive, doc: str) -> Callable[..., Any]:
    """Make a function that rounds; integers are whole already."""
    return unary(
        name, primitive, doc, kinds="f",
        otherwise=lambda x: primitive(as_array(x)) if kind_of(x) not in "biu" else as_array(x),
    )  # fmt: skip


def to_nearest_even(x: Value) -> Any:
    """Round half to even, complex numbers by their parts."""
    if kind_of(x) == "c":
        return lax.complex(to_nearest_even(lax.real(x)), to_nearest_even(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def float_of(name: str, x: Value) -> Any:
    """``x`` as a float; integers and booleans in the dtype of a Python float."""
    check(name, x)
    return promote_to_float(name, x if kind_of(x) in "fc" else converted(x, dtypes.scalar_dtype(float)))[0]


floor = rounding(
    "floor",
    lax.floor,
    """The largest whole number not above ``x``, in its dtype.

    >>> rnp.floor(rnp.array([1.8, -1.2]))
    Array([ 1., -2.], dtype=float32)
    """,
)
ceil = rounding(
    "ceil",
    lax.ceil,
    """The smallest whole number not below ``x``, in its dtype.

    >>> rnp.ceil(rnp.array([1.2, -1.2]))
    Array([ 2., -1.], dtype=float32)
    """,
)
rint = unary(
    "rint", to_nearest_even, """``x`` to the nearest whole number, halves to even; a float.

    >>> rnp.rint(rnp.array([0.5, 1.5, 1.7]))
    Array([0., 2., 2.], dtype=float32)
    """, kinds="f",
    prepare=float_of,
)  # fmt: skip


@fused(static=("decimals", "out"))
def round(a: Value, decimals: int = 0, out: Any = None) -> Value:
    """``a`` to ``decimals`` places, halves to even, in its dtype; negative ``decimals`` round before the
    point.

    Example:
      >>> rnp.around(rnp.array([0.5, 1.5, 2.345]), 2)
      Array([0.5 , 1.5 , 2.34], dtype=float32)
    """
    no_out("round", out)
    check("round", a)
    decimals = operator.index(decimals)
    kind = kind_of(a)
    if kind in "biu":
        return to_multiples(as_array(a), 10**-decimals) if decimals < 0 and kind != "b" else as_array(a)
    if decimals == 0:
        return to_nearest_even(as_array(a))
    a = as_array(a)
    if kind == "c":
        return lax.complex(*[to_places(part, decimals) for part in (lax.real(a), lax.imag(a))])
    return to_places(a, decimals)


def to_places(a: Value, decimals: int) -> Value:
    """Floats to ``decimals`` places. What has no digits behind them stays, also where a product overflows."""
    info, whole = dtypes.finfo(a.dtype), lax.stop_gradient(a)
    if abs(decimals) > math.log10(float(info.max)):
        return whole if decimals > 0 else lax.select(lax.lt(lax.abs(a), math.inf), lax.full_like(a, 0), whole)
    unit = 10.0 ** abs(decimals)
    scaled = lax.mul(a, unit) if decimals > 0 else lax.div(a, unit)
    rounded = to_nearest_even(scaled)
    rounded = lax.div(rounded, unit) if decimals > 0 else lax.mul(rounded, unit)
    return lax.select(lax.lt(lax.abs(scaled), 1 / float(info.eps)), rounded, whole)


def to_multiples(a: Value, unit: int) -> Any:
    """Integers as multiples of ``unit``, halves to the even one; 0 where the dtype does not reach half of it.
    What would lie beyond the dtype wraps around, as sums do.
    """
    info = dtypes.iinfo(a.dtype)
    if unit // 2 > info.max:
        return lax.full_like(a, 0)
    if unit > info.max:  # the nearest multiples are 0 and one that the dtype does not have
        beyond = lax.gt(a, unit // 2), lax.lt(a, max(-(unit // 2), info.min))
        wrapped = [(sign * unit - info.min) % (1 << info.bits) + info.min for sign in (1, -1)]
        up, down = [lax.full_like(a, int(w)) for w in wrapped]
        return lax.select(beyond[0], up, lax.select(beyond[1], down, lax.full_like(a, 0)))
    rest = lax.rem(a, unit)  # of the sign of a
    whole = lax.div(a, unit)
    size = lax.abs(rest) if info.min < 0 else rest
    odd = lax.ne(lax.rem(whole, 2), 0)
    half = unit // 2
    away = lax.bitwise_or(lax.gt(size, half), lax.bitwise_and(lax.eq(size, half), odd))
    sign = lax.sign(rest)
    return lax.mul(lax.add(whole, lax.select(away, sign, lax.full_like(a, 0))), unit)


around = round


# ----------------------------------------------------------------------------------------- complex parts
real = unary(
    "real",
    lambda x: lax.real(x) if kind_of(x) == "c" else as_array(x),
    """The real part; ``x`` itself if it is real.

    >>> rnp.real(rnp.array([1 + 2j, 3.0]))
    Array([1., 3.], dtype=float32)
    """,
    kinds="",
)
imag = unary(
    "imag", lambda x: lax.imag(x) if kind_of(x) == "c" else lax.full_like(as_array(x), 0),
    """The imaginary part; zeros if ``x`` is real.

    >>> rnp.imag(rnp.array([1 + 2j, 3.0]))
    Array([2., 0.], dtype=float32)
    """, kinds="",
)  # fmt: skip
conj = conjugate = unary(
    "conj",
    lambda x: lax.conj(x) if kind_of(x) == "c" else as_array(x),
    """The complex conjugate; ``x`` if it is real.

    >>> rnp.conj(rnp.array([1 + 2j]))
    Array([1.-2.j], dtype=complex64)
    """,
    kinds="c",
)


@fused(static=("deg",))
def angle(z: Value, deg: bool = False) -> Value:
    """The angle of complex numbers in radians, or in degrees: 0 or pi for real numbers.

    Example:
      >>> rnp.angle(rnp.array([1.0, 1j]), deg=True)
      Array([ 0., 90.], dtype=float32)
    """
    z = float_of("angle", z)
    parts = (lax.imag(z), lax.real(z)) if kind_of(z) == "c" else (lax.full_like(z, 0), z)
    out = lax.atan2(*[with_weak_type(p) if typeof(z).weak_type else p for p in parts])
    return lax.mul(out, 180 / math.pi) if deg else out


@fused(static=("copy",))
def nan_to_num(
    x: Value, copy: bool = True, nan: Value = 0.0, posinf: Value | None = None, neginf: Value | None = None
) -> Value:
    """``x`` with numbers in the place of NaN and infinities.

    Args:
      nan: for NaN.
      posinf, neginf: for the infinities, by default the largest and smallest finite number of the dtype.

    Example:
      >>> rnp.nan_to_num(rnp.array([rnp.nan, 1.0]), nan=-1.0)
      Array([-1.,  1.], dtype=float32)
    """
    check("nan_to_num", x)
    kind = kind_of(x)
    if kind in "biu":
        return as_array(x)
    x = strong(as_array(x))
    if kind == "c":
        parts = [nan_to_num(p, copy, nan, posinf, neginf) for p in (lax.real(x), lax.imag(x))]
        return lax.complex(*parts)
    spec = dtypes.spec(x.dtype)
    x = choose_by(lax.ne(x, x), nan, x)
    if spec.infinities:
        posinf = spec.largest if posinf is None else posinf
        neginf = spec.smallest if neginf is None else neginf
        x = choose_by(lax.eq(x, math.inf), posinf, choose_by(lax.eq(x, -math.inf), neginf, x))
    return strong(x)


__all__ = [
    "angle",
    "around",
    "ceil",
    "clip",
    "conj",
    "conjugate",
    "floor",
    "imag",
    "nan_to_num",
    "real",
    "rint",
    "round",
    "select",
    "where",
]
