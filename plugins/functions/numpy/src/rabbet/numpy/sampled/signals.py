"""Sampled signals and data: interpolation, convolution, windows, histograms, covariance."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.transform import is_tracer, typeof
from rabbet.numpy.creation.conversion import asarray
from rabbet.numpy.creation.new_arrays import default_float
from rabbet.numpy.elementwise.arithmetic import divide, multiply
from rabbet.numpy.elementwise.float_parts import i0
from rabbet.numpy.elementwise.selection_and_rounding import choose_by
from rabbet.numpy.ordering.sorting import searchsorted
from rabbet.numpy.products.dots import operands
from rabbet.numpy.reductions.reducing import converted
from rabbet.numpy.reductions.statistics import average
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import check, kind_of, weak_by

if TYPE_CHECKING:
    from rabbet.typing import DTypeLike, Value


def interp(
    x: Value,
    xp: Value,
    fp: Value,
    left: Value | str | None = None,
    right: Value | str | None = None,
    period: Value | None = None,
) -> Value:
    """Linear interpolation between the points ``(xp, fp)`` at ``x``.

    Args:
      x: where.
      xp, fp: vectors of one length, ``xp`` increasing.
      left, right: the values outside, by default those at the ends; ``"extrapolate"`` goes on along the first
        or the last piece.
      period: the period of ``xp``; then ``left`` and ``right`` do not matter.

    Raises:
      TypeError: for complex ``x`` or ``xp``.
      ValueError: for vectors of different lengths, a period of 0, or another text.

    Example:
      >>> rnp.interp(rnp.array([0.5, 3.0]), rnp.array([0.0, 1.0, 2.0]), rnp.array([0.0, 10.0, 20.0]))
      Array([ 5., 20.], dtype=float32)
    """
    for name, side in (("left", left), ("right", right)):
        if isinstance(side, str) and side != "extrapolate":
            raise ValueError(f"interp: {name} must be a number or 'extrapolate', got {side!r}")
    if period is not None and float(period) == 0:
        raise ValueError("interp: the period must not be 0")
    given = [None if isinstance(side, str) else side for side in (left, right)]
    goes_on = (isinstance(left, str), isinstance(right, str))
    return interpolated(x, xp, fp, *given, period=period, goes_on=goes_on)


@fused(static=("period", "goes_on"))
@weak_by(3)
def interpolated(
    x: Value,
    xp: Value,
    fp: Value,
    left: Any,
    right: Value | None,
    period: int | None,
    goes_on: tuple[bool, ...],
) -> Value:
    """``interp``, told on which sides the outer pieces go on."""
    check("interp", x, xp, fp)
    if "c" in (kind_of(x), kind_of(xp)):
        raise DTypeError(
            f"interp takes real x and xp, got {typeof(x).str_short()} and {typeof(xp).str_short()}"
        )
    dtype = dtypes.to_inexact(dtypes.result_type(x, xp, fp))
    real = dtypes.to_inexact(dtypes.result_type(x, xp)) if dtypes.kind(dtype) == "c" else dtype
    x, xp, fp = [converted(array_of("interp", v), d) for v, d in ((x, real), (xp, real), (fp, dtype))]
    if xp.ndim != 1 or fp.shape != xp.shape:
        raise ValueError(
            f"interp: xp and fp must be vectors of one length, got "
            f"{xp.aval.str_short()} and {fp.aval.str_short()}"
        )
    if period is not None:
        x, xp, fp = periodic(x, xp, fp, abs(float(period)))
    n = xp.shape[0]
    right_of = lax.max(lax.min(searchsorted(xp, x, side="right"), n - 1), 1)
    x0, x1 = xp[right_of - 1], xp[right_of]
    f0, f1 = fp[right_of - 1], fp[right_of]
    width = lax.sub(x1, x0)
    flat = lax.eq(width, 0.0)
    share = lax.div(lax.sub(x, x0), lax.select(flat, lax.full_like(width, 1), width))
    out = lax.select(flat, f0, on_the_way(share, f0, f1))
    if period is not None:
        return out
    if not goes_on[0]:
        out = choose_by(lax.lt(x, xp[0]), fp[0] if left is None else left, out)
    if not goes_on[1]:
        out = choose_by(lax.gt(x, xp[-1]), fp[-1] if right is None else right, out)
    return out


def on_the_way(share: Value, f0: Value, f1: Value) -> Value:
    """What lies at a share of the way between two values, counted from the nearer one: exact at both. If one
    of them is infinite, all that is between is.
    """
    rise, near = lax.sub(f1, f0), lax.gt(share, 0.5)
    if kind_of(rise) == "c":
        part = lax.convert_element_type(lax.select(near, lax.sub(share, 1.0), share), rise.dtype)
        return lax.add(lax.select(near, f1, f0), lax.mul(part, rise))
    endless, end = [lax.eq(lax.abs(f), math.inf) for f in (f0, f1)]
    near = lax.bitwise_or(endless, lax.bitwise_and(lax.bitwise_not(end), near))
    part = lax.select(near, lax.sub(share, 1.0), share)
    at_point = lax.bitwise_and(lax.bitwise_or(endless, end), lax.eq(part, 0.0))
    step = lax.select(at_point, part, lax.mul(part, rise))
    there = lax.bitwise_and(endless, lax.bitwise_or(lax.eq(f0, f1), lax.eq(share, 0.0)))
    return lax.select(there, f0, lax.add(lax.select(near, f1, f0), step))


def periodic(x: Value, xp: Value, fp: Value, period: float) -> tuple[Value, ...]:
    """The points of one period, sorted, with a neighbour from the next period at both ends."""
    from rabbet.numpy.elementwise.arithmetic import remainder

    x, xp = remainder(x, period), remainder(xp, period)
    xp, fp = lax.sort((xp, fp), 0, num_keys=1)
    xp = lax.concatenate([lax.sub(xp[-1:], period), xp, lax.add(xp[:1], period)], 0)
    return x, xp, lax.concatenate([fp[-1:], fp, fp[:1]], 0)


# How many numbers may be gathered at once, and up to which length terms are written out one by one.
AT_ONCE = 1 << 20
FEW = 32


def _products(padded: Value, v: Value, length: int, preferred_element_type: Any, precision: Any) -> Value:
    """The product of ``v`` with ``padded`` from each place on; of long vectors without all places at once."""
    m = v.shape[0]
    dtype = v.dtype
    plain = precision is None and preferred_element_type in (None, dtype)  # others dot_general may refuse
    if length * m > AT_ONCE and m <= FEW and plain:
        wide = dtypes.result_type(dtype, "float32") if dtypes.kind(dtype) == "f" else dtype
        padded, v = converted(padded, wide), converted(v, wide)
        total = lax.mul(lax.slice_in_dim(padded, 0, length), v[0])
        for j in range(1, m):
            total = lax.add(total, lax.mul(lax.slice_in_dim(padded, j, j + length), v[j]))
        return converted(total, dtype)

    def from_places(padded: Value, many: int) -> Value:
        places = np.arange(many, dtype="int32")[:, None] + np.arange(m, dtype="int32")
        pairs = (((1,), (0,)), ((), ()))
        return lax.dot_general(padded[places], v, pairs, precision, preferred_element_type)

    if length * m <= AT_ONCE:
        return from_places(padded, length)
    many = max(AT_ONCE // m, 1)
    blocks = -(-length // many)
    padded = lax.pad(padded, 0, ((0, blocks * many - length, 0),))
    step = lambda carry, at: (carry, from_places(lax.dynamic_slice(padded, (at,), (many + m - 1,)), many))
    _, rows = lax.scan(step, (), np.arange(blocks, dtype="int32") * many)
    return lax.slice_in_dim(lax.reshape(rows, (blocks * many,)), 0, length)


def slid(name: str, a: Value, v: Value, mode: str, preferred_element_type: Any, precision: Any) -> Value:
    """All products of ``a`` with ``v`` laid over it at each place, summed."""
    a, v = operands(name, a, v)
    if kind_of(a) in "biu":
        a, v = [converted(x, preferred_element_type or dtypes.to_inexact(a.dtype)) for x in (a, v)]
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"{name} takes vectors, got {a.aval.str_short()} and {v.aval.str_short()}")
    n, m = a.shape[0], v.shape[0]
    if not n or not m:
        raise ValueError(
            f"{name} takes vectors with at least one element, got "
            f"{a.aval.str_short()} and {v.aval.str_short()}"
        )
    padded = lax.pad(a, 0, ((m - 1, m - 1, 0),))
    out = _products(padded, v, n + m - 1, preferred_element_type, precision)
    if mode == "full":
        return out
    if mode == "same":
        length, other = max(n, m), min(n, m)
        return lax.slice_in_dim(out, (other - 1) // 2, (other - 1) // 2 + length)
    if mode == "valid":
        length, other = max(n, m), min(n, m)
        return lax.slice_in_dim(out, other - 1, length)
    raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")


STATIC = ("mode", "precision", "preferred_element_type")


@fused(static=STATIC)
@weak_by(2)
def convolve(
    a: Value,
    v: Value,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Value:
    """The convolution of two vectors.

    Args:
      a, v: vectors.
      mode: ``"full"``: every overlap, ``"same"``: as long as the longer one, ``"valid"``: whole overlaps
        only.
      precision: of the products, as ``lax.dot_general`` takes it.
      preferred_element_type: in which dtype products are summed. Of integers it is a float dtype, in which
        the sums of small ones have room, unless this says another.

    Example:
      >>> rnp.convolve(rnp.array([1, 2, 3]), rnp.array([1, 1]))
      Array([1., 3., 5., 3.], dtype=float32)
    """
    a, v = operands("convolve", a, v)
    if v.ndim == 1 and a.ndim == 1 and v.shape[0] > a.shape[0]:
        a, v = v, a
    v = lax.rev(v, (0,)) if v.ndim == 1 else v
    return slid("convolve", a, v, mode, preferred_element_type, precision)


@fused(static=STATIC)
@weak_by(2)
def correlate(
    a: Value,
    v: Value,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Value:
    """The correlation of two vectors, the second one conjugated. Arguments as for ``convolve``.

    Example:
      >>> rnp.correlate(rnp.array([1, 2, 3]), rnp.array([0, 1]))
      Array([2., 3.], dtype=float32)
    """
    a, v = operands("correlate", a, v)
    v = lax.conj(v) if kind_of(v) == "c" else v
    if v.ndim == a.ndim == 1 and v.shape[0] > a.shape[0]:
        return lax.rev(slid("correlate", v, a, mode, preferred_element_type, precision), (0,))
    return slid("correlate", a, v, mode, preferred_element_type, precision)


# ----------------------------------------------------------------------------------------------- windows
def window(name: str, doc: str) -> Callable[..., Any]:
    """Make a window function: NumPy's numbers."""

    def function(M: int) -> Value:
        return asarray(getattr(np, name)(operator.index(M)), default_float())

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


