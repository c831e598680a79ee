"""Entries without batch dimensions: values ``data[nse, ...]`` at places ``indices[nse, n_sparse]``.

Everything else in this package is made of these. An entry with an index outside its dimension is padding: it
counts for nothing. No function here makes one number of several indices, so nothing overflows where an array
has more than 2**31 elements.
"""

import numpy as np

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def over_batch(function, n_batch):
    """``function`` mapped over the first ``n_batch`` dimensions of all its arguments."""
    for _ in range(n_batch):
        function = rb.vmap(function)
    return function


def columns(indices):
    """The index arrays, one per sparse dimension; a tuple of these as it is."""
    if isinstance(indices, tuple):
        return indices
    return tuple(indices[..., k] for k in range(indices.shape[-1]))


def bounds_of(sizes, dtype):
    """The sizes as an index array, which stands for padding."""
    return np.array(sizes, dtype).reshape(len(sizes))


def inside(indices, sizes):
    """Which entries are no padding: bool[nse]."""
    if not sizes:
        return rnp.ones(indices.shape[:-1], bool)
    return ((indices >= 0) & (indices < bounds_of(sizes, indices.dtype))).all(-1)


def padded(indices, sizes, keep):
    """The indices where ``keep``, padding elsewhere."""
    return rnp.where(keep[..., None], indices, bounds_of(sizes, indices.dtype))


def kept(data, keep):
    """The values where ``keep``, zeros elsewhere."""
    return rnp.where(keep.reshape(keep.shape + (1,) * (data.ndim - keep.ndim)), data, data.dtype.type(0))


def scatter_sum(indices, updates, sizes, indices_are_sorted=False):
    """``zeros(sizes + ...)`` with each update added at its place; without sparse dimensions their sum.

    ``indices`` is an index array or a tuple of its columns.
    """
    number = updates.astype("int32") if updates.dtype == bool else updates
    if sizes:
        zeros = rnp.zeros(sizes + number.shape[1:], number.dtype)
        out = zeros.at[columns(indices)].add(
            number, mode="drop", indices_are_sorted=indices_are_sorted, wrap_negative_indices=False
        )
    else:
        out = rnp.sum(number, axis=0, dtype=number.dtype)
    return out.astype(bool) if updates.dtype == bool else out


def gather_at(array, indices, padding=0):
    """``array`` at the places, an index array or a tuple of its columns: [nse, ...], and ``padding`` where
    there is padding."""
    if not isinstance(indices, tuple) and not indices.shape[-1]:
        return rnp.broadcast_to(array, (indices.shape[0], *array.shape))
    at = columns(indices)
    if 0 in array.shape[: len(at)]:  # there is padding alone
        return rnp.full((*at[0].shape, *array.shape[len(at) :]), padding, array.dtype)
    return array.at[at].get(mode="fill", fill_value=padding, wrap_negative_indices=False)


def in_order(indices):
    """The indices in lexicographic order, and the permutation that puts them so; equal ones keep theirs."""
    count = rnp.arange(indices.shape[0], dtype="int32")
    if not indices.shape[-1]:
        return indices, count
    *cols, order = lax.sort((*columns(indices), count), num_keys=indices.shape[-1])
    return rnp.stack(cols, -1), order


def starts_of_runs(indices):
    """Where indices in order differ from the ones before: bool[nse]."""
    if not indices.shape[0]:
        return rnp.zeros(0, bool)
    new = (indices[1:] != indices[:-1]).any(-1)
    return rnp.concatenate([rnp.ones(1, bool), new])


def count_different(indices, sizes, keep):
    """How many different places the entries that are kept have."""
    ordered, _ = in_order(padded(indices, sizes, keep))
    return (starts_of_runs(ordered) & inside(ordered, sizes)).sum() if sizes else keep.any().astype("int32")


def merged(data, indices, sizes, nse, keep):
    """The entries that are kept, in order, equal places summed: ``nse`` of them, filled up with padding."""
    ordered, order = in_order(padded(indices, sizes, keep))
    group = rnp.cumsum(starts_of_runs(ordered), dtype="int32") - 1
    values = kept(data, keep)[order]
    summed = scatter_sum(group[:, None], values, (nse,), indices_are_sorted=True)
    padding = rnp.broadcast_to(bounds_of(sizes, indices.dtype), (nse, len(sizes)))
    places = padding.at[group].set(ordered, mode="drop", indices_are_sorted=True)
    return summed, places


