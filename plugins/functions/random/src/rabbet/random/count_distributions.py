"""Counts: Poisson, binomial and multinomial numbers.

Small expected counts are counted, by D. E. Knuth's product of uniform numbers for Poisson, and for binomial
numbers by L. Devroye's waiting times between successes. Large ones are drawn by W. Hormann's transformed
rejection ("The transformed rejection method for generating Poisson random variables", 1993; "The generation
of binomial random variates", 1993), whose constants are those of the papers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.functions import fused, is_python_scalar, obeys_out_sharding
from rabbet.extend.transform import typeof
from rabbet.random.arguments import broadcast, common_shape, dtype_of, operand, parameter, shape_of
from rabbet.random.gamma_family import check_method
from rabbet.random.generator import unit
from rabbet.random.keys import generator_of, leaves_of, subkeys, with_leaves, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value

FEW = 10.0
"""Expected counts below this are counted."""


def until_all(words, state, unfinished, step):
    """A loop that draws for all elements until none is unfinished.

    Args:
      words: the key to begin with.
      state: a tuple of arrays.
      unfinished: ``(*state) -> booleans``.
      step: ``(words, *state) -> (words, *state)``.
    """
    generator = generator_of(words)

    def go_on(carry):
        still = unfinished(*carry[1:])
        return lax.reduce_or(still, tuple(range(typeof(still).ndim)))

    def once(carry):
        words, *rest = step(with_leaves(generator, carry[0]), *carry[1:])
        return (leaves_of(words), *rest)

    return lax.while_loop(go_on, once, (leaves_of(words), *state))[1:]


def rejection(words, shape, dtype, propose):
    """Draws by rejection until every element has an accepted one; each takes its last.

    Args:
      propose: ``(u, v) -> (candidate, accepted)`` from two arrays of uniform numbers.
    """

    def step(words, out, accepted):
        words, for_u, for_v = subkeys(words, 3)
        candidate, fits = propose(unit(for_u, shape, dtype), unit(for_v, shape, dtype))
        return words, lax.select(fits, candidate, out), lax.bitwise_or(accepted, fits)

    state = (lax.full(shape, -1, dtype), lax.full(shape, False))
    return until_all(words, state, lambda out, accepted: lax.bitwise_not(accepted), step)[0]


# -------------------------------------------------------------------------------------------------- Poisson
@obeys_out_sharding
def poisson(
    key: Value,
    lam: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Value:
    """Numbers of events, of which ``lam`` are expected.

    Args:
      key: a single key.
      lam: the expected number, not negative; -1 is drawn for any other.
      shape: the shape of the result; by default that of ``lam``.
      dtype: an integer dtype, by default that of a Python int.
      method: ``"exact"``. ``"approximate"`` is accepted, and gives the same exact numbers.

    Raises:
      TypeError: for a dtype that is no integer. ValueError: for another method, or a ``lam`` that does not
        broadcast to ``shape``.

    Example:
      >>> random.poisson(random.key(0), 4.0, (3,)).dtype
      dtype('int32')
    """
    found = dtype_of(dtype, int, "iu", "poisson")
    check_method(method, "poisson")
    return _poisson(key, parameter(lam, dtypes.canonicalize("float32")), shape, found)


@fused(static=("shape", "dtype"))
def _poisson(key, lam, shape, dtype):
    single = dtypes.canonicalize("float32")
    words = words_of(key, "poisson")
    lam = operand(lam, single)
    shape = common_shape(shape, "poisson", lam)
    lam = broadcast(lam, shape, "poisson", "lam")
    lam = lax.broadcast_in_dim(lam, shape, tuple(range(len(shape) - typeof(lam).ndim, len(shape))))
    if not math.prod(shape):
        return lax.full(shape, 0, dtype)
    few = lax.bitwise_not(lax.ge(lam, FEW))
    counted = poisson_counted(words, lax.select(few, lam, lax.full_like(lam, 0)), shape, single)
    huge = lax.eq(lam, math.inf)
    others = lax.bitwise_or(few, huge)
    drawn = poisson_rejected(words, lax.select(others, lax.full_like(lam, 1e5), lam), shape, single)
    out = lax.convert_element_type(lax.select(few, counted, drawn), dtype)
    limits = dtypes.iinfo(dtype)
    out = lax.select(huge, lax.full_like(out, limits.max), out)
    none = lax.full_like(out, -1 if limits.min < 0 else 0)
    out = lax.select(lax.bitwise_not(lax.ge(lam, 0.0)), none, out)
    return lax.select(lax.eq(lam, 0.0), lax.full_like(out, 0), out)


def poisson_counted(words, lam, shape, dtype):
    """Knuth: how many uniform numbers can be multiplied before the product is below ``exp(-lam)``."""

    def unfinished(count, log_product):
        return lax.gt(log_product, lax.neg(lam))

    def step(words, count, log_product):
        words, own = subkeys(words, 2)
        more = lax.add(count, lax.convert_element_type(unfinished(count, log_product), dtype))
        return words, more, lax.add(log_product, lax.log(unit(own, shape, dtype)))

    # Where nothing is expected the loop has nothing to do; where something is, it begins above the bound.
    state = (lax.full(shape, 0, dtype), lax.full(shape, 0, dtype))
    return lax.sub(until_all(words, state, unfinished, step)[0], 1.0)


def poisson_rejected(words, lam, shape, dtype):
    """Hormann's algorithm PTRS."""
    log_lam = lax.log(lam)
    b = lax.add(lax.mul(lax.sqrt(lam), 2.53), 0.931)
    a = lax.add(lax.mul(b, 0.02483), -0.059)
    inverse_alpha = lax.add(lax.div(1.1328, lax.sub(b, 3.4)), 1.1239)
    v_r = lax.sub(0.9277, lax.div(3.6224, lax.sub(b, 2.0)))

    def propose(u, v):
        u = lax.sub(u, 0.5)
        us = lax.sub(0.5, lax.abs(u))
        k = lax.add(lax.add(lax.mul(lax.add(lax.div(lax.mul(a, 2.0), us), b), u), lam), 0.43)
        k = lax.floor(k)
        weight = lax.add(lax.div(a, lax.mul(us, us)), b)
        left = lax.log(lax.div(lax.mul(v, inverse_alpha), weight))
        right = lax.sub(lax.sub(lax.mul(k, log_lam), lam), lax.lgamma(lax.add(k, 1.0)))
        squeezed = lax.bitwise_and(lax.ge(us, 0.07), lax.le(v, v_r))
        out = lax.bitwise_or(lax.lt(k, 0.0), lax.bitwise_and(lax.lt(us, 0.013), lax.gt(v, us)))
        below = lax.bitwise_and(lax.bitwise_not(out), lax.le(left, right))
        return k, lax.bitwise_or(squeezed, below)

    return rejection(words, shape, dtype, propose)


