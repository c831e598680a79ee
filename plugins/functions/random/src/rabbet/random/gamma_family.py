"""Gamma-distributed numbers and what is made of them: beta, Dirichlet, chi-squared, F, Student's t, powers of
exponentials, and points of balls.

Gamma numbers are drawn by the method of G. Marsaglia and W. W. Tsang ("A simple method for generating gamma
variables", 2000), each element from a key of its own; for shapes below 1 one more than the shape is drawn and
multiplied by a power of a uniform number. Their derivative by the shape is the implicit one (M. Figurnov, S.
Mohamed, A. Mnih, "Implicit reparameterization gradients", 2018): how a sample moves while its value of the
distribution function stays.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING

import rabbet as rb
from rabbet import dtypes, lax
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.primitive import Batched, move_axis, new_axis
from rabbet.extend.transform import typeof
from rabbet.random.arguments import broadcast, common_shape, dtype_of, operand, parameter, shape_of
from rabbet.random.continuous import gaussian, waiting_times
from rabbet.random.discrete import signs
from rabbet.random.generator import unit
from rabbet.random.keys import generator_of, leaves_of, many_leaves, subkeys, with_leaves, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value

SQUEEZE = 0.0331


# ------------------------------------------------------------------------------------------------- one draw
def one_gamma(words, a, log_space):
    """One gamma number, or its logarithm, for a positive ``a`` without dimensions."""
    dtype = typeof(a).dtype
    words, own = subkeys(words, 2)
    small = lax.lt(a, 1.0)
    # For a < 1: gamma(a) is gamma(a + 1) times u ** (1 / a).
    uniform, inverse = lax.sub(1.0, unit(own, (), dtype)), lax.div(1.0, a)
    shape = lax.select(small, lax.add(a, 1.0), a)
    d = lax.sub(shape, 1.0 / 3.0)
    c = lax.div(1.0 / 3.0, lax.sqrt(d))
    generator = generator_of(words)

    def rejected(state):
        _, x, v, u, *_ = state
        squared = lax.mul(x, x)
        quick = lax.ge(u, lax.sub(1.0, lax.mul(lax.mul(squared, squared), SQUEEZE)))
        bound = lax.add(lax.mul(squared, 0.5), lax.mul(d, lax.add(lax.sub(1.0, v), lax.log(v))))
        return lax.bitwise_and(quick, lax.ge(lax.log(u), bound))

    def draw(state):
        words, for_normal, for_unit = subkeys(with_leaves(generator, state[0]), 3)
        _, x, root = positive_root(for_normal, c)
        return leaves_of(words), x, lax.mul(lax.mul(root, root), root), unit(for_unit, (), dtype)

    # The first v and u are rejected whatever the shape is, so the body runs at least once.
    start = [lax.full((), value, dtype) for value in (0.0, 1.0, 2.0)]
    _, _, v, _ = lax.while_loop(rejected, draw, (leaves_of(words), *start))
    if log_space:
        boost = lax.mul(lax.neg(waiting_times(own, (), dtype)), inverse)
        boost = lax.select(small, boost, lax.full_like(boost, 0))
        return lax.add(lax.add(lax.log(d), lax.log(v)), boost)
    boost = lax.pow(uniform, inverse)
    return lax.mul(lax.mul(d, v), lax.select(small, boost, lax.full_like(boost, 1)))


def positive_root(words, c):
    """The first normal number ``x`` for which ``1 + c x`` is positive, and that."""
    generator, dtype = generator_of(words), typeof(c).dtype

    def draw(state):
        words, own = subkeys(with_leaves(generator, state[0]), 2)
        x = gaussian(own, (), dtype)
        return leaves_of(words), x, lax.add(lax.mul(x, c), 1.0)

    start = (leaves_of(words), lax.full((), 0, dtype), lax.full((), -1, dtype))
    return lax.while_loop(lambda state: lax.le(state[2], 0.0), draw, start)


# ----------------------------------------------------------------------------------------- and many, derived
@functools.partial(rb.custom_rules, nondiff_argnums=(0, 1))
def gammas_of(generator, log_space, a, *leaves):
    """A gamma number for each element of a vector of positive shapes, each from its own key."""

    def one(a, *leaves):
        return one_gamma(with_leaves(generator, leaves), a, log_space)

    return rb.vmap(one)(a, *leaves)


@gammas_of.def_rule("jvp")
def gammas_jvp(generator, log_space, primals, tangents):
    """How samples move with the shape; the keys do not move."""
    out = gammas_of(generator, log_space, *primals)
    slope = (log_slope if log_space else lax.random_gamma_grad)(primals[0], out)
    return out, lax.mul(tangents[0], slope)


@gammas_of.def_rule("batch")
def gammas_batch(generator, log_space, *operands):
    """All examples in one vector: a loop over short rows would use a part of the processor's vectors only."""
    size = next(typeof(x.value).shape[x.axis] for x in operands if x.axis is not None)
    whole = [
        new_axis(x.value, 0, size) if x.axis is None else move_axis(x.value, x.axis, 0) for x in operands
    ]
    count = typeof(whole[0]).shape[1]
    out = gammas_of(generator, log_space, *[lax.reshape(x, (size * count,)) for x in whole])
    return Batched(lax.reshape(out, (size, count)), 0)


