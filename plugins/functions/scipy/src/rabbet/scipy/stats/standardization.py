"""What the distributions share: standardized arguments, supports, probabilities.

What is invalid becomes NaN at the beginning, and formulas carry it to the end. Inside a selection stand
arguments that are valid, so that the derivatives of what is not selected are numbers.
"""

import math

from rabbet import lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import real
from rabbet.scipy.special.numerics import choose, whole


def log_of(probability, rest):
    """``log`` of a probability, also where it is 1 but for the ``rest``."""
    small = probability < 0.5
    low = lax.log(choose(small, probability, 1.0))
    high = lax.log1p(-choose(small, 0.0, rest))
    return choose(small, low, probability == probability, high, probability)


def standardized(name, x, *rest):
    """``(z, *shapes, scale)`` of ``(x, *shapes, loc, scale)``: ``z`` is ``(x - loc) / scale``, and a scale
    that is not positive NaN.
    """
    x, *shapes, loc, scale = real(name, x, *rest)
    scale = choose(scale > 0.0, scale, math.nan)
    return (x - loc) / scale, *shapes, scale


def counted(name, k, *rest):
    """``(k - loc, *shapes, valid)`` of ``(k, *shapes, loc)``: valid are finite whole numbers from 0 on."""
    k, *shapes, loc = real(name, k, *rest)
    k = k - loc
    return k, *shapes, (k >= 0.0) & (k < math.inf) & whole(k)


def within(known, inside, value, outside):
    """``value`` inside a support, ``outside`` elsewhere, NaN where ``known`` is."""
    if not hasattr(value, "aval"):
        value = lax.full_like(known, value)
    return choose(known != known, math.nan, inside, value, outside)


def known(x, *others):
    """``x``, and NaN where one of the others is; they are all of one type."""
    for other in others:
        x = choose(other != other, math.nan, x)
    return x


def probability(q):
    """``q``, NaN outside 0 to 1."""
    return choose((q >= 0.0) & (q <= 1.0), q, math.nan)


def log_one_less(u):
    """``log(1 - exp(-u))`` for ``u > 0``, without cancellation."""
    small = u < math.log(2.0)
    near = lax.log(-lax.expm1(-choose(small, u, 0.5)))
    return choose(small, near, lax.log1p(-lax.exp(-choose(small, 1.0, u))))


__all__ = [
    "counted", "known", "log_of", "log_one_less", "probability", "standardized", "within",
]  # fmt: skip

public_module(globals())
