"""How many elements fall into bins, along one, two or many dimensions."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.transform import typeof
from rabbet.numpy.creation.conversion import array, asarray
from rabbet.numpy.creation.new_arrays import linspace
from rabbet.numpy.elementwise.selection_and_rounding import choose_by
from rabbet.numpy.indexing.searching import counted
from rabbet.numpy.ordering.sorting import searchsorted
from rabbet.numpy.reductions.reducing import converted
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import check, kind_of

if TYPE_CHECKING:

    from rabbet.typing import Value


def histogram_bin_edges(a: Value, bins: Value = 10, range: Any = None, weights: Value = None) -> Value:
    """The edges of ``bins`` equal bins from the smallest to the largest element, or over ``range``; edges
    given are returned. ``weights`` have no effect on them, as in NumPy.

    Example:
      >>> rnp.histogram_bin_edges(rnp.array([0.0, 4.0]), bins=4)
      Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    a = array_of("histogram_bin_edges", a)
    if isinstance(bins, str):
        raise TypeError(f"histogram: bins must be a number or edges, got {bins!r}")
    bins = array(bins) if isinstance(bins, (list, tuple)) else bins
    if typeof(bins).ndim:
        return asarray(bins)
    if operator.index(bins) < 1:
        raise ValueError(f"histogram: there must be one bin at least, got bins={bins}")
    return even_edges(a, *(() if range is None else tuple(range)), bins=operator.index(bins))


@fused(static=("bins",))
def even_edges(a: Value, low: Any = None, high: Any = None, *, bins: int) -> Value:
    """Edges of equal bins; a range of no width is widened by one half on both sides."""
    flat = lax.reshape(a, (a.size,))
    dtype = dtypes.to_inexact(a.dtype)
    low = (
        converted(lax.reduce_min(flat, (0,)) if low is None else low, dtype)
        if a.size or low is not None
        else lax.full((), 0, dtype)
    )
    high = (
        converted(lax.reduce_max(flat, (0,)) if high is None else high, dtype)
        if a.size or high is not None
        else lax.full((), 1, dtype)
    )
    empty = lax.eq(low, high)
    low, high = choose_by(empty, lax.sub(low, 0.5), low), choose_by(empty, lax.add(high, 0.5), high)
    return linspace(low, high, bins + 1, dtype=dtype)


@obeys_out_sharding
def histogram(
    a: Value,
    bins: Value = 10,
    range: Any = None,
    weights: Value | None = None,
    density: bool | None = None,
    out_sharding: Any = None,
) -> tuple[Value, ...]:
    """How many elements fall into each bin, as floats, and the bins' edges.

    Args:
      a: an array, taken flat.
      bins: a number of equal bins, or edges, increasing.
      range: the lowest and the highest edge; what is outside is left out.
      weights: what each element counts.
      density: divide by the total and the widths, so that the integral is 1.

    Example:
      >>> counts, edges = rnp.histogram(rnp.array([1.0, 2.0, 2.5, 4.0]), bins=3)
      >>> counts.tolist(), edges.tolist()
      ([1.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0])
    """
    a = array_of("histogram", a)
    edges = histogram_bin_edges(a, bins, range)
    # True counts one in whatever dtype the elements ask for.
    return filled(a, edges, True if weights is None else weights, density=bool(density)), edges


@fused(static=("density",))
def filled(a: Value, edges: Value, weights: Value, density: bool) -> Value:
    """Counts, given the edges; the last bin includes its right edge."""
    counted_in = dtypes.to_inexact(dtypes.result_type(a, weights))
    dtype = counted_in
    if kind_of(a) != "c" and dtypes.kind(dtype) == "c":  # weights may be complex, places not
        dtype = dtypes.to_inexact(a.dtype)
    flat = converted(lax.reshape(a, (a.size,)), dtype)
    n = edges.shape[0] - 1
    edges = converted(edges, dtype)
    at = lax.sub(searchsorted(edges, flat, side="right"), 1)
    at = choose_by(lax.eq(flat, edges[-1]), n - 1, at)
    at = choose_by(lax.lt(at, 0), n, at)
    weights = lax.convert_element_type(weights, counted_in)
    counts = counted(at, lax.reshape(weights, (weights.size,)) if typeof(weights).ndim else weights, n)
    if not density:
        return counts
    return lax.div(
        lax.div(counts, converted(lax.sub(edges[1:], edges[:-1]), counted_in)),
        lax.broadcast_in_dim(lax.reduce_sum(counts, (0,)), (n,), ()),
    )