# ------------------------------------------------------------------------------------------------- binomial
@obeys_out_sharding
def binomial(
    key: Value,
    n: Value,
    p: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """How many of ``n`` trials succeed, each with probability ``p``: whole numbers, as floats.

    Args:
      key: a single key.
      n: the number of trials, not negative; what is behind the point does not count.
      p: a probability. NaN is drawn where it is none, or ``n`` is negative; infinity where ``n`` is and ``p``
        is above 0.
      shape: the shape of the result; by default that to which ``n`` and ``p`` broadcast.
      dtype: a float dtype.

    Raises:
      ValueError: for another dtype, or arguments that do not broadcast to ``shape``.

    Example:
      >>> random.binomial(random.key(0), 10, 0.5, (5,)).shape
      (5,)
    """
    found = dtype_of(dtype, float, "f", "binomial")
    own = computed_in(p)
    out = _binomial(key, parameter(n, own), parameter(p, own), shape, own)
    return out if own == found else lax.convert_element_type(out, found)


def computed_in(p):
    """The dtype in which successes are drawn: that of the probabilities, whatever the result is to be. In
    fewer bits than these have the numbers would not have the distribution.
    """
    own = dtypes.result_type(p)
    if dtypes.kind(own) == "f":
        return own
    return dtypes.scalar_dtype(float) if is_python_scalar(p) or own.itemsize > 4 else np.dtype("float32")


@fused(static=("shape", "dtype"))
def _binomial(key, n, p, shape, dtype):
    n, p = lax.floor(operand(n, dtype)), operand(p, dtype)
    shape = common_shape(shape, "binomial", n, p)
    n, p = broadcast(n, shape, "binomial", "n"), broadcast(p, shape, "binomial", "p")
    n, p = (
        lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - typeof(x).ndim, len(shape)))) for x in (n, p)
    )
    return successes(words_of(key, "binomial"), n, p, shape, dtype)


