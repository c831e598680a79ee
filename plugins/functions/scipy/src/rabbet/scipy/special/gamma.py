"""The gamma function's family: gamma and its logarithm, its derivatives, incomplete gamma, factorials,
zeta.
"""

import math
from fractions import Fraction

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import fused, with_weak_type
from rabbet.scipy.arguments import ArrayLike, concrete, elementwise, inexact, is_complex, real
from rabbet.scipy.special.beta_values import betas, rising_factorials, sign_of_gamma
from rabbet.scipy.special.gamma_values import (
    complex_digamma,
    complex_log_gamma,
    polygammas,
    real_digamma,
    real_gamma,
    riemann_zeta,
    zetas,
)
from rabbet.scipy.special.numerics import choose, epsilon, whole


@fused
def gamma(x: ArrayLike) -> Array:
    """The gamma function, elementwise.

    Args:
      x: real or complex numbers, of any shape; integers are converted to float.

    Returns:
      an array of that shape. Infinite at 0, with the sign of the zero; NaN at -1, -2, ... and at -inf.

    >>> round(float(special.gamma(4.5)), 4)
    11.6317
    """
    (x,) = inexact("gamma", x)
    return lax.exp(complex_log_gamma(x)) if is_complex(x) else with_weak_type(real_gamma(x), False)


@fused
def gammaln(x: ArrayLike) -> Array:
    """``log |gamma(x)|`` of real numbers, elementwise; infinite at 0, -1, -2, ...

    >>> round(float(special.gammaln(100.0)), 3)
    359.134
    """
    (x,) = real("gammaln", x)
    return lax.lgamma(x)


@fused
def loggamma(x: ArrayLike) -> Array:
    """The principal branch of ``log gamma(x)``, elementwise: for complex numbers the branch that is cut along
    the negative axis alone; for real ones NaN below 0, where the value is complex.

    >>> round(float(special.loggamma(0.5)), 4), round(float(special.loggamma(1 + 1j).imag), 4)
    (0.5724, -0.3016)
    """
    (x,) = inexact("loggamma", x)
    return complex_log_gamma(x) if is_complex(x) else lax.lgamma(choose(x < 0.0, math.nan, x))


@fused
def gammasgn(x: ArrayLike) -> Array:
    """The sign of the gamma function of real numbers: 1.0 or -1.0; NaN at -1, -2, ...; the sign of the zero
    at 0.

    >>> special.gammasgn(rnp.array([-1.5, -0.5, 2.0])).tolist()
    [1.0, -1.0, 1.0]
    """
    (x,) = real("gammasgn", x, weak=False)
    return lax.stop_gradient(sign_of_gamma(x))


@fused
def digamma(x: ArrayLike) -> Array:
    """The derivative of ``log gamma``, of real or complex numbers: -inf at 0, NaN at -1, -2, ...

    >>> round(float(special.digamma(1.0)), 4)
    -0.5772
    """
    (x,) = inexact("digamma", x)
    return complex_digamma(x) if is_complex(x) else real_digamma(x)


@fused
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The derivative number ``n`` of ``digamma`` at real ``x``.

    Args:
      n: whole numbers from 0 on; NaN for others. There is no derivative by them.
      x: real numbers, negative ones too (down to -10,000); infinite at 0, -1, -2, ... for odd ``n``.

    >>> round(float(special.polygamma(1, 1.0)), 4)
    1.6449
    """
    return polygammas(*real("polygamma", n, x))


@fused
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz's zeta function, the sum of ``(k + q) ** -x`` over ``k = 0, 1, ...``; without ``q`` Riemann's.

    Args:
      x: real numbers; with ``q`` above 1, else NaN.
      q: real numbers. For negative ones ``x`` must be whole.

    Differentiable by both arguments, where JAX knows the one by ``q`` alone; and Riemann's function has all
    its values.

    >>> round(float(special.zeta(2.0, 1.0)), 4), round(float(special.zeta(-1.0)), 4)
    (1.6449, -0.0833)
    """
    if q is None:
        return riemann_zeta(*real("zeta", x))
    return zetas(*real("zeta", x, q))


def to_whole(x, valid):
    """``x`` rounded to a whole number where that is what it means; the derivative is that of ``x``."""
    near = valid & (lax.abs(x) < 0.5 / epsilon(x))
    return x + lax.stop_gradient(choose(near, lax.round(choose(near, x, 0.0)) - x, 0.0))


@elementwise
def _factorial(n):
    (n,) = real("factorial", n)
    small = n < 1.0
    # n gamma(n), which has no rounded n + 1 in it, from 1 on.
    safe = choose(n < 0.0, 0.0, n)
    value = real_gamma(choose(small, safe + 1.0, n)) * choose(small, 1.0, n)
    return choose(n < 0.0, 0.0, to_whole(value, whole(n)))


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """``n! = gamma(n + 1)``, elementwise; 0 for negative ``n``, as in SciPy. Whole numbers are exact as long
    as the dtype holds them.

    Raises:
      NotImplementedError: for ``exact=True``, SciPy's Python integers of any size; ``math.factorial`` gives
        them.

    >>> special.factorial(rnp.array([0.0, 3.0, 5.0])).tolist()
    [1.0, 6.0, 120.0]
    """
    if exact:
        raise NotImplementedError(
            "factorial: exact=True means Python integers of any size, which arrays do not hold; "
            "use math.factorial"
        )
    return _factorial(n)


