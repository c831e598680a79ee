"""The exponential of matrices, and its derivative in a direction."""

import math
import operator
from math import factorial
from typing import NamedTuple

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.extend.primitive import Batched, Dual, Primitive, Zero, move_axis
from rabbet.scipy.inputs import inexact as in_one_dtype
from rabbet.scipy.inputs import real_dtype, where
from rabbet.scipy.linalg.matrices import (
    batches,
    diagonal,
    identity_like,
    norm1,
    product,
    square,
    transposed,
    wide,
)  # fmt: skip
from rabbet.scipy.linalg.systems import lu_factor, lu_solve, solve_triangular

# Up to which norm the approximation of each degree is exact to rounding: of the exponential in single and
# double precision (N. Higham, The scaling and squaring method for the matrix exponential revisited, 2005),
# and of both it and its derivative (A. Al-Mohy and N. Higham, Computing the Frechet derivative of the matrix
# exponential, 2009; for single precision a little below its values).
VALUE = {4: {3: 0.4258, 5: 1.880, 7: 3.925}, 8: {3: 0.01495, 5: 0.2539, 7: 0.9504, 9: 2.097, 13: 5.371}}
DERIVATIVE = {4: {3: 0.3, 5: 1.4, 7: 3.1}, 8: {3: 0.0108, 5: 0.2, 7: 0.783, 9: 1.78, 13: 4.74}}
# How often a matrix is halved at most. Each squaring doubles the relative error, to half a percent then.
MOST = {4: 16, 8: 45}
EXPONENTS = {4: 127, 8: 1023}  # of the largest powers of 2
VANISHED = {4: -104.0, 8: -746.0}  # logarithms of what is 0 for certain


class Pair(NamedTuple):
    """A matrix and how it changes (None: that is not asked for)."""

    value: Array
    change: Array | None

    def times(self, other):
        if self.change is None:
            return Pair(product(self.value, other.value), None)
        change = product(self.change, other.value) + product(self.value, other.change)
        return Pair(product(self.value, other.value), change)

    def plus(self, other, sign=1):
        if self.change is None:
            return Pair(self.value + sign * other.value, None)
        return Pair(self.value + sign * other.value, self.change + sign * other.change)

    def scaled(self, factor):
        return Pair(self.value * factor, None if self.change is None else self.change * factor)

    def shifted(self, number):
        return Pair(self.value + number * identity_like(self.value), self.change)