def successes(words, n, p, shape, dtype):
    """Binomial numbers."""
    if not math.prod(shape):
        return lax.full(shape, 0, dtype)
    proper = lax.bitwise_and(lax.bitwise_and(lax.ge(p, 0.0), lax.le(p, 1.0)), lax.ge(n, 0.0))
    endless = lax.bitwise_and(lax.bitwise_and(proper, lax.eq(n, math.inf)), lax.gt(p, 0.0))
    proper = lax.bitwise_and(proper, lax.lt(n, math.inf))
    # Failures are counted where they are rarer.
    flipped = lax.ge(p, 0.5)
    q = lax.select(flipped, lax.sub(1.0, p), p)
    q, n_proper = (lax.select(proper, x, lax.full_like(x, 0)) for x in (q, n))
    few = lax.le(lax.mul(n_proper, q), FEW)
    nothing = lax.bitwise_or(lax.eq(q, 0.0), lax.eq(n_proper, 0.0))
    counting = lax.bitwise_and(few, lax.bitwise_not(nothing))
    counted = binomial_counted(
        words,
        lax.select(counting, n_proper, lax.full_like(n, 0)),
        lax.select(counting, q, lax.full_like(q, 0.5)),
        shape,
        dtype,
    )
    drawn = binomial_rejected(
        words,
        lax.select(few, lax.full_like(n, 1e4), n_proper),
        lax.select(few, lax.full_like(q, 0.5), q),
        shape,
        dtype,
    )
    out = lax.select(nothing, lax.full_like(n, 0), lax.select(few, counted, drawn))
    out = lax.select(flipped, lax.sub(n, out), out)
    # No NaN is made for numbers that have one, which debug_nans without jit would report.
    out = lax.select(endless, n, out)
    return lax.select(lax.bitwise_or(proper, endless), out, lax.full_like(out, math.nan))


def binomial_counted(words, n, p, shape, dtype):
    """Devroye: how many waiting times until the next success fit into ``n`` trials."""
    per_trial = lax.log1p(lax.neg(p))

    def unfinished(count, trials):
        return lax.le(trials, n)

    def step(words, count, trials):
        own, words = subkeys(words, 2)
        waiting = lax.ceil(lax.div(lax.log(unit(own, shape, dtype)), per_trial))
        more = lax.add(count, lax.convert_element_type(unfinished(count, trials), dtype))
        return words, more, lax.add(trials, waiting)

    state = (lax.full(shape, 0, dtype), lax.full(shape, 0, dtype))
    return lax.sub(until_all(words, state, unfinished, step)[0], 1.0)


def binomial_rejected(words, n, p, shape, dtype):
    """Hormann's algorithm BTRS."""
    ratio = lax.log(lax.div(p, lax.sub(1.0, p)))
    deviation = lax.sqrt(lax.mul(lax.mul(n, p), lax.sub(1.0, p)))
    b = lax.add(lax.mul(deviation, 2.53), 1.15)
    a = lax.add(lax.add(lax.mul(b, 0.0248), -0.0873), lax.mul(p, 0.01))
    c = lax.add(lax.mul(n, p), 0.5)
    v_r = lax.sub(0.92, lax.div(4.2, b))
    alpha = lax.mul(lax.add(lax.div(5.1, b), 2.83), deviation)
    m = lax.floor(lax.mul(lax.add(n, 1.0), p))
    at_mode = lax.add(lax.lgamma(lax.add(m, 1.0)), lax.lgamma(lax.add(lax.sub(n, m), 1.0)))

    def propose(u, v):
        u = lax.sub(u, 0.5)
        us = lax.sub(0.5, lax.abs(u))
        k = lax.floor(lax.add(lax.mul(lax.add(lax.div(lax.mul(a, 2.0), us), b), u), c))
        squeezed = lax.bitwise_and(lax.ge(us, 0.07), lax.le(v, v_r))
        inside = lax.bitwise_and(lax.ge(k, 0.0), lax.le(k, n))
        kept = lax.select(inside, k, m)
        left = lax.log(lax.div(lax.mul(v, alpha), lax.add(lax.div(a, lax.mul(us, us)), b)))
        right = lax.sub(at_mode, lax.lgamma(lax.add(kept, 1.0)))
        right = lax.sub(right, lax.lgamma(lax.add(lax.sub(n, kept), 1.0)))
        right = lax.add(right, lax.mul(lax.sub(kept, m), ratio))
        return k, lax.bitwise_or(squeezed, lax.bitwise_and(inside, lax.le(left, right)))

    return rejection(words, shape, dtype, propose)