def firsts(indices):
    """Which entries are the first at their place: bool[nse]."""
    ordered, order = in_order(indices)
    return rnp.zeros(indices.shape[0], bool).at[order].set(starts_of_runs(ordered), unique_indices=True)


def flat_places(cols, sizes):
    """One number for several indices, in 64 bits where 32 are too few."""
    dtype = "int64" if np.prod([float(n) for n in sizes]) >= 2**31 else "int32"
    flat = rnp.zeros(cols[0].shape if cols else (), dtype)
    for col, size in zip(cols, sizes, strict=True):
        flat = flat * rnp.asarray(size, dtype) + col.astype(dtype)
    return flat


def marks_of(indptr, nse):
    """Where the rows with entries begin, as a bit set, and how many of these begin before each of its words.

    Returns:
      a pair, uint32[words] and int32[words], of 32 entries a word.
    """
    begin, end = indptr[:-1], indptr[1:]
    bit = lax.shift_left(np.uint32(1), (begin & 31).astype("uint32"))
    marks = rnp.zeros(-(-max(nse, 1) // 32), "uint32").at[begin >> 5].add(
        rnp.where(end > begin, bit, np.uint32(0)), mode="drop", indices_are_sorted=True,
        wrap_negative_indices=False,
    )  # fmt: skip
    marks = lax.optimization_barrier(marks)  # computed once, and not again for every entry
    counts = lax.population_count(marks).astype("int32")
    return marks, lax.optimization_barrier(rnp.cumsum(counts, dtype="int32") - counts)


def up_to(bit):
    """The words with all bits from the lowest to one: uint32."""
    return lax.shift_right_logical(np.uint32(2**32 - 1), 31 - bit.astype("uint32"))


def ranks(marks, before, nse):
    """How many rows with entries begin up to each entry, less one: int32[nse]; -1 for entries of no row."""
    masked = marks[:, None] & up_to(rnp.arange(32, dtype="uint32"))
    found = before[:, None] - 1 + lax.population_count(masked).astype("int32")
    return lax.optimization_barrier(found.reshape(-1)[:nse])


def rank_at(marks, before, places):
    """The same at some entries."""
    word = places >> 5
    read = [x.at[word].get(mode="clip", wrap_negative_indices=False) for x in (marks, before)]
    return read[1] - 1 + lax.population_count(read[0] & up_to(places & 31)).astype("int32")


def rows_of(indptr, nse):
    """The row of each entry of a CSR matrix, int32[nse]; the number of rows for entries past the last."""
    count = indptr.shape[0] - 1
    if not count or not nse:
        return rnp.zeros(nse, "int32")
    marks, before = marks_of(indptr, nse)
    rank = rnp.where(indptr[1:] > indptr[:-1], rank_at(marks, before, indptr[:-1]), count)
    with_entries = rnp.full(count, count, "int32").at[rank].set(
        rnp.arange(count, dtype="int32"), mode="drop", wrap_negative_indices=False
    )
    rows = with_entries.at[ranks(marks, before, nse)].get(mode="clip", wrap_negative_indices=False)
    return rnp.where(rnp.arange(nse, dtype=indptr.dtype) < indptr[-1], rows, count)


def pointers_to(rows, count):
    """Where each of ``count`` rows begins among rows in order: an indptr array.

    The entries of each row are counted, which takes less than a tenth of a search for each row.
    """
    fits = len(rows) <= np.iinfo(rows.dtype).max
    dtype = rows.dtype if fits else np.dtype("int32" if len(rows) < 2**31 else "int64")
    counts = rnp.zeros(count, dtype).at[rows].add(
        1, mode="drop", indices_are_sorted=True, wrap_negative_indices=False
    )
    return rnp.concatenate([rnp.zeros(1, dtype), rnp.cumsum(counts, dtype=dtype)])
