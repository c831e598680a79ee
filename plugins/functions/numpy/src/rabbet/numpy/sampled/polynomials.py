"""Polynomials as vectors of coefficients, the highest power first: NumPy's older interface.

The length of a result never depends on values, so leading zeros stay where NumPy would drop them, unless a
function says otherwise.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused, is_python_scalar
from rabbet.extend.transform import typeof
from rabbet.numpy.creation.matrices import diag, vander
from rabbet.numpy.indexing.searching import looked_at
from rabbet.numpy.reductions.reducing import converted
from rabbet.numpy.sampled.signals import convolve
from rabbet.numpy.shapes.reshaping import array_of, atleast_1d
from rabbet.numpy.support.arguments import as_array, check, kind_of, weak_by

if TYPE_CHECKING:
    from rabbet.typing import DType, Value


def in_floats(name: str, *arrays: Value) -> list[Value]:
    """Vectors in their common dtype, a float or complex one."""
    check(name, *arrays)
    dtype = dtypes.to_inexact(dtypes.result_type(*arrays))
    out = [converted(atleast_1d(x), dtype) for x in arrays]
    for x in out:
        if x.ndim != 1:
            raise ValueError(f"{name} takes vectors of coefficients, got {x.aval.str_short()}")
    return out


def without_leading_zeros(name: Any, x: Any) -> Any:
    """``x`` from its first coefficient that is not zero on; the values must be known."""
    advice = "leave out trim_leading_zeros, or call it outside of the traced function"
    held = np.flatnonzero(looked_at(name, x, advice))
    return x[held[0] if len(held) else x.shape[0] :]


# ---------------------------------------------------------------------------------------------- arithmetic
def sum_of(name: Any, combine: Any, a1: Any, a2: Any) -> Any:
    """The two vectors laid over each other at their ends."""
    check(name, a1, a2)
    dtype = dtypes.result_type(a1, a2)
    a1, a2 = (converted(atleast_1d(x), dtype) for x in (a1, a2))
    n = max(a1.shape[0], a2.shape[0])
    return combine(*[lax.pad(x, np.zeros((), dtype), ((n - x.shape[0], 0, 0),)) for x in (a1, a2)])


@fused
@weak_by(2)
def polyadd(a1: Value, a2: Value) -> Value:
    """The sum of two polynomials, as long as the longer one.

    Example:
      >>> rnp.polyadd(rnp.array([1, 2]), rnp.array([1, 0, 0]))
      Array([1, 1, 2], dtype=int32)
    """
    return sum_of("polyadd", lax.add, a1, a2)


@fused
@weak_by(2)
def polysub(a1: Value, a2: Value) -> Value:
    """The difference of two polynomials, as long as the longer one.

    Example:
      >>> rnp.polysub(rnp.array([1, 2]), rnp.array([1, 1]))
      Array([0, 1], dtype=int32)
    """
    return sum_of("polysub", lax.sub, a1, a2)


def polymul(a1: Value, a2: Value, *, trim_leading_zeros: bool = False) -> Value:
    """The product of two polynomials, in floats.

    Args:
      a1, a2: vectors of coefficients.
      trim_leading_zeros: leave out zeros at their beginnings first; their values must be known.

    Example:
      >>> rnp.polymul(rnp.array([1, 1]), rnp.array([1, 2]))
      Array([1., 3., 2.], dtype=float32)
    """
    if trim_leading_zeros:
        a1, a2 = (without_leading_zeros("polymul", atleast_1d(x)) for x in (a1, a2))
    return product_of(a1, a2)


@fused
@weak_by(2)
def product_of(a1: Value, a2: Value) -> Any:
    """The convolution of the coefficients; nothing counts as zero."""
    a1, a2 = (x if x.shape[0] else lax.full((1,), 0, x.dtype) for x in in_floats("polymul", a1, a2))
    return convolve(a1, a2)


def polydiv(u: Value, v: Value, *, trim_leading_zeros: bool = False) -> tuple[Value, ...]:
    """The quotient and the remainder of two polynomials, in floats.

    Args:
      u: what is divided.
      v: by what; its first coefficient must not be zero.
      trim_leading_zeros: leave out the zeros at the beginning of the remainder, whose values must be known.

    Returns:
      ``(quotient, remainder)``; the remainder is as long as ``u``, without the trimming.

    Example:
      >>> rnp.polydiv(rnp.array([1.0, 3.0, 2.0]), rnp.array([1.0, 1.0]))
      (Array([1., 2.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    quotient, rest = long_division(u, v)
    return quotient, without_leading_zeros("polydiv", rest) if trim_leading_zeros else rest


@fused
@weak_by(2)
def long_division(u: Value, v: Value) -> tuple[Value, ...]:
    """Long division; each step takes off one multiple of ``v``."""
    u, v = in_floats("polydiv", u, v)
    n, m = u.shape[0], v.shape[0]
    if not m:
        raise ValueError("polydiv: the divisor has no coefficients")
    if n < m:
        return lax.full((1,), 0, u.dtype), u

    def step(rest: Value, k: Value) -> tuple[Value, ...]:
        factor = lax.div(rest[k], v[0])
        taken = lax.mul(v, lax.broadcast_in_dim(factor, (m,), ()))
        part = lax.sub(lax.dynamic_slice_in_dim(rest, k, m), taken)
        return lax.dynamic_update_slice_in_dim(rest, part, k, 0), factor

    rest, quotient = lax.scan(step, u, lax.iota("int32", n - m + 1))
    # What was divided is gone, apart from what no number took away.
    gone = lax.bitwise_and(lax.lt(lax.iota("int32", n), n - m + 1), lax.eq(rest, rest))
    return quotient, lax.select(gone, lax.full_like(rest, 0), rest)


# ------------------------------------------------------------------------------------ values and calculus
@fused(static=("unroll",))
def polyval(p: Value, x: Value, *, unroll: int | None = None) -> Value:
    """The value of a polynomial at ``x``, by Horner's rule.

    Args:
      p: coefficients, the highest power first; dimensions after the first broadcast with ``x``.
      x: where, an array of any shape.
      unroll: how many steps of the loop to write out; None: all of up to 16.

    Returns:
      an array of the shape of ``x`` (broadcast with those dimensions of ``p``) and the common dtype.

    Example:
      >>> rnp.polyval(rnp.array([1, 2, 3]), 10)
      Array(123, dtype=int32)
    """
    check("polyval", p, x)
    dtype = dtypes.result_type(p, x)
    p, x = converted(p, dtype), converted(x, dtype)
    if not p.ndim:
        raise ShapeError("polyval takes a vector of coefficients, got a number; write [c] for a constant")
    shape = lax.broadcast_shapes(x.shape, p.shape[1:])
    x = lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - x.ndim, len(shape))))
    start: Value = lax.full_like(x, 0)

    def step(y: Value, c: Value) -> tuple[Value, None]:
        c = lax.broadcast_in_dim(c, shape, tuple(range(len(shape) - c.ndim, len(shape))))
        return lax.add(lax.mul(y, x), c), None

    count = p.shape[0]
    if unroll is None and count <= 16:
        for k in range(count):
            start, _ = step(start, p[k])
        return start
    return lax.scan(step, start, p, unroll=1 if unroll is None else unroll)[0]