def histogram2d(
    x: Value,
    y: Value,
    bins: Any = 10,
    range: Any = None,
    weights: Value | None = None,
    density: bool | None = None,
) -> tuple[Value, ...]:
    """How many points of a plane fall into each of the bins of a grid, and the edges of the bins.

    Args:
      x, y: vectors of coordinates.
      bins: a number of equal bins or edges, for both dimensions; or a list of two of these.
      range: a pair of lowest and highest edges for each dimension, or None for it.
      weights: what each point counts.
      density: divide by the total and the areas, so that the integral is 1.

    Returns:
      ``(counts, x_edges, y_edges)``.

    Example:
      >>> rnp.histogram2d(rnp.array([0.0, 1.0, 1.0]), rnp.array([0.0, 0.0, 1.0]), bins=2)[0]
      Array([[1, 0],
             [1, 1]], dtype=int32)
    """
    check("histogram2d", x, y)
    x, y = array_of("histogram2d", x), array_of("histogram2d", y)
    if x.ndim != 1 or y.ndim != 1 or x.shape != y.shape:
        raise ShapeError(
            f"histogram2d takes vectors of one length, got {x.aval.str_short()} and {y.aval.str_short()}"
        )
    if not isinstance(bins, (list, tuple)) or len(bins) != 2:
        bins = [bins, bins]
    dtype = dtypes.result_type(x, y)
    points = lax.stack([converted(x, dtype), converted(y, dtype)], 1)
    counts, (x_edges, y_edges) = histogramdd(points, bins, range, weights, density)
    return counts, x_edges, y_edges


def histogramdd(
    sample: Value, bins: Any = 10, range: Any = None, weights: Value = None, density: bool | None = None
) -> tuple[list[Value] | Value, ...]:
    """How many points of a space fall into each of the bins of a grid, and the edges of the bins.

    Args:
      sample: a matrix with a row for each point, or a list of vectors, one per dimension.
      bins: a number of equal bins for all dimensions, or a list of a number or edges for each.
      range: a pair of lowest and highest edges for each dimension, or None for it.
      weights: what each point counts, a vector.
      density: divide by the total and the volumes, so that the integral is 1.

    Returns:
      ``(counts, edges)``: an array with a dimension for each column, of integers if there are neither weights
      nor a density; and a list of vectors.

    Raises:
      ValueError: for arguments that do not fit the number of dimensions.

    Example:
      >>> rnp.histogramdd(rnp.array([[0.0, 0.0], [1.0, 1.0]]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    if isinstance(sample, (list, tuple)):
        sample = lax.stack([array_of("histogramdd", x) for x in sample], 1)
    sample = array_of("histogramdd", sample)
    if sample.ndim == 1:
        sample = lax.expand_dims(sample, (1,))
    if sample.ndim != 2:
        raise ValueError(f"histogramdd takes a matrix with a row per point, got {sample.aval.str_short()}")
    count = sample.shape[1]
    bins = list(bins) if isinstance(bins, (list, tuple)) else [bins] * count
    ranges = [None] * count if range is None else list(range)
    if len(bins) != count or len(ranges) != count:
        raise ValueError(f"histogramdd: {len(bins)} bins and {len(ranges)} ranges for {count} dimensions")
    if weights is not None and typeof(weights).shape != sample.shape[:1]:
        raise ValueError(
            f"histogramdd: weights must be a vector of {sample.shape[0]}, got {typeof(weights).str_short()}"
        )
    edges = [
        histogram_bin_edges(sample[:, d], b, r) for d, (b, r) in enumerate(zip(bins, ranges, strict=True))
    ]
    edges = [e if kind_of(e) in "fc" else converted(e, dtypes.to_inexact(e.dtype)) for e in edges]
    return filled_grid(sample, edges, weights, density=bool(density)), edges


@fused(static=("density",))
def filled_grid(sample: Value, edges: list[Value], weights: Value | None, density: bool) -> Value:
    """Counts on a grid, given the edges; the last bin of a dimension includes its right edge."""
    shape = tuple([e.shape[0] - 1 for e in edges])
    place, inside = None, None
    for d, e in enumerate(edges):
        x = converted(sample[:, d], dtypes.result_type(e, sample))
        e = converted(e, x.dtype)
        at = lax.sub(searchsorted(e, x, side="right"), 1)
        at = choose_by(lax.eq(x, e[-1]), shape[d] - 1, at)
        fits = lax.bitwise_and(lax.ge(at, 0), lax.lt(at, shape[d]))
        place = at if place is None else lax.add(lax.mul(place, shape[d]), at)
        inside = fits if inside is None else lax.bitwise_and(inside, fits)
    total = math.prod(shape)
    dtype = dtypes.to_inexact(dtypes.result_type(sample, *([] if weights is None else [weights])))
    if weights is None:
        one = lax.full((), 1, dtypes.scalar_dtype(int))
    else:
        one = converted(weights, dtype)
    counts = lax.reshape(counted(choose_by(inside, place, total), one, total), shape)
    if not density:
        return counts
    counts = converted(counts, dtype)
    whole = lax.reduce_sum(counts, tuple(range(len(shape))))
    counts = lax.div(counts, lax.broadcast_in_dim(whole, shape, ()))
    for d, e in enumerate(edges):
        widths = converted(lax.sub(e[1:], e[:-1]), counts.dtype)
        counts = lax.div(counts, lax.broadcast_in_dim(widths, shape, (d,)))
    return counts


__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
