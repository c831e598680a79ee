"""BCOO: values with the indices of their places, with batch dimensions and dense ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental.sparse import checks, entries
from rabbet.experimental.sparse.base import is_known, known_number, natural, needs, stored
from rabbet.experimental.sparse.batched import BatchedSparse
from rabbet.experimental.sparse.operators import register
from rabbet.experimental.sparse.structure import transposed
from rabbet.experimental.sparse.sums import bcoo_sort_indices, bcoo_update_layout, summed_duplicates
from rabbet.extend.functions import folded, fused
from rabbet.extend.shapes import whole_number


class Known:
    """What is known of the places of a BCOO besides the array of them: ``columns``, its index arrays apart.
    Of a matrix in order ``indptr``, where its rows begin, and ``within``, the columns that go with that.
    """

    __slots__ = ("columns", "indptr", "within")

    def __init__(self, columns=None, within=None, indptr=None):
        self.columns, self.within, self.indptr = columns, within, indptr


columns_of = fused(entries.columns)


@fused(static=("count",))
def pointers_of(rows, count):
    """``entries.pointers_to`` as one program."""
    return entries.pointers_to(rows, count)


@register
@folded
class BCOO(BatchedSparse):
    """A sparse array in coordinate format.

    Its dimensions are, in this order, ``n_batch`` batch dimensions, ``n_sparse`` sparse and ``n_dense`` dense
    ones. Each member of the batch stores ``nse`` entries: values of the dense shape, and their places in the
    sparse dimensions. An entry with an index outside its dimension is padding.

    Args:
      args: ``(data, indices)``, arrays [*batch, nse, *dense] and int[*batch, nse, n_sparse].
      shape: of the whole array.
      indices_sorted: the promise that entries are in lexicographic order, padding last.
      unique_indices: the promise that no place occurs twice.

    Raises:
      ValueError: if the arrays do not fit together, indices are outside (below zero, or above the size, which
        stands for padding), or a promise is not kept. Where the arrays are being traced only shapes are
        looked at.
      TypeError: if indices are not integers.

    Batch dimensions are those that ``vmap`` and ``scan`` go over: the arrays are stored with them in front.

    Example:
      >>> x = BCOO((rnp.array([1.0, 2.0]), rnp.array([[0, 1], [1, 0]])), shape=(2, 2))
      >>> x @ rnp.ones(2)
      Array([1., 2.], dtype=float32)
    """

    __slots__ = ("_known", "_n_dense", "_tail", "data", "indices", "indices_sorted", "unique_indices")
    _stored = ("data", "indices")

    def __init__(
        self, args: tuple[Any, Any], *, shape: Sequence[int], indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:  # fmt: skip
        data, indices = args
        data, indices = stored(data, "BCOO: data"), stored(indices, "BCOO: indices")
        shape = natural(shape, "BCOO")
        n_batch, _, n_dense = checks.check_bcoo(data, indices, shape, indices_sorted, unique_indices)
        batch = shape[:n_batch]
        if data.shape[:n_batch] != batch:
            data = rnp.broadcast_to(data, (*batch, *data.shape[n_batch:]))
        if indices.shape[:n_batch] != batch:
            indices = rnp.broadcast_to(indices, (*batch, *indices.shape[n_batch:]))
        self._set(data, indices, shape[n_batch:], n_dense, bool(indices_sorted), bool(unique_indices))

    def _set(self, data, indices, tail, n_dense, indices_sorted, unique_indices):
        self.data, self.indices, self._tail, self._n_dense = data, indices, tuple(tail), n_dense
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        self._known = Known()

    def _with_data(self, data):
        out = BCOO._of(data, self.indices, *self._static())
        out._known = self._known
        return out

    def _columns(self):
        """The index arrays, one per sparse dimension: found once outside of traced functions, since products
        read them faster than columns of one array.
        """
        if self._known.columns is None:
            if not is_known(self.indices):
                return entries.columns(self.indices)
            columns = columns_of(self.indices)
            if not is_known(*columns):  # a function that is traced has these arrays from outside
                return columns
            self._known.columns = columns
        return self._known.columns

    def _by_rows(self):
        """The columns of a matrix in order, and where its rows begin: found once, as ``_columns`` are."""
        if self._known.indptr is not None:
            return self._known.within, self._known.indptr
        rows, columns = self._columns()
        indptr = pointers_of(rows, count=self.sparse_shape[0])
        if is_known(indptr, columns):
            self._known.indptr, self._known.within = indptr, columns
        return columns, indptr

    def rebuilt(self, data, indices, tail, n_dense, indices_sorted, unique_indices):
        """A BCOO of these arrays; ``tail`` is the shape without its batch dimensions."""
        return BCOO._of(data, indices, tuple(tail), n_dense, bool(indices_sorted), bool(unique_indices))

    def to_bcoo(self):
        """Itself."""
        return self

    def _promising(self, other):
        """The same with the promises that the other one makes."""
        return BCOO._of(self.data, self.indices, *self._static()[:2], *other._static()[2:])

    def _joined(self, other):
        """Its structure with the promises that both make."""
        if type(other) is not BCOO or self._static()[:2] != other._static()[:2]:
            raise TypeError(
                "a loop or branch brings together a BCOO and a sparse array of another class, shape or layout"
            )
        mine = [a and b for a, b in zip(self._static()[2:], other._static()[2:])]
        return BCOO._of(self.data, self.indices, *self._static()[:2], *mine)

    def _with_batch(self, data, shape):
        """Values [*shape, *data.shape] at these places: the first dimensions become batch ones."""
        return BCOO._of(data, rnp.broadcast_to(self.indices, (*shape, *self.indices.shape)), *self._static())

    @property
    def n_batch(self):
        """The number of batch dimensions."""
        count = self.indices.ndim - 2
        if count < 0 or self.data.ndim != count + 1 + self._n_dense:
            raise ValueError(
                "a BCOO was split along a dimension that is not a batch dimension (by vmap or scan over "
                "it, or by tree.map); make the dimension one first: x.update_layout(n_batch=1)"
            )
        return count

    @property
    def n_sparse(self):
        """The number of sparse dimensions."""
        return len(self._tail) - self._n_dense

    @property
    def sparse_shape(self):
        """The sizes of the sparse dimensions."""
        return self._tail[: self.n_sparse]

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> "BCOO":
        """A SciPy sparse array or matrix of any format, as a BCOO.

        Args:
          mat: as SciPy has it; duplicates stay.
          index_dtype: of the indices; None: that of SciPy.
          n_dense, n_batch: as for ``update_layout``.
        """
        coo = mat.tocoo()
        coords = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
        indices = np.stack([np.asarray(c) for c in coords], -1)
        if index_dtype is not None:
            checks.check_index_dtype(np.zeros(0, index_dtype), coo.shape, "BCOO.from_scipy_sparse")
            indices = indices.astype(index_dtype)
        in_order = checks.first_disorder(indices) is None if len(indices) else True
        different = in_order and not (indices[1:] == indices[:-1]).all(-1).any()
        out = cls(
            (coo.data, indices), shape=coo.shape, indices_sorted=in_order, unique_indices=bool(different)
        )
        if n_dense or n_batch:
            out = out.update_layout(n_dense=n_dense, n_batch=n_batch, on_inefficient=None)
        return out

    def to_scipy_sparse(self):
        """A ``scipy.sparse.coo_array`` of the same entries, without padding; of one or two dimensions."""
        from scipy import sparse

        mat = self.update_layout(n_batch=0, n_dense=0)
        data, indices = np.asarray(mat.data), np.asarray(mat.indices)
        keep = ((indices >= 0) & (indices < np.array(mat.shape, indices.dtype))).all(-1)
        return sparse.coo_array((data[keep], tuple(indices[keep].T)), shape=mat.shape)

    def todense(self) -> rb.Array:
        """``bcoo_todense``."""
        return bcoo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> "BCOO":
        """Permute the dimensions; by default the other way round. Where batch, sparse and dense dimensions
        mix, all become sparse.
        """
        return transposed(self, range(self.ndim)[::-1] if axes is None else axes)

    def sort_indices(self) -> Any:
        """``bcoo_sort_indices``."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> "BCOO":
        """One entry per place, in order; ``remove_zeros`` leaves out those that store zero. See
        ``bcoo_sum_duplicates``.
        """
        return summed_duplicates(self, nse, remove_zeros, "sum_duplicates")

    def update_layout(
        self, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
    ) -> Any:
        """``bcoo_update_layout``."""
        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)


