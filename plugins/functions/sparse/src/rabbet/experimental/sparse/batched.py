"""What ``BCOO`` and ``BCSR`` share: batch dimensions before the sparse ones, and dense dimensions behind."""

from typing import Any, Self

import numpy as np

from rabbet.experimental.sparse.operators import Operators
from rabbet.extend.functions import folded


@folded
class BatchedSparse(Operators):
    """A sparse array with ``_tail``, the shape without its batch dimensions, and ``_n_dense``."""

    __slots__ = ()
    # Of the class: arrays [*batch, nse, *dense] and their places; and who makes one of a dense array.
    indices: Any
    n_batch: Any
    indices_sorted: bool
    unique_indices: bool
    _tail: tuple
    _n_dense: int
    _from_dense: Any

    @classmethod
    def _of(cls, *parts):
        """Out of what ``tree_flatten`` gives; nothing is checked."""
        out: Any = object.__new__(cls)
        out._set(*parts)
        return out

    def _static(self):
        return self._tail, self._n_dense, self.indices_sorted, self.unique_indices

    @property
    def shape(self):
        """The sizes of all dimensions."""
        return (*self.indices.shape[: self.n_batch], *self._tail)

    @property
    def n_dense(self):
        """The number of dense dimensions."""
        return self._n_dense

    @property
    def nse(self):
        """The number of stored entries, padding included, of each member of the batch."""
        return self.indices.shape[self.n_batch]

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0,
        n_batch: int = 0,
    ) -> Self:  # fmt: skip
        """The elements of an array that are not zero: ``bcoo_fromdense``, ``bcsr_fromdense``."""
        return cls._from_dense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)


__all__ = ["BatchedSparse"]
