"""What depends on values: nonzero, unique, counts.

The shape of these results depends on the values, which a compiled program cannot have: outside of ``jit``
the values are looked at; inside,
``size`` says how long the result shall be.
"""

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from rabbet import Array, dtypes, lax
from rabbet.errors import ConcretizationTypeError
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.transform import Tracer, typeof
from rabbet.numpy.arguments import as_array, axis_of, check
from rabbet.numpy.conversion import asarray
from rabbet.numpy.logic import truth


def known(name, x, advice):
    """The value of an array as a NumPy array.

    Raises:
      ConcretizationTypeError: for a tracer.
    """
    if type(x) is Tracer:
        raise ConcretizationTypeError(
            f"{name}: the shape of the result depends on the values of an array of type "
            f"{x.aval.str_short()}, which are not "
            f"known while tracing; {advice}"
        )
    return np.asarray(x)


def looked_at(name, x, advice):
    """What ``known`` gives, also for an array that is differentiated: its value decides a shape and no more.

    Raises:
      ConcretizationTypeError: where the value is not known.
    """
    if type(x) is Tracer:
        value = lax.stop_gradient(x)
        x = x if type(value) is Tracer else value
    return known(name, x, advice)


def held(name, x):
    """``x`` as an array whose value stays known, even while something else is traced."""
    check(name, x)
    return asarray(x)


def flattened(name, x):
    """``x`` in one dimension, its value known if that of ``x`` is."""
    x = held(name, x)
    return lax.reshape(x, (x.size,)) if type(x) is Tracer else asarray(np.asarray(x).reshape(-1), x.dtype)


SIZE = "give size=, the length of the result, or compute it outside of the traced function"


def nonzero(a, *, size=None, fill_value=None):
    """The positions of the elements that are not zero: a tuple of int32 vectors, one per dimension.

    Args:
      a: an array.
      size: how long they are; needed under ``jit``. What is more is cut off.
      fill_value: what stands in missing places: an int, or one per dimension; by default 0.

    Raises:
      ConcretizationTypeError: for a traced array without ``size``.

    Example:
      >>> rnp.nonzero(rnp.array([0, 3, 4]))
      (Array([1, 2], dtype=int32),)
      >>> rb.jit(lambda x: rnp.nonzero(x, size=3, fill_value=-1))(rnp.array([0, 3, 4]))
      (Array([ 1,  2, -1], dtype=int32),)
    """
    a = held("nonzero", a)
    if not a.ndim:
        raise ValueError("nonzero takes arrays with at least one dimension; use atleast_1d")
    if size is None:
        return tuple(
            [asarray(i.astype(dtypes.scalar_dtype(int))) for i in np.nonzero(looked_at("nonzero", a, SIZE))]
        )
    fill = (
        fill_value if isinstance(fill_value, tuple) else (0 if fill_value is None else fill_value,) * a.ndim
    )
    if len(fill) != a.ndim:
        raise ValueError(f"nonzero: {len(fill)} fill values for {a.ndim} dimensions")
    return positions(a, operator.index(size), list(fill))


@fused(static=("size",))
def positions(a, size, fill):
    """The first ``size`` positions: the number of true elements up to each place says which one it is."""
    shape = a.shape
    dtype = dtypes.scalar_dtype(int)
    mask = lax.reshape(truth(a), (a.size,))
    running = lax.cumsum(lax.convert_element_type(mask, dtype), 0) if a.size else lax.full((0,), 0, dtype)
    # Element k of the result is the first place where the running count exceeds k.
    target = lax.select(mask, lax.sub(running, 1), lax.full_like(running, size))
    at = lax.full((size,), 0, dtype).at[target].set(lax.iota(dtype, a.size), mode="drop")
    total = lax.reduce_sum(lax.convert_element_type(mask, dtype), (0,))
    there = lax.lt(lax.iota(dtype, size), total)
    out, rest = [], math.prod(shape)
    for n, missing in zip(shape, fill):
        rest = rest // n if n else 0
        coordinate = lax.rem(lax.div(at, max(rest, 1)), max(n, 1))
        filled = lax.full((size,), lax.convert_element_type(missing, dtype), dtype)
        out.append(lax.select(there, coordinate, filled))
    return tuple(out)