def log_slope(a, logs):
    """The implicit derivative of the logarithm of a sample by the shape.

    Where the sample ``x`` is too small for its dtype, ``x ** a / gamma(a + 1)`` is its distribution function.
    """
    least = math.log(float(dtypes.finfo(typeof(a).dtype).eps) / 16)
    small = lax.lt(logs, least)
    x = lax.exp(lax.select(small, lax.full_like(logs, 0), logs))
    near_zero = lax.div(lax.sub(lax.digamma(lax.add(a, 1.0)), logs), a)
    return lax.select(small, near_zero, lax.div(lax.random_gamma_grad(a, x), x))


def gammas(words, a, shape, dtype, log_space=False):
    """Gamma numbers, or their logarithms, of a shape; ``a`` is spread over it."""
    lead = len(shape) - typeof(a).ndim
    a = lax.broadcast_in_dim(operand(a, dtype), shape, tuple(range(lead, len(shape))))
    count = math.prod(shape)
    if not count:
        return lax.full(shape, 0, dtype)
    flat = lax.reshape(a, (count,))
    proper = lax.bitwise_and(lax.gt(flat, 0.0), lax.lt(flat, math.inf))
    at = lax.select(proper, flat, lax.full_like(flat, 1))
    out = gammas_of(generator_of(words), log_space, at, *many_leaves(words, count))
    # Shape 0 gives 0, an infinite one infinity; what is negative or no number has no distribution.
    # No NaN is made for numbers that have one, which debug_nans without jit would report.
    none = lax.full_like(flat, -math.inf if log_space else 0)
    out = lax.select(proper, out, lax.select(lax.eq(flat, 0.0), none, flat))
    out = lax.select(lax.lt(flat, 0.0), lax.full_like(flat, math.nan), out)
    return lax.reshape(out, shape)


def check_method(method, who):
    """Refuse what is neither of the two names that JAX has."""
    if method not in ("exact", "approximate"):
        raise ValueError(f"{who}: method must be 'exact' or 'approximate', got {method!r}")