@fused(static=("m",))
def polyder(p: Value, m: int = 1) -> Value:
    """The derivative of order ``m`` of a polynomial, in floats.

    Raises:
      ValueError: for a negative ``m``.

    Example:
      >>> rnp.polyder(rnp.array([1.0, 2.0, 3.0]))
      Array([2., 2.], dtype=float32)
    """
    m = operator.index(m)
    if m < 0:
        raise ShapeError(f"polyder: the order must not be negative, got {m}; see polyint")
    (p,) = in_floats("polyder", p)
    n = p.shape[0]
    if m >= n:
        return p[:0]
    factors = [math.perm(power, m) for power in range(n - 1, m - 1, -1)]
    return lax.mul(p[: n - m], dtypes.host_cast(np.asarray(factors, np.float64), p.dtype)) if m else p


@fused(static=("m",))
def polyint(p: Value, m: int = 1, k: Value = None) -> Value:
    """The integral of order ``m`` of a polynomial, in floats.

    Args:
      p: coefficients.
      m: how often to integrate.
      k: the constants of integration, first the one of the first integration: a number for all, or a vector
        of ``m``; None: zeros.

    Raises:
      ValueError: for a negative ``m``, or for as many constants as are not needed.

    Example:
      >>> rnp.polyint(rnp.array([2.0, 2.0]))
      Array([1., 2., 0.], dtype=float32)
    """
    m = operator.index(m)
    if m < 0:
        raise ShapeError(f"polyint: the order must not be negative, got {m}; see polyder")
    p, k = in_floats("polyint", p, 0 if k is None else k)
    if k.shape[0] not in (1, max(m, 1)):
        raise ValueError(f"polyint: {m} integrations need one constant or {m}, got {k.shape[0]}")
    if m == 0:
        return p
    n = p.shape[0]
    constants = lax.broadcast_in_dim(k, (m,), (0,)) if k.shape[0] == 1 and m > 1 else k
    # A constant of the step i was integrated m - 1 - i times more.
    every = lax.concatenate([p, constants], 0)
    divisors = [math.perm(power, m) for power in range(n + m - 1, m - 1, -1)]
    divisors += [math.factorial(m - 1 - i) for i in range(m)]
    return lax.div(every, dtypes.host_cast(np.asarray(divisors, np.float64), p.dtype))


