"""BCSR: values with the column of each and where each row begins, with batch dimensions and dense ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental.sparse import arithmetic, checks, entries, products
from rabbet.experimental.sparse.base import is_known, is_sparse, natural, needs, stored
from rabbet.experimental.sparse.batched import BatchedSparse
from rabbet.experimental.sparse.bcoo import BCOO, Known, bcoo_fromdense
from rabbet.experimental.sparse.operators import register
from rabbet.extend.functions import folded, fused


@register
@folded
class BCSR(BatchedSparse):
    """A sparse array in compressed row format: two sparse dimensions, with batch and dense ones around.

    Args:
      args: ``(data, indices, indptr)``: values [*batch, nse, *dense], the columns int[*batch, nse], and where
        each row begins, int[*batch, rows + 1]. Entries from ``indptr[-1]`` on are padding.
      shape: of the whole array.
      indices_sorted: the promise that columns are in order within their rows.
      unique_indices: the promise that no place occurs twice.

    Raises:
      ValueError: if the arrays do not fit together, a column is outside, or ``indptr`` does not run upwards
        from 0. Where they are being traced only shapes are looked at.
      TypeError: if indices are not integers.

    Example:
      >>> x = BCSR((rnp.array([1.0, 2.0]), rnp.array([1, 0]), rnp.array([0, 1, 2])), shape=(2, 2))
      >>> x @ rnp.ones(2)
      Array([1., 2.], dtype=float32)
    """

    __slots__ = (
        "_known",
        "_n_dense",
        "_tail",
        "data",
        "indices",
        "indices_sorted",
        "indptr",
        "unique_indices",
    )
    _stored = ("data", "indices", "indptr")

    def __init__(
        self, args: tuple[Any, Any, Any], *, shape: Sequence[int], indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:  # fmt: skip
        data, indices, indptr = [stored(x, f"BCSR: {n}") for x, n in zip(args, self._stored)]
        shape = natural(shape, "BCSR")
        n_batch = indices.ndim - 1
        n_dense = data.ndim - 1 - n_batch
        if n_batch < 0 or n_dense < 0 or n_batch + 2 + n_dense != len(shape):
            raise ValueError(
                f"BCSR: data of shape {data.shape} and indices of shape {indices.shape} do not fit the shape "
                f"{shape}: there must be two sparse dimensions"
            )
        batch, (rows, cols), dense = shape[:n_batch], shape[n_batch : n_batch + 2], shape[n_batch + 2 :]
        nse = indices.shape[-1]
        for name, got, wanted in (
            ("data", data.shape, (*batch, nse, *dense)),
            ("indices", indices.shape, (*batch, nse)),
            ("indptr", indptr.shape, (*batch, rows + 1)),
        ):
            if tuple(got) != wanted:
                raise ValueError(f"BCSR: {name} has the shape {got}; for shape {shape} it must be {wanted}")
        checks.check_index_dtype(indices, (cols,), "BCSR")
        checks.check_index_dtype(indptr, (nse,), "BCSR", "indptr")
        checks.check_pointers(indptr, indices, rows, cols, "BCSR")
        self._set(data, indices, indptr, shape[n_batch:], n_dense, bool(indices_sorted), bool(unique_indices))
        if (indices_sorted or unique_indices) and is_known(indices, indptr):
            checks.check_places(
                np.asarray(self.to_bcoo().indices), (rows, cols), "BCSR", indices_sorted, unique_indices
            )

    def _set(self, data, indices, indptr, tail, n_dense, indices_sorted, unique_indices):
        self.data, self.indices, self.indptr = data, indices, indptr
        self._tail, self._n_dense, self._known = tuple(tail), n_dense, None
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices

    def _with_data(self, data):
        out = BCSR._of(data, self.indices, self.indptr, *self._static())
        out._known = self._known
        return out

    def _promising(self, other):
        return BCSR._of(*self._arrays(), *self._static()[:2], *other._static()[2:])

    def _joined(self, other):
        if type(other) is not BCSR or self._static()[:2] != other._static()[:2]:
            raise TypeError(
                "a loop or branch brings together a BCSR and a sparse array of another class, shape or "
                "layout; call to_bcoo() first"
            )
        mine = [a and b for a, b in zip(self._static()[2:], other._static()[2:])]
        return BCSR._of(*self._arrays(), *self._static()[:2], *mine)

    def _with_batch(self, data, shape):
        places = [rnp.broadcast_to(x, (*shape, *x.shape)) for x in (self.indices, self.indptr)]
        return BCSR._of(data, *places, *self._static())

    def _like(self, out):
        if not is_sparse(out) or out.n_sparse != 2:
            return out
        return BCSR.from_bcoo(out)

    @property
    def n_batch(self):
        """The number of batch dimensions."""
        count = self.indices.ndim - 1
        if count < 0 or self.data.ndim != count + 1 + self._n_dense:
            raise ValueError(
                "a BCSR was taken apart along a dimension that is not a batch dimension (by vmap or scan "
                "over it)"
            )
        return count

    n_sparse = property(lambda self: 2, doc="The number of sparse dimensions: 2.")

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> "BCSR":
        """A BCOO with two sparse dimensions as a BCSR; its entries are brought in order.

        Raises:
          ValueError: if it has not two sparse dimensions.
        """
        needs("BCOO", "BCSR.from_bcoo", arr)
        if arr.n_sparse != 2:
            raise ValueError(
                f"BCSR.from_bcoo: must have 2 sparse dimensions, got {arr.n_sparse}; see update_layout"
            )
        arr = arr.sort_indices()
        rows = arr.sparse_shape[0]
        indptr = begins(arr.indices, rows=rows)
        return cls._of(
            arr.data, arr.indices[..., 1], indptr, arr._tail, arr.n_dense, True, arr.unique_indices
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> "BCSR":
        """A SciPy sparse array or matrix of any format, as a BCSR; ``n_dense`` and ``n_batch`` are 0."""
        if n_dense or n_batch:
            raise ValueError("BCSR.from_scipy_sparse: a SciPy array has two sparse dimensions and no others")
        csr = mat.tocsr()
        parts = [csr.data, csr.indices, csr.indptr]
        if index_dtype is not None:
            checks.check_index_dtype(
                np.zeros(0, index_dtype), (*csr.shape, csr.nnz), "BCSR.from_scipy_sparse"
            )
            parts[1:] = [x.astype(index_dtype) for x in parts[1:]]
        return cls(
            tuple(parts), shape=csr.shape, indices_sorted=bool(csr.has_sorted_indices),
            unique_indices=bool(csr.has_canonical_format),
        )  # fmt: skip

    def to_scipy_sparse(self):
        """A ``scipy.sparse.csr_array`` of the same entries; of two dimensions."""
        return self.to_bcoo().to_scipy_sparse().tocsr()

    def to_bcoo(self) -> BCOO:
        """The same as a BCOO; outside of traced functions the rows of the entries are found once."""
        found = self._known
        if found is None:
            rows, cols = self._tail[:2]
            checks.check_index_dtype(self.indices, (rows,), "BCSR.to_bcoo")
            found = places_of(self.indices, self.indptr, rows=rows, cols=cols)
            if is_known(*found):
                self._known = found
        places, *columns = found
        out = BCOO._of(self.data, places, *self._static())
        if out.n_batch == 0:
            out._known = Known(tuple(columns), self.indices, self.indptr)
        return out

    def todense(self) -> rb.Array:
        """``bcsr_todense``."""
        return bcsr_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> "BCSR":
        """Permute the dimensions; by default the other way round."""
        return self._like(self.to_bcoo().transpose(axes))

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> "BCSR":
        """One entry per place; see ``BCOO.sum_duplicates``."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))


