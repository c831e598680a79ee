"""Elementary functions: entropies, powers of Box and Cox, log-odds, softmax."""

import math

import rabbet.nn
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.arguments import ArrayLike, elementwise, inexact, is_complex, real
from rabbet.scipy.special.numerics import choose, epsilon, polynomial
from rabbet.scipy.special.primitive_factory import define


# ------------------------------------------------------------------------------------------- the primitives
def is_nought(x):
    return x == lax.full_like(x, 0)


def product_with_log(log):
    """``x * log(y)``, 0 where ``x`` is 0 unless ``y`` is NaN."""
    return lambda x, y: choose(is_nought(x) & (y == y), lax.full_like(x, 0), x * log(y))


def _quotient(x, y):
    """``x / y``, 0 where both are; where ``x`` alone is 0 it still has its slope."""
    both = is_nought(x) & is_nought(y)
    return choose(both, lax.full_like(x, 0), x / choose(both, lax.full_like(y, 1), y))


times_log = define(
    "xlogy", "x y", product_with_log(lax.log),
    [lambda x, y, out: lax.log(y), lambda x, y, out: _quotient(x, y)], "x log(y)", kinds="fc",
)  # fmt: skip
times_log1p = define(
    "xlog1py", "x y", product_with_log(lax.log1p),
    [lambda x, y, out: lax.log1p(y), lambda x, y, out: _quotient(x, 1.0 + y)], "x log(1 + y)", kinds="fc",
)  # fmt: skip


def power_of_log(log, power):
    """``(exp(power log) - 1) / power``."""
    # Also where the product is too small a number, or its exponential has no other digits.
    flat = is_nought(power) | (lax.abs(power * log) < 0.25 * epsilon(power))
    safe = choose(flat, lax.full_like(power, 1), power)
    return choose(flat, log, lax.expm1(safe * log) / safe)


def by_power(log, power, out):
    """``log ** 2`` times the derivative of ``(exp(u) - 1) / u``, by its series for small ``u``."""
    u = power * log
    small = lax.abs(u) < 0.5
    series = polynomial(
        choose(small, u, lax.full_like(u, 0)), [(k + 1) / math.factorial(k + 2) for k in range(15)]
    )
    safe = choose(small, lax.full_like(u, 1), u)
    return log * log * choose(small, series, (lax.exp(safe) * (safe - 1.0) + 1.0) / (safe * safe))


box_cox = define(
    "box_cox", "log power", power_of_log, [lambda log, power, out: lax.exp(power * log), by_power],
    "(exp(power log) - 1) / power", kinds="fc",
)  # fmt: skip


# ---------------------------------------------------------------------------------------------- products
@fused
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """``x log(y)``, and 0 for ``x = 0`` also where the logarithm is infinite; real or complex.

    >>> float(special.xlogy(0.0, 0.0))
    0.0
    """
    return times_log(*inexact("xlogy", x, y))


@fused
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """``x log(1 + y)``, and 0 for ``x = 0`` also where the logarithm is infinite; real or complex.

    >>> float(special.xlog1py(0.0, -1.0))
    0.0
    """
    return times_log1p(*inexact("xlog1py", x, y))


@elementwise
def entr(x: ArrayLike) -> Array:
    """``-x log(x)``; 0 at 0, -inf below.

    >>> round(float(special.entr(0.5)), 4)
    0.3466
    """
    (x,) = real("entr", x)
    return choose(x < 0.0, -math.inf, -times_log(x, x))


def log_quotient(a, b):
    """``log(a / b)`` of positive numbers, also where the quotient is none."""
    quotient = a / b
    inside = (quotient > 0.0) & (quotient < math.inf)
    return choose(inside, lax.log(choose(inside, quotient, 1.0)), lax.log(a) - lax.log(b))


log_quotients = define(
    "log_quotient", "a b", log_quotient, [lambda a, b, out: 1.0 / a, lambda a, b, out: -1.0 / b],
    "log(a / b) of positive numbers",
)  # fmt: skip
relative_entropies = define(
    "rel_entr", "p q", lambda p, q: p * log_quotient(p, q),
    [lambda p, q, out: log_quotients(p, q) + 1.0, lambda p, q, out: -p / q],
    "p log(p / q) of positive numbers",
)  # fmt: skip
divergences = define(
    "kl_div", "p q", lambda p, q: p * log_quotient(p, q) - p + q,
    [lambda p, q, out: log_quotients(p, q), lambda p, q, out: (q - p) / q],
    "p log(p / q) - p + q of positive numbers",
)  # fmt: skip