def flatnonzero(a, *, size=None, fill_value=None):
    """The positions in row-major order of the elements that are not zero. Arguments as for ``nonzero``.

    Example:
      >>> rnp.flatnonzero(rnp.array([[0, 1], [2, 0]]))
      Array([1, 2], dtype=int32)
    """
    return nonzero(flattened("flatnonzero", a), size=size, fill_value=fill_value)[0]


def argwhere(a, *, size=None, fill_value=None):
    """The positions of the elements that are not zero, as rows of a matrix. Arguments as for ``nonzero``.

    Example:
      >>> rnp.argwhere(rnp.array([[0, 1], [2, 0]]))
      Array([[0, 1],
             [1, 0]], dtype=int32)
    """
    a = held("argwhere", a)
    if not a.ndim:
        found = nonzero(flattened("argwhere", a), size=size, fill_value=fill_value)[0]
        return lax.full((found.shape[0], 0), 0, found.dtype)
    return lax.stack(nonzero(a, size=size, fill_value=fill_value), 1)


def extract(condition, arr, *, size=None, fill_value=0):
    """The elements of ``arr``, in row-major order, for which ``condition`` holds. Arguments as for
    ``compress``.

    Example:
      >>> rnp.extract(rnp.array([True, False, True]), rnp.arange(3))
      Array([0, 2], dtype=int32)
    """
    from rabbet.numpy.indexing import compress

    condition, arr = flattened("extract", condition), flattened("extract", arr)
    return compress(condition, arr, size=size, fill_value=fill_value)


