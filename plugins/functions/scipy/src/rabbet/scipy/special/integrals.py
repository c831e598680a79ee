"""Integrals of elementary functions: exponential, sine and cosine, Fresnel's, Spence's."""

from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.arguments import ArrayLike, real
from rabbet.scipy.special.integral_values import (
    cosine_integral,
    exponential,
    exponentials,
    fresnel_cosine,
    fresnel_sine,
    sine_integral,
    spences,
)


@fused
def exp1(x: ArrayLike) -> Array:
    """The exponential integral ``E1(x)`` of real ``x >= 0``: infinite at 0, NaN below.

    >>> round(float(special.exp1(1.0)), 4)
    0.2194
    """
    (x,) = real("exp1", x)
    return exponentials(lax.full_like(x, 1), x)


@fused
def expi(x: ArrayLike) -> Array:
    """The exponential integral ``Ei(x)`` of real numbers: -inf at 0.

    >>> round(float(special.expi(1.0)), 4)
    1.8951
    """
    return exponential(*real("expi", x))


@fused
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The exponential integral ``E_n(x)``: the integral of ``exp(-x t) / t ** n`` from 1 on.

    Args:
      n: whole numbers from 0 on; NaN for others. There is no derivative by them.
      x: real numbers from 0 on; NaN below.

    >>> round(float(special.expn(2, 0.5)), 4)
    0.3266
    """
    return exponentials(*real("expn", n, x))


@fused
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine and the cosine integral, a pair. The cosine integral of a negative number is that of its size,
    as in SciPy, where the complex one would have an imaginary part.

    >>> [round(float(v), 4) for v in special.sici(1.0)]
    [0.9461, 0.3374]
    """
    (x,) = real("sici", x)
    return sine_integral(x), cosine_integral(x)


@fused
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Fresnel's integrals ``(S(x), C(x))``, of ``sin(pi t ** 2 / 2)`` and ``cos(pi t ** 2 / 2)``.

    >>> [round(float(v), 4) for v in special.fresnel(1.0)]
    [0.4383, 0.7799]
    """
    (x,) = real("fresnel", x)
    return fresnel_sine(x), fresnel_cosine(x)


@fused
def spence(x: ArrayLike) -> Array:
    """Spence's function, the integral of ``log(t) / (1 - t)`` from 1 to ``x``: the dilogarithm of ``1 - x``.
    NaN below 0; -inf at infinity, where SciPy has NaN.

    >>> round(float(special.spence(0.0)), 4)
    1.6449
    """
    return spences(*real("spence", x))


__all__ = ["exp1", "expi", "expn", "fresnel", "sici", "spence"]
