"""Beta, Bessel, hypergeometric and Legendre functions."""

import math

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.arguments import ArrayLike, as_array, concrete, elementwise, real
from rabbet.scipy.special.bessel_values import ordinary_bessels
from rabbet.scipy.special.beta_values import betas, incomplete_betas, log_betas
from rabbet.scipy.special.hypergeometric_values import hyp1f1s, hyp2f1s
from rabbet.scipy.special.legendre_values import sphericals, table
from rabbet.scipy.special.numerics import choose, polynomial
from rabbet.scipy.special.primitive_factory import define


# ----------------------------------------------------------------------------------------------------- beta
@fused
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function ``gamma(a) gamma(b) / gamma(a + b)``, elementwise.

    >>> round(float(special.beta(2.0, 3.0)), 4)
    0.0833
    """
    return betas(*real("beta", a, b))


@fused
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """``log |beta(a, b)|``, elementwise.

    >>> round(float(special.betaln(100.0, 200.0)), 3)
    -192.134
    """
    return log_betas(*real("betaln", a, b))


@fused
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function: the probability that a beta variable with shapes ``a, b > 0``
    is below ``x``, from 0 to 1.

    Differentiable by all three, by the shapes once; JAX refuses the shapes.

    >>> round(float(special.betainc(2.0, 3.0, 0.5)), 4)
    0.6875
    """
    return incomplete_betas(*real("betainc", a, b, x))


# --------------------------------------------------------------------------------------------------- Bessel
@fused
def i0e(x: ArrayLike) -> Array:
    """``exp(-|x|) i0(x)``, which does not overflow.

    >>> round(float(special.i0e(100.0)), 4)
    0.0399
    """
    return lax.bessel_i0e(*real("i0e", x))


@fused
def i1e(x: ArrayLike) -> Array:
    """``exp(-|x|) i1(x)``, which does not overflow.

    >>> round(float(special.i1e(100.0)), 4)
    0.0397
    """
    return lax.bessel_i1e(*real("i1e", x))


def _unscaled(x, scaled):
    half = lax.exp(0.5 * lax.abs(x))
    return half * scaled * half


# Their derivatives are those of the functions: of the scaled ones the large terms would cancel.
bessel_i0 = define(
    "i0", "x", lambda x: _unscaled(x, lax.bessel_i0e(x)), [lambda x, out: bessel_i1(x)],
    "the modified Bessel function of order 0",
)  # fmt: skip
bessel_i1 = define(
    "i1", "x", lambda x: _unscaled(x, lax.bessel_i1e(x)),
    [lambda x, out: bessel_i0(x) - _by_argument(x, out)], "the modified Bessel function of order 1",
)  # fmt: skip


def _by_argument(x, out):
    """``i1(x) / x``, of small numbers by its series (DLMF 10.25.2); 0 where ``i1`` is infinite, as what it is
    taken from is too.
    """
    out = choose(lax.abs(out) == math.inf, 0.0 * x, out)
    near = lax.abs(x) < 1.0
    small = choose(near, x, 0.0 * x)
    factors = [0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(10)]
    return choose(near, polynomial(small * small * 0.25, factors), out / choose(near, 1.0 + 0.0 * x, x))


@elementwise
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind of order 0.

    >>> round(float(special.i0(1.0)), 4)
    1.2661
    """
    (x,) = real("i0", x)
    return bessel_i0(x)


@elementwise
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind of order 1.

    >>> round(float(special.i1(1.0)), 4)
    0.5652
    """
    (x,) = real("i1", x)
    return bessel_i1(x)


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind of the orders 0 to ``v``, of real numbers.

    Args:
      z: real numbers, of any shape.
      v: the highest order, a Python int from 0 on.
      n_iter: at which order the recurrence starts. It must lie well above ``|z|``: 50 is enough up to about
        30.

    Returns:
      an array of shape ``(v + 1, *z.shape)``.

    Raises:
      ValueError: for a negative ``v``.

    >>> [round(x, 4) for x in special.bessel_jn(1.0, v=2).tolist()]
    [0.7652, 0.4401, 0.1149]
    """
    v, n_iter = concrete("bessel_jn", "v", v), concrete("bessel_jn", "n_iter", n_iter)
    if v < 0:
        raise ValueError(f"bessel_jn: v must not be negative, got {v}")
    return _bessel_jn(z, v, max(n_iter, v + 16))


@elementwise(static=("v", "start"))
def _bessel_jn(z, v, start):
    (z,) = real("bessel_jn", z, weak=False)
    return ordinary_bessels(z, v, start)


# ------------------------------------------------------------------------------------------- hypergeometric
@fused
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's confluent hypergeometric function, elementwise, of real numbers; differentiable by all three.

    Large parameters of other sign than ``x`` cost digits; a sum that does not converge is NaN.

    >>> round(float(special.hyp1f1(1.0, 2.0, 1.0)), 4)
    1.7183
    """
    return hyp1f1s(*real("hyp1f1", a, b, x))


