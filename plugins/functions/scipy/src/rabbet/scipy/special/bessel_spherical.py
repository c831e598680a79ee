"""Spherical Bessel functions, from those of half orders, and their primitives."""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special import bessel_modified, bessel_ordinary
from rabbet.scipy.special.numerics import choose, whole
from rabbet.scipy.special.primitive_factory import NoDerivative, define

BY_ORDER = NoDerivative("orders are whole numbers")


def spherical(name, of_half_order, at_zero, mirrored, signs, doc):
    """Make one of the primitives.

    Args:
      of_half_order: ``(v, z)`` for positive ``z``.
      at_zero: ``n`` to the value at 0.
      mirrored: how often ``-1`` is a factor beyond ``n`` for negative ``z``; None: NaN there.
      signs: of the neighbours in the derivative (NIST DLMF 10.51.2, 10.51.5).
    """

    def values(n, z):
        size = lax.abs(z)
        valid = whole(n) & (n >= 0.0)
        inside = valid & (size > 0.0) & (size < math.inf)
        order, at = choose(inside, n, 0.0), choose(inside, size, 1.0)
        out = lax.sqrt((0.5 * math.pi) / at) * of_half_order(order + 0.5, at)
        out = choose(size == 0.0, at_zero(n), size == math.inf, at_infinity, out)
        if mirrored is None:
            out = choose(z < 0.0, math.nan, out)
        else:
            odd = (n + mirrored) - 2.0 * lax.floor(0.5 * (n + mirrored)) != 0.0
            out = choose((z < 0.0) & odd, -out, out)
        return choose(z != z, z, valid, out, math.nan)

    at_infinity = math.inf if name == "spherical_in" else 0.0

    def slope(n, z, out=None):
        orders = rnp.stack([lax.max(n - 1.0, lax.full_like(n, 0)), n + 1.0])
        below, above = made(orders, rnp.stack([z, z]))
        first = choose(n == 0.0, 0.0, n * below)
        out = (signs[0] * first + signs[1] * (n + 1.0) * above) / (2.0 * n + 1.0)
        return choose(n >= 0.0, out, math.nan)

    made = define(name, "n z", values, [BY_ORDER, slope], doc)
    made.slope = slope
    return made


def one_at_zero(n):
    return choose(n == 0.0, 1.0, 0.0 * n)


spherical_j = spherical(
    "spherical_jn", lambda v, z: bessel_ordinary.first_kind(v, z), one_at_zero, 0, (1.0, -1.0),
    "the spherical Bessel function j_n(z)",
)  # fmt: skip
spherical_y = spherical(
    "spherical_yn", lambda v, z: bessel_ordinary.second_kind(v, z), lambda n: lax.full_like(n, -math.inf), 1,
    (1.0, -1.0), "the spherical Bessel function y_n(z)",
)  # fmt: skip
spherical_i = spherical(
    "spherical_in", lambda v, z: bessel_modified.unscaled_first(v, z), one_at_zero, 0, (1.0, 1.0),
    "the modified spherical Bessel function i_n(z)",
)  # fmt: skip
spherical_k = spherical(
    "spherical_kn", lambda v, z: bessel_modified.unscaled_second(v, z), lambda n: lax.full_like(n, math.inf),
    None, (-1.0, -1.0), "the modified spherical Bessel function k_n(z)",
)  # fmt: skip

__all__ = ["spherical_i", "spherical_j", "spherical_k", "spherical_y"]
