"""Sparse arrays whose elements stand elsewhere: transposed, reshaped, sliced, put together."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental.sparse import entries
from rabbet.experimental.sparse.base import JAXSparse, dimensions_of, needs, whole_numbers
from rabbet.experimental.sparse.sums import bcoo_sum_duplicates, bcoo_update_layout, without_sparse
from rabbet.extend.functions import fused
from rabbet.extend.shapes import whole_number


def groups(mat):
    """The numbers of batch, sparse and dense dimensions."""
    return mat.n_batch, mat.n_sparse, mat.n_dense


@fused(static=("permutation",))
def bcoo_transpose(mat: JAXSparse, *, permutation: Sequence[int]) -> JAXSparse:
    """Permute the dimensions of a BCOO.

    Args:
      mat: of any shape.
      permutation: which dimension comes where. Batch, sparse and dense dimensions stay among themselves.

    Raises:
      ValueError: if it is not a permutation.
      NotImplementedError: if it mixes the three kinds of dimensions; ``update_layout`` changes the kind.

    Example:
      >>> bcoo_transpose(BCOO.fromdense(rnp.ones((2, 3))), permutation=(1, 0))
      BCOO(float32[3, 2], nse=6)
    """
    needs("BCOO", "bcoo_transpose", mat)
    permutation = dimensions_of("bcoo_transpose", "permutation", permutation, mat.ndim)
    if sorted(permutation) != list(range(mat.ndim)):
        raise ValueError(f"bcoo_transpose: {permutation} is not a permutation of {mat.ndim} dimensions")
    n_batch, n_sparse, n_dense = groups(mat)
    first, second = n_batch, n_batch + n_sparse
    batch, middle, dense = permutation[:first], permutation[first:second], permutation[second:]
    if any(p >= n_batch for p in batch) or any(p < second for p in dense):
        raise NotImplementedError(
            f"bcoo_transpose: {permutation} mixes batch, sparse and dense dimensions (n_batch={n_batch}, "
            f"n_dense={n_dense}); make them sparse first with update_layout(n_batch=0, n_dense=0)"
        )
    at = [p - n_batch for p in middle]
    dense_at = [p - second + n_batch + 1 for p in dense]
    data = rnp.transpose(mat.data, (*batch, n_batch, *dense_at))
    indices = rnp.transpose(mat.indices, (*batch, n_batch, n_batch + 1))
    same = at == list(range(n_sparse))
    if not same:
        indices = indices[..., np.array(at)]
    return mat.rebuilt(
        data, indices, [mat.shape[p] for p in permutation[n_batch:]], n_dense, mat.indices_sorted and same,
        mat.unique_indices,
    )  # fmt: skip


def transposed(mat, order):
    """``mat`` transposed, made sparse in all its dimensions where kinds of dimensions mix."""
    n_batch, first_dense = mat.n_batch, mat.ndim - mat.n_dense
    order = dimensions_of("transpose", "axes", order, mat.ndim)
    if any(d >= n_batch for d in order[:n_batch]) or any(d < first_dense for d in order[first_dense:]):
        mat = bcoo_update_layout(mat, n_batch=0, n_dense=0)
    return bcoo_transpose(mat, permutation=order)


@fused(static=("new_sizes", "dimensions", "sharding"))
def bcoo_reshape(
    mat: JAXSparse, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: Any = None
) -> JAXSparse:
    """Reshape a BCOO.

    Args:
      mat: of any shape.
      new_sizes: the new shape, of as many elements. Batch, sparse and dense dimensions are reshaped among
        themselves.
      dimensions: the order in which the dimensions are read, as for ``lax.reshape``.
      sharding: None alone.

    Raises:
      ValueError: if the number of elements differs, or the kinds of dimensions would be mixed.

    Indices are computed in 64 bits where the sparse dimensions have 2**31 elements or more.

    Example:
      >>> bcoo_reshape(BCOO.fromdense(rnp.ones((2, 3))), new_sizes=(6,))
      BCOO(float32[6], nse=6)
    """
    needs("BCOO", "bcoo_reshape", mat)
    if sharding is not None:
        raise NotImplementedError("bcoo_reshape: sparse arrays take no sharding here")
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    sizes = whole_numbers("bcoo_reshape", "new_sizes", new_sizes)
    if any(n < 0 for n in sizes) or math.prod(sizes) != mat.size:
        raise ValueError(f"bcoo_reshape: {mat.shape} cannot become {sizes}: the numbers of elements differ")
    n_batch, _, n_dense = groups(mat)
    batch, sparse, dense = mat.shape[:n_batch], mat.sparse_shape, mat.shape[mat.ndim - n_dense :]
    new_batch = prefix_of(sizes, batch)
    new_dense = None if new_batch is None else prefix_of(sizes[len(new_batch) :][::-1], dense[::-1])
    if new_dense is None or math.prod(sizes[len(new_batch) : len(sizes) - len(new_dense)]) != math.prod(
        sparse
    ):
        raise ValueError(
            f"bcoo_reshape: new shape cannot mix batch, sparse and dense dimensions; got {mat.shape} with "
            f"n_batch={n_batch} and n_dense={n_dense}, and {sizes}; see update_layout"
        )
    new_sparse = sizes[len(new_batch) : len(sizes) - len(new_dense)]
    keep = entries.inside(mat.indices, sparse)
    flat = entries.flat_places(entries.columns(mat.indices), sparse)
    flat = rnp.broadcast_to(flat, keep.shape)
    cols = []
    for n in new_sparse[::-1]:
        cols.append(flat % max(n, 1))
        flat = flat // max(n, 1)
    dtype = mat.indices.dtype
    if max(new_sparse, default=0) > np.iinfo(dtype).max:
        dtype = np.dtype("int32" if max(new_sparse) < 2**31 else "int64")
    indices = stacked(cols[::-1], keep, dtype)
    data = mat.data if new_sparse else entries.kept(mat.data, keep)
    indices = entries.padded(indices, new_sparse, keep)
    nse = mat.nse
    return mat.rebuilt(
        data.reshape(*new_batch, nse, *new_dense[::-1]), indices.reshape(*new_batch, nse, len(new_sparse)),
        sizes[len(new_batch) :], len(new_dense), mat.indices_sorted, mat.unique_indices,
    )  # fmt: skip


def prefix_of(sizes, part):
    """The shortest beginning of ``sizes`` with as many elements as ``part``; None where there is none."""
    if not part:
        return ()
    wanted, product = math.prod(part), 1
    for i, n in enumerate(sizes):
        product *= n
        if product == wanted:
            return tuple(sizes[: i + 1])
    return () if wanted == 1 else None


def stacked(cols, like, dtype):
    """Index columns as one array, also if there are none."""
    if not cols:
        return rnp.zeros((*like.shape, 0), dtype)
    return rnp.stack([c.astype(dtype) for c in cols], -1)


@fused(static=("dimensions",))
def bcoo_squeeze(arr: JAXSparse, *, dimensions: Sequence[int]) -> JAXSparse:
    """Leave out dimensions of size 1 of a BCOO.

    Raises:
      ValueError: if one is of another size.

    Example:
      >>> bcoo_squeeze(BCOO.fromdense(rnp.ones((1, 3))), dimensions=(0,))
      BCOO(float32[3], nse=3)
    """
    needs("BCOO", "bcoo_squeeze", arr)
    dims = set(dimensions_of("bcoo_squeeze", "dimensions", dimensions, arr.ndim))
    if any(not 0 <= d < arr.ndim or arr.shape[d] != 1 for d in dims):
        raise ValueError(
            f"bcoo_squeeze: dimensions {tuple(dimensions)} of shape {arr.shape} are not all of size 1"
        )
    n_batch, n_sparse, _ = groups(arr)
    data, indices = without_sparse(arr, {d - n_batch for d in dims})
    batch = [n for d, n in enumerate(arr.shape[:n_batch]) if d not in dims]
    dense = [n for d, n in enumerate(arr.shape) if d >= n_batch + n_sparse and d not in dims]
    tail = [n for d, n in enumerate(arr.shape) if d >= n_batch and d not in dims]
    return arr.rebuilt(
        data.reshape(*batch, arr.nse, *dense), indices.reshape(*batch, arr.nse, indices.shape[-1]), tail,
        len(dense), arr.indices_sorted, arr.unique_indices,
    )  # fmt: skip


@fused(static=("shape", "broadcast_dimensions", "sharding"))
def bcoo_broadcast_in_dim(
    mat: JAXSparse, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> JAXSparse:
    """Put the dimensions of a BCOO at places of a larger shape, along which it is repeated.

    Args:
      mat: of any shape.
      shape: of the result.
      broadcast_dimensions: the place of each dimension of ``mat``; a dimension of size 1 may grow.
      sharding: None alone.

    New dimensions before the sparse ones are batch dimensions, those after the first dense one are dense, and
    others are sparse: there each entry is stored once per repetition.

    Example:
      >>> bcoo_broadcast_in_dim(BCOO.fromdense(rnp.ones(3)), shape=(2, 3), broadcast_dimensions=(1,))
      BCOO(float32[2, 3], nse=3, n_batch=1)
    """
    needs("BCOO", "bcoo_broadcast_in_dim", mat)
    if sharding is not None:
        raise NotImplementedError("bcoo_broadcast_in_dim: sparse arrays take no sharding here")
    who = "bcoo_broadcast_in_dim"
    shape = whole_numbers(who, "shape", shape)
    places = whole_numbers(who, "broadcast_dimensions", broadcast_dimensions)
    fits = len(places) == mat.ndim and list(places) == sorted(set(places))
    if not fits or any(p >= len(shape) or n not in (1, shape[p]) for p, n in zip(places, mat.shape)):
        raise ValueError(f"bcoo_broadcast_in_dim: {mat.shape} at {places} does not fit the shape {shape}")
    n_batch, n_sparse, _ = groups(mat)
    first_sparse = places[n_batch] if n_sparse else (places[n_batch - 1] + 1 if n_batch else 0)
    first_dense = places[n_batch + n_sparse] if mat.n_dense else len(shape)
    new_sparse = range(first_sparse, first_dense)
    batch = shape[:first_sparse]
    data, indices = mat.data, mat.indices
    nse, tail_dense = mat.nse, data.shape[n_batch + 1 :]
    spread = [1] * first_sparse
    for p, n in zip(places[:n_batch], mat.shape):
        spread[p] = n
    data = rnp.broadcast_to(data.reshape(*spread, nse, *tail_dense), (*batch, nse, *tail_dense))
    indices = rnp.broadcast_to(indices.reshape(*spread, nse, n_sparse), (*batch, nse, n_sparse))
    where = {p: k for k, p in enumerate(places[n_batch : n_batch + n_sparse])}
    grown = {p for p, k in where.items() if mat.sparse_shape[k] != shape[p]}
    keep = entries.inside(indices, mat.sparse_shape)
    repeats = [shape[p] for p in new_sparse if p not in where or p in grown]
    times = math.prod(repeats)
    grid = iter(np.indices(repeats).reshape(len(repeats), times))
    cols = []
    for p in new_sparse:
        if p in where and p not in grown:
            col = indices[..., where[p], None] + np.zeros(times, indices.dtype)
        else:
            col = rnp.zeros((*batch, nse, 1), indices.dtype) + next(grid).astype(indices.dtype)
        cols.append(col.reshape(*batch, nse * times))
    keep = rnp.repeat(keep, times, axis=-1)
    indices = entries.padded(stacked(cols, keep, indices.dtype), [shape[p] for p in new_sparse], keep)
    data = rnp.repeat(data, times, axis=first_sparse)
    dense = shape[first_dense:]
    within = [p - first_dense for p in places[n_batch + n_sparse :]]
    full = [1] * len(dense)
    for p, n in zip(within, tail_dense):
        full[p] = n
    data = rnp.broadcast_to(data.reshape(*batch, nse * times, *full), (*batch, nse * times, *dense))
    return mat.rebuilt(
        data, indices, shape[first_sparse:], len(dense), mat.indices_sorted and times == 1, mat.unique_indices
    )


@fused(static=("dimension",))
def bcoo_concatenate(operands: Sequence[JAXSparse], *, dimension: int) -> JAXSparse:
    """Concatenate BCOOs along a dimension of any kind.

    Args:
      operands: of one ``n_batch`` and ``n_dense``, and of shapes that agree in the other dimensions.
      dimension: along which.

    Along a batch dimension those with fewer stored elements get padding; along others ``nse`` adds up.

    Example:
      >>> x = BCOO.fromdense(rnp.ones((1, 3)))
      >>> bcoo_concatenate([x, x], dimension=0)
      BCOO(float32[2, 3], nse=6)
    """
    mats = list(operands)
    needs("BCOO", "bcoo_concatenate", *mats)
    if not mats:
        raise ValueError("bcoo_concatenate: there is nothing to concatenate")
    first = mats[0]
    axis = whole_number("bcoo_concatenate", "dimension", dimension)
    axis += first.ndim if axis < 0 else 0
    if len({groups(m) for m in mats}) > 1:
        raise ValueError(
            "bcoo_concatenate: the operands differ in n_batch, n_sparse or n_dense: "
            f"{[groups(m) for m in mats]}; see update_layout"
        )
    rest = {m.shape[:axis] + m.shape[axis + 1 :] for m in mats}
    if not 0 <= axis < first.ndim or len(rest) > 1:
        raise ValueError(
            f"bcoo_concatenate: shapes {[m.shape for m in mats]} do not agree outside dimension {dimension}"
        )
    n_batch, n_sparse, n_dense = groups(first)
    shape = list(first.shape)
    shape[axis] = sum(m.shape[axis] for m in mats)
    dtype = np.result_type(*[m.indices.dtype for m in mats])
    if shape[axis] > np.iinfo(dtype).max:
        dtype = np.dtype("int32" if shape[axis] < 2**31 else "int64")
    value_type = rnp.result_type(*[m.data for m in mats])
    if axis < n_batch:
        nse = max(m.nse for m in mats)
        parts = [with_nse(m, nse) for m in mats]
        data = rnp.concatenate([d.astype(value_type) for d, _ in parts], axis)
        indices = rnp.concatenate([i.astype(dtype) for _, i in parts], axis)
        kept_order = all(m.indices_sorted for m in mats)
        unique = all(m.unique_indices for m in mats)
        return first.rebuilt(data, indices, shape[n_batch:], n_dense, kept_order, unique)
    datas, places, before = [], [], 0
    sizes = shape[n_batch : n_batch + n_sparse]
    for m in mats:
        keep = entries.inside(m.indices, m.sparse_shape)
        indices, data = m.indices.astype(dtype), m.data.astype(value_type)
        if axis < n_batch + n_sparse:
            offset = np.zeros(n_sparse, dtype)
            offset[axis - n_batch] = before
            indices = indices + offset
        else:
            at = axis - n_sparse + 1
            after = shape[axis] - before - m.shape[axis]
            data = rnp.pad(data, [(before, after) if d == at else (0, 0) for d in range(data.ndim)])
        datas.append(data)
        places.append(entries.padded(indices, sizes, keep))
        before += m.shape[axis]
    sparse_axis = n_batch <= axis < n_batch + n_sparse
    # padding of one operand stands before the entries of the next
    return first.rebuilt(
        rnp.concatenate(datas, n_batch), rnp.concatenate(places, n_batch), shape[n_batch:], n_dense,
        sparse_axis and len(mats) == 1 and first.indices_sorted,
        (sparse_axis or len(mats) == 1) and all(m.unique_indices for m in mats),
    )  # fmt: skip


def with_nse(mat, nse):
    """The arrays of a BCOO filled up with padding to ``nse`` entries: (data, indices)."""
    more = nse - mat.nse
    if not more:
        return mat.data, mat.indices
    at = mat.n_batch
    data = rnp.pad(mat.data, [(0, more) if d == at else (0, 0) for d in range(mat.data.ndim)])
    shape = (*mat.indices.shape[:-2], more, mat.n_sparse)
    padding = rnp.broadcast_to(entries.bounds_of(mat.sparse_shape, mat.indices.dtype), shape)
    return data, rnp.concatenate([mat.indices, padding], at)


@fused(static=("start_indices", "limit_indices", "strides"))
def bcoo_slice(
    mat: JAXSparse, *, start_indices: Sequence[int], limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> JAXSparse:  # fmt: skip
    """A slice of a BCOO, as ``lax.slice`` of an array.

    Entries outside become padding; where the slice has fewer elements than stored entries, it has that many.

    Example:
      >>> bcoo_slice(BCOO.fromdense(rnp.eye(3)), start_indices=(0, 0), limit_indices=(2, 3))
      BCOO(float32[2, 3], nse=3)
    """
    needs("BCOO", "bcoo_slice", mat)
    starts = whole_numbers("bcoo_slice", "start_indices", start_indices)
    limits = whole_numbers("bcoo_slice", "limit_indices", limit_indices)
    steps = (1,) * mat.ndim if strides is None else whole_numbers("bcoo_slice", "strides", strides)
    well = len(starts) == len(limits) == len(steps) == mat.ndim
    if not well or any(not 0 <= a <= b <= n or s < 1 for a, b, s, n in zip(starts, limits, steps, mat.shape)):
        raise ValueError(
            f"bcoo_slice: start_indices {tuple(starts)}, limit_indices {tuple(limits)} and strides "
            f"{strides} do not fit the shape {mat.shape}"
        )
    n_batch, n_sparse, n_dense = groups(mat)
    cut = [slice(a, b, s) for a, b, s in zip(starts, limits, steps)]
    data = mat.data[(*cut[:n_batch], slice(None), *cut[n_batch + n_sparse :])]
    indices = mat.indices[tuple(cut[:n_batch])]
    shape = [-(-(b - a) // s) for a, b, s in zip(starts, limits, steps)]
    middle = slice(n_batch, n_batch + n_sparse)
    if any(
        (a, b, s) != (0, n, 1)
        for a, b, s, n in zip(starts[middle], limits[middle], steps[middle], mat.sparse_shape)
    ):
        dtype = indices.dtype
        moved = indices - np.array(starts[middle], dtype)
        stride = np.array(steps[middle], dtype)
        length = np.array([b - a for a, b in zip(starts[middle], limits[middle])], dtype)
        keep = ((moved >= 0) & (moved < length) & (moved % stride == 0)).all(-1)
        keep &= entries.inside(indices, mat.sparse_shape)
        indices = entries.padded(moved // stride, shape[middle], keep)
        data = entries.kept(data, keep)
        out = mat.rebuilt(data, indices, shape[n_batch:], n_dense, False, mat.unique_indices)
        return capped(out)
    return mat.rebuilt(data, indices, shape[n_batch:], n_dense, mat.indices_sorted, mat.unique_indices)


def capped(mat):
    """The same with no more entries than there are places."""
    places = math.prod(mat.sparse_shape)
    return bcoo_sum_duplicates(mat, nse=places) if places < mat.nse else mat


@fused(static=("slice_sizes",))
def bcoo_dynamic_slice(mat: JAXSparse, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> JAXSparse:
    """A slice of a BCOO whose start may be computed, as ``lax.dynamic_slice`` of an array.

    Example:
      >>> bcoo_dynamic_slice(BCOO.fromdense(rnp.eye(3)), (1, 0), (2, 3))
      BCOO(float32[2, 3], nse=3)
    """
    needs("BCOO", "bcoo_dynamic_slice", mat)
    sizes = whole_numbers("bcoo_dynamic_slice", "slice_sizes", slice_sizes)
    if (
        len(sizes) != mat.ndim
        or len(start_indices) != mat.ndim
        or any(not 0 <= s <= n for s, n in zip(sizes, mat.shape))
    ):
        raise ValueError(
            f"bcoo_dynamic_slice: {len(start_indices)} starts and sizes {sizes} do not fit "
            f"the shape {mat.shape}"
        )
    n_batch, n_sparse, n_dense = groups(mat)
    # as of arrays, a start before the beginning counts from the end, and the slice is moved inside
    starts = [rnp.asarray(s) for s in start_indices]
    starts = [rnp.clip(rnp.where(s < 0, s + n, s), 0, n - k) for s, n, k in zip(starts, mat.shape, sizes)]
    dense = sizes[n_batch + n_sparse :]
    data = lax.dynamic_slice(
        mat.data, (*starts[:n_batch], 0, *starts[n_batch + n_sparse :]), (*sizes[:n_batch], mat.nse, *dense)
    )
    indices = lax.dynamic_slice(mat.indices, (*starts[:n_batch], 0, 0), (*sizes[:n_batch], mat.nse, n_sparse))
    middle = slice(n_batch, n_batch + n_sparse)
    if sizes[middle] != tuple(mat.sparse_shape):
        keep = entries.inside(indices, mat.sparse_shape)
        indices = indices - rnp.stack([s.astype(indices.dtype) for s in starts[middle]])
        keep &= entries.inside(indices, sizes[middle])
        out = mat.rebuilt(
            entries.kept(data, keep), entries.padded(indices, sizes[middle], keep), sizes[n_batch:], n_dense,
            False, mat.unique_indices,
        )  # fmt: skip
        return capped(out)
    return mat.rebuilt(data, indices, sizes[n_batch:], n_dense, mat.indices_sorted, mat.unique_indices)


@fused(static=("dimensions",))
def bcoo_rev(operand: JAXSparse, dimensions: Sequence[int]) -> JAXSparse:
    """A BCOO with the elements along some dimensions in the other direction, as ``lax.rev``.

    Example:
      >>> bcoo_rev(BCOO.fromdense(rnp.array([1.0, 0.0])), (0,)).todense()
      Array([0., 1.], dtype=float32)
    """
    needs("BCOO", "bcoo_rev", operand)
    n_batch, n_sparse, n_dense = groups(operand)
    dims = sorted(set(whole_numbers("bcoo_rev", "dimensions", dimensions)))
    batch = [d for d in dims if d < n_batch]
    dense = [d - n_sparse + 1 for d in dims if d >= n_batch + n_sparse]
    sparse = [d - n_batch for d in dims if n_batch <= d < n_batch + n_sparse]
    data, indices = rnp.flip(operand.data, (*batch, *dense)), rnp.flip(operand.indices, tuple(batch))
    if sparse:
        keep = entries.inside(indices, operand.sparse_shape)
        cols = [
            operand.sparse_shape[k] - 1 - col if k in sparse else col
            for k, col in enumerate(entries.columns(indices))
        ]
        indices = entries.padded(stacked(cols, keep, indices.dtype), operand.sparse_shape, keep)
    return operand.rebuilt(
        data, indices, operand.shape[n_batch:], n_dense, operand.indices_sorted and not sparse,
        operand.unique_indices,
    )  # fmt: skip