def comb(N: ArrayLike, k: ArrayLike, *, exact: bool = False, repetition: bool = False) -> Array:
    """The number of ways to choose ``k`` of ``N`` things, elementwise, for real numbers by the gamma
    function; 0 where ``k > N`` or one is negative, as in SciPy.

    Args:
      exact: must be False; ``math.comb`` counts exactly.
      repetition: whether a thing may be chosen more than once.

    >>> special.comb(rnp.array([5.0, 10.0]), 3).tolist(), float(special.comb(4, 2, repetition=True))
    ([10.0, 120.0], 10.0)
    """
    if exact:
        raise NotImplementedError(
            "comb: exact=True means Python integers of any size, which arrays do not hold; use math.comb"
        )
    return _multisets(N, k) if repetition else _subsets(N, k)


@elementwise
def _subsets(N, k):
    return _count(*real("comb", N, k))


@elementwise
def _multisets(N, k):
    N, k = real("comb", N, k)
    return _count(choose((N == 0.0) & (k == 0.0), 0.0, N + k - 1.0), k)


def _count(N, k):
    valid = (k >= 0.0) & (N >= 0.0) & (k <= N)
    n, j = choose(valid, N, 1.0), choose(valid, k, 0.0)
    endless = n == math.inf
    m = choose(endless, 1.0, n)
    value = to_whole(1.0 / ((m + 1.0) * betas(1.0 + m - j, 1.0 + j)), whole(N) & whole(k))
    value = choose(endless & (j == 0.0), 1.0, endless, choose(j < math.inf, math.inf, math.nan + j), value)
    return choose(valid, value, (N == N) & (k == k), 0.0, math.nan)


@fused
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """The rising factorial ``gamma(z + m) / gamma(z)``, elementwise: ``z (z + 1) ... (z + m - 1)`` for whole
    ``m``.

    >>> float(special.poch(2.0, 3)), float(special.poch(-3.0, 2))
    (24.0, 6.0)
    """
    return rising_factorials(*real("poch", z, m))


def multigammaln(a: ArrayLike, d: int) -> Array:
    """The logarithm of the gamma function of dimension ``d``, for ``a > (d - 1) / 2``.

    Args:
      a: real numbers, of any shape.
      d: a Python int.

    >>> round(float(special.multigammaln(3.0, 2)), 4)
    1.5502
    """
    return _multigammaln(a, concrete("multigammaln", "d", d))


@elementwise(static=("d",))
def _multigammaln(a, d):
    (a,) = real("multigammaln", a, weak=False)
    total = lax.full_like(a, 0.25 * d * (d - 1) * math.log(math.pi))
    for j in range(d):
        total = total + lax.lgamma(a - 0.5 * j)
    return total


@fused
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized lower incomplete gamma function P(a, x), elementwise, for ``a, x >= 0``.

    Differentiable by both arguments, by ``a`` once.

    >>> round(float(special.gammainc(2.0, 1.0)), 4)
    0.2642
    """
    return lax.igamma(*real("gammainc", a, x))


@fused
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized upper incomplete gamma function ``Q(a, x) = 1 - P(a, x)``, elementwise, for ``a, x >=
    0``.

    Differentiable by both arguments, by ``a`` once.

    >>> round(float(special.gammaincc(2.0, 1.0)), 4)
    0.7358
    """
    return lax.igammac(*real("gammaincc", a, x))


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers ``B0`` to ``Bn``, of which ``B1`` is -1/2, as floats.

    Args:
      n: a Python int from 0 on; it decides the shape. Numbers beyond the largest float are infinite.

    Returns:
      an array of ``n + 1`` numbers, where SciPy's has 3 at least.

    >>> [round(b, 4) for b in special.bernoulli(4).tolist()]
    [1.0, -0.5, 0.1667, 0.0, -0.0333]
    """
    n = concrete("bernoulli", "n", n)
    if n < 0:
        raise ValueError(f"bernoulli: n must be 0 or more, got {n}")
    # From the tangent numbers, which are whole (D. E. Knuth and T. J. Buckholtz, 1967).
    half = n // 2
    tangents = [0] + [math.factorial(k - 1) for k in range(1, half + 1)]
    for k in range(2, half + 1):
        for j in range(k, half + 1):
            tangents[j] = (j - k) * tangents[j - 1] + (j - k + 2) * tangents[j]
    numbers = [1.0, -0.5] + [0.0] * max(n - 1, 0)
    for k in range(1, half + 1):
        exact = Fraction((-1) ** (k + 1) * 2 * k * tangents[k], 4**k * (4**k - 1))
        try:
            numbers[2 * k] = float(exact)
        except OverflowError:
            numbers[2 * k] = math.copysign(math.inf, exact)
    with np.errstate(over="ignore"):
        return rnp.asarray(np.asarray(numbers[: n + 1]).astype(dtypes.scalar_dtype(float)))


__all__ = [
    "bernoulli",
    "comb",
    "digamma",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "poch",
    "polygamma",
    "zeta",
]
