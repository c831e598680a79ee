"""Entries in order, equal places summed, dimensions summed away, and other layouts."""

import math
import warnings
from collections.abc import Sequence

import numpy as np

import rabbet.numpy as rnp
from rabbet.experimental.sparse import entries
from rabbet.experimental.sparse.base import (
    JAXSparse,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    dimensions_of,
    known_number,
    needs,
)
from rabbet.extend.functions import fused
from rabbet.extend.shapes import whole_number
from rabbet.extend.wrapping import stacklevel


@fused
def bcoo_sort_indices(mat: JAXSparse) -> JAXSparse:
    """The same BCOO with its entries in lexicographic order of their indices, padding last.

    Example:
      >>> bcoo_sort_indices(BCOO.fromdense(rnp.eye(2)).T).indices_sorted
      True
    """
    needs("BCOO", "bcoo_sort_indices", mat)
    if mat.indices_sorted:
        return mat

    def one(data, indices):
        keep = entries.inside(indices, mat.sparse_shape)
        ordered, order = entries.in_order(entries.padded(indices, mat.sparse_shape, keep))
        return data[order], ordered

    data, indices = entries.over_batch(one, mat.n_batch)(mat.data, mat.indices)
    return mat.rebuilt(data, indices, mat.shape[mat.n_batch :], mat.n_dense, True, mat.unique_indices)


def bcoo_sum_duplicates(mat: JAXSparse, nse: int | None = None) -> JAXSparse:
    """The same BCOO with one entry per place, in order.

    Args:
      mat: of any shape.
      nse: how many entries the result has, filled up with padding; None: as many as needed, which is known
        only outside of functions that are traced. If there are more places than that, the last are lost.

    Raises:
      ValueError: if ``nse`` is needed and not given.

    Example:
      >>> x = BCOO((rnp.ones(2), rnp.zeros((2, 1), "int32")), shape=(3,))
      >>> bcoo_sum_duplicates(x).data
      Array([2.], dtype=float32)
    """
    return summed_duplicates(mat, nse, False)


def summed_duplicates(mat, nse, remove_zeros, who="bcoo_sum_duplicates"):
    needs("BCOO", who, mat)
    if nse is None:
        nse = known_number(most_places(mat, remove_zeros=remove_zeros), who, "nse")
    return merged_places(mat, nse=whole_number(who, "nse", nse), remove_zeros=remove_zeros)


def counting(sizes, remove_zeros):
    """Which entries count, as a function of values and indices."""

    def keep(data, indices):
        well = entries.inside(indices, sizes)
        return well & (data != 0).any(tuple(range(1, data.ndim))) if remove_zeros else well

    return keep


@fused(static=("remove_zeros",))
def most_places(mat, remove_zeros):
    """The number of places of the member of the batch that has most of them."""
    sizes = tuple(mat.sparse_shape)
    keep = counting(sizes, remove_zeros)
    one = lambda data, indices: entries.count_different(indices, sizes, keep(data, indices))
    return rnp.max(entries.over_batch(one, mat.n_batch)(mat.data, mat.indices), initial=0)


@fused(static=("nse", "remove_zeros"))
def merged_places(mat, nse, remove_zeros):
    """One entry per place, in order."""
    sizes = tuple(mat.sparse_shape)
    keep = counting(sizes, remove_zeros)
    one = lambda data, indices: entries.merged(data, indices, sizes, nse, keep(data, indices))
    data, indices = entries.over_batch(one, mat.n_batch)(mat.data, mat.indices)
    return mat.rebuilt(data, indices, mat.shape[mat.n_batch :], mat.n_dense, True, True)


def bcoo_eliminate_zeros(mat: JAXSparse, nse: int | None = None) -> JAXSparse:
    """As ``bcoo_sum_duplicates``, without entries whose values are all zero.

    Example:
      >>> bcoo_eliminate_zeros(BCOO.fromdense(rnp.eye(3), nse=5))
      BCOO(float32[3, 3], nse=3)
    """
    return summed_duplicates(mat, nse, True, "bcoo_eliminate_zeros")


