"""Small operations on batches of matrices, arrays whose last two dimensions count, from which the rules of
linear algebra are made.
"""

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.primitive import accept, full_of_type
from rabbet.extend.transform import typeof

HIGHEST = (lax.Precision.HIGHEST, lax.Precision.HIGHEST)
INDEX = np.dtype("int32")


def dtype_of(x):
    """The dtype of an array or of a value that stands for one."""
    return typeof(x).dtype


def transposed(x):
    """Each matrix transposed."""
    n = typeof(x).ndim
    return lax.transpose(x, permutation=(*range(n - 2), n - 1, n - 2))


def adjoint(x):
    """Each matrix transposed and conjugated."""
    return conjugate(transposed(x))


def conjugate(x):
    """The conjugate of a complex array, a real array as it is."""
    return lax.conj(x) if typeof(x).kind == "c" else x


def product(x, y):
    """The products of two equally long batches of matrices, in full precision."""
    n = typeof(x).ndim
    batch = tuple(range(n - 2))
    return lax.dot_general(x, y, dimension_numbers=(((n - 1,), (n - 2,)), (batch, batch)), precision=HIGHEST)


def where_below(x, y, diagonal=0):
    """Matrices with the elements of ``x`` on and below a diagonal, and those of ``y`` above it."""
    return lax.select_n(below(typeof(x).shape, diagonal), y, x)


def below(sizes, diagonal=0):
    """Where row + diagonal >= column, as booleans of shape ``sizes``."""
    n = len(sizes)
    row = lax.broadcasted_iota(INDEX, shape=sizes, dimension=n - 2)
    column = lax.broadcasted_iota(INDEX, shape=sizes, dimension=n - 1)
    return lax.ge(lax.add(row, np.int32(diagonal)), column)


def lower_triangle(x, diagonal=0):
    """``x`` with zeros above a diagonal."""
    return where_below(x, full_of_type(typeof(x).strong(), 0), diagonal)


def upper_triangle(x, diagonal=0):
    """``x`` with zeros below a diagonal."""
    return where_below(full_of_type(typeof(x).strong(), 0), x, diagonal - 1)


def on_diagonal(x, scale):
    """``x`` with the elements of its diagonal multiplied by ``scale``."""
    scaled = lax.mul(x, full_of_type(typeof(x).strong(), scale))
    return where_below(where_below(x, scaled, -1), x)


def diagonal(x):
    """The elements on the diagonal of each square matrix."""
    last = typeof(x).ndim - 1
    zero = full_of_type(typeof(x).strong(), 0)
    alone = where_below(where_below(zero, x, -1), zero)
    return lax.reduce_sum(alone, axes=(last,))


def identity(aval):
    """Identity matrices (ones on the diagonal of each) of a type."""
    one, zero = full_of_type(aval, 1), full_of_type(aval, 0)
    return where_below(where_below(zero, one, -1), zero)


def in_floats(x):
    """Integers as floats, anything else as it is."""
    dtype = typeof(x).dtype
    return lax.convert_element_type(x, dtypes.to_inexact(dtype)) if dtypes.kind(dtype) in "biu" else x


def square_matrices(name, aval):
    """Refuse what is not a batch of square matrices of floating or complex numbers."""
    accept(name, "fc", aval)
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ShapeError(f"{name} takes square matrices, arrays of shape (..., n, n), got {aval.str_short()}")


def matrices(name, aval):
    """Refuse what is not a batch of matrices of floating or complex numbers."""
    accept(name, "fc", aval)
    if aval.ndim < 2:
        raise ShapeError(f"{name} takes matrices, arrays of shape (..., m, n), got {aval.str_short()}")


def rows_at(x, positions):
    """The rows of each matrix at ``positions``, int32 of shape ``(..., k)``, in range and without repeats."""
    aval = typeof(x)
    batch = tuple(range(aval.ndim - 2))
    row = aval.ndim - 2
    if not aval.shape[row]:
        return x
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(row + 1,), collapsed_slice_dims=(row,), start_index_map=(row,),
        operand_batching_dims=batch, start_indices_batching_dims=batch,
    )  # fmt: skip
    return lax.gather(
        x, lax.expand_dims(positions, (row + 1,)), numbers, (*(1,) * (row + 1), aval.shape[-1]),
        unique_indices=True, mode="promise_in_bounds",
    )  # fmt: skip


def enlarged(x, rows, columns):
    """Matrices with zeros added below and on the right, to ``rows`` times ``columns``."""
    aval = typeof(x)
    (m, n), batch = aval.shape[-2:], ((0, 0, 0),) * (aval.ndim - 2)
    if (m, n) == (rows, columns):
        return x
    config = (*batch, (0, rows - m, 0), (0, columns - n, 0))
    return lax.pad(x, full_of_type(aval.strong().update(shape=()), 0), padding_config=config)


def corner(x, rows, columns):
    """The first ``rows`` rows and ``columns`` columns of matrices."""
    sizes = (*typeof(x).shape[:-2], rows, columns)
    if sizes == typeof(x).shape:
        return x
    return lax.slice(x, start_indices=(0,) * len(sizes), limit_indices=sizes)


def beside(x, sizes, *missing):
    """``x`` repeated along the dimensions ``missing`` of an array of shape ``sizes``."""
    kept = tuple([d for d in range(len(sizes)) if d not in missing])
    return lax.broadcast_in_dim(x, shape=sizes, broadcast_dimensions=kept)
