"""Running sums and products, differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet_custom_rules import custom_rules

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.logic import not_equal
from rabbet.numpy.reductions.reducing import as_terms, converted, spread_to
from rabbet.numpy.shapes.joining import concatenate
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import axis_of, check, kind_of, no_out, requested, weak_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DType, DTypeLike, Value

STATIC = ("axis", "dtype", "out")


def running(
    name: str, primitive: Callable[..., Any], a: Value, axis: Any, dtype: DType | str | None, out: Any
) -> Value:
    """What the running functions have in common."""
    check(name, a)
    no_out(name, out)
    a = array_of(name, a)
    have = a.dtype
    dtype = requested(dtype, dtypes.scalar_dtype(int) if kind_of(a) == "b" else have)
    if axis is None or not a.ndim:
        a, axis = lax.reshape(a, (a.size,)), 0
    return converted(primitive(as_terms(a, dtype), axis_of(name, axis, a.ndim)), dtype)


@fused(static=STATIC)
def cumsum(a: Value, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> Value:
    """The sum of the elements up to each one along ``axis``; for None, of all in row-major order, in one
    dimension.

    Args:
      dtype: of the result, by default that of ``a``; booleans are counted in int32.

    Example:
      >>> rnp.cumsum(rnp.array([[1, 2], [3, 4]]), axis=0)
      Array([[1, 2],
             [4, 6]], dtype=int32)
    """
    return running("cumsum", lax.cumsum, a, axis, dtype, out)


@fused(static=STATIC)
def cumprod(a: Value, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> Value:
    """The product of the elements up to each one along ``axis``. Arguments as for ``cumsum``.

    Example:
      >>> rnp.cumprod(rnp.array([1, 2, 3, 4]))
      Array([ 1,  2,  6, 24], dtype=int32)
    """
    return running("cumprod", lax.cumprod, a, axis, dtype, out)


def total_dtype(dtype: DType) -> DType:
    """The integer dtype of sums, as of ``sum``: not narrower than an int."""
    wide = dtypes.scalar_dtype(int)
    if dtype.itemsize >= wide.itemsize:
        return dtype
    return wide if dtypes.kind(dtype) == "i" else np.dtype(f"uint{8 * wide.itemsize}")


def with_first(name: str, function: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    """Make ``cumulative_sum`` or ``cumulative_prod``."""

    @fused(static=("axis", "dtype", "include_initial"))
    def cumulative(
        x: Value, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
    ) -> Value:
        x = array_of(name, x)
        if axis is None:
            if x.ndim != 1:
                raise ShapeError(f"{name}: {x.aval.str_short()} has not one dimension, so axis must be given")
            axis = 0
        axis = axis_of(name, axis, x.ndim)
        if dtype is None and neutral == 0 and kind_of(x) in "iu":
            dtype = total_dtype(x.dtype)
        out = function(x, axis, dtype)
        if not include_initial:
            return out
        first = lax.full((*out.shape[:axis], 1, *out.shape[axis + 1 :]), neutral, out.dtype)
        return lax.concatenate([first, out], axis)

    cumulative.__name__ = cumulative.__qualname__ = name
    cumulative.__doc__ = (
        f"``{'cumsum' if neutral == 0 else 'cumprod'}`` along ``axis``, which only "
        f"vectors may leave out; "
        f"{'narrow integers are added up as ints; ' if neutral == 0 else ''}``include_initial`` "
        f"puts {neutral} before the first element.\n\n"
        f">>> rnp.{name}(rnp.array([2, 3]), include_initial=True)\n"
        f"Array([{neutral}, 2, {5 if neutral == 0 else 6}], dtype=int32)"
    )
    return cumulative


cumulative_sum = with_first("cumulative_sum", cumsum, 0)
cumulative_prod = with_first("cumulative_prod", cumprod, 1)


@fused(static=("n", "axis"))
def diff(
    a: Value, n: int = 1, axis: int = -1, prepend: Value | None = None, append: Value | None = None
) -> Value:
    """The differences of neighbours along ``axis``, taken ``n`` times; of booleans, whether they differ.

    Args:
      prepend, append: what to put before and after first: a number, or an array.

    Example:
      >>> rnp.diff(rnp.array([1, 4, 9, 16]), n=2)
      Array([2, 2], dtype=int32)
    """
    a = array_of("diff", a)
    if n < 0:
        raise ShapeError(f"diff: n must not be negative, got {n}")
    if not a.ndim:
        raise ShapeError("diff takes arrays with at least one dimension")
    axis = axis_of("diff", axis, a.ndim)
    parts = [widened(p, a, axis) for p in (prepend, a, append) if p is not None]
    if len(parts) > 1:
        a = concatenate(parts, axis)
    for _ in range(n):
        size = a.shape[axis]
        low, high = (
            lax.slice_in_dim(a, 0, max(size - 1, 0), axis=axis),
            lax.slice_in_dim(a, 1, size, axis=axis),
        )
        a = not_equal(high, low) if kind_of(a) == "b" else lax.sub(high, low)
    return a


def widened(part: Any, a: Any, axis: Any) -> Any:
    """A number to put beside ``a``, as a slice of size 1."""
    if typeof(part).ndim:
        return part
    return spread_to(part, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))


@fused
def ediff1d(ary: Value, to_end: Value | None = None, to_begin: Value | None = None) -> Value:
    """The differences of neighbours in row-major order, with values before and after.

    Example:
      >>> rnp.ediff1d(rnp.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    ary = array_of("ediff1d", ary)
    flat = lax.reshape(ary, (ary.size,))
    parts = [
        p if p is None else lax.reshape(array_of("ediff1d", p), (typeof(p).size,))
        for p in (to_begin, diff(flat), to_end)
    ]
    return concatenate([converted(p, ary.dtype) for p in parts if p is not None])


@fused(static=("axis", "edge_order"))
@weak_by(0)
def gradient(
    f: Value, *varargs: Value, axis: int | Sequence[int] | None = None, edge_order: int | None = None
) -> Any:
    """Central differences of ``f`` along one, several or all dimensions; one-sided ones at the ends.

    Args:
      varargs: the distance of neighbours: nothing (1), a number for all dimensions, or one per dimension.
      axis: an int, a tuple, or None for all.
      edge_order: 1 or None; NumPy's differences of second order at the ends are not there.

    Returns:
      an array for one dimension, else a list.

    Raises:
      NotImplementedError: for another ``edge_order``.

    Example:
      >>> rnp.gradient(rnp.array([1.0, 4.0, 9.0, 16.0]))
      Array([3., 4., 6., 7.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient: edge_order must be 1 or None, got {edge_order!r:.60}")
    f = array_of("gradient", f)
    dtype = dtypes.promote(f, *varargs)[0]
    f = converted(f, dtype if dtypes.kind(dtype) in "fc" else dtypes.to_inexact(dtype))
    along: Any = range(f.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axis_of("gradient", d, f.ndim) for d in along]
    steps = (
        [1.0] * len(axes)
        if not varargs
        else list(varargs) * len(axes)
        if len(varargs) == 1
        else list(varargs)
    )
    if len(steps) != len(axes):
        raise ShapeError(f"gradient: {len(steps)} distances for {len(axes)} dimensions")
    outs = [one_gradient(f, step, d) for step, d in zip(steps, axes)]
    return outs[0] if len(outs) == 1 else outs


def one_gradient(f: Value, step: Value, axis: int) -> Value:
    """Central differences along one dimension with neighbours at one distance, or at given coordinates."""
    n = f.shape[axis]
    if n < 2:
        raise ShapeError(f"gradient: axis {axis} of {f.aval.str_short()} needs at least two elements")

    def part(x: Value, lo: int, hi: int) -> Value:
        return lax.slice_in_dim(x, lo, hi, axis=axis)

    if typeof(step).ndim:
        x = converted(step, f.dtype)
        if x.shape != (n,):
            raise ShapeError(
                f"gradient: coordinates along axis {axis} of {f.aval.str_short()} must be {n}, got "
                f"{typeof(step).str_short()}"
            )
        d = spread_along(lax.sub(x[1:], x[:-1]), f, axis)
        slopes = lax.div(lax.sub(part(f, 1, n), part(f, 0, n - 1)), d)
        low, high = part(d, 0, n - 2), part(d, 1, n - 1)
        middle = lax.div(
            lax.add(lax.mul(part(slopes, 0, n - 2), high), lax.mul(part(slopes, 1, n - 1), low)),
            lax.add(low, high),
        )
        return lax.concatenate([part(slopes, 0, 1), middle, part(slopes, n - 2, n - 1)], axis)
    differences = lax.sub(part(f, 1, n), part(f, 0, n - 1))
    middle = lax.mul(lax.sub(part(f, 2, n), part(f, 0, n - 2)), 0.5)  # what is between them does not count
    ends = part(differences, 0, 1), part(differences, n - 2, n - 1)
    return lax.div(lax.concatenate([ends[0], middle, ends[1]], axis), converted(step, f.dtype))


def spread_along(v: Value, f: Value, axis: int) -> Value:
    """A vector along one dimension of ``f``, repeated along the others."""
    shape = (*f.shape[:axis], v.shape[0], *f.shape[axis + 1 :])
    return lax.broadcast_in_dim(v, shape, (axis,))


def _halves(y: Value, axis: int) -> tuple[Value, Value]:
    """Half the sum of ``y`` along ``axis``, and half that of the first and the last element."""
    n = y.shape[axis]
    ends = lax.slice(
        y,
        (0,) * y.ndim,
        y.shape,
        tuple([n - 1 if i == axis else 1 for i in range(y.ndim)]),
    )
    return lax.reduce_sum(lax.mul(y, 0.5), (axis,)), lax.reduce_sum(lax.mul(ends, 0.5), (axis,))


def _sum_with_half_ends(y: Value, axis: int) -> Value:
    """The sum of ``y`` along ``axis`` with the first and the last element halved.

    No shifted copy of ``y`` is made. Half the sum is taken twice, so that it overflows only where the result
    does; infinite ends are not subtracted, which would make NaN of infinity.
    """
    half, over = _halves(y, axis)
    finite = lax.eq(lax.sub(over, over), 0)
    return lax.add(half, lax.sub(half, lax.select(finite, over, lax.full_like(over, 0))))


_evenly_spaced = custom_rules(_sum_with_half_ends, nondiff_argnums=(1,))


@_evenly_spaced.def_rule("jvp")
def _evenly_spaced_jvp(
    axis: int, primals: tuple[Value, ...], tangents: tuple[Value, ...]
) -> tuple[Value, Value]:
    """The ends count half, also those that are infinite and were not subtracted."""
    half, over = _halves(tangents[0], axis)
    return _evenly_spaced(primals[0], axis), lax.add(half, lax.sub(half, over))


@fused(static=("axis",))
def trapezoid(y: Value, x: Value = None, dx: Value = 1.0, axis: int = -1) -> Value:
    """The integral of ``y`` along ``axis`` by trapezoids between points ``dx`` apart, or at the coordinates
    ``x``.

    Example:
      >>> rnp.trapezoid(rnp.array([1.0, 2.0, 3.0]), dx=0.5)
      Array(2., dtype=float32)
    """
    y = array_of("trapezoid", y)
    y = converted(y, dtypes.to_inexact(y.dtype if x is None else dtypes.result_type(y, x)))
    axis = axis_of("trapezoid", axis, y.ndim)
    n = y.shape[axis]
    if x is None and not typeof(dx).ndim and type(n) is int and n > 2:
        return lax.mul(_evenly_spaced(y, axis), converted(dx, y.dtype))
    heights = lax.mul(
        lax.add(lax.slice_in_dim(y, 1, n, axis=axis), lax.slice_in_dim(y, 0, n - 1, axis=axis)), 0.5
    )
    if x is None and not typeof(dx).ndim:
        return lax.mul(lax.reduce_sum(heights, (axis,)), converted(dx, y.dtype))
    if x is None:
        return lax.reduce_sum(lax.mul(heights, spread_to(converted(dx, y.dtype), heights.shape)), (axis,))
    widths = diff(converted(x, y.dtype), axis=-1 if typeof(x).ndim == 1 else axis)
    widths = spread_along(widths, heights, axis) if widths.ndim == 1 else spread_to(widths, heights.shape)
    return lax.reduce_sum(lax.mul(heights, widths), (axis,))


__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "ediff1d",
    "gradient",
    "trapezoid",
]
