"""Matrices of a pattern: identity, triangles, diagonals, grids of coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.transform import typeof
from rabbet.numpy.creation.conversion import asarray, on_device
from rabbet.numpy.creation.new_arrays import default_float
from rabbet.numpy.elementwise.arithmetic import power
from rabbet.numpy.reductions.reducing import converted, sum
from rabbet.numpy.support.arguments import as_array, axes_of, check, requested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.extend.primitive import Primitive
    from rabbet.typing import DTypeLike, Value

# So many columns of powers are products of the one before; more would make a program that compiles for long.
MOST_PRODUCTS = 64


def below(rows: int, columns: int, k: int, compare: Primitive = lax.ge) -> Value:
    """Booleans: whether row + k >= column (or how else they compare)."""
    row = lax.broadcasted_iota("int32", (rows, columns), 0)
    column = lax.broadcasted_iota("int32", (rows, columns), 1)
    return compare(lax.add(row, k), column)


def eye(
    N: int, M: int | None = None, k: Value = 0, dtype: DTypeLike | None = None, *, device: Any = None
) -> Value:
    """A matrix of ``N`` rows and ``M`` columns (default ``N``) with ones on diagonal number ``k``, zeros
    elsewhere.

    Example:
      >>> rnp.eye(2, 3, k=1)
      Array([[0., 1., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    return on_device(ones_on_diagonal(N, M, k, dtype), device)


@fused(static=("N", "M", "k", "dtype"))
def ones_on_diagonal(N: int, M: Any, k: int, dtype: str | None) -> Value:
    """``eye`` without a device."""
    return converted(below(N, N if M is None else M, k, lax.eq), requested(dtype, default_float()))


def identity(n: int, dtype: DTypeLike | None = None) -> Value:
    """The identity matrix of ``n`` rows.

    Example:
      >>> rnp.identity(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


@fused(static=("N", "M", "k", "dtype"))
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Value:
    """A matrix with ones on and below diagonal number ``k``, zeros above.

    Example:
      >>> rnp.tri(2, 3)
      Array([[1., 0., 0.],
             [1., 1., 0.]], dtype=float32)
    """
    return converted(below(N, N if M is None else M, k), requested(dtype, default_float()))


def triangle(name: Any, m: Any, k: Any, lower: Any) -> Any:
    """``m`` with one side of a diagonal made zero, in its last two dimensions."""
    check(name, m)
    m = as_array(m)
    shape = m.aval.shape
    if len(shape) < 2:
        raise ShapeError(f"{name} takes arrays of at least two dimensions, got {m.aval.str_short()}")
    rows, columns = shape[-2:]
    kept = below(rows, columns, k if lower else k - 1)
    kept = lax.broadcast_in_dim(kept, shape, (len(shape) - 2, len(shape) - 1))
    zero = lax.full_like(m, 0)
    return lax.select(kept, m, zero) if lower else lax.select(kept, zero, m)


@fused(static=("k",))
def tril(m: Value, k: int = 0) -> Value:
    """``m`` with zeros above diagonal number ``k`` of its last two dimensions.

    Raises:
      ValueError: for arrays of less than two dimensions.

    Example:
      >>> rnp.tril(rnp.ones((2, 2)))
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    return triangle("tril", m, k, True)


@fused(static=("k",))
def triu(m: Value, k: int = 0) -> Value:
    """``m`` with zeros below diagonal number ``k`` of its last two dimensions.

    Raises:
      ValueError: for arrays of less than two dimensions.

    Example:
      >>> rnp.triu(rnp.ones((2, 2)))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    return triangle("triu", m, k, False)


@fused(static=("offset", "axis1", "axis2"))
def diagonal(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """The elements at ``(i, i + offset)`` of the two axes, along a last dimension of the result.

    Raises:
      ValueError: for arrays of less than two dimensions or equal axes.

    Example:
      >>> rnp.diagonal(rnp.array([[1, 2, 3], [4, 5, 6]]), offset=1)
      Array([2, 6], dtype=int32)
    """
    check("diagonal", a)
    a = as_array(a)
    first, second = axes_of("diagonal", (axis1, axis2), a.aval.ndim)
    rest = [d for d in range(a.aval.ndim) if d not in (first, second)]
    a = lax.transpose(a, (*rest, first, second))
    *batch, rows, columns = a.aval.shape
    first = (max(-offset, 0), max(offset, 0))
    count = max(0, min(rows - first[0], columns - first[1]))
    # Of the elements in a row, every one after the next whole row: XLA fuses this and its transpose, which is
    # a padding, with what stands beside it, unlike an index of two arrays and a scatter.
    start, step = first[0] * columns + first[1], columns + 1
    stop = start + (count - 1) * step + 1
    if count == 0:
        start = stop = 0
    flat = lax.reshape(a, (*batch, rows * columns))
    return lax.slice_in_dim(flat, start, stop, step, axis=len(batch))


@fused(static=("k",))
def diag(v: Value, k: int = 0) -> Value:
    """Diagonal number ``k`` of a matrix; or the matrix that has a vector there and zeros elsewhere.

    Raises:
      ValueError: for other arrays.

    Example:
      >>> rnp.diag(rnp.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
      >>> rnp.diag(rnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    check("diag", v)
    v = as_array(v)
    if v.aval.ndim == 2:
        return diagonal(v, k)
    if v.aval.ndim != 1:
        raise ShapeError(f"diag takes a vector or a matrix, got {v.aval.str_short()}")
    n = v.aval.shape[0] + abs(k)
    padded = lax.pad(v, 0, ((max(k, 0), max(-k, 0), 0),))
    spread = lax.broadcast_in_dim(padded, (n, n), (1,))
    return lax.select(below(n, n, k, lax.eq), spread, lax.full_like(spread, 0))


def diagflat(v: Value, k: int = 0) -> Value:
    """The matrix with the elements of ``v``, in row-major order, on diagonal number ``k``.

    Example:
      >>> rnp.diagflat(rnp.array([[1, 2]]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    v = asarray(v)
    return diag(lax.reshape(v, (v.size,)), k)


@fused(static=("offset", "axis1", "axis2", "dtype", "out"))
def trace(
    a: Value,
    offset: Value = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: Any = None,
) -> Value:
    """The sum of a diagonal, see ``diagonal`` and ``sum``.

    Example:
      >>> rnp.trace(rnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


@fused(static=("copy", "sparse", "indexing"))
def meshgrid(*xi: Value, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Value, ...]:
    """Coordinates of a grid from its axes: for each vector an array over all axes that holds its coordinate.

    Args:
      xi: vectors or numbers.
      copy: without effect: results cannot be written to, whether they are copies or not.
      sparse: keep size 1 along the other axes.
      indexing: ``"xy"`` puts the second vector's axis first, ``"ij"`` keeps their order.

    Returns:
      a tuple of arrays.

    Example:
      >>> x, y = rnp.meshgrid(rnp.arange(2), rnp.arange(3))
      >>> x
      Array([[0, 1],
             [0, 1],
             [0, 1]], dtype=int32)
    """
    check("meshgrid", *xi)
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [lax.reshape(as_array(x), (1,)) if typeof(x).ndim == 0 else as_array(x) for x in xi]
    for x in vectors:
        if x.aval.ndim != 1:
            raise ShapeError(f"meshgrid takes vectors and numbers, got {x.aval.str_short()}")
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = 1, 0
    full = [0] * len(vectors)
    for x, place in zip(vectors, places):
        full[place] = x.aval.shape[0]
    out = []
    for x, place in zip(vectors, places):
        shape = [n if not sparse or d == place else 1 for d, n in enumerate(full)]
        out.append(lax.broadcast_in_dim(x, shape, (place,)))
    return tuple(out)


def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Value:
    """Arrays of the given shape that hold their own coordinates, stacked; a tuple of thin ones if
    ``sparse``.

    Example:
      >>> rnp.indices((2, 3))[1]
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    dtype = requested(dtype, dtypes.scalar_dtype(int))
    n = len(dimensions)
    if sparse:
        return tuple(
            [
                lax.reshape(lax.iota(dtype, s), (1,) * d + (s,) + (1,) * (n - d - 1))
                for d, s in enumerate(dimensions)
            ]
        )
    parts = [lax.broadcasted_iota(dtype, dimensions, d) for d in range(n)]
    return lax.stack(parts) if parts else lax.full((0,), 0, dtype)


@fused(static=("N", "increasing"))
def vander(x: Value, N: int | None = None, increasing: bool = False) -> Value:
    """The matrix whose columns are powers of a vector, the highest one first unless ``increasing``.

    Example:
      >>> rnp.vander(rnp.array([1, 2, 3]), 3)
      Array([[1, 1, 1],
             [4, 2, 1],
             [9, 3, 1]], dtype=int32)
    """
    check("vander", x)
    x = as_array(x)
    if x.aval.ndim != 1:
        raise ShapeError(f"vander takes a vector, got {x.aval.str_short()}")
    n = x.aval.shape[0] if N is None else N
    if n < 0:
        raise ShapeError(f"vander: the number of columns must not be negative, got {n}")
    if n > MOST_PRODUCTS:
        powers = lax.broadcasted_iota("int32", (x.aval.shape[0], n), 1)
        return power(x[:, None], powers if increasing else n - 1 - powers).astype(x.dtype)
    ones = lax.full_like(x, 1)
    columns = [ones]
    for _ in range(n - 1):
        columns.append(lax.mul(columns[-1], x))
    columns = columns[:n] if increasing else columns[:n][::-1]
    return lax.stack(columns, 1) if columns else lax.full((x.aval.shape[0], 0), 0, x.dtype)


def known_positions(found: tuple[np.ndarray, ...]) -> tuple[Value, ...]:
    """NumPy's index arrays as arrays of ``int``'s dtype."""
    return tuple([asarray(i.astype(dtypes.scalar_dtype(int))) for i in found])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Value, ...]:
    """Row and column of each element on and below diagonal number ``k`` of an ``n`` by ``m`` matrix.

    Example:
      >>> rnp.tril_indices(2)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return known_positions(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Value, ...]:
    """Row and column of each element on and above diagonal number ``k`` of an ``n`` by ``m`` matrix.

    Example:
      >>> rnp.triu_indices(2)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return known_positions(np.triu_indices(n, k, m))


def matrix_shape(name: Any, x: Any) -> Any:
    """The shape of an array that must be a matrix."""
    shape = typeof(x).shape
    if len(shape) != 2:
        raise ValueError(f"{name} takes a matrix, got {typeof(x).str_short()}")
    return shape


def tril_indices_from(arr: Value, k: int = 0) -> tuple[Value, ...]:
    """``tril_indices`` for the shape of a matrix.

    Example:
      >>> rnp.tril_indices_from(rnp.ones((2, 2)))
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Value, k: int = 0) -> tuple[Value, ...]:
    """``triu_indices`` for the shape of a matrix.

    Example:
      >>> rnp.triu_indices_from(rnp.ones((2, 2)))
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Value, ...]:
    """The indices of the main diagonal of an array of ``ndim`` dimensions of size ``n``: a tuple of
    arrays.

    Example:
      >>> rnp.zeros((2, 2)).at[rnp.diag_indices(2)].set(1.0)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return (lax.iota(dtypes.scalar_dtype(int), n),) * ndim


def diag_indices_from(arr: Value) -> tuple[Value, ...]:
    """``diag_indices`` for an array with at least two dimensions of one size.

    Raises:
      ValueError: for another array.

    Example:
      >>> rnp.diag_indices_from(rnp.zeros((2, 2)))
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    shape = typeof(arr).shape
    if len(shape) < 2 or len(set(shape)) != 1:
        shown = typeof(arr).str_short()
        raise ValueError(f"diag_indices_from needs two or more dimensions of one size, got {shown}")
    return diag_indices(shape[0], len(shape))


__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "eye",
    "identity",
    "indices",
    "meshgrid",
    "trace",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "vander",
]