@fused
def bcoo_todense(mat: BCOO) -> rb.Array:
    """The array that a BCOO stands for; entries at one place add up.

    Example:
      >>> bcoo_todense(BCOO.fromdense(rnp.array([0.0, 2.0])))
      Array([0., 2.], dtype=float32)
    """
    needs("BCOO", "bcoo_todense", mat)
    sizes, in_order = tuple(mat.sparse_shape), mat.indices_sorted
    one = lambda data, indices: entries.scatter_sum(indices, data, sizes, in_order)
    return entries.over_batch(one, mat.n_batch)(mat.data, mat.indices)


def bcoo_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCOO:
    """The elements of an array that are not zero, as a BCOO.

    Args:
      mat: an array.
      nse: how many entries are stored, filled up with padding; None: as many as the member of the batch with
        most of them needs, which is known only outside of functions that are traced. If there are more the
        last are lost.
      n_batch, n_dense: how many of the first dimensions are batch dimensions, and of the last dense ones. A
        dense slice is stored if any of its elements is not zero.
      index_dtype: of the indices.

    Raises:
      ValueError: if ``nse`` is needed and not given, or the numbers of dimensions do not fit.

    Example:
      >>> bcoo_fromdense(rnp.array([[0.0, 2.0], [0.0, 0.0]]))
      BCOO(float32[2, 2], nse=1)
    """
    mat = rnp.asarray(mat)
    n_batch = whole_number("bcoo_fromdense", "n_batch", n_batch)
    n_dense = whole_number("bcoo_fromdense", "n_dense", n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(
            f"bcoo_fromdense: n_batch={n_batch} and n_dense={n_dense} do not fit an array of "
            f"{mat.ndim} dimensions"
        )
    sizes = mat.shape[n_batch : mat.ndim - n_dense]
    index_dtype = np.dtype(index_dtype)
    checks.check_index_dtype(np.zeros(0, index_dtype), sizes, "bcoo_fromdense")
    mask = (mat != 0).any(tuple(range(mat.ndim - n_dense, mat.ndim))) if n_dense else mat != 0
    if nse is None:
        count = mask.sum(tuple(range(n_batch, mask.ndim)))
        nse = known_number(rnp.max(count, initial=0), "bcoo_fromdense", "nse")

    nse = whole_number("bcoo_fromdense", "nse", nse)
    data, indices = found(mat, mask, nse=nse, n_batch=n_batch, index_dtype=index_dtype)
    return BCOO._of(data, indices, mat.shape[n_batch:], n_dense, True, True)


BCOO._from_dense = staticmethod(bcoo_fromdense)


@fused(static=("nse", "n_batch", "index_dtype"))
def found(mat, mask, nse, n_batch, index_dtype):
    """The values and places where ``mask``, ``nse`` of them."""
    sizes = mask.shape[n_batch:]

    def one(values, mask):
        if not sizes:
            indices = rnp.zeros((nse, 0), index_dtype)
            return rnp.zeros((nse, *values.shape), values.dtype).at[:1].set(values), indices
        where = rnp.nonzero(mask, size=nse, fill_value=sizes)
        indices = rnp.stack([w.astype(index_dtype) for w in where], -1)
        return entries.gather_at(values, indices), indices

    return entries.over_batch(one, n_batch)(mat, mask)