# ------------------------------------------------------------------------------------------ roots, fitting
def poly(seq_of_zeros: Value) -> Value:
    """The polynomial that has the given zeros; of a square matrix, its characteristic polynomial.

    Args:
      seq_of_zeros: a vector, or a square matrix.

    Returns:
      coefficients, the first one 1; a float or complex array, of one element more than there are zeros.

    Raises:
      ValueError: for another array.

    Example:
      >>> rnp.poly(rnp.array([1.0, 2.0]))
      Array([ 1., -3.,  2.], dtype=float32)
    """
    check("poly", seq_of_zeros)
    zeros = atleast_1d(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0]:
        from rabbet.numpy.linalg import eigvals

        zeros = eigvals(zeros)
    if zeros.ndim != 1:
        raise ShapeError(f"poly takes a vector of zeros or a square matrix, got {zeros.aval.str_short()}")
    if not zeros.shape[0]:
        return lax.full((), 1, dtypes.to_inexact(zeros.dtype))
    return from_zeros(zeros)


@fused
def from_zeros(zeros: Value) -> Value:
    """The product of ``x - z`` over all zeros."""
    (zeros,) = in_floats("poly", zeros)
    out = lax.full((1,), 1, zeros.dtype)
    for k in range(zeros.shape[0]):
        shifted = lax.pad(out, np.zeros((), zeros.dtype), ((1, 0, 0),))
        grown = lax.pad(out, np.zeros((), zeros.dtype), ((0, 1, 0),))
        out = lax.sub(grown, lax.mul(shifted, zeros[k]))
    return out


def roots(p: Value, *, strip_zeros: bool = True) -> Value:
    """The zeros of a polynomial, complex: the eigenvalues of its companion matrix.

    Args:
      p: coefficients, the highest power first.
      strip_zeros: leave out zeros at both ends of ``p`` first, which must be known then; those at the end are
        as many zeros at 0. False keeps all, as a traced ``p`` needs it; zeros at the beginning give NaN then.

    Raises:
      ConcretizationTypeError: for a traced ``p`` with ``strip_zeros``.

    Example:
      >>> rnp.sort(rnp.roots(rnp.array([1.0, -3.0, 2.0])).real)
      Array([1., 2.], dtype=float32)
    """
    check("roots", p)
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ShapeError(f"roots takes a vector of coefficients, got {p.aval.str_short()}")
    at_zero = 0
    if strip_zeros:
        held = np.flatnonzero(looked_at("roots", p, "pass strip_zeros=False, or compute it outside"))
        if not len(held):
            return lax.full((0,), 0, dtypes.to_complex(p.dtype))
        at_zero = p.shape[0] - 1 - int(held[-1])
        p = p[int(held[0]) : int(held[-1]) + 1]
    return companion_roots(p, at_zero=at_zero)


@fused(static=("at_zero",))
def companion_roots(p: Value, at_zero: int) -> Value:
    """The zeros of ``p``, and as many zeros at 0 as asked for."""
    from rabbet.numpy.linalg import eigvals

    (p,) = in_floats("roots", p)
    n, dtype = p.shape[0] - 1, dtypes.to_complex(p.dtype)
    found = []
    if n > 0:
        top = lax.neg(lax.div(p[1:], lax.broadcast_in_dim(p[0], (n,), ())))
        rest = converted(diag(lax.full((n - 1,), 1, p.dtype), -1), p.dtype)
        found = [eigvals(lax.concatenate([lax.expand_dims(top, (0,)), rest[1:]], 0))]
    return lax.concatenate([*found, lax.full((at_zero,), 0, dtype)], 0)