def pade_coefficients(m):
    """Of the numerator of the diagonal Pade approximation, the lowest power first, the last one being 1."""
    return [float(factorial(2 * m - j) // factorial(m - j) // factorial(j)) for j in range(m + 1)]


def pade_parts(a, m):
    """``(u, v)`` with ``(v + u) / (v - u)`` the approximation of degree ``m``: odd and even powers."""
    c = pade_coefficients(m)
    a2 = a.times(a)
    powers = {2: a2}
    for k in range(4, min(m, 9), 2):
        if m != 13 or k <= 6:
            powers[k] = powers[k - 2].times(a2)

    def combined(numbers):
        terms = [powers[k].scaled(x) for k, x in numbers.items() if k]
        total = terms[0]
        for term in terms[1:]:
            total = total.plus(term)
        return total

    if m == 13:
        high_u = powers[6].times(combined({k: c[k + 7] for k in (2, 4, 6)}))
        high_v = powers[6].times(combined({k: c[k + 6] for k in (2, 4, 6)}))
        inner = high_u.plus(combined({k: c[k + 1] for k in (2, 4, 6)})).shifted(c[1])
        return a.times(inner), high_v.plus(combined({k: c[k] for k in (2, 4, 6)})).shifted(c[0])
    inner = combined({k: c[k + 1] for k in range(2, m, 2)}).shifted(c[1])
    return a.times(inner), combined({k: c[k] for k in range(2, m, 2)}).shifted(c[0])


def divided(u, v, upper):
    """``(v - u)^-1 (v + u)``."""
    below, above = v.plus(u, -1), v.plus(u)
    if upper:

        def solve(x):
            return solve_triangular(below.value, x)
    else:
        factors = lu_factor(below.value)

        def solve(x):
            return lu_solve(factors, x)

    value = solve(above.value)
    if below.change is None:
        return Pair(value, None)
    return Pair(value, solve(above.change - product(below.change, value)))


def squarings(a, limit, degree):
    """How often to halve each matrix so that the approximation of the highest degree holds.

    By the norm; where that is much larger than the norms of powers suggest, by these, so that matrices that
    are far from normal are not halved too often (A. Al-Mohy and N. Higham, A new scaling and squaring
    algorithm for the matrix exponential, 2009).
    """
    size = norm1(a)

    def by_norm(size):
        steps = rnp.ceil(rnp.log2(where(size > 0, size, 1) / limit))
        return rnp.maximum(where(rnp.isfinite(size), steps, 0), 0.0)

    plain = by_norm(size)

    def finer(_):
        # Powers of the matrix brought to norm 1, so that they neither overflow nor vanish.
        unit = where(size > 0, size, 1)
        one = a / rnp.asarray(unit, a.dtype)[..., None, None]
        two = product(one, one)
        four = product(two, two)
        six = product(two, four)
        roots = {k: norm1(p) ** (1.0 / k)
                 for k, p in ((6, six), (8, product(four, four)), (10, product(four, six)))}  # fmt: skip
        eta = rnp.maximum(roots[6], roots[8])
        if degree == 13:
            eta = rnp.minimum(eta, rnp.maximum(roots[8], roots[10]))
        steps = by_norm(eta * unit)
        steps = rnp.minimum(plain, steps + for_roundings(one, unit, steps, degree))
        return where(plain > 4, steps, plain)  # what other examples ask for changes nothing here

    # The powers cost as much as a few halvings, so these must be many before it pays to look.
    return lax.cond(rnp.any(plain > 4), finer, lambda _: plain, None)


def for_roundings(one, size, steps, degree):
    """How many more halvings the absolute values of the matrix ask for.

    Args:
      one: the matrix divided by its norm ``size``, both of which may have leading dimensions.
    """
    power = 2 * degree + 1
    rows = rnp.abs(one)

    def step(_, state):
        x, scale = state
        x = product(x[..., None, :], rows)[..., 0, :]
        largest = rnp.max(x, -1)
        safe = where(largest > 0, largest, 1)
        return x / safe[..., None], scale + where(largest > 0, rnp.log2(safe), -rnp.inf)

    start = rnp.ones_like(rows[..., 0, :]), rnp.zeros_like(size)
    _, scale = lax.fori_loop(0, power, step, start)
    coefficient = math.log2(
        float(factorial(degree)) ** 2 / float(factorial(2 * degree)) / float(factorial(power))
    )
    # log2 of c |A|^power / |A| / (half a rounding error), with |A| halved so often already.
    alpha = (
        scale
        + (power - 1) * (rnp.log2(size) - steps)
        + (coefficient + 1 - math.log2(rnp.finfo(one.dtype).eps))
    )
    return rnp.maximum(rnp.ceil(alpha / (2 * degree)), 0.0)


def exponential(a, change, most, upper):
    """``exp(a)`` and its change, for batches of matrices in single or double precision."""
    if not a.shape[-1]:
        return Pair(a, change)
    whole, finite = Pair(a, change), rnp.isfinite(norm1(a))
    apart = rnp.all(a == only_diagonal(diagonal(a)), (-2, -1))  # no halving for those
    # A NaN would hide the norms by which the degree is chosen.
    a = where((finite & ~apart)[..., None, None], a, 0)
    bytes_each = real_dtype(a.dtype).itemsize
    limits = (VALUE if change is None else DERIVATIVE)[bytes_each]
    *lower, highest = limits
    s = squarings(a, limits[highest], highest)
    most = MOST[bytes_each] if most is None else most
    too_many = s > most
    s = rnp.minimum(s, float(most))
    scale = rnp.asarray(2.0**-s, a.dtype)[..., None, None]
    pair = Pair(a, change).scaled(scale)
    size = rnp.max(norm1(pair.value), initial=0.0)
    # One degree for all, that of the largest matrix.
    index = sum(rnp.asarray(size > limits[m], "int32") for m in lower)
    index = where(rnp.any(s > 0), len(lower), index)
    branches = [lambda pair, m=m: pade_parts(pair, m) for m in limits]
    odd, even = lax.switch(index, branches, pair)
    pair = divided(odd, even, upper)

    # The largest power of 2 for entries that are to be multiplied and added up.
    large = (EXPONENTS[bytes_each] - 1 - a.shape[-1].bit_length()) // 2

    def square_again(state):
        """Twice the exponent, after a power of 2 is taken out of what would overflow."""
        i, power, pair = state
        largest = rnp.max(rnp.abs(pair.value), (-2, -1))
        above = rnp.ceil(rnp.log2(where((largest > 0) & rnp.isfinite(largest), largest, 1))) - large
        above = rnp.maximum(above, 0)
        again = pair.scaled(rnp.asarray(2.0**-above, a.dtype)[..., None, None])
        again, more = again.times(again), i < s
        power, more = where(more, 2 * (power + above), power), more[..., None, None]
        change = None if pair.change is None else where(more, again.change, pair.change)
        return i + 1.0, power, Pair(where(more, again.value, pair.value), change)

    _, power, pair = lax.while_loop(
        lambda state: rnp.any(state[0] < s), square_again, (rnp.zeros((), s.dtype), rnp.zeros_like(s), pair)
    )
    pair = unscaled(pair, power, Pair(a, change))
    exact, growth = of_diagonals(whole), largest_growth(a)

    def either(entries, of_diagonal, size):
        vanishes = (size < VANISHED[bytes_each])[..., None, None]
        entries = where(too_many[..., None, None], where(vanishes, rnp.zeros_like(entries), rnp.nan), entries)
        entries = where(finite[..., None, None], entries, rnp.nan)
        return where(apart[..., None, None], of_diagonal, entries)

    value = either(pair.value, exact.value, growth)
    if change is None:
        return Pair(value, None)
    return Pair(value, either(pair.change, exact.change, growth + rnp.log(norm1(change))))


def unscaled(pair, power, whole):
    """The pair times powers of 2, infinite where that is too large. What has vanished beside entries as large
    is NaN, unless it is 0 for certain.

    Args:
      power: of 2, for each matrix.
      whole: the matrix and its change.
    """

    def reached(_):
        """Which entries some power of the matrix may have, and its change."""
        n = whole.value.shape[-1]
        there = rnp.maximum(ones(whole.value), ones(identity_like(whole.value)))
        for _ in range(max(n - 1, 1).bit_length()):
            there = ones(product(there, there))
        if whole.change is None:
            return [there]
        return [there, ones(product(product(there, ones(whole.change)), there))]

    def ones(x):
        return rnp.asarray(x != 0, power.dtype)

    def none(_):
        return [rnp.zeros(x.shape, power.dtype) for x in parts]

    parts = [pair.value] if pair.change is None else list(pair)
    lost = lax.cond(rnp.any(power > 0), reached, none, None)
    first = rnp.floor(power / 3)
    second = rnp.floor((power - first) / 2)
    most = 900.0 if power.dtype.itemsize == 8 else 100.0  # three of which are too large for any number
    factors = [2.0 ** rnp.minimum(x, most) for x in (first, second, power - first - second)]

    def larger(x, lost):
        gone = (lost > 0) & (power > 0)[..., None, None] & (x == 0)
        for factor in factors:
            x = x * rnp.asarray(factor, x.dtype)[..., None, None]
        return where(gone, rnp.nan, x)

    out = [larger(x, at) for x, at in zip(parts, lost, strict=True)]
    return Pair(out[0], out[1] if out[1:] else None)


def largest_growth(a):
    """A bound of the logarithm of the norm of ``exp(a)``: the smaller one of the logarithmic norms by the
    sums of columns and of rows (G. Dahlquist, 1958; G. Soderlind, The logarithmic norm, 2006).
    """
    d = diagonal(a)
    beside = rnp.abs(where(rnp.eye(a.shape[-1], dtype=bool), 0, a))
    sums = [rnp.max(rnp.real(d) + rnp.sum(beside, axis), -1) for axis in (-2, -1)]
    return rnp.minimum(*sums)


def only_diagonal(d):
    """Matrices with these diagonals, and zeros beside them."""
    there = rnp.eye(d.shape[-1], dtype=bool)
    return where(there, d[..., None, :], 0)


def of_diagonals(pair):
    """``exp`` of each matrix as if it were its diagonal ``w``, and the change: that of entry ``(i, j)`` times
    ``(exp(w[i]) - exp(w[j])) / (w[i] - w[j])``, where nothing overflows before the result.
    """
    w = diagonal(pair.value)
    value = only_diagonal(rnp.exp(w))
    if pair.change is None:
        return Pair(value, None)
    one, other = w[..., :, None], w[..., None, :]
    first = rnp.real(one) >= rnp.real(other)
    larger, smaller = where(first, one, other), where(first, other, one)
    equal = one == other
    gap = where(equal, 1, larger - smaller)
    share = where(equal, 1, -rnp.expm1(-gap) / gap)
    return Pair(value, rnp.exp(larger) * share * pair.change)


# ----------------------------------------------------------------------------------------------- primitives
matrix_exponential = Primitive(
    "matrix_exponential", lambda a, most, upper: a.strong(), doc="the exponential of square matrices"
)  # fmt: skip
exponential_change = Primitive(
    "exponential_change", lambda a, e, most: e.strong(),
    doc="how the exponential of square matrices changes in a direction, in which it is linear",
)  # fmt: skip


@matrix_exponential.decompose
def by_squaring(op, a):
    return exponential(a, None, op.params["most"], op.params["upper"]).value


@matrix_exponential.rule("batch")
def batch_matrix_exponential(op, a):
    return Batched(op(move_axis(a.value, a.axis, 0)), 0)


@matrix_exponential.rule("jvp")
def jvp_matrix_exponential(op, a):
    change = rnp.triu(a.tangent) if op.params["upper"] else a.tangent
    return Dual(op(a.primal), exponential_change(a.primal, change, most=op.params["most"]))


@exponential_change.decompose
def both_by_squaring(op, a, e):
    return exponential(a, e, op.params["most"], False).change


@exponential_change.rule("batch")
def batch_exponential_change(op, a, e):
    size = next(x.value.shape[x.axis] for x in (a, e) if x.axis is not None)
    moved = [
        rnp.broadcast_to(x.value, (size, *x.value.shape)) if x.axis is None else move_axis(x.value, x.axis, 0)
        for x in (a, e)
    ]
    return Batched(op(*moved), 0)


@exponential_change.rule("transpose")
def transpose_exponential_change(op, ct, a, e):
    """With respect to the direction: the same with the transposed matrix."""
    return None, op(transposed(a), rnp.zeros_like(a) if type(ct) is Zero else ct)


@exponential_change.rule("jvp")
def jvp_exponential_change(op, a, e):
    """The change of ``exp([[a, e], [0, a]])``, which holds that of its corner, in the direction of ``a``."""
    out = op(a.primal, e.primal)
    tangent = None if type(e.tangent) is Zero else op(a.primal, e.tangent)
    if type(a.tangent) is not Zero:
        n = a.primal.shape[-1]
        twice = blocks(a.primal, e.primal)
        change = op(twice, blocks(a.tangent, rnp.zeros_like(a.tangent)))[..., :n, n:]
        tangent = change if tangent is None else tangent + change
    return Dual(out, tangent)


def blocks(a, e):
    """``[[a, e], [0, a]]``."""
    above = rnp.concatenate([a, e], -1)
    return rnp.concatenate([above, rnp.concatenate([rnp.zeros_like(e), a], -1)], -2)


@fused(static=("upper_triangular", "max_squarings"))
def expm(A: Array, *, upper_triangular: bool = False, max_squarings: int | None = None) -> Array:
    """The exponential of matrices.

    Args:
      A: of shape ``(..., n, n)``.
      upper_triangular: read only the upper triangle, which is faster.
      max_squarings: NaN is returned for a matrix that has to be halved more often than this, unless its
        logarithmic norm says that the result is 0. None: 16 times in single precision, up to a norm of about
        3e5, 45 times in double precision, up to 1e14. The relative error of such a matrix is up to its norm
        times that of a rounding. That of a diagonal matrix, which is never halved, is that of its diagonal.

    Returns:
      of the shape of ``A``.

    By a Pade approximation of a matrix that was halved often enough, which is squared as often; derivatives
    of any order by the derivative of that in a direction (``expm_frechet``). See N. Higham, The scaling and
    squaring method for the matrix exponential revisited, 2005, and the works named beside the code.

    Raises:
      ValueError: for other shapes.

    Example:
      >>> print(expm(rnp.array([[0.0, 1.0], [0.0, 0.0]])))
      [[1. 1.]
       [0. 1.]]
    """
    A = square("expm", A, "A")
    a = rnp.triu(wide(A)) if upper_triangular else wide(A)
    most = None if max_squarings is None else operator.index(max_squarings)
    out = matrix_exponential(a, most=most, upper=bool(upper_triangular))
    return rnp.asarray(out, A.dtype)


@fused(static=("method", "compute_expm"))
def expm_frechet(
    A: Array, E: Array, *, method: str | None = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]:
    """How the exponential of ``A`` changes in the direction ``E``: the Frechet derivative.

    Args:
      A, E: of shape ``(..., n, n)``; leading dimensions are broadcast.
      method: not used.
      compute_expm: return ``(exp(A), change)`` rather than the change alone.

    Returns:
      arrays of the shape of ``A``; see A. Al-Mohy and N. Higham, Computing the Frechet derivative of the
      matrix exponential, with an application to condition number estimation, 2009.

    Raises:
      ValueError: for other shapes.

    Example:
      >>> print(expm_frechet(rnp.zeros((1, 1)), rnp.array([[2.0]]), compute_expm=False))
      [[2.]]
    """
    A, E = in_one_dtype("expm_frechet", square("expm_frechet", A, "A"), square("expm_frechet", E, "E"))
    if A.shape[-1] != E.shape[-1]:
        raise ValueError(f"expm_frechet: A and E must be of one size, got {A.shape} and {E.shape}")
    A, E = batches(A, E)
    change = rnp.asarray(exponential_change(wide(A), wide(E), most=None), A.dtype)
    return (expm(A), change) if compute_expm else change


__all__ = ["expm", "expm_frechet"]
