"""The modified Bessel functions of order 0 and 1, scaled by ``exp(-|x|)`` so that they do not overflow.

The order 1 has an operation in CHLO. The order 0 is a Chebyshev series on each side of ``|x| = 8``, in the
variables that S. L. Moshier's Cephes library uses: ``exp(-x) I0(x)`` in ``x / 2 - 2`` and ``exp(-x) sqrt(x)
I0(x)`` in ``32 / x - 2``. The coefficients are Gauss-Chebyshev sums over 80 and 120 nodes, evaluated with 50
digits. Derivatives: NIST DLMF 10.29.
"""

import math

from rabbet import lax
from rabbet.extend.primitive import Dual, Primitive
from rabbet.lax import abs, div, max, mul, neg, rsqrt, sign, sub

from rabbet_special.chlo_primitives import unary
from rabbet_special.numerics import accept_floats, chebyshev, in_single, polynomial

SMALL = (
    3.38397637204738042e-1, -3.04682672343198399e-1, 1.71620901522208775e-1, -9.49010970480476444e-2,
    4.93052842396707085e-2, -2.37374148058994688e-2, 1.05464603945949983e-2, -4.32430999505057594e-3,
    1.6394756169413358e-3, -5.76375574538582366e-4, 1.88502885095841656e-4, -5.7541950100821037e-5,
    1.64484480707288971e-5, -4.41673835845875056e-6, 1.11738753912010372e-6, -2.67079385394061173e-7,
    6.04699502254191895e-8, -1.30002500998624804e-8, 2.65982372468238665e-9, -5.18979560163526291e-10,
    9.67580903537323691e-11, -1.72682629144155571e-11, 2.95505266312963983e-12, -4.85644678311192946e-13,
    7.67618549860493562e-14, -1.16853328779934517e-14, 1.71539128555513303e-15, -2.43127984654795469e-16,
    3.3307945188222381e-17, -4.41534164647933938e-18,
)  # fmt: skip
LARGE = (
    4.02245205507054416e-1, 3.36911647825569409e-3, 6.88975834691682398e-5, 2.89137052083475648e-6,
    2.04891858946906374e-7, 2.26666899049817806e-8, 3.39623202570838635e-9, 4.94060238822496959e-10,
    1.18891471078464383e-11, -3.14991652796324136e-11, -1.32158118404477131e-11, -1.79417853150680612e-12,
    7.18012445138366623e-13, 3.8527783827421427e-13, 1.54008621752140983e-14, -4.15056934728722209e-14,
    -9.55484669882830765e-15, 3.81168066935262242e-15, 1.77256013305652638e-15, -3.42548561967721913e-16,
    -2.82762398051658348e-16, 3.46122286769746109e-17, 4.46562142029676e-17, -4.83050448594418207e-18,
    -7.23318048787475395e-18,
)  # fmt: skip


def derivative_of_series(coefficients):
    """Those of the derivative of a Chebyshev series."""
    found = [0.0] * (len(coefficients) + 1)
    for k in range(len(coefficients) - 1, 0, -1):
        found[k - 1] = found[k + 1] + 2 * k * coefficients[k]
    return (0.5 * found[0], *found[1 : len(coefficients) - 1])


LARGE_SLOPE = derivative_of_series(LARGE)
LARGE_BEND = derivative_of_series(LARGE_SLOPE)
# The derivative of I1 by powers of x ** 2 / 4 (DLMF 10.25.2).
SLOPE_BY_SQUARES = [(k + 0.5) / (math.factorial(k) * math.factorial(k + 1)) for k in range(10)]


def bessel_i0e_aval(x):
    accept_floats("bessel_i0e", x)
    return x


bessel_i0e = Primitive(
    "bessel_i0e",
    bessel_i0e_aval,
    kinds=("elementwise",),
    operands=("x",),
    doc="""exp(-|x|) I0(x), the modified Bessel function

    >>> lax.bessel_i0e(rnp.array([0.0, 1.0]))
    Array([1.0000001, 0.4657596], dtype=float32)
    """,
)


@bessel_i0e.decompose
def bessel_i0e_by_chebyshev(op, x):
    return in_single(_two_series, op, x)


def _two_series(x):
    size = abs(x)
    near = chebyshev(sub(mul(size, 0.25), 1.0), SMALL)
    far = max(size, 8.0)
    beyond = mul(chebyshev(sub(div(16.0, far), 1.0), LARGE), rsqrt(far))
    return lax.select_n(lax.gt(size, 8.0), near, beyond)


@bessel_i0e.rule("jvp")
def jvp_bessel_i0e(op, x):
    out = op(x.primal)
    return Dual(out, mul(x.tangent, in_single(_slope_of_i0e, op, x.primal)))


def _slope_of_i0e(x):
    """``exp(-|x|) (I1 - sign(x) I0)``; far out, where these agree in ever more digits, by the series."""
    size = abs(x)
    near = lax.select_n(lax.gt(size, 8.0), x, 1.0)
    return lax.select_n(
        lax.gt(size, 8.0), sub(bessel_i1e(near), mul(sign(near), bessel_i0e(near))), mul(sign(x), _far(x)[0])
    )


def _far(x):
    """The first and the second derivative of ``exp(-x) I0(x)`` at ``|x| > 8``, by its series."""
    size = max(abs(x), 8.0)
    inverse = div(1.0, size)
    at = sub(mul(inverse, 16.0), 1.0)
    value, slope, bend = (chebyshev(at, series) for series in (LARGE, LARGE_SLOPE, LARGE_BEND))
    once = lax.add(mul(value, 0.5), mul(mul(slope, 16.0), inverse))
    twice = lax.add(mul(value, 0.75), mul(lax.add(mul(slope, 48.0), mul(mul(bend, 256.0), inverse)), inverse))
    outer = mul(inverse, rsqrt(size))
    return neg(mul(once, outer)), mul(mul(twice, inverse), outer)


def _slope_of_i1e(x, out):
    """``I1' = I0 - I1 / x``; of small numbers by its series, which has no difference; far out as for I0."""
    size = abs(x)
    near, far = lax.lt(size, 1.0), lax.gt(size, 8.0)
    squared = mul(lax.select_n(near, 0.0, x), mul(x, 0.25))
    series = mul(lax.exp(neg(size)), polynomial(squared, SLOPE_BY_SQUARES))
    middle = sub(bessel_i0e(x), div(out, lax.select_n(near, x, 1.0)))
    found = sub(lax.select_n(near, middle, series), mul(out, sign(x)))
    first, second = _far(x)
    return lax.select_n(far, found, lax.add(first, second))


bessel_i1e = unary(
    "bessel_i1e", "chlo.bessel_i1e", derivative=_slope_of_i1e,
    doc="""exp(-|x|) I1(x), the modified Bessel function

    >>> lax.bessel_i1e(rnp.array([0.0, 1.0]))
    Array([0.        , 0.20791042], dtype=float32)
    """,
)  # fmt: skip

__all__ = ["bessel_i0e", "bessel_i1e"]