def polyfit(
    x: Value,
    y: Value,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Value = None,
    cov: bool = False,
) -> Value:
    """The polynomial of degree ``deg`` that fits points best, by least squares.

    Args:
      x: a vector, where.
      y: a vector of values there, or a matrix with a column for each of several fits.
      deg: a static int.
      rcond: singular values below this part of the largest count as zero; by default eps times ``len(x)``.
      full: also return the residuals, the rank, the singular values of the scaled matrix, and ``rcond``.
      w: weights, a vector: what is multiplied with each residual before it is squared.
      cov: also return the covariance matrix of the coefficients, scaled so that the chi-squared per degree
        of freedom is 1; ``"unscaled"``: not scaled.

    Returns:
      coefficients, the highest power first; or a tuple that begins with them.

    Raises:
      ValueError: for a negative degree, empty arrays, or too few points for a scaled covariance.
      TypeError: for arrays that do not fit together.

    Example:
      >>> rnp.polyfit(rnp.arange(4.0), rnp.array([1.0, 3.0, 5.0, 7.0]), 1)
      Array([2.       , 1.0000007], dtype=float32)
    """
    deg = operator.index(deg)
    if deg < 0:
        raise ShapeError(f"polyfit: the degree must not be negative, got {deg}")
    check("polyfit", x, y, *([] if w is None else [w]))
    x, y = array_of("polyfit", x), array_of("polyfit", y)
    if x.ndim != 1 or not x.shape[0]:
        raise ShapeError(f"polyfit: x must be a vector with elements, got {x.aval.str_short()}")
    if y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ShapeError(
            f"polyfit: y must be a vector or a matrix with a row for each of the {x.shape[0]} points, got "
            f"{y.aval.str_short()}"
        )
    if w is not None and typeof(w).shape != x.shape:
        raise ShapeError(f"polyfit: w must be a vector like x, got {typeof(w).str_short()}")
    if cov not in (False, True, "unscaled"):
        raise ValueError(f"polyfit: cov must be False, True or 'unscaled', got {cov!r}")
    if cov is True and not full and x.shape[0] <= deg + 1:
        raise ValueError(
            f"polyfit: a scaled covariance needs more points than coefficients, got {x.shape[0]} and "
            f"{deg + 1}; cov='unscaled' does without"
        )
    dtype = dtypes.to_inexact(dtypes.result_type(x, y))
    if rcond is None:
        rcond = float(dtypes.finfo(dtype).eps) * x.shape[0]
    out = fitted(x, y, rcond, w, deg=deg, dtype=dtype, full=bool(full), cov=str(cov))
    if not full:
        return out
    return (*out, rcond if not is_python_scalar(rcond) else as_array(float(rcond)))


@fused(static=("deg", "dtype", "full", "cov"))
def fitted(x: Value, y: Value, rcond: Value, w: Any, deg: int, dtype: DType, full: bool, cov: str) -> Value:
    """Least squares with the powers of ``x`` as columns, each scaled to length 1."""
    from rabbet.numpy.linalg import inv, lstsq

    real = kind_of(x) != "c" and dtypes.kind(dtype) == "c"  # at real places, so is what covaries
    x, y = converted(x, dtype), converted(y, dtype)
    powers = vander(x, deg + 1)
    if w is not None:
        w = converted(w, dtype)
        powers = lax.mul(powers, lax.broadcast_in_dim(w, powers.shape, (0,)))
        y = lax.mul(y, lax.broadcast_in_dim(w, y.shape, (0,)))
    scale = lax.sqrt(lax.reduce_sum(lax.mul(powers, powers), (0,)))
    powers = lax.div(powers, lax.broadcast_in_dim(scale, powers.shape, (1,)))
    c, residuals, rank, singular = lstsq(powers, y, rcond)
    c = lax.div(c, lax.broadcast_in_dim(scale, c.shape, (0,)))
    if full:
        return c, residuals, rank, singular
    if cov == "False":
        return c
    if real:
        powers, scale = lax.real(powers), lax.real(scale)
    base = inv(lax.dot_general(powers, powers, (((0,), (0,)), ((), ()))))
    for d in range(2):
        base = lax.div(base, lax.broadcast_in_dim(scale, base.shape, (d,)))
    if y.ndim == 2:
        base = lax.expand_dims(base, (2,))
    if cov == "True":
        factor = lax.div(converted(residuals, base.dtype), float(x.shape[0] - deg - 1))
        shape = (*base.shape[:2], *y.shape[1:])
        base = lax.broadcast_in_dim(base, shape, (0, 1, 2)) if y.ndim == 2 else base
        factor = lax.broadcast_in_dim(factor, shape, (2,)) if y.ndim == 2 else factor[0]
        base = lax.mul(base, factor)
    return c, base


__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots",
]  # fmt: skip
