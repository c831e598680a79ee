"""Sparse arrays out of nothing: empty ones, the identity, random ones."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rabbet.numpy as rnp
import rabbet.random
from rabbet import lax
from rabbet.experimental.sparse import checks, entries
from rabbet.experimental.sparse.base import JAXSparse, natural
from rabbet.experimental.sparse.bcoo import BCOO
from rabbet.experimental.sparse.bcsr import BCSR
from rabbet.experimental.sparse.formats import COO, CSC, CSR
from rabbet.extend.shapes import whole_number

FORMATS = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


def format_called(name):
    if name not in FORMATS:
        raise ValueError(f"sparse_format={name!r} is not known; it is one of {list(FORMATS)}")
    return FORMATS[name]


def as_format(mat, name, kwds):
    """A BCOO in another format."""
    cls = format_called(name)
    if cls is BCOO:
        return mat
    if cls is BCSR:
        return BCSR.from_bcoo(mat)
    if kwds:
        raise TypeError(f"sparse_format={name!r} takes no {', '.join(kwds)}")
    if mat.ndim != 2:
        raise ValueError(f"sparse_format={name!r} is for matrices, got shape {mat.shape}")
    return cls._from_bcoo(mat)


def empty(
    shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:  # fmt: skip
    """A sparse array of zeros.

    Args:
      shape, dtype: as for ``rabbet.numpy.zeros``.
      index_dtype: of the indices.
      sparse_format: ``'bcoo'``, ``'bcsr'``, ``'coo'``, ``'csr'`` or ``'csc'``.
      **kwds: for the first two: ``n_batch``, ``n_dense`` and ``nse``, the number of entries, all padding.

    Example:
      >>> empty((2, 3))
      BCOO(float32[2, 3], nse=0)
    """
    format_called(sparse_format)
    shape = natural(shape, "sparse.empty")
    options = {"n_batch": 0, "n_dense": 0, "nse": 0}
    unknown = set(kwds) - set(options)
    if unknown:
        raise TypeError(f"sparse.empty takes no {', '.join(sorted(unknown))}")
    n_batch, n_dense, nse = [whole_number("sparse.empty", k, n) for k, n in {**options, **kwds}.items()]
    if n_batch < 0 or n_dense < 0 or nse < 0 or n_batch + n_dense > len(shape):
        raise ValueError(
            f"sparse.empty: n_batch={n_batch}, n_dense={n_dense}, nse={nse} do not fit shape {shape}"
        )
    batch, sizes, dense = (
        shape[:n_batch],
        shape[n_batch : len(shape) - n_dense],
        shape[len(shape) - n_dense :],
    )
    if sparse_format == "bcsr" and len(sizes) != 2:
        raise ValueError("BCSR sparse.empty: must have 2 sparse dimensions.")
    index_dtype = np.dtype(index_dtype)
    checks.check_index_dtype(np.zeros(0, index_dtype), sizes, "sparse.empty")
    data = rnp.zeros((*batch, nse, *dense), dtype)
    indices = rnp.broadcast_to(entries.bounds_of(sizes, index_dtype), (*batch, nse, len(sizes)))
    return as_format(
        BCOO._of(data, rnp.asarray(indices), shape[n_batch:], n_dense, True, True), sparse_format, kwds
    )


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = "int32",
    sparse_format: str = "bcoo", **kwds: Any,
) -> JAXSparse:  # fmt: skip
    """Ones on a diagonal.

    Args:
      N, M: the numbers of rows and columns (by default as many).
      k: the diagonal, above the main one if positive.
      dtype, index_dtype: of values and indices.
      sparse_format: as for ``empty``.
      **kwds: for ``'bcoo'`` ``n_batch`` and ``n_dense``.

    Example:
      >>> eye(3)
      BCOO(float32[3, 3], nse=3)
    """
    format_called(sparse_format)
    N, k = whole_number("sparse.eye", "N", N), whole_number("sparse.eye", "k", k)
    M = N if M is None else whole_number("sparse.eye", "M", M)
    unknown = set(kwds) - {"n_batch", "n_dense"}
    if unknown or (kwds and sparse_format != "bcoo"):
        raise TypeError(f"sparse.eye with sparse_format={sparse_format!r} takes no {', '.join(sorted(kwds))}")
    index_dtype = np.dtype(index_dtype)
    checks.check_index_dtype(np.zeros(0, index_dtype), natural((N, M), "sparse.eye"), "sparse.eye")
    count = max(min(N + min(k, 0), M - max(k, 0)), 0)
    n_batch, n_dense = kwds.get("n_batch", 0), kwds.get("n_dense", 0)
    if n_batch == 1 and not n_dense:
        col = np.arange(N) + k
        well = (col >= 0) & (col < M)
        indices = rnp.asarray(np.where(well, col, M).astype(index_dtype).reshape(N, 1, 1))
        data = rnp.asarray(well.reshape(N, 1)).astype(rnp.zeros(0, dtype).dtype)
        return BCOO._of(data, indices, (M,), 0, True, True)
    step = np.arange(count)
    places = np.stack([step + max(-k, 0), step + max(k, 0)], -1).astype(index_dtype)
    mat = BCOO._of(rnp.ones(count, dtype), rnp.asarray(places), (N, M), 0, True, True)
    if n_batch or n_dense:
        mat = mat.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
    return as_format(mat, sparse_format, kwds)


def random_bcoo(
    key: Any, shape: Sequence[int], *, dtype: Any = np.float64, indices_dtype: Any = None,
    nse: int | float = 0.2, n_batch: int = 0, n_dense: int = 0, unique_indices: bool = True,
    sorted_indices: bool = False, generator: Callable = rabbet.random.uniform, **kwds: Any,
) -> BCOO:  # fmt: skip
    """A BCOO of random values at random places.

    Args:
      key: a random key.
      shape: of the array.
      dtype: of the values; ``np.float64`` is the default floating point dtype.
      indices_dtype: of the indices; None: int32, or int64 where a dimension needs it.
      nse: how many entries each member of the batch has, or which part of the places if below 1.
      n_batch, n_dense: as for ``BCOO.fromdense``.
      unique_indices: no place twice.
      sorted_indices: entries in order.
      generator: ``generator(key, shape=..., dtype=..., **kwds)`` gives the values.

    Raises:
      ValueError: if there are fewer places than entries.

    Where there are many places the memory does not grow with their number.

    Example:
      >>> random_bcoo(rb.random.key(0), (100, 100), nse=5)
      BCOO(float32[100, 100], nse=5)
    """
    shape = natural(shape, "random_bcoo")
    n_batch = whole_number("random_bcoo", "n_batch", n_batch)
    n_dense = whole_number("random_bcoo", "n_dense", n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > len(shape):
        raise ValueError(f"random_bcoo: n_batch={n_batch} and n_dense={n_dense} do not fit shape {shape}")
    batch, sizes, dense = (
        shape[:n_batch],
        shape[n_batch : len(shape) - n_dense],
        shape[len(shape) - n_dense :],
    )
    places = math.prod(sizes)
    count = math.ceil(nse * places) if 0 < nse < 1 else whole_number("random_bcoo", "nse", nse)
    if not 0 <= count <= places:
        raise ValueError(f"random_bcoo: got nse={nse}, expected to be between 0 and {places}")
    wide = max(sizes, default=0) >= 2**31
    index_dtype = np.dtype(("int64" if wide else "int32") if indices_dtype is None else indices_dtype)
    checks.check_index_dtype(np.zeros(0, index_dtype), sizes, "random_bcoo")
    if dtype is np.float64:
        dtype = float
    key_data, key_places = rabbet.random.split(key)

    def one(key):
        if not unique_indices:
            return drawn(key, count, sizes, index_dtype)
        if places <= 2**22 or count * 8 >= places:
            if not sizes:
                return rnp.zeros((count, 0), index_dtype)
            flat = rabbet.random.permutation(key, places)[:count]
            return rnp.stack([c.astype(index_dtype) for c in rnp.unravel_index(flat, sizes)], -1)
        return different(key, count, sizes, index_dtype)

    keys = rabbet.random.split(key_places, math.prod(batch))
    drawn_places = [one(k) for k in keys]
    indices = (
        rnp.stack(drawn_places) if drawn_places else rnp.zeros((0, count, len(sizes)), index_dtype)
    ).reshape(*batch, count, len(sizes))
    data = generator(key_data, shape=(*batch, count, *dense), dtype=dtype, **kwds)
    out = BCOO._of(data, indices, shape[n_batch:], n_dense, False, bool(unique_indices))
    return out.sort_indices() if sorted_indices else out


def drawn(key, count, sizes, dtype):
    """Random places, any of which may occur twice."""
    if not sizes:
        return rnp.zeros((count, 0), dtype)
    keys = rabbet.random.split(key, len(sizes))
    cols = [rabbet.random.randint(k, (count,), 0, n, dtype) for k, n in zip(keys, sizes)]
    return rnp.stack(cols, -1)


def different(key, count, sizes, dtype):
    """Random places of which none occurs twice, where they are less than an eighth of all.

    Half as many more are drawn, with a random rank each, and those that occur again are left out. Of a
    fraction f <= 3/16 of all places drawn at random, 1 - exp(-f) > 2/3 f are different, so enough are left,
    but for a chance that is negligible with more than 2**22 places.
    """
    key_places, key_order = rabbet.random.split(key)
    more = count + count // 2 + 64
    places = drawn(key_places, more, sizes, dtype)
    ordered, _ = entries.in_order(places)
    fresh = entries.starts_of_runs(ordered)
    rank = rabbet.random.permutation(key_order, more)
    _, _, order = lax.sort((~fresh, rank, rnp.arange(more, dtype="int32")), num_keys=2)
    return ordered[order[:count]]