@fused(static=("rows",))
def begins(indices, rows):
    """Where the rows of places in order begin."""
    point = lambda places: entries.pointers_to(places[:, 0], rows)
    return entries.over_batch(point, indices.ndim - 2)(indices)


@fused(static=("rows", "cols"))
def places_of(indices, indptr, rows, cols):
    """Rows and columns of the entries: as one array, and each for itself."""

    def one(indices, indptr):
        row = entries.rows_of(indptr, indices.shape[0]).astype(indices.dtype)
        column = rnp.where(row < rows, indices, cols)
        return rnp.stack([row, column], -1), row, column

    return entries.over_batch(one, indices.ndim - 1)(indices, indptr)


def bcsr_todense(mat: BCSR) -> rb.Array:
    """The array that a BCSR stands for.

    Example:
      >>> bcsr_todense(BCSR.fromdense(rnp.array([[0.0, 2.0]])))
      Array([[0., 2.]], dtype=float32)
    """
    needs("BCSR", "bcsr_todense", mat)
    return mat.to_bcoo().todense()


def bcsr_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCSR:
    """The elements of an array that are not zero, as a BCSR; arguments as for ``bcoo_fromdense``.

    Raises:
      ValueError: if there are not two sparse dimensions between the batch and the dense ones.

    Example:
      >>> bcsr_fromdense(rnp.array([[0.0, 2.0]]))
      BCSR(float32[1, 2], nse=1)
    """
    mat = rnp.asarray(mat)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError(
            f"bcsr_fromdense: must have 2 sparse dimensions, got {mat.ndim - n_batch - n_dense} of "
            f"{mat.ndim} with this n_batch and n_dense"
        )
    return BCSR.from_bcoo(
        bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
    )


BCSR._from_dense = staticmethod(bcsr_fromdense)


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> rb.Array:
    """The values of a dense array at the places of a BCSR.

    Args:
      indices, indptr: as a BCSR stores them.
      mat: an array [*batch, rows, columns, *dense].

    Returns:
      an array that goes with ``indices``.

    Example:
      >>> bcsr_extract(rnp.array([1]), rnp.array([0, 1]), rnp.array([[3.0, 4.0]]))
      Array([4.], dtype=float32)
    """
    indices, indptr, mat = rnp.asarray(indices), rnp.asarray(indptr), rnp.asarray(mat)
    n_batch = indices.ndim - 1
    data = rnp.zeros((*indices.shape, *mat.shape[n_batch + 2 :]), mat.dtype)
    places = BCSR((data, indices, indptr), shape=mat.shape)
    return arithmetic.taken_at(places.to_bcoo(), mat)


def bcsr_dot_general(
    lhs: BCSR | rb.Array, rhs: BCSR | rb.Array, *, dimension_numbers: Any, precision: Any = None,
    preferred_element_type: Any = None, out_sharding: Any = None,
) -> Any:  # fmt: skip
    """``lax.dot_general`` where an operand, or both, is a BCSR; as ``bcoo_dot_general``.

    Example:
      >>> x = BCSR.fromdense(rnp.eye(2))
      >>> bcsr_dot_general(x, rnp.ones(2), dimension_numbers=(((1,), (0,)), ((), ())))
      Array([1., 1.], dtype=float32)
    """
    needs("BCSR", "bcsr_dot_general", *[x for x in (lhs, rhs) if is_sparse(x)])
    operands: list[Any] = [lhs, rhs]
    out = products.bcoo_dot_general(
        *[x.to_bcoo() if is_sparse(x) else x for x in operands], dimension_numbers=dimension_numbers,
        precision=precision, preferred_element_type=preferred_element_type, out_sharding=out_sharding,
    )  # fmt: skip
    return BCSR.from_bcoo(out) if is_sparse(out) and out.n_sparse == 2 else out