@elementwise
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """``p log(p / q)``; 0 where ``p = 0 <= q``, infinite where it has no value.

    >>> round(float(special.rel_entr(0.5, 0.25)), 4)
    0.3466
    """
    p, q = real("rel_entr", p, q)
    positive = (p > 0.0) & (q > 0.0)
    a, b = choose(positive, p, 1.0), choose(positive, q, 1.0)
    known = (p == p) & (q == q)
    value = relative_entropies(a, b)
    return choose(positive, value, (p == 0.0) & (q >= 0.0), 0.0, known, math.inf, p + q)


@elementwise
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """``p log(p / q) - p + q``, SciPy's elementwise divergence; ``q`` where ``p = 0 <= q``, infinite where it
    has no value.

    >>> round(float(special.kl_div(0.5, 0.25)), 4)
    0.0966
    """
    p, q = real("kl_div", p, q)
    positive = (p > 0.0) & (q > 0.0)
    a, b = choose(positive, p, 1.0), choose(positive, q, 1.0)
    known = (p == p) & (q == q)
    value = divergences(a, b)
    return choose(positive, value, (p == 0.0) & (q >= 0.0), q, known, math.inf, p + q)


# ---------------------------------------------------------------------------------------------- log-odds
@fused
def expit(x: ArrayLike) -> Array:
    """``1 / (1 + exp(-x))``, the logistic function; real or complex.

    >>> float(special.expit(0.0))
    0.5
    """
    return lax.logistic(*inexact("expit", x))


@elementwise
def logit(x: ArrayLike) -> Array:
    """``log(x / (1 - x))``, the inverse of ``expit``, accurate at 1/2 too; real or complex. Infinite at 0 and
    1, NaN outside for real numbers.

    >>> round(float(special.logit(0.75)), 4)
    1.0986
    """
    (x,) = inexact("logit", x)
    if is_complex(x):
        return lax.log(x / (1.0 - x))
    middle = (x > 0.3) & (x < 0.65)
    off = 2.0 * (choose(middle, x, 0.5) - 0.5)
    return choose(middle, lax.log1p(off) - lax.log1p(-off), lax.log(x / (1.0 - x)))


# --------------------------------------------------------------------------------------------- Box and Cox
@elementwise
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """``(x ** lmbda - 1) / lmbda``, and ``log(x)`` for ``lmbda = 0``, where also the derivatives are right.

    >>> round(float(special.boxcox(4.0, 0.5)), 4)
    2.0
    """
    x, lmbda = inexact("boxcox", x, lmbda)
    return box_cox(lax.log(x), lmbda)


@elementwise
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """``((1 + x) ** lmbda - 1) / lmbda``, and ``log(1 + x)`` for ``lmbda = 0``.

    >>> round(float(special.boxcox1p(3.0, 0.5)), 4)
    2.0
    """
    x, lmbda = inexact("boxcox1p", x, lmbda)
    return box_cox(lax.log1p(x), lmbda)


# -------------------------------------------------------------------------------------------- over an axis
def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """``exp(x) / sum(exp(x))`` over ``axis``, by default over all elements.

    >>> special.softmax(rnp.array([1.0, 1.0])).tolist()
    [0.5, 0.5]
    """
    return rabbet.nn.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """The logarithm of ``softmax``, exact also where that is tiny.

    >>> [round(v, 4) for v in special.log_softmax(rnp.array([0.0, 0.0])).tolist()]
    [-0.6931, -0.6931]
    """
    return rabbet.nn.log_softmax(x, axis=axis)


def logsumexp(
    a: ArrayLike, axis: int | tuple[int, ...] | None = None, b: ArrayLike | None = None,
    keepdims: bool = False, return_sign: bool = False, where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """``log(sum(b exp(a)))`` over ``axis`` without overflow.

    Args:
      a: an array.
      axis: an int, a tuple, or None for all.
      b: factors of the exponentials, an array that broadcasts.
      keepdims: keep reduced dimensions with size 1.
      return_sign: return ``(log |sum|, sign of the sum)``, for negative factors.
      where: a boolean array: which elements count.

    >>> round(float(special.logsumexp(rnp.array([1000.0, 1000.0]))), 3)
    1000.693
    """
    return rabbet.nn.logsumexp(a, axis, b=b, keepdims=keepdims, return_sign=return_sign, where=where)


__all__ = [
    "boxcox",
    "boxcox1p",
    "entr",
    "expit",
    "kl_div",
    "log_softmax",
    "logit",
    "logsumexp",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
]
