"""Associated Legendre functions: on the sphere as a primitive, and as tables of all orders and degrees.

The recurrence in the degree from the diagonal, which is stable, on functions that are normalized on the
sphere (DLMF 14.10.3, 14.30.1); derivatives by the neighbouring orders, which need no division by the sine.
"""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special.numerics import choose, whole
from rabbet.scipy.special.primitive_factory import NoDerivative, define


def spherical(n, m, theta):
    """``P(n, m)(cos theta)`` normalized so that ``exp(i m phi)`` times it has norm 1 on the sphere."""
    order = lax.abs(m)
    valid = whole(n) & whole(m) & (n >= 0.0) & (order <= n)
    top, order = choose(valid, n, 0.0), choose(valid, order, 0.0)
    x, s = lax.cos(theta), lax.sin(theta)

    def more_orders(state):
        k, _ = state
        return rnp.any(k < order)

    def next_order(state):
        k, value = state
        k = k + 1.0
        grown = -value * s * lax.sqrt((2.0 * k + 1.0) / (2.0 * k))
        return k, choose(k <= order, grown, value)

    nought = lax.full_like(theta, 0, shape=())
    start = lax.full_like(theta, math.sqrt(0.25 / math.pi))
    _, diagonal = lax.while_loop(more_orders, next_order, (nought, start))

    def more_degrees(state):
        j, *_ = state
        return rnp.any(order + j < top)

    def next_degree(state):
        j, before, value = state
        j = j + 1.0
        # In the degree order + j: j (j + 2 order) is its square less that of the order.
        degree = order + j
        last = degree - 1.0
        up = lax.sqrt((2.0 * degree - 1.0) * (2.0 * degree + 1.0) / (j * (degree + order)))
        down = lax.sqrt((j - 1.0) * (last + order) / ((2.0 * last - 1.0) * (2.0 * last + 1.0)))
        grown = up * (x * value - choose(j == 1.0, 0.0, down) * before)
        going = degree <= top
        return j, choose(going, value, before), choose(going, grown, value)

    _, _, value = lax.while_loop(more_degrees, next_degree, (nought, 0.0 * diagonal, diagonal))
    odd = order - 2.0 * lax.floor(0.5 * order) == 1.0
    value = choose((m < 0.0) & odd, -value, value)
    wrong = ~(whole(n) & whole(m) & (n >= 0.0))
    return choose(wrong, math.nan, valid, value, 0.0)


def by_theta(n, m, theta, out):
    """By the orders above and below (DLMF 14.10.1 and its relatives)."""
    above = lax.sqrt(lax.max((n - m) * (n + m + 1.0), 0.0)) * sphericals(n, m + 1.0, theta)
    below = lax.sqrt(lax.max((n + m) * (n - m + 1.0), 0.0)) * sphericals(n, m - 1.0, theta)
    return 0.5 * (above - below)


WHOLE = NoDerivative("it is defined for whole numbers alone")
sphericals = define(
    "spherical_legendre", "n m theta", spherical, [WHOLE, WHOLE, by_theta], "normalized Legendre functions"
)


def table(orders, degrees, z, normalized):
    """``P(degree, order)(z)`` of all orders and degrees up to the given ones, in an array ``[order, degree,
    ...]``; of one that is larger than the degree 0. In derivatives the square root at ``|z| = 1`` is
    infinite."""
    at = lax.convert_element_type(rnp.arange(orders + 1), z.dtype)[:, None]
    root = lax.sqrt(choose(lax.abs(z) < 1.0, 1.0 - z * z, 0.0))

    factor = lax.sqrt((2.0 * at + 1.0) / lax.max(2.0 * at, 1.0)) if normalized else 2.0 * at - 1.0
    rows = rnp.where(at == 0.0, math.sqrt(0.25 / math.pi) if normalized else 1.0, -factor * root)
    diagonal = rnp.cumprod(rows, 0)

    def degree(held, l):
        before, value = held
        # From degree l - 1 to l, for orders below l.
        inside = at < l
        gap = choose(inside, l - at, 1.0)
        if normalized:
            last = l - 1.0
            up = lax.sqrt((2.0 * l - 1.0) * (2.0 * l + 1.0) / (gap * (l + at)))
            low = choose(at < last, (last - at) * (last + at), 0.0)
            down = lax.sqrt(low) / lax.sqrt(lax.max((2.0 * last - 1.0) * (2.0 * last + 1.0), 1.0))
            grown = up * (z * value - down * before)
        else:
            grown = ((2.0 * l - 1.0) * z * value - (l + at - 1.0) * before) / gap
        new = rnp.where(inside, grown, rnp.where(at == l, diagonal, 0.0))
        return (value, new), new

    start = rnp.where(at == 0.0, diagonal, 0.0)
    later = lax.convert_element_type(rnp.arange(1, degrees + 1), z.dtype)
    _, rows = lax.scan(degree, (lax.full_like(start, 0), start), later)
    return rnp.moveaxis(rnp.concatenate([start[None], rows]), 0, 1)


__all__ = ["sphericals", "table"]
