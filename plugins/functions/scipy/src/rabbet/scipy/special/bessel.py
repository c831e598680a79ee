"""Bessel functions of any real order, and spherical ones."""

from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.arguments import ArrayLike, real
from rabbet.scipy.special.bessel_modified import modified_i, modified_k, scaled_i, scaled_k
from rabbet.scipy.special.bessel_ordinary import bessel_j, bessel_y
from rabbet.scipy.special.bessel_spherical import spherical_i, spherical_j, spherical_k, spherical_y


def _of_order(primitive, name, order, x):
    (x,) = real(name, x)
    return primitive(lax.full_like(x, order), x)


# ----------------------------------------------------------------------------------------- ordinary
@fused
def jv(v: ArrayLike, z: ArrayLike) -> Array:
    """The Bessel function of the first kind of real order ``v``, elementwise.

    Args:
      v: real orders. There is no derivative by them.
      z: real numbers; for negative ones the order must be whole, else the value is complex, and NaN here.

    Returns:
      an array of the common shape, differentiable by ``z`` to any order. NaN for ``z`` between 20,000 and
      ``v ** 2 / 2``, where too many steps would be needed.

    By Hankel's expansion, power series and Steed's method (NIST DLMF 10.17, 10.74).

    >>> round(float(special.jv(0.5, 2.0)), 4), round(float(rb.grad(special.jv, 1)(0.5, 2.0)), 4)
    (0.513, -0.363)
    """
    return bessel_j(*real("jv", v, z))


@fused
def yv(v: ArrayLike, z: ArrayLike) -> Array:
    """The Bessel function of the second kind of real order ``v``, elementwise; see ``jv``. NaN for negative
    ``z``, -inf at 0.

    >>> round(float(special.yv(0.5, 2.0)), 4)
    0.2348
    """
    return bessel_y(*real("yv", v, z))


@fused
def j0(x: ArrayLike) -> Array:
    """The Bessel function of the first kind of order 0, elementwise.

    >>> round(float(special.j0(2.0)), 4)
    0.2239
    """
    return _of_order(bessel_j, "j0", 0, x)


@fused
def j1(x: ArrayLike) -> Array:
    """The Bessel function of the first kind of order 1, elementwise.

    >>> round(float(special.j1(2.0)), 4)
    0.5767
    """
    return _of_order(bessel_j, "j1", 1, x)


@fused
def y0(x: ArrayLike) -> Array:
    """The Bessel function of the second kind of order 0, elementwise: -inf at 0, NaN below.

    >>> round(float(special.y0(2.0)), 4)
    0.5104
    """
    return _of_order(bessel_y, "y0", 0, x)


@fused
def y1(x: ArrayLike) -> Array:
    """The Bessel function of the second kind of order 1, elementwise: -inf at 0, NaN below.

    >>> round(float(special.y1(2.0)), 4)
    -0.107
    """
    return _of_order(bessel_y, "y1", 1, x)


# ----------------------------------------------------------------------------------------- modified
@fused
def iv(v: ArrayLike, z: ArrayLike) -> Array:
    """The modified Bessel function of the first kind of real order ``v``, elementwise.

    Args:
      v: real orders.
      z: real numbers; for negative ones the order must be whole, else NaN.

    Returns:
      an array of the common shape. Differentiable by ``z`` to any order, and by ``v``.

    By Olver's uniform expansion and the power series (NIST DLMF 10.41, 10.25).

    >>> round(float(special.iv(0.5, 2.0)), 4), round(float(rb.grad(special.iv)(0.5, 2.0)), 4)
    (2.0462, -0.7573)
    """
    return modified_i(*real("iv", v, z))


@fused
def ive(v: ArrayLike, z: ArrayLike) -> Array:
    """``exp(-|z|) iv(v, z)``, which does not overflow.

    >>> round(float(special.ive(0.5, 1000.0)), 6)
    0.012616
    """
    return scaled_i(*real("ive", v, z))