@fused(static=("axes",))
def bcoo_reduce_sum(mat: JAXSparse, *, axes: Sequence[int]) -> JAXSparse:
    """Sum a BCOO over some dimensions; places may occur several times in the result.

    Example:
      >>> bcoo_reduce_sum(BCOO.fromdense(rnp.eye(3)), axes=(0,))
      BCOO(float32[3], nse=3)
    """
    needs("BCOO", "bcoo_reduce_sum", mat)
    dims = set(dimensions_of("bcoo_reduce_sum", "axes", axes, mat.ndim))
    if any(not 0 <= d < mat.ndim for d in dims):
        raise ValueError(f"bcoo_reduce_sum: axes {tuple(axes)} do not fit the shape {mat.shape}")
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    data, indices = without_sparse(mat, {d - n_batch for d in dims})
    dense = tuple(d - n_sparse + 1 for d in dims if d >= n_batch + n_sparse)
    if dense:
        data = rnp.sum(data, axis=dense, dtype=data.dtype)
    batch = [d for d in range(n_batch) if d in dims]
    left = [d for d in range(n_batch) if d not in dims]
    if batch:
        order = [*left, *batch]
        sizes = [mat.shape[d] for d in left]
        nse = mat.nse * math.prod(mat.shape[d] for d in batch)
        data = rnp.transpose(data, [*order, *range(n_batch, data.ndim)])
        data = data.reshape(*sizes, nse, *data.shape[n_batch + 1 :])
        indices = rnp.transpose(indices, [*order, n_batch, n_batch + 1]).reshape(
            *sizes, nse, indices.shape[-1]
        )
    tail = [n for d, n in enumerate(mat.shape) if d >= n_batch and d not in dims]
    sparse = any(n_batch <= d < n_batch + n_sparse for d in dims)
    same = not batch and not sparse
    return mat.rebuilt(
        data,
        indices,
        tail,
        mat.n_dense - len(dense),
        mat.indices_sorted and same,
        mat.unique_indices and same,
    )


def without_sparse(mat, dims):
    """The entries with some sparse dimensions left out (counted among the sparse ones): (data, indices)."""
    left = [k for k in range(mat.n_sparse) if k not in dims]
    gone = [k for k in range(mat.n_sparse) if k in dims]
    if not gone:
        return mat.data, mat.indices
    keep = entries.inside(mat.indices[..., np.array(gone)], [mat.sparse_shape[k] for k in gone])
    indices = mat.indices[..., np.array(left, int)]
    return entries.kept(mat.data, keep), entries.padded(indices, [mat.sparse_shape[k] for k in left], keep)


def bcoo_update_layout(
    mat: JAXSparse,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> JAXSparse:
    """The same array with other numbers of batch and dense dimensions.

    Args:
      mat: of any shape.
      n_batch, n_dense: the new numbers; None: as it is.
      on_inefficient: what to do where the new layout stores more numbers than the old one: ``'error'``,
        ``'warn'`` or None.

    Raises:
      SparseEfficiencyError: unless ``on_inefficient`` allows it.
      ValueError: for numbers that do not fit.

    Example:
      >>> BCOO.fromdense(rnp.ones((2, 3)), n_batch=1).update_layout(n_batch=0)
      BCOO(float32[2, 3], nse=6)
    """
    needs("BCOO", "bcoo_update_layout", mat)
    who = "bcoo_update_layout"
    new_batch = mat.n_batch if n_batch is None else whole_number(who, "n_batch", n_batch)
    new_dense = mat.n_dense if n_dense is None else whole_number(who, "n_dense", n_dense)
    if new_batch < 0 or new_dense < 0 or new_batch + new_dense > mat.ndim:
        raise ValueError(
            f"bcoo_update_layout: n_batch={new_batch} and n_dense={new_dense} do not fit "
            f"{mat.ndim} dimensions"
        )
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            f"bcoo_update_layout: on_inefficient is 'error', 'warn' or None, got {on_inefficient!r}"
        )
    for name, old, new, sizes in (
        ("n_batch", mat.n_batch, new_batch, mat.shape[mat.n_batch : new_batch]),
        ("n_dense", mat.n_dense, new_dense, mat.shape[mat.ndim - new_dense : mat.ndim - mat.n_dense]),
    ):
        if new > old and math.prod(sizes) > 1 and on_inefficient is not None:
            text = (
                f"bcoo_update_layout: for shape {mat.shape}, {name} from {old} to {new} stores "
                f"{math.prod(sizes)} times as many values; on_inefficient="
            )
            if on_inefficient == "error":
                raise SparseEfficiencyError(f"{text}'warn' or None allows it")
            warnings.warn(f"{text}None hides this warning", SparseEfficiencyWarning, stacklevel=stacklevel())
    while mat.n_dense > new_dense:
        mat = first_dense_made_sparse(mat)
    while mat.n_batch > new_batch:
        mat = last_batch_made_sparse(mat)
    while mat.n_batch < new_batch:
        mat = first_sparse_made_batch(mat)
    while mat.n_dense < new_dense:
        mat = last_sparse_made_dense(mat)
    return mat


