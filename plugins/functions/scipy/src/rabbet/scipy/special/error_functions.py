"""The error function's family: errors and their complements, normal probabilities, Dawson's and Owen's
functions.
"""

from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.arguments import ArrayLike, inexact, is_complex, real
from rabbet.scipy.special.error_values import (
    dawsons,
    erfcinvs,
    erfcs,
    erfcxs,
    erfinvs,
    faddeeva,
    log_normal,
    normal,
    normal_quantiles,
    owens,
)


@fused
def erf(x: ArrayLike) -> Array:
    """The error function of real numbers, elementwise.

    >>> round(float(special.erf(0.5)), 4)
    0.5205
    """
    return lax.erf(*real("erf", x))


@fused
def erfc(x: ArrayLike) -> Array:
    """``1 - erf(x)`` of real numbers, with all its digits where it is small.

    >>> round(float(special.erfc(2.0)), 5)
    0.00468
    """
    return erfcs(*real("erfc", x))


@fused
def erfcx(x: ArrayLike) -> Array:
    """``exp(x ** 2) erfc(x)`` of real or complex numbers, which does not underflow.

    >>> round(float(special.erfcx(100.0)), 6)
    0.005642
    """
    (x,) = inexact("erfcx", x)
    return faddeeva(x * lax.full_like(x, 1j)) if is_complex(x) else erfcxs(x)


@fused
def erfinv(x: ArrayLike) -> Array:
    """The inverse of ``erf``, for -1 to 1; infinite at the ends, NaN outside.

    >>> round(float(special.erfinv(0.5)), 4)
    0.4769
    """
    return erfinvs(*real("erfinv", x))


@fused
def erfcinv(y: ArrayLike) -> Array:
    """The inverse of ``erfc``, for 0 to 2; infinite at the ends, NaN outside.

    >>> round(float(special.erfcinv(0.5)), 4)
    0.4769
    """
    return erfcinvs(*real("erfcinv", y))


@fused
def ndtr(x: ArrayLike) -> Array:
    """The probability that a standard normal variable is below ``x``, with all its digits where it is small.

    >>> round(float(special.ndtr(1.96)), 4)
    0.975
    """
    return normal(*real("ndtr", x))


@fused
def ndtri(p: ArrayLike) -> Array:
    """The inverse of ``ndtr``, for 0 to 1; infinite at the ends, NaN outside.

    >>> round(float(special.ndtri(0.975)), 3)
    1.96
    """
    return normal_quantiles(*real("ndtri", p))


@fused(static=("series_order",))
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """``log(ndtr(x))``, also where ``ndtr(x)`` underflows.

    Args:
      x: real numbers, of any shape.
      series_order: in JAX, how many terms of a series are taken far from 0, from 0 to 30. Here no series is;
        it changes nothing.

    >>> round(float(special.log_ndtr(-30.0)), 3)
    -454.321
    """
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: series_order must be from 0 to 30, got {series_order}")
    return log_normal(*real("log_ndtr", x))


@fused
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, ``exp(-x ** 2)`` times the integral of ``exp(t ** 2)`` from 0 to ``x``.

    >>> round(float(special.dawsn(1.0)), 4)
    0.5381
    """
    return dawsons(*real("dawsn", x))


@fused
def wofz(z: ArrayLike) -> Array:
    """Faddeeva's function ``exp(-z ** 2) erfc(-iz)``, elementwise; the result is complex. Its error is
    relative to its size; on the real axis each part is exact by itself.

    >>> round(float(special.wofz(1.0).real), 4), round(float(special.wofz(1.0).imag), 4)
    (0.3679, 0.6072)
    """
    (z,) = inexact("wofz", z)
    if not is_complex(z):
        z = lax.convert_element_type(z, "complex128" if z.dtype == "float64" else "complex64")
    return faddeeva(z)


@fused
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function: the probability that standard normal ``X > h`` and ``0 < Y < a X``.

    >>> round(float(special.owens_t(1.0, 0.5)), 5)
    0.04306
    """
    return owens(*real("owens_t", h, a))


__all__ = [
    "dawsn",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "owens_t",
    "wofz",
]
