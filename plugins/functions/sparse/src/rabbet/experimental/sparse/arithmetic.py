"""Elementwise arithmetic: values where both operands have some, and sums."""

import numpy as np

import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental.sparse import entries
from rabbet.experimental.sparse.base import DensifyError, JAXSparse, is_sparse, needs
from rabbet.experimental.sparse.structure import bcoo_broadcast_in_dim
from rabbet.experimental.sparse.sums import bcoo_sum_duplicates, bcoo_update_layout
from rabbet.extend.functions import fused


def refuse(what, mat, name=True):
    """Say which dense array an operation would make, and how to allow it; ``name`` is the primitive's."""
    size = mat.size * mat.dtype.itemsize
    amount = f"{size / 2**20:.1f} MiB" if size > 2**20 else f"{size} bytes"
    shape = ", ".join(map(str, mat.shape))
    allowed = name if name is True else f"({name!r},)"
    raise DensifyError(
        f"{what} would give a dense array, {mat.dtype.name}[{shape}] of {amount}, where {mat.nse} values are "
        f"stored\n  to fix: make it dense first with sparse.todense(x), or allow it in a function with "
        f"sparse.sparsify(f, densify={allowed})"
    )


@fused(static=("padding",))
def taken_at(mat, array, padding=0):
    """A dense array, broadcast to the shape of ``mat``, at the stored places: like ``mat.data``. ``padding``
    is what stands where none is stored."""
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    array = array.reshape((1,) * (mat.ndim - array.ndim) + array.shape)
    batch, sparse = array.shape[:n_batch], array.shape[n_batch : n_batch + n_sparse]
    small = [k for k, (a, b) in enumerate(zip(sparse, mat.sparse_shape)) if a != b]
    array = rnp.squeeze(array, tuple(n_batch + k for k in small))
    left = np.array([k for k in range(n_sparse) if k not in small], int)

    def one(values, indices):
        return entries.gather_at(values, indices[..., left], padding=padding)

    for d in reversed(range(n_batch)):
        one = mapped(one, batch[d] == mat.shape[d])
    return one(array, mat.indices)


def mapped(function, along_values):
    """``function`` mapped over its indices, and over its values or their only member."""
    if along_values:
        return rb.vmap(function)
    over = rb.vmap(function, in_axes=(None, 0))
    return lambda values, indices: over(values[0], indices)


def fits(shape, into):
    """Whether an array of a shape can be broadcast into another."""
    return len(shape) <= len(into) and all(a in (1, b) for a, b in zip(shape[::-1], into[::-1]))


def bcoo_multiply_dense(sp_mat: JAXSparse, v: rb.Array) -> rb.Array:
    """The stored values of the elementwise product of a BCOO with a dense array.

    Args:
      sp_mat: a BCOO.
      v: an array that can be broadcast to its shape.

    Returns:
      an array that goes with the indices of ``sp_mat``.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> bcoo_multiply_dense(BCOO.fromdense(rnp.eye(2)), 3.0)
      Array([3., 3.], dtype=float32)
    """
    needs("BCOO", "bcoo_multiply_dense", sp_mat)
    v = v if np.ndim(v) == 0 else rnp.asarray(v)
    if np.ndim(v) == 0:
        return sp_mat.data * v
    if not fits(v.shape, sp_mat.shape):
        raise ValueError(
            f"bcoo_multiply_dense: an array of shape {v.shape} does not broadcast to {sp_mat.shape}"
        )
    return sp_mat.data * taken_at(sp_mat, v)