@fused
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's hypergeometric function, elementwise, of real numbers ``x <= 1``; differentiable by all four.
    Infinite beyond 1, as in SciPy, unless it is a polynomial.

    Where ``c - a - b`` is nearly whole and ``x`` nearly 1 many terms are summed; beyond 20,000 the value is
    NaN.

    >>> round(float(special.hyp2f1(1.0, 1.0, 2.0, 0.5)), 4)
    1.3863
    """
    return hyp2f1s(*real("hyp2f1", a, b, c, x))


# ------------------------------------------------------------------------------------------------- Legendre
@fused(static=("diff_n", "n_max"))
def sph_harm_y(
    n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:  # fmt: skip
    """Spherical harmonics, complex, of norm 1 on the sphere, with the sign of Condon and Shortley.

    Args:
      n: degrees, whole numbers from 0 on; NaN for others.
      m: orders, whole numbers; 0 where ``|m| > n``.
      theta: the polar angle, 0 to pi.
      phi: the azimuth.
      diff_n: SciPy's number of derivatives in the result; 0 or None. ``rabbet.jvp`` differentiates by the
      angles.
      n_max: JAX's bound of the degrees. They need none here; it changes nothing.

    >>> round(float(special.sph_harm_y(1, 0, 0.0, 0.0).real), 4)
    0.4886
    """
    if diff_n not in (None, 0):
        raise NotImplementedError(
            "sph_harm_y: diff_n must be None or 0; take derivatives with rabbet.jvp or jacfwd"
        )
    n, m, theta, phi = real("sph_harm_y", n, m, theta, phi)
    if n.dtype != "float64":  # there are no complex numbers of halves
        n, m, theta, phi = (lax.convert_element_type(x, "float32") for x in (n, m, theta, phi))
    size = sphericals(n, m, theta)
    return lax.complex(size * lax.cos(m * phi), size * lax.sin(m * phi))


def _argument(name, z):
    z = rnp.asarray(z)
    z = as_array(z, real(name, z)[0].dtype)
    if z.ndim != 1:
        raise ValueError(f"{name}: z must be an array of one dimension, got the shape {z.shape}")
    return z


@fused(static=("m", "n"))
def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """The associated Legendre functions of all orders up to ``m`` and degrees up to ``n``, and their
    derivatives.

    Args:
      m, n: Python ints from 0 on.
      z: real numbers of one dimension, between -1 and 1.

    Returns:
      two arrays of shape ``(m + 1, n + 1, len(z))``, with the sign of Condon and Shortley. At -1 and 1 the
      derivatives of odd orders are infinite or NaN.

    >>> [x.shape for x in special.lpmn(2, 3, rnp.array([0.5]))]
    [(3, 4, 1), (3, 4, 1)]
    """
    m, n = concrete("lpmn", "m", m), concrete("lpmn", "n", n)
    z = _argument("lpmn", z)
    values = table(m, n, z, False)
    # (z^2 - 1) P' = l z P(l) - (l + m) P(l - 1), DLMF 14.10.5.
    degree, order = (
        lax.convert_element_type(np.arange(k + 1, dtype=np.float32).reshape(shape), z.dtype)
        for k, shape in ((n, (1, -1, 1)), (m, (-1, 1, 1)))
    )
    before = rnp.concatenate([lax.full_like(values[:, :1], 0), values[:, :-1]], 1)
    slopes = (degree * z * values - (degree + order) * before) / (z * z - 1.0)
    return values, slopes


@fused(static=("m", "n", "is_normalized"))
def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """The associated Legendre functions of all orders up to ``m`` and degrees up to ``n``.

    Args:
      m, n: Python ints from 0 on.
      z: real numbers of one dimension, between -1 and 1.
      is_normalized: whether to normalize them so that ``exp(i m phi)`` times them has norm 1 on the sphere.

    Returns:
      an array of shape ``(m + 1, n + 1, len(z))``.

    >>> special.lpmn_values(1, 1, rnp.array([0.5]), False)[0].tolist()
    [[1.0], [0.5]]
    """
    m, n = concrete("lpmn_values", "m", m), concrete("lpmn_values", "n", n)
    return table(m, n, _argument("lpmn_values", z), bool(is_normalized))


__all__ = [
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "lpmn",
    "lpmn_values",
    "sph_harm_y",
]