@fused
def first_dense_made_sparse(mat):
    n_batch, nse = mat.n_batch, mat.nse
    size = mat.data.shape[n_batch + 1]
    rest = mat.data.shape[n_batch + 2 :]
    batch = mat.shape[:n_batch]
    data = mat.data.reshape(*batch, nse * size, *rest)
    keep = rnp.repeat(entries.inside(mat.indices, mat.sparse_shape), size, axis=-1)
    indices = rnp.repeat(mat.indices, size, axis=n_batch)
    last = rnp.broadcast_to(
        rnp.tile(rnp.arange(size, dtype=indices.dtype), nse)[:, None], (*batch, nse * size, 1)
    )
    indices = entries.padded(rnp.concatenate([indices, last], -1), (*mat.sparse_shape, size), keep)
    return mat.rebuilt(
        data, indices, mat.shape[n_batch:], mat.n_dense - 1, mat.indices_sorted, mat.unique_indices
    )


@fused
def last_batch_made_sparse(mat):
    n_batch, nse = mat.n_batch, mat.nse
    batch, size = mat.shape[: n_batch - 1], mat.shape[n_batch - 1]
    keep = entries.inside(mat.indices, mat.sparse_shape)
    first = rnp.broadcast_to(rnp.arange(size, dtype=mat.indices.dtype)[:, None, None], (*batch, size, nse, 1))
    indices = rnp.concatenate([first, mat.indices], -1)
    indices = entries.padded(indices, (size, *mat.sparse_shape), keep).reshape(
        *batch, size * nse, mat.n_sparse + 1
    )
    data = mat.data.reshape(*batch, size * nse, *mat.data.shape[n_batch + 1 :])
    # padding stands between the members
    return mat.rebuilt(data, indices, mat.shape[n_batch - 1 :], mat.n_dense, False, mat.unique_indices)


@fused
def first_sparse_made_batch(mat):
    n_batch, nse = mat.n_batch, mat.nse
    size, rest = mat.sparse_shape[0], tuple(mat.sparse_shape[1:])
    batch = mat.shape[:n_batch]
    mine = mat.indices[..., None, :, 0] == rnp.arange(size, dtype=mat.indices.dtype)[:, None]
    mine &= entries.inside(mat.indices, mat.sparse_shape)[..., None, :]
    indices = rnp.broadcast_to(mat.indices[..., None, :, 1:], (*batch, size, nse, len(rest)))
    data = rnp.broadcast_to(
        mat.data[(slice(None),) * n_batch + (None,)], (*batch, size, nse, *mat.data.shape[n_batch + 1 :])
    )
    return mat.rebuilt(
        entries.kept(data, mine), entries.padded(indices, rest, mine), mat.shape[n_batch + 1 :], mat.n_dense,
        False, mat.unique_indices,
    )  # fmt: skip


@fused
def last_sparse_made_dense(mat):
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    size = mat.sparse_shape[-1]
    keep = entries.inside(mat.indices, mat.sparse_shape)
    mine = (mat.indices[..., -1:] == rnp.arange(size, dtype=mat.indices.dtype)) & keep[..., None]
    more = (1,) * mat.n_dense
    data = mat.data.reshape(*mat.data.shape[: n_batch + 1], 1, *mat.data.shape[n_batch + 1 :])
    data = rnp.where(mine.reshape(*mine.shape, *more), data, mat.data.dtype.type(0))
    indices = entries.padded(mat.indices[..., np.arange(n_sparse - 1)], mat.sparse_shape[:-1], keep)
    return mat.rebuilt(data, indices, mat.shape[n_batch:], mat.n_dense + 1, mat.indices_sorted, False)
