"""What is wrong with stored arrays, said before anything is computed with them.

The elements are looked at where they are known: in a function that is being traced, only shapes and dtypes
are. Transformations put trees together without these checks.
"""

import numpy as np

from rabbet.experimental.sparse.base import is_known


def check_index_dtype(indices, sizes, who, what="indices"):
    """Indices are integers that can count up to the largest dimension."""
    if not np.issubdtype(indices.dtype, np.integer):
        raise TypeError(f"{who}: {what} must be integers, got {indices.dtype.name}")
    most = max(sizes, default=0)
    if most > np.iinfo(indices.dtype).max:
        raise ValueError(
            f"{who}: {what} of dtype {indices.dtype.name} cannot count to {most}, the size of a dimension; "
            "use a wider dtype"
        )


def check_bcoo(data, indices, shape, indices_sorted, unique_indices):
    """Refuse a BCOO whose arrays do not fit together; returns (n_batch, n_sparse, n_dense)."""
    if indices.ndim < 2:
        raise ValueError(
            "BCOO: indices must have the shape (*batch, nse, n_sparse), two dimensions at least, got "
            f"{indices.shape}"
        )
    n_batch, (nse, n_sparse) = indices.ndim - 2, indices.shape[-2:]
    n_dense = data.ndim - 1 - n_batch
    if n_dense < 0 or n_batch + n_sparse + n_dense != len(shape):
        raise ValueError(
            f"BCOO: indices of shape {indices.shape} have {n_batch} batch and {n_sparse} sparse dimensions "
            f"and data of shape {data.shape} add {max(n_dense, 0)} dense ones; that does not make the "
            f"{len(shape)} dimensions of shape {shape}"
        )
    batch, dense = shape[:n_batch], shape[len(shape) - n_dense :]
    for name, got, wanted in (
        ("data", data.shape, (*batch, nse, *dense)),
        ("indices", indices.shape, (*batch, nse, n_sparse)),
    ):
        fits = all(a == b or (i < n_batch and a == 1) for i, (a, b) in enumerate(zip(got, wanted)))
        if len(got) != len(wanted) or not fits:
            raise ValueError(
                f"BCOO: {name} has the shape {got}; for shape {shape}, nse={nse}, n_batch={n_batch} and "
                f"n_dense={n_dense} it must be {wanted}"
            )
    sizes = shape[n_batch : n_batch + n_sparse]
    check_index_dtype(indices, sizes, "BCOO")
    if is_known(indices):
        check_places(np.asarray(indices), sizes, "BCOO", indices_sorted, unique_indices)
    return n_batch, n_sparse, n_dense


def check_places(places, sizes, who, in_order, different):
    """Refuse indices outside their dimension, and promises about their order that are not kept.

    An index equal to the size is padding and allowed.
    """
    if not places.size:
        return
    bounds = np.array(sizes, places.dtype)
    wrong = (places < 0) | (places > bounds)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0].tolist())
        raise ValueError(
            f"{who}: indices[{', '.join(map(str, at))}] is {places[at]}, outside dimension of size "
            f"{sizes[at[-1]]}; indices run from 0 to the size, which stands for padding"
        )
    if not (in_order or different):
        return
    flat = places.reshape(-1, *places.shape[-2:])
    for one in flat:
        one = np.where((one < bounds).all(-1, keepdims=True), one, bounds)
        order = first_disorder(one)
        if in_order and order is not None:
            raise ValueError(
                f"{who}: indices_sorted=True, and entry {order + 1} at {one[order + 1].tolist()} comes after "
                f"one at {one[order].tolist()}; leave the argument out, or call sort_indices()"
            )
        if different:
            check_different(one if order is None else one[np.lexsort(one.T[::-1])], bounds, who)


def first_disorder(places):
    """The first entry that is greater than the next one, lexicographically; None where all are in order."""
    less = np.zeros(len(places) - 1, bool)
    equal = np.ones(len(places) - 1, bool)
    for k in range(places.shape[1]):
        a, b = places[:-1, k], places[1:, k]
        less |= equal & (b < a)
        equal &= a == b
    return int(np.argmax(less)) if less.any() else None


def check_different(ordered, bounds, who):
    """Refuse places that occur twice."""
    twice = (ordered[1:] == ordered[:-1]).all(-1) & (ordered[1:] < bounds).all(-1)
    if twice.any():
        raise ValueError(
            f"{who}: unique_indices=True, and the place {ordered[int(np.argmax(twice))].tolist()} occurs "
            "more than once; leave the argument out, or call sum_duplicates()"
        )


def check_pointers(indptr, indices, rows, cols, who):
    """Refuse row pointers that do not run from 0 upwards, and column indices outside."""
    if not is_known(indptr, indices):
        return
    pointers, places = np.asarray(indptr), np.asarray(indices)
    nse = places.shape[-1]
    if (
        (pointers[..., 0] != 0).any()
        or (np.diff(pointers, axis=-1) < 0).any()
        or (pointers[..., -1] > nse).any()
    ):
        shown = pointers.tolist() if pointers.size < 50 else "another array"
        raise ValueError(
            f"{who}: indptr must start with 0, never fall, and end at nse={nse} at most; got {shown}"
        )
    check_places(places[..., None], (cols,), who, False, False)