# ------------------------------------------------------------------------------------------------ unique
class UniqueAll(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    values: Array
    inverse_indices: Array


def unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    size=None,
    fill_value=None,
    sorted=True,
):
    """The different elements of ``ar``, sorted; and on request where they are.

    Args:
      ar: an array.
      return_index: also the first position of each.
      return_inverse: also, for each element of ``ar``, the position of its value in the result.
      return_counts: also how often each occurs.
      axis: compare slices along this dimension; None: elements.
      equal_nan: whether all NaN count as one.
      size: how long the result is; needed under ``jit``. What is more is cut off.
      fill_value: what stands in missing places, by default the smallest value.

    Raises:
      ConcretizationTypeError: for a traced array without ``size``.

    Example:
      >>> rnp.unique(rnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
      >>> rnp.unique(rnp.array([3, 1, 3]), return_counts=True)
      (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    ar = held("unique", ar)
    if size is None:
        host = looked_at("unique", ar, SIZE)
        taken = type(ar) is Tracer  # the values are taken from it, so that they have its derivative
        first: Any = return_index or taken
        found = np.unique(host, first, return_inverse, return_counts, axis=axis, equal_nan=equal_nan)
        values, *rest = found if isinstance(found, tuple) else (found,)
        rest = [asarray(r.astype(dtypes.scalar_dtype(int))) for r in rest]
        values = elements_at(ar, rest[0], axis) if taken else asarray(values, ar.dtype)
        outs = [values, *(rest if return_index or not taken else rest[1:])]
        return tuple(outs) if len(outs) > 1 else values
    if axis is not None:
        axis = axis_of("unique", axis, ar.ndim)
        found = unique_slices(ar, axis, operator.index(size), fill_value, equal_nan=equal_nan)
    else:
        found = unique_of_size(ar, operator.index(size), fill_value, equal_nan=equal_nan)
    values, first, inverse, counts = found
    outs = [values]
    outs += [first] if return_index else []
    outs += [inverse] if return_inverse else []
    outs += [counts] if return_counts else []
    return tuple(outs) if len(outs) > 1 else values


def elements_at(ar, places, axis):
    """Elements by their places in row-major order, or slices along an axis."""
    from rabbet.numpy.indexing import take

    return take(ar, places, axis)


@fused(static=("size", "equal_nan"))
def unique_of_size(ar, size, fill_value, equal_nan=True):
    """Values, first positions, inverse and counts, each of a known length."""
    shape, n = ar.shape, ar.size
    dtype = dtypes.scalar_dtype(int)
    flat = lax.reshape(ar, (n,))
    ordered, where = lax.sort((flat, lax.iota(dtype, n)), 0, num_keys=1)
    new = run_starts(ordered, equal_nan)
    group = lax.sub(lax.cumsum(lax.convert_element_type(new, dtype), 0), 1) if n else lax.full((0,), 0, dtype)
    if not size:
        empty = lax.full((0,), 0, dtype)
        return ordered[:0], empty, lax.reshape(lax.full((n,), 0, dtype).at[where].set(group), shape), empty
    start = positions(new, size, [0])[0]
    counts = lax.full((size,), 0, dtype).at[group].add(1, mode="drop")
    there = lax.gt(counts, 0)
    smallest = ordered[0] if n else lax.full((), 0, ar.dtype)
    filler = smallest if fill_value is None else lax.convert_element_type(fill_value, ar.dtype)
    filled = lax.broadcast_in_dim(filler, (size,), ())
    values = lax.select(there, ordered.at[start].get(mode="clip") if n else filled, filled)
    first = where.at[start].get(mode="clip") if n else start
    inverse = lax.full((n,), 0, dtype).at[where].set(group)
    return (
        values,
        lax.select(there, first, lax.broadcast_in_dim(first[0], (size,), ())),
        lax.reshape(inverse, shape),
        counts,
    )


@fused(static=("axis", "size", "equal_nan"))
def unique_slices(ar, axis, size, fill_value, equal_nan=True):
    """What ``unique_of_size`` gives, of the slices along an axis."""
    from rabbet.numpy.indexing import take

    n = ar.shape[axis]
    others = [d for d in range(ar.ndim) if d != axis]
    rows = lax.reshape(lax.transpose(ar, (axis, *others)), (n, math.prod(ar.shape[d] for d in others)))
    ranks = ranks_of_slices(rows, equal_nan)
    _, first, inverse, counts = unique_of_size(ranks, size, None)
    if not n:
        shape = tuple([size if d == axis else s for d, s in enumerate(ar.shape)])
        return lax.full(shape, 0 if fill_value is None else fill_value, ar.dtype), first, inverse, counts
    values = take(ar, first, axis)
    if fill_value is not None:
        shown = lax.broadcast_in_dim(lax.gt(counts, 0), values.shape, (axis,))
        filler = lax.full(values.shape, lax.convert_element_type(fill_value, ar.dtype), ar.dtype)
        values = lax.select(shown, values, filler)
    return values, first, inverse, counts


def ranks_of_slices(rows, equal_nan):
    """A number for each row of a matrix: the smaller ones for those that come first in order, equal ones for
    rows that are equal. Column by column, each from the ranks so far.
    """
    n = rows.shape[0]
    dtype = dtypes.scalar_dtype(int)
    zeros = lax.full((n,), 0, dtype)
    if not n or not rows.shape[1]:
        return zeros

    def step(ranks, column):
        order, values, where = lax.sort((ranks, column, lax.iota(dtype, n)), 0, num_keys=2)
        new = lax.bitwise_or(run_starts(values, equal_nan), run_starts(order, False))
        ordered = lax.sub(lax.cumsum(lax.convert_element_type(new, dtype), 0), 1)
        return zeros.at[where].set(ordered), None

    return lax.scan(step, zeros, lax.transpose(rows, (1, 0)))[0]


def run_starts(ordered, equal_nan):
    """Which elements of a sorted vector differ from the one before them."""
    if not ordered.size:
        return lax.full((0,), True)
    before, behind = ordered[:-1], ordered[1:]
    new = lax.ne(before, behind)
    if equal_nan and dtypes.kind(ordered.dtype) in "fc":
        both_nan = lax.bitwise_and(lax.ne(before, before), lax.ne(behind, behind))
        new = lax.bitwise_and(new, lax.bitwise_not(both_nan))
    return lax.concatenate([lax.full((1,), True), new], 0)


def unique_all(x, /, *, size=None, fill_value=None):
    """Values, first positions, inverse positions and counts of the different elements.

    Example:
      >>> rnp.unique_all(rnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    return UniqueAll(*unique(x, True, True, True, size=size, fill_value=fill_value, equal_nan=False))


def unique_counts(x, /, *, size=None, fill_value=None):
    """Values and counts of the different elements.

    Example:
      >>> rnp.unique_counts(rnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    return UniqueCounts(*unique(x, return_counts=True, size=size, fill_value=fill_value, equal_nan=False))


def unique_inverse(x, /, *, size=None, fill_value=None):
    """Values of the different elements, and the position of each element's value among them.

    Example:
      >>> rnp.unique_inverse(rnp.array([3, 1, 3])).inverse_indices
      Array([1, 0, 1], dtype=int32)
    """
    return UniqueInverse(*unique(x, return_inverse=True, size=size, fill_value=fill_value, equal_nan=False))


def unique_values(x, /, *, size=None, fill_value=None):
    """The different elements.

    Example:
      >>> rnp.unique_values(rnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    return unique(x, size=size, fill_value=fill_value, equal_nan=False)


# ------------------------------------------------------------------------------------- where, and how many
@fused(static=("assume_unique", "invert", "method"))
def isin(element, test_elements, assume_unique=False, invert=False, *, method="auto"):
    """Whether each element is among ``test_elements``: booleans.

    Args:
      invert: whether it is not among them.
      assume_unique, method: without effect on the result.

    Example:
      >>> rnp.isin(rnp.arange(4), rnp.array([1, 3]))
      Array([False,  True, False,  True], dtype=bool)
    """
    check("isin", element, test_elements)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', got {method!r}"
        )
    dtype = dtypes.result_type(element, test_elements)
    element, tests = [as_array(lax.convert_element_type(x, dtype)) for x in (element, test_elements)]
    full = (*element.shape, tests.size)
    left = lax.broadcast_in_dim(element, full, tuple(range(element.ndim)))
    right = lax.broadcast_in_dim(lax.reshape(tests, (tests.size,)), full, (element.ndim,))
    found = lax.reduce_or(lax.eq(left, right), (element.ndim,))
    return lax.bitwise_not(found) if invert else found


@obeys_out_sharding
def bincount(x, weights=None, minlength=0, *, length=None, out_sharding=None):
    """How often each of 0, 1, 2 ... occurs among non-negative integers; or the sum of its weights.

    Args:
      x: a vector of integers; negative ones count as 0.
      weights: a vector of as many numbers.
      minlength: the least length of the result.
      length: its length; needed under ``jit``. Larger integers are left out.

    Raises:
      TypeError: for other dtypes.

    Example:
      >>> rnp.bincount(rnp.array([0, 1, 1, 3]))
      Array([1, 2, 0, 1], dtype=int32)
      >>> rnp.bincount(rnp.array([0, 1, 1, 3]), length=6)
      Array([1, 2, 0, 1, 0, 0], dtype=int32)
    """
    x = held("bincount", x)
    if dtypes.kind(x.dtype) not in "iub" or x.ndim != 1:
        raise TypeError(f"bincount takes a vector of integers, got {typeof(x).str_short()}")
    if length is None:
        host = known("bincount", x, "give length=, the length of the result")
        length = max(operator.index(minlength), int(host.max()) + 1 if host.size else 0)
    return counted(x, 1 if weights is None else weights, operator.index(length))


@fused(static=("length",))
def counted(x, weights, length):
    """``bincount`` of a known length."""
    dtype = dtypes.result_type(weights)
    at = lax.max(lax.convert_element_type(x, "int32"), 0)
    return lax.full((length,), 0, dtype).at[at].add(lax.convert_element_type(weights, dtype), mode="drop")


__all__ = [
    "argwhere",
    "bincount",
    "extract",
    "flatnonzero",
    "isin",
    "nonzero",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