@fused
def bcoo_multiply_sparse(lhs: JAXSparse, rhs: JAXSparse) -> JAXSparse:
    """The elementwise product of two BCOOs of one shape.

    The result has as many entries as the operand with fewer of them, padding among them.

    Example:
      >>> x = BCOO.fromdense(rnp.eye(2))
      >>> bcoo_multiply_sparse(x, x).todense()
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    needs("BCOO", "bcoo_multiply_sparse", lhs, rhs)
    lhs, rhs = brought_together(lhs, rhs, "bcoo_multiply_sparse")
    if lhs.nse < rhs.nse:
        lhs, rhs = rhs, lhs
    sizes = tuple(lhs.sparse_shape)

    def one(a, i, b, j):
        """Both in order, those of lhs first; what each run has of lhs goes to its entries of rhs."""
        places = rnp.concatenate([i, j.astype(i.dtype)])
        keep = entries.inside(places, sizes)
        ordered, order = entries.in_order(entries.padded(places, sizes, keep))
        group = rnp.cumsum(entries.starts_of_runs(ordered), dtype="int32") - 1
        mine = rnp.zeros(len(places), "int32").at[order].set(group, unique_indices=True)
        sums = entries.scatter_sum(mine[: len(i), None], a, (len(places),))
        return sums[mine[len(i) :]] * b

    data = entries.over_batch(one, lhs.n_batch)(lhs.data, lhs.indices, rhs.data, rhs.indices)
    return rhs.rebuilt(
        data, rhs.indices, rhs.shape[rhs.n_batch :], rhs.n_dense, rhs.indices_sorted, rhs.unique_indices
    )


def brought_together(lhs, rhs, who):
    """Two BCOOs of one shape, in one layout: that of fewer batch and dense dimensions."""
    shape = tuple(np.broadcast_shapes(lhs.shape, rhs.shape))
    lhs, rhs = broadcast(lhs, shape), broadcast(rhs, shape)
    layout = {"n_batch": min(lhs.n_batch, rhs.n_batch), "n_dense": min(lhs.n_dense, rhs.n_dense)}
    return [bcoo_update_layout(m, **layout) for m in (lhs, rhs)]


def broadcast(mat, shape):
    """A BCOO broadcast to a shape."""
    if mat.shape == tuple(shape):
        return mat
    places = range(len(shape) - mat.ndim, len(shape))
    return bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=tuple(places))


@fused(static=("assume_unique",))
def bcoo_extract(sparr: JAXSparse, arr: rb.Array, *, assume_unique: bool | None = None) -> JAXSparse:
    """The values of a dense array at the places of a BCOO, as a BCOO.

    Args:
      sparr: says the places.
      arr: an array of the same shape.
      assume_unique: that no place occurs twice; None: what the BCOO says of itself. Where places may occur
        twice the first entry gets the value and the others zero, so that the result is right as a whole.

    Raises:
      ValueError: if the shapes differ.

    Example:
      >>> bcoo_extract(BCOO.fromdense(rnp.eye(2)), rnp.ones((2, 2))).data
      Array([1., 1.], dtype=float32)
    """
    needs("BCOO", "bcoo_extract", sparr)
    arr = rnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: the shapes {sparr.shape} and {arr.shape} differ")
    data = taken_at(sparr, arr)
    if not (sparr.unique_indices if assume_unique is None else assume_unique):
        data = entries.over_batch(firsts_only, sparr.n_batch)(data, sparr.indices)
    return sparr._with_data(data)


def firsts_only(data, indices):
    """The values at the first entry of each place, zeros at the others."""
    return entries.kept(data, entries.firsts(indices))


@fused
def add_sparse(lhs, rhs):
    """The sum of two BCOOs: the entries of both."""
    lhs, rhs = brought_together(lhs, rhs, "add")
    at = lhs.n_batch
    number = rnp.result_type(lhs.data, rhs.data)
    index = np.result_type(lhs.indices.dtype, rhs.indices.dtype)
    data = rnp.concatenate([lhs.data.astype(number), rhs.data.astype(number)], at)
    indices = rnp.concatenate([lhs.indices.astype(index), rhs.indices.astype(index)], at)
    return lhs.rebuilt(data, indices, lhs.shape[at:], lhs.n_dense, False, False)


def add_dense(mat, array):
    """``array + mat`` for a dense array of the full shape."""
    array = rnp.asarray(array) if isinstance(array, np.ndarray) or not hasattr(array, "astype") else array
    shape = tuple(np.broadcast_shapes(mat.shape, np.shape(array)))
    if np.shape(array) != shape:
        refuse(f"adding an array of shape {np.shape(array)}", mat)
    return added_to(broadcast(mat, shape), array)


@fused
def added_to(mat, array):
    """``array + mat`` for an array of the same shape."""
    dtype = rnp.result_type(mat.data, array)

    def one(values, data, indices):
        if not mat.n_sparse:
            return values + rnp.sum(data, 0, dtype=data.dtype)
        return values.at[entries.columns(indices)].add(data, mode="drop", wrap_negative_indices=False)

    one = entries.over_batch(one, mat.n_batch)
    return one(array.astype(dtype), mat.data.astype(dtype), mat.indices)


def add(x, y):
    """``x + y`` where one is a BCOO at least."""
    if is_sparse(x) and is_sparse(y):
        return add_sparse(x, y)
    return add_dense(x, y) if is_sparse(x) else add_dense(y, x)


def multiply(x, y):
    """``x * y`` where one is a BCOO at least."""
    if is_sparse(x) and is_sparse(y):
        if x is y and x.unique_indices:
            return x._with_data(x.data * x.data)
        return bcoo_multiply_sparse(x, y)
    mat, other = (x, y) if is_sparse(x) else (y, x)
    if np.ndim(other):
        mat = broadcast(mat, np.broadcast_shapes(mat.shape, np.shape(other)))
    return mat._with_data(bcoo_multiply_dense(mat, other))


def divide(x, y):
    """``x / y`` where one is a BCOO at least."""
    if is_sparse(y):
        refuse("division by a sparse array", y)
    if not np.ndim(y):
        return x._with_data(x.data / y)
    y = rnp.asarray(y)
    mat = broadcast(x, np.broadcast_shapes(x.shape, y.shape))
    return mat._with_data(mat.data / taken_at(mat, y, padding=1))  # 0 / 0 would be NaN there


def once_each(mat):
    """A BCOO with one entry at a place, of as many entries: for functions that are not linear."""
    return mat if mat.unique_indices else bcoo_sum_duplicates(mat, nse=mat.nse)
