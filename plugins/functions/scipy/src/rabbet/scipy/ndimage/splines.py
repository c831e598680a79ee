"""Interpolation by B-splines on a regular grid: weights, and the filter that finds the coefficients."""

import numpy as np

import rabbet.numpy as rnp
from rabbet import lax

# The roots by which the filter of each order is taken apart (M. Unser, A. Aldroubi and M. Eden, B-spline
# signal processing, 1993).
POLES = {
    2: (8**0.5 - 3,),
    3: (3**0.5 - 2,),
    4: (
        (664 - 438976**0.5) ** 0.5 + 304**0.5 - 19,
        (664 + 438976**0.5) ** 0.5 - 304**0.5 - 19,
    ),
    5: (
        (67.5 - 4436.25**0.5) ** 0.5 + 26.25**0.5 - 6.5,
        (67.5 + 4436.25**0.5) ** 0.5 - 26.25**0.5 - 6.5,
    ),
}


def neighbours(x, order):
    """The first of the ``order + 1`` grid points around ``x`` (a float), and the weight of each."""
    if order == 0:
        return rnp.floor(x + 0.5), [rnp.ones_like(x)]
    if order == 1:
        first = rnp.floor(x)
        # Without a corner at the points, which would share out the derivative there.
        return first, [1 - (x - first), x - first]
    centre = rnp.floor(x + 0.5) if order % 2 == 0 else rnp.floor(x)
    first = centre - order // 2
    return first, [bspline(x - first - i, order) for i in range(order + 1)]


def bspline(distance, order):
    """The centred B-spline of an order, as a sum of powers that are cut off at zero.

    Of the two sides, which are equal, the one with fewer terms is summed, so that little cancels.
    """
    reach = (order + 1) / 2
    t = reach - rnp.abs(distance)
    total, binomial, factorial = 0, 1, int(np.prod(np.arange(1, order + 1)))
    for k in range(int(reach) + 1):
        total = total + (-1) ** k * binomial / factorial * rnp.maximum(t - float(k), 0) ** order
        binomial = binomial * (order + 1 - k) // (k + 1)
    return total


def coefficients(a, order, mode):
    """What to weigh so that the spline goes through ``a``, along every axis.

    ``mode`` says how ``a`` goes on beyond its ends: ``"mirror"``, ``"reflect"`` or ``"wrap"``.
    """
    for axis in range(a.ndim):
        if a.shape[axis] > 1:
            a = rnp.moveaxis(along_first(rnp.moveaxis(a, axis, 0), order, mode), 0, axis)
    return a


def along_first(a, order, mode):
    """The filter along the first axis: for each root a sum that goes forward and one that comes back."""
    n, real = a.shape[0], a.real.dtype
    for z in POLES[order]:
        first = rnp.tensordot(periodic_weights(n, z, mode).astype(real), a, 1)
        _, forward = lax.scan(lambda c, s, z=z: (s + z * c,) * 2, first, a[1:])
        forward = rnp.concatenate([first[None], forward])
        if mode == "mirror":
            last = z / (z * z - 1) * (forward[-1] + z * forward[-2])
        elif mode == "reflect":
            last = z / (z - 1) * forward[-1]
        else:
            last = -z * rnp.tensordot(periodic_weights(n, z, mode)[::-1].astype(real), forward, 1)
        _, back = lax.scan(lambda c, s, z=z: (z * (c - s),) * 2, last, forward[:-1], reverse=True)
        a = rnp.concatenate([back, last[None]]) * ((1 - z) * (1 - 1 / z))
    return a


def periodic_weights(n, z, mode):
    """The weights of ``a`` in the sum of ``z**k a[-k]`` over all ``k`` from 0, ``a`` going on by ``mode``."""
    period = {"mirror": 2 * n - 2, "reflect": 2 * n, "wrap": n}[mode]
    weights = np.zeros(n)
    for k in range(min(period, 200)):  # z**200 is far below rounding
        weights[position(np.array(-k), n, mode)] += z**k
    return weights / (1 - z**period)


def position(i, n, mode):
    """The place inside ``range(n)`` that a whole number stands for; of NumPy's arrays and traced ones."""
    xp = np if isinstance(i, np.ndarray) else rnp
    if mode == "wrap":
        return i % n
    if mode == "mirror":
        period = max(2 * (n - 1), 1)
        i = i % period
        return xp.minimum(i, period - i) if n > 1 else i * 0
    if mode == "reflect":
        i = i % (2 * n)
        return xp.minimum(i, 2 * n - 1 - i)
    return xp.clip(i, 0, n - 1)