@obeys_out_sharding
def gamma(
    key: Value, a: Value, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
    method: str = "exact", out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Numbers from 0 on of density ``x ** (a - 1) exp(-x) / gamma(a)``: sums of waiting times.

    Args:
      key: a single key.
      a: the shape of the distribution, a positive number or an array of them. The samples have derivatives by
        it.
      shape: the shape of the result; by default that of ``a``.
      dtype: a float dtype.
      method: ``"exact"``. ``"approximate"`` is accepted, and gives the same exact numbers.

    Raises:
      ValueError: for another dtype or method, an ``a`` that does not broadcast to ``shape``.

    Example:
      >>> gamma(key(0), 2.0, (3,)).shape
      (3,)
    """
    found = dtype_of(dtype, float, "f", "gamma")
    check_method(method, "gamma")
    return _gamma(key, parameter(a, found), shape, found, False)


@obeys_out_sharding
def loggamma(
    key: Value, a: Value, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
    method: str = "exact", out_sharding: Any = None,
) -> Value:  # fmt: skip
    """The logarithms of gamma numbers, which are exact where those are too small to be told from 0. Arguments
    as for ``gamma``.

    Example:
      >>> bool(rnp.isfinite(random.loggamma(random.key(0), 1e-6)))
      True
    """
    found = dtype_of(dtype, float, "f", "loggamma")
    check_method(method, "loggamma")
    return _gamma(key, parameter(a, found), shape, found, True)


@fused(static=("shape", "dtype", "log_space"))
def _gamma(key, a, shape, dtype, log_space):
    a = operand(a, dtype)
    who = "loggamma" if log_space else "gamma"
    shape = common_shape(shape, who, a)
    return gammas(words_of(key, who), broadcast(a, shape, who, "a"), shape, dtype, log_space)


@obeys_out_sharding
def chisquare(
    key: Value, df: Value, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
    method: str = "exact", out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Sums of the squares of ``df`` normal numbers; ``df`` is positive and need not be whole. Arguments as
    for ``gamma``.

    Example:
      >>> random.chisquare(random.key(0), 3.0, (3,)).shape
      (3,)
    """
    found = dtype_of(dtype, float, "f", "chisquare")
    check_method(method, "chisquare")
    return _chisquare(key, parameter(df, found), shape, found)


@fused(static=("shape", "dtype"))
def _chisquare(key, df, shape, dtype):
    df = operand(df, dtype)
    shape = common_shape(shape, "chisquare", df)
    return squares(words_of(key, "chisquare"), broadcast(df, shape, "chisquare", "df"), shape, dtype)


def squares(words, df, shape, dtype):
    """Chi-squared numbers."""
    return lax.mul(lax.exp(gammas(words, lax.mul(df, 0.5), shape, dtype, log_space=True)), 2.0)


@obeys_out_sharding
def f(
    key: Value, dfnum: Value, dfden: Value, shape: int | Sequence[int] | None = None, dtype: DTypeLike |
    None = None, *, out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Quotients of two chi-squared numbers, each divided by its degrees of freedom: Fisher's F distribution.

    Args:
      key: a single key.
      dfnum, dfden: the degrees of freedom above and below, positive.
      shape: the shape of the result; by default that to which the two broadcast.
      dtype: a float dtype.

    Example:
      >>> random.f(random.key(0), 3.0, 4.0, (3,)).shape
      (3,)
    """
    found = dtype_of(dtype, float, "f", "f")
    return _f(key, parameter(dfnum, found), parameter(dfden, found), shape, found)


@fused(static=("shape", "dtype"))
def _f(key, dfnum, dfden, shape, dtype):
    above, below = operand(dfnum, dtype), operand(dfden, dtype)
    shape = common_shape(shape, "f", above, below)
    above, below = broadcast(above, shape, "f", "dfnum"), broadcast(below, shape, "f", "dfden")
    for_below, for_above = subkeys(words_of(key, "f"), 2)
    upper = lax.div(squares(for_above, above, shape, dtype), above)
    return lax.div(upper, lax.div(squares(for_below, below, shape, dtype), below))


@obeys_out_sharding
def t(
    key: Value, df: Value, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
    out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Student's t: normal numbers, each divided by the root of a chi-squared number per degree of freedom.

    Args:
      key: a single key.
      df: the degrees of freedom, positive.
      shape: the shape of the result; by default that of ``df``.
      dtype: a float dtype.

    Example:
      >>> random.t(random.key(0), 3.0, (3,)).shape
      (3,)
    """
    found = dtype_of(dtype, float, "f", "t")
    return _t(key, parameter(df, found), shape, found)


@fused(static=("shape", "dtype"))
def _t(key, df, shape, dtype):
    df = operand(df, dtype)
    shape = common_shape(shape, "t", df)
    half = lax.div(broadcast(df, shape, "t", "df"), 2.0)
    for_normal, for_gamma = subkeys(words_of(key, "t"), 2)
    normals = gaussian(for_normal, shape, dtype)
    return lax.mul(normals, lax.sqrt(lax.div(half, gammas(for_gamma, half, shape, dtype))))


@obeys_out_sharding
def beta(
    key: Value, a: Value, b: Value, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None =
    None, *, method: str = "exact", out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Numbers between 0 and 1 of density proportional to ``x ** (a - 1) (1 - x) ** (b - 1)``.

    Args:
      key: a single key.
      a, b: positive numbers or arrays of them. The samples have derivatives by both.
      shape: the shape of the result; by default that to which ``a`` and ``b`` broadcast.
      dtype: a float dtype.
      method: see ``gamma``.

    Example:
      >>> x = random.beta(random.key(0), 2.0, 5.0, (1000,))
      >>> bool(abs(x.mean() - 2 / 7) < 0.05)
      True
    """
    found = dtype_of(dtype, float, "f", "beta")
    check_method(method, "beta")
    return _beta(key, parameter(a, found), parameter(b, found), shape, found)


@fused(static=("shape", "dtype"))
def _beta(key, a, b, shape, dtype):
    a, b = operand(a, dtype), operand(b, dtype)
    shape = common_shape(shape, "beta", a, b)
    a, b = broadcast(a, shape, "beta", "a"), broadcast(b, shape, "beta", "b")
    for_a, for_b = subkeys(words_of(key, "beta"), 2)
    first = gammas(for_a, a, shape, dtype, log_space=True)
    second = gammas(for_b, b, shape, dtype, log_space=True)
    most = lax.stop_gradient(lax.max(first, second))
    first, second = lax.exp(lax.sub(first, most)), lax.exp(lax.sub(second, most))
    return lax.div(first, lax.add(first, second))


@obeys_out_sharding
def dirichlet(
    key: Value, alpha: Value, shape: int | Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
    out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Vectors of positive numbers whose sum is 1.

    Args:
      key: a single key.
      alpha: the concentrations, positive, along the last dimension. The samples have derivatives by them.
      shape: the shape of the result without its last dimension; by default that of ``alpha`` without it.
      dtype: a float dtype.

    Raises:
      ValueError: for an ``alpha`` without dimensions, or one that does not broadcast to ``shape``.

    Example:
      >>> random.dirichlet(random.key(0), rnp.array([1.0, 2.0, 3.0])).sum().round(3)
      Array(1., dtype=float32)
    """
    found = dtype_of(dtype, float, "f", "dirichlet")
    return _dirichlet(key, parameter(alpha, found), shape, found)


@fused(static=("shape", "dtype"))
def _dirichlet(key, alpha, shape, dtype):
    words = words_of(key, "dirichlet")
    alpha = operand(alpha, dtype)
    have = typeof(alpha).shape
    if not have:
        raise ValueError("dirichlet: alpha needs a dimension along which the parts lie, got a number")
    full = (*(have[:-1] if shape is None else shape_of(shape, "dirichlet")), have[-1])
    alpha = broadcast(alpha, full, "dirichlet", "alpha")
    logs = gammas(words, alpha, full, dtype, log_space=True)
    last = len(full) - 1
    if not full[last]:
        return logs
    most = lax.expand_dims(lax.reduce_max(lax.stop_gradient(logs), (last,)), (last,))
    parts = lax.exp(lax.sub(logs, lax.broadcast_in_dim(most, full, tuple(range(len(full))))))
    return lax.div(parts, lax.broadcast_in_dim(lax.reduce_sum(parts, (last,)), full, tuple(range(last))))


@obeys_out_sharding
def generalized_normal(
    key: Value, p: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *,
    out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Numbers of density proportional to ``exp(-|x| ** p)``: Laplace's for 1, for 2 a normal one of variance
    1/2.

    Args:
      key: a single key.
      p: a positive number, or an array that broadcasts to ``shape``.
      shape: the shape of the result.
      dtype: a float dtype.

    Example:
      >>> random.generalized_normal(random.key(0), 2.0, (3,)).shape
      (3,)
    """
    found = dtype_of(dtype, float, "f", "generalized_normal")
    return _generalized_normal(key, parameter(p, found), shape, found)


@fused(static=("shape", "dtype"))
def _generalized_normal(key, p, shape, dtype):
    shape = shape_of(shape, "generalized_normal")
    p = broadcast(operand(p, dtype), shape, "generalized_normal", "p")
    return powers(words_of(key, "generalized_normal"), p, shape, dtype)


def powers(words, p, shape, dtype):
    """Numbers of density proportional to ``exp(-|x| ** p)``."""
    for_gamma, for_sign = subkeys(words, 2)
    inverse = lax.div(1.0, p)
    sizes = lax.pow(gammas(for_gamma, inverse, shape, dtype), inverse)
    return lax.mul(sizes, signs(for_sign, shape, dtype))


@obeys_out_sharding
def ball(
    key: Value, d: int, p: Value = 2, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *,
    out_sharding: Any = None,
) -> Value:  # fmt: skip
    """Points spread evenly over the unit ball of the p-norm, by F. Barthe, O. Guedon, S. Mendelson and A.
    Naor ("A probabilistic approach to the geometry of the l_p^n-ball", 2005).

    Args:
      key: a single key.
      d: the number of dimensions, a static int.
      p: a positive number, or an array that broadcasts to ``shape``.
      shape: the shape of the result without its last dimension.
      dtype: a float dtype.

    Returns:
      an array of shape ``(*shape, d)``.

    Example:
      >>> random.ball(random.key(0), 3, shape=(4,)).shape
      (4, 3)
    """
    found = dtype_of(dtype, float, "f", "ball")
    return _ball(key, operator.index(d), parameter(p, found), shape, found)


@fused(static=("d", "shape", "dtype"))
def _ball(key, d, p, shape, dtype):
    if d < 0:
        raise ValueError(f"ball: the number of dimensions must not be negative, got {d}")
    shape = shape_of(shape, "ball")
    p = broadcast(operand(p, dtype), shape, "ball", "p")
    full, dims = (*shape, d), tuple(range(len(shape)))
    for_points, for_radius = subkeys(words_of(key, "ball"), 2)
    wide = lax.broadcast_in_dim(p, full, dims[: typeof(p).ndim])
    points = powers(for_points, wide, full, dtype)
    total = lax.reduce_sum(lax.pow(lax.abs(points), wide), (len(shape),))
    total = lax.add(total, waiting_times(for_radius, shape, dtype))
    p = lax.broadcast_in_dim(p, shape, ()) if not typeof(p).ndim else p
    radius = lax.pow(total, lax.div(1.0, p))
    return lax.div(points, lax.broadcast_in_dim(radius, full, dims))


__all__ = [
    "ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t",
]  # fmt: skip