# ---------------------------------------------------------------------------------------------- multinomial
@obeys_out_sharding
def multinomial(
    key: Value,
    n: Value,
    p: Value,
    *,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    unroll: Any = 1,
    out_sharding: Any = None,
) -> Value:
    """How many of ``n`` trials have each outcome: a binomial number for each outcome in turn, of the trials
    that are left.

    Args:
      key: a single key.
      n: the number of trials.
      p: the probabilities of the outcomes, along the last dimension; what they add up to does not matter.
      shape: the shape of the result without its last dimension; by default that to which ``n`` and ``p``
        without its last dimension broadcast.
      dtype: a float dtype.
      unroll: how many outcomes one step of the loop takes.

    Returns:
      floats of shape ``(*shape, outcomes)`` whose sums are ``n``.

    Raises:
      ValueError: for a ``p`` without dimensions, another dtype.

    Example:
      >>> random.multinomial(random.key(0), 10, rnp.array([0.2, 0.8])).sum()
      Array(10., dtype=float32)
    """
    found = dtype_of(dtype, float, "f", "multinomial")
    own = computed_in(p)
    out = _multinomial(key, parameter(n, own), parameter(p, own), shape, own, unroll)
    return out if own == found else lax.convert_element_type(out, found)


@fused(static=("shape", "dtype", "unroll"))
def _multinomial(key, n, p, shape, dtype, unroll):
    n, p = operand(n, dtype), operand(p, dtype)
    have = typeof(p).shape
    if not have:
        raise ValueError("multinomial: p needs a dimension along which the outcomes lie, got a number")
    outcomes = have[-1]
    if shape is None:
        shape = lax.broadcast_shapes(typeof(n).shape, have[:-1])
    shape = shape_of(shape, "multinomial")
    n = broadcast(n, shape, "multinomial", "n")
    n = lax.broadcast_in_dim(n, shape, tuple(range(len(shape) - typeof(n).ndim, len(shape))))
    p = broadcast(p, (*shape, outcomes), "multinomial", "p")
    if not outcomes:
        return lax.full((*shape, 0), 0, dtype)
    last = len(shape)
    lines = lax.transpose(p, (last, *range(last)))
    # What is left of the probability before each outcome.
    rest = lax.cumsum(lines, 0, reverse=True)
    ratios = lax.div(lines, lax.select(lax.gt(rest, 0.0), rest, lax.full_like(rest, 1)))
    words = words_of(key, "multinomial")
    generator = generator_of(words)
    leaves = [lax.stack(parts) for parts in zip(*[leaves_of(w) for w in subkeys(words, outcomes)])]

    def step(left, item):
        ratio, own = item
        count = successes(with_leaves(generator, own), left, ratio, shape, dtype)
        return lax.sub(left, count), count

    ratios, leaves = ratios[: outcomes - 1], [x[: outcomes - 1] for x in leaves]
    left, counts = lax.scan(step, n, (ratios, leaves), unroll=unroll)
    counts = lax.concatenate([counts, lax.expand_dims(left, (0,))], 0)
    return lax.transpose(counts, (*range(1, last + 1), 0))


__all__ = ["binomial", "multinomial", "poisson"]
