"""Inverses of distribution functions, as special functions."""

from rabbet import Array
from rabbet.extend.functions import fused
from rabbet.scipy.arguments import ArrayLike, real
from rabbet.scipy.special.beta_values import incomplete_beta_complements
from rabbet.scipy.special.inverse_values import (
    beta_complement_inverses,
    beta_inverses,
    gamma_complement_inverses,
    gamma_inverses,
    student_inverses,
    students,
)


@fused
def gammaincinv(a: ArrayLike, y: ArrayLike) -> Array:
    """Where ``gammainc(a, x)`` is ``y``: the quantile of a gamma variable with shape ``a``, elementwise.

    Args:
      a: shapes, positive.
      y: probabilities, from 0 to 1; NaN beyond.

    Returns:
      an array of the common shape. Differentiable by both, by ``a`` once.

    By Newton's method for the logarithm of the smaller tail, whose concavity keeps it from going astray;
    derivatives are those of an implicit function.

    >>> x = special.gammaincinv(2.0, 0.25)
    >>> round(float(x), 4), round(float(special.gammainc(2.0, x)), 4)
    (0.9613, 0.25)
    """
    return gamma_inverses(*real("gammaincinv", a, y))


@fused
def gammainccinv(a: ArrayLike, y: ArrayLike) -> Array:
    """Where ``gammaincc(a, x)`` is ``y``, elementwise; see ``gammaincinv``. A small ``y`` keeps its digits.

    >>> round(float(special.gammainccinv(2.0, 1e-6)), 3)
    16.688
    """
    return gamma_complement_inverses(*real("gammainccinv", a, y))


@fused
def betaincc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """What ``betainc(a, b, x)`` leaves to 1, without the difference; see ``betainc``.

    >>> round(float(special.betaincc(2.0, 3.0, 0.5)), 4)
    0.3125
    """
    return incomplete_beta_complements(*real("betaincc", a, b, x))


@fused
def betaincinv(a: ArrayLike, b: ArrayLike, y: ArrayLike) -> Array:
    """Where ``betainc(a, b, x)`` is ``y``: the quantile of a beta variable, elementwise.

    Args:
      a, b: shapes, positive.
      y: probabilities, from 0 to 1; NaN beyond.

    Returns:
      an array of the common shape. Differentiable by all three, by the shapes once. See ``gammaincinv`` for
      the method.

    >>> round(float(special.betaincinv(2.0, 3.0, 0.6875)), 4)
    0.5
    """
    return beta_inverses(*real("betaincinv", a, b, y))


@fused
def betainccinv(a: ArrayLike, b: ArrayLike, y: ArrayLike) -> Array:
    """Where ``betaincc(a, b, x)`` is ``y``, elementwise; see ``betaincinv``.

    >>> round(float(special.betainccinv(2.0, 3.0, 0.3125)), 4)
    0.5
    """
    return beta_complement_inverses(*real("betainccinv", a, b, y))


@fused
def stdtr(df: ArrayLike, t: ArrayLike) -> Array:
    """The distribution function of Student's t with ``df`` degrees of freedom, elementwise.

    Differentiable by both, by ``df`` once. The relative error grows with ``df / t ** 2``, of which it is a
    rounding error or so.

    >>> round(float(special.stdtr(3.0, -1.0)), 4)
    0.1955
    """
    return students(*real("stdtr", df, t))


@fused
def stdtrit(df: ArrayLike, p: ArrayLike) -> Array:
    """The quantile of Student's t with ``df`` degrees of freedom, elementwise: the inverse of ``stdtr`` in
    ``t``. Differentiable by both, by ``df`` once.

    >>> round(float(special.stdtrit(3.0, 0.975)), 4)
    3.1824
    """
    return student_inverses(*real("stdtrit", df, p))


__all__ = ["betaincc", "betainccinv", "betaincinv", "gammainccinv", "gammaincinv", "stdtr", "stdtrit"]