bartlett = window(
    "bartlett",
    """The triangular window of ``M`` points.

    >>> rnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """,
)
blackman = window(
    "blackman",
    """The Blackman window of ``M`` points.

    >>> rnp.blackman(5)
    Array([-1.3877788e-17,  3.4000000e-01,  1.0000000e+00,  3.4000000e-01,
           -1.3877788e-17], dtype=float32)
    """,
)
hamming = window(
    "hamming",
    """The Hamming window of ``M`` points.

    >>> rnp.hamming(5)
    Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """,
)
hanning = window(
    "hanning",
    """The Hann window of ``M`` points.

    >>> rnp.hanning(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """,
)


def kaiser(M: int, beta: Value) -> Value:
    """The Kaiser window of ``M`` points of the shape ``beta``, a number.

    Example:
      >>> rnp.kaiser(5, 8.0)
      Array([0.00233883, 0.36897272, 1.        , 0.36897272, 0.00233883],
            dtype=float32)
    """
    M = operator.index(M)
    if not is_tracer(beta):
        return asarray(np.kaiser(M, float(beta)), default_float())
    if M < 2:
        return lax.full((max(M, 0),), 1.0, default_float())
    half = (M - 1) / 2
    heights = asarray(np.sqrt(1 - ((np.arange(M) - half) / half) ** 2), default_float())
    return divide(i0(multiply(beta, heights)), i0(beta))