@fused
def kv(v: ArrayLike, z: ArrayLike) -> Array:
    """The modified Bessel function of the second kind of real order ``v``, elementwise: infinite at 0, NaN
    for negative ``z``.

    Differentiable by ``z`` to any order, and by ``v``.

    By Olver's uniform expansion, the trapezoidal rule for its integral, and Temme's series (NIST DLMF 10.41,
    10.32, 10.74).

    >>> round(float(special.kv(0.5, 2.0)), 4), round(float(rb.grad(special.kv)(0.5, 2.0)), 4)
    (0.1199, 0.0247)
    """
    return modified_k(*real("kv", v, z))


@fused
def kve(v: ArrayLike, z: ArrayLike) -> Array:
    """``exp(z) kv(v, z)``, which does not underflow.

    >>> round(float(special.kve(0.5, 1000.0)), 4)
    0.0396
    """
    return scaled_k(*real("kve", v, z))


@fused
def k0(x: ArrayLike) -> Array:
    """The modified Bessel function of the second kind of order 0, elementwise.

    >>> round(float(special.k0(2.0)), 4)
    0.1139
    """
    return _of_order(modified_k, "k0", 0, x)


@fused
def k0e(x: ArrayLike) -> Array:
    """``exp(x) k0(x)``, which does not underflow.

    >>> round(float(special.k0e(1000.0)), 4)
    0.0396
    """
    return _of_order(scaled_k, "k0e", 0, x)


@fused
def k1(x: ArrayLike) -> Array:
    """The modified Bessel function of the second kind of order 1, elementwise.

    >>> round(float(special.k1(2.0)), 4)
    0.1399
    """
    return _of_order(modified_k, "k1", 1, x)


@fused
def k1e(x: ArrayLike) -> Array:
    """``exp(x) k1(x)``, which does not underflow.

    >>> round(float(special.k1e(1000.0)), 4)
    0.0396
    """
    return _of_order(scaled_k, "k1e", 1, x)


# ---------------------------------------------------------------------------------------- spherical
def _spherical(primitive, name, n, z, derivative):
    n, z = real(name, n, z)
    if not derivative:
        return primitive(n, z)
    return primitive.slope(n, z)


@fused(static=("derivative",))
def spherical_jn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The spherical Bessel function of the first kind, ``sqrt(pi / (2 z)) jv(n + 1/2, z)``, elementwise.

    Args:
      n: whole orders from 0 on; NaN for others. There is no derivative by them.
      z: real numbers.
      derivative: whether to return the derivative by ``z``.

    Returns:
      an array of the common shape, differentiable by ``z`` to any order, at 0 too.

    >>> round(float(special.spherical_jn(1, 2.0)), 4), round(float(special.spherical_jn(1, 2.0, True)), 4)
    (0.4354, 0.0193)
    """
    return _spherical(spherical_j, "spherical_jn", n, z, derivative)


@fused(static=("derivative",))
def spherical_yn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The spherical Bessel function of the second kind, elementwise; see ``spherical_jn``.

    >>> round(float(special.spherical_yn(1, 2.0)), 4)
    -0.3506
    """
    return _spherical(spherical_y, "spherical_yn", n, z, derivative)


@fused(static=("derivative",))
def spherical_in(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The modified spherical Bessel function of the first kind, elementwise; see ``spherical_jn``.

    >>> round(float(special.spherical_in(1, 2.0)), 4)
    0.9744
    """
    return _spherical(spherical_i, "spherical_in", n, z, derivative)


@fused(static=("derivative",))
def spherical_kn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The modified spherical Bessel function of the second kind, elementwise; see ``spherical_jn``. NaN for
    negative ``z``.

    >>> round(float(special.spherical_kn(1, 2.0)), 4)
    0.1594
    """
    return _spherical(spherical_k, "spherical_kn", n, z, derivative)


__all__ = [
    "iv", "ive", "j0", "j1", "jv", "k0", "k0e", "k1", "k1e", "kv", "kve", "spherical_in", "spherical_jn",
    "spherical_kn", "spherical_yn", "y0", "y1", "yv",
]  # fmt: skip