# -------------------------------------------------------------------------------------------- covariance
@fused(static=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Value,
    y: Value = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Value | None = None,
    aweights: Value | None = None,
    dtype: DTypeLike | None = None,
) -> Value:
    """The covariance matrix of variables, each a row of ``m`` (a column, if ``rowvar`` is False).

    Args:
      y: further variables.
      bias: divide by the number of observations rather than by one less.
      ddof: what to subtract from it instead.
      fweights, aweights: how often, and with what weight, each observation counts.
      dtype: of the computation and the result, a float or complex dtype.

    Raises:
      ValueError: for another ``dtype``, or an array of more than two dimensions.

    Example:
      >>> rnp.cov(rnp.array([[1.0, 2.0, 3.0], [1.0, 4.0, 7.0]]))
      Array([[1., 3.],
             [3., 9.]], dtype=float32)
    """
    if m is None:
        raise TypeError("cov takes arrays and numbers, got a NoneType as argument 1")
    rows = [variables(v, rowvar) for v in (m, y) if v is not None]
    weighed = [w for w in (fweights, aweights) if w is not None]
    dtype = dtypes.canonicalize(
        dtypes.to_inexact(dtypes.result_type(*rows, *weighed)) if dtype is None else dtype
    )
    if dtypes.kind(dtype) not in "fc":
        raise ValueError(f"cov: dtype must be a float or complex dtype, got {dtype}")
    x = lax.concatenate([converted(r, dtype) for r in rows], 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights: Any = None
    total: Any = float(x.shape[1])
    if fweights is not None and kind_of(fweights) not in "biu":
        raise DTypeError(
            f"cov: fweights are numbers of times, so integers, got {typeof(fweights).str_short()}"
        )
    for w in (fweights, aweights):
        if w is not None:
            w = converted(w, dtype)
            weights = w if weights is None else lax.mul(weights, w)
    if weights is None:
        rest = total - ddof
    else:
        total = lax.reduce_sum(weights, (0,))
        scaled = (
            total
            if aweights is None
            else lax.div(lax.reduce_sum(lax.mul(weights, converted(aweights, dtype)), (0,)), total)
        )
        rest = (
            lax.sub(total, lax.mul(scaled, float(ddof)))
            if aweights is not None
            else lax.sub(total, float(ddof))
        )
    center = average(x, 1, weights)
    deviation = lax.sub(x, lax.broadcast_in_dim(center, x.shape, (0,)))
    weighted = (
        deviation if weights is None else lax.mul(deviation, lax.broadcast_in_dim(weights, x.shape, (1,)))
    )
    other = lax.conj(weighted) if kind_of(weighted) == "c" else weighted
    if not x.shape[1]:  # of no observations nothing is known
        rest = math.nan
    out = divide(lax.dot_general(deviation, other, (((1,), (1,)), ((), ()))), rest)
    return lax.squeeze(out, tuple([d for d, s in enumerate(out.shape) if s == 1]))


def variables(m: Value, rowvar: bool) -> Value:
    """An array as a matrix with a variable in each row."""
    m = array_of("cov", m)
    if m.ndim > 2:
        raise ShapeError(f"cov takes vectors and matrices, got {m.aval.str_short()}")
    m = lax.expand_dims(m, (0,)) if m.ndim == 1 else lax.expand_dims(m, (0, 1)) if m.ndim == 0 else m
    return m if rowvar or m.shape[0] == 1 else lax.transpose(m, (1, 0))


@fused(static=("rowvar", "dtype"))
def corrcoef(x: Value, y: Value = None, rowvar: bool = True, dtype: DTypeLike | None = None) -> Value:
    """The matrix of correlation coefficients of variables. Arguments as for ``cov``.

    Example:
      >>> rnp.corrcoef(rnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return lax.div(c, c)
    n = c.shape[0]
    variance = lax.reduce_sum(lax.select(_diagonal(n), c, lax.full_like(c, 0)), (1,))
    root = lax.sqrt(lax.real(variance) if kind_of(c) == "c" else variance)
    scale = converted(
        lax.mul(lax.broadcast_in_dim(root, (n, n), (0,)), lax.broadcast_in_dim(root, (n, n), (1,))), c.dtype
    )
    out = lax.div(c, scale)
    return out if kind_of(out) == "c" else lax.max(lax.min(out, 1.0), -1.0)


def _diagonal(n: int) -> Value:
    return lax.eq(lax.broadcasted_iota("int32", (n, n), 0), lax.broadcasted_iota("int32", (n, n), 1))


__all__ = [
    "bartlett", "blackman", "convolve", "corrcoef", "correlate", "cov", "hamming", "hanning", "interp",
    "kaiser",
]  # fmt: skip
