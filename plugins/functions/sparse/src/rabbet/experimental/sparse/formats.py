"""The plain formats of matrices: COO, CSR and CSC, without batch or dense dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental.sparse import checks, products
from rabbet.experimental.sparse.base import is_known, is_sparse, natural, needs, stored
from rabbet.experimental.sparse.bcoo import BCOO, bcoo_fromdense
from rabbet.experimental.sparse.bcsr import BCSR
from rabbet.experimental.sparse.operators import Operators, register
from rabbet.extend.functions import folded

MATRIX = (((1,), (0,)), ((), ()))
TRANSPOSED = (((0,), (0,)), ((), ()))


@folded
class Matrix(Operators):
    """What COO, CSR and CSC have in common."""

    __slots__ = ()
    n_batch = n_dense = 0
    n_sparse = 2

    @classmethod
    def _of(cls, *parts):
        out = object.__new__(cls)
        out._set(*parts)
        return out

    def _with_data(self, data):
        return type(self)._of(data, *self._arrays()[1:], *self._static())

    def _like(self, out):
        plain = is_sparse(out) and out.n_sparse == out.ndim == 2
        return type(self)._from_bcoo(out) if plain else out

    def _promising(self, other):
        return type(self)._of(*self._arrays(), *other._static())

    def _joined(self, other):
        if type(other) is not type(self) or self._static() != other._static():
            raise TypeError(
                f"a loop or branch brings together a {type(self).__name__} and another sparse array; use BCOO"
            )
        return self

    def _set(self, *parts):
        raise NotImplementedError

    @classmethod
    def _from_bcoo(cls, mat):
        raise NotImplementedError

    @property
    def nse(self):
        """The number of stored entries, padding included."""
        return self.data.shape[0]

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> Any:
        """The elements of a matrix that are not zero.

        Args:
          mat: a matrix.
          nse: how many entries are stored; None: as many as needed, outside of traced functions.
          index_dtype: of the indices.
        """
        mat = rnp.asarray(mat)
        if mat.ndim != 2:
            raise ValueError(f"{cls.__name__}.fromdense: needs a matrix, got shape {mat.shape}")
        return cls._from_bcoo(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None) -> Any:
        """A SciPy sparse matrix of any format."""
        return cls._from_bcoo(BCOO.from_scipy_sparse(mat, index_dtype=index_dtype))

    def to_scipy_sparse(self):
        """A sparse array of SciPy with the same entries."""
        return self.to_bcoo().to_scipy_sparse().asformat(type(self).__name__.lower())

    def todense(self) -> rb.Array:
        """The array that it stands for."""
        return self.to_bcoo().todense()


def matrix_parts(args, names, shape, who):
    """The stored arrays and the shape of a matrix, checked for what all formats need."""
    data, *indices = [stored(x, f"{who}: {name}") for x, name in zip(args, names, strict=True)]
    shape = natural(shape, who)
    if len(shape) != 2:
        raise ValueError(f"{who} is a matrix: shape must have two sizes, got {shape}")
    if data.ndim != 1 or any(i.ndim != 1 for i in indices):
        raise ValueError(f"{who}: {', '.join(names)} must have one dimension each")
    for i, name in zip(indices, names[1:]):
        checks.check_index_dtype(i, (), who, name)
    return data, indices, shape


@register
@folded
class COO(Matrix):
    """A matrix in coordinate format: ``(data, row, col)``.

    Args:
      args: three arrays of one length; an index equal to the size is padding.
      shape: ``(rows, columns)``.
      rows_sorted, cols_sorted: promises that ``row``, or ``col``, never falls.

    Raises:
      ValueError: if the arrays do not fit, or an index is outside.

    Example:
      >>> COO((rnp.ones(1), rnp.array([0]), rnp.array([1])), shape=(2, 2)) @ rnp.array([1.0, 2.0])
      Array([2., 0.], dtype=float32)
    """

    __slots__ = ("_shape", "col", "cols_sorted", "data", "row", "rows_sorted")
    _stored = ("data", "row", "col")

    def __init__(
        self, args: tuple[Any, Any, Any], *, shape: Sequence[int], rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:  # fmt: skip
        data, (row, col), shape = matrix_parts(args, self._stored, shape, "COO")
        if not data.shape == row.shape == col.shape:
            raise ValueError(f"COO: data, row and col have the lengths {[len(x) for x in (data, row, col)]}")
        for x, size, promised, name in zip((row, col), shape, (rows_sorted, cols_sorted), ("rows", "cols")):
            checks.check_index_dtype(x, (size,), "COO")
            if is_known(x):
                checks.check_places(np.asarray(x)[:, None], (size,), f"COO: {name}", promised, False)
        self._set(data, row, col, shape, bool(rows_sorted), bool(cols_sorted))

    def _set(self, data, row, col, shape, rows_sorted, cols_sorted):
        self.data, self.row, self.col, self._shape = data, row, col, shape
        self.rows_sorted, self.cols_sorted = rows_sorted, cols_sorted

    def _static(self):
        return self._shape, self.rows_sorted, self.cols_sorted

    shape = property(lambda self: self._shape, doc="(rows, columns)")

    @classmethod
    def _from_bcoo(cls, mat):
        mat = mat.update_layout(n_batch=0, n_dense=0)
        return cls._of(mat.data, mat.indices[:, 0], mat.indices[:, 1], mat.shape, mat.indices_sorted, False)

    def to_bcoo(self) -> BCOO:
        """The same as a BCOO."""
        dtype = np.result_type(self.row.dtype, self.col.dtype)
        places = rnp.stack([self.row.astype(dtype), self.col.astype(dtype)], -1)
        return BCOO._of(self.data, places, self._shape, 0, False, False)

    def transpose(self, axes: Sequence[int] | None = None) -> "COO":
        """Rows and columns exchanged."""
        if axes is not None and tuple(axes) == (0, 1):
            return self
        rows, cols = self._shape
        return COO._of(self.data, self.col, self.row, (cols, rows), self.cols_sorted, self.rows_sorted)


@folded
class Compressed(Matrix):
    """What CSR and CSC have in common: one of the two index arrays says where rows, or columns, begin."""

    __slots__ = ()
    _stored = ("data", "indices", "indptr")
    major = 0

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        who = type(self).__name__
        data, (indices, indptr), shape = matrix_parts(args, self._stored, shape, who)
        count, across = shape[self.major], shape[1 - self.major]
        if data.shape != indices.shape or indptr.shape != (count + 1,):
            raise ValueError(
                f"{who}: data and indices must have one length and indptr the length {count + 1}, got "
                f"{data.shape}, {indices.shape} and {indptr.shape}"
            )
        checks.check_index_dtype(indices, (across,), who)
        checks.check_pointers(indptr, indices, count, across, who)
        self._set(data, indices, indptr, shape)

    def _set(self, data, indices, indptr, shape):
        self.data, self.indices, self.indptr, self._shape = data, indices, indptr, shape
        self._rows = None

    def _static(self):
        return (self._shape,)

    def _major_rows(self):
        """The same entries as a BCSR of the major dimension; its rows are found once where they are known."""
        if self._rows is None:
            shape = self._shape[:: 1 - 2 * self.major]
            out = BCSR._of(self.data, self.indices, self.indptr, shape, 0, False, False)
            if not is_known(*self._arrays()):
                return out
            self._rows = out
        return self._rows

    shape = property(lambda self: self._shape, doc="(rows, columns)")


@register
@folded
class CSR(Compressed):
    """A matrix in compressed row format: ``(data, indices, indptr)``, where ``indices`` are columns.

    Raises:
      ValueError: if the arrays do not fit together, a column is outside, or ``indptr`` does not run upwards
        from 0.

    Example:
      >>> CSR((rnp.ones(1), rnp.array([1]), rnp.array([0, 1])), shape=(1, 2)).todense()
      Array([[0., 1.]], dtype=float32)
    """

    __slots__ = ("_rows", "_shape", "data", "indices", "indptr")
    major = 0

    @classmethod
    def _from_bcoo(cls, mat):
        mat = BCSR.from_bcoo(mat.update_layout(n_batch=0, n_dense=0))
        return cls._of(mat.data, mat.indices, mat.indptr, mat.shape)

    def to_bcoo(self) -> BCOO:
        """The same as a BCOO."""
        return self._major_rows().to_bcoo()

    def transpose(self, axes: Sequence[int] | None = None) -> "CSC | CSR":
        """Rows and columns exchanged: a CSC of the same arrays."""
        if axes is not None and tuple(axes) == (0, 1):
            return self
        return CSC._of(*self._arrays(), self._shape[::-1])


@register
@folded
class CSC(Compressed):
    """A matrix in compressed column format: ``(data, indices, indptr)``, where ``indices`` are rows.

    Raises:
      ValueError: as for ``CSR``.

    Example:
      >>> CSC((rnp.ones(1), rnp.array([1]), rnp.array([0, 1])), shape=(2, 1)).todense()
      Array([[0.],
             [1.]], dtype=float32)
    """

    __slots__ = ("_rows", "_shape", "data", "indices", "indptr")
    major = 1

    @classmethod
    def _from_bcoo(cls, mat):
        turned = BCSR.from_bcoo(mat.update_layout(n_batch=0, n_dense=0).T)
        return cls._of(turned.data, turned.indices, turned.indptr, mat.shape)

    def to_bcoo(self) -> BCOO:
        """The same as a BCOO."""
        return self._major_rows().to_bcoo().T

    def transpose(self, axes: Sequence[int] | None = None) -> "CSR | CSC":
        """Rows and columns exchanged: a CSR of the same arrays."""
        if axes is not None and tuple(axes) == (0, 1):
            return self
        return CSR._of(*self._arrays(), self._shape[::-1])


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """``COO.fromdense``.

    Example:
      >>> coo_fromdense(rnp.eye(2))
      COO(float32[2, 2], nse=2)
    """
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


def coo_todense(mat: COO) -> rb.Array:
    """The array that a COO stands for.

    Example:
      >>> coo_todense(COO.fromdense(rnp.eye(1)))
      Array([[1.]], dtype=float32)
    """
    needs("COO", "coo_todense", mat)
    return mat.todense()


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """``CSR.fromdense``.

    Example:
      >>> csr_fromdense(rnp.eye(2))
      CSR(float32[2, 2], nse=2)
    """
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def csr_todense(mat: CSR) -> rb.Array:
    """The array that a CSR stands for.

    Example:
      >>> csr_todense(CSR.fromdense(rnp.eye(1)))
      Array([[1.]], dtype=float32)
    """
    needs("CSR", "csr_todense", mat)
    return mat.todense()


def product(kind, who, mat, x, transpose, ndim):
    """A matrix, or its transpose, times an array of ``ndim`` dimensions."""
    needs(kind, who, mat)
    x = rnp.asarray(x)
    if x.ndim != ndim:
        raise ValueError(f"{who}: the operand must have {ndim} dimensions, got shape {x.shape}")
    return products.bcoo_dot_general(mat.to_bcoo(), x, dimension_numbers=TRANSPOSED if transpose else MATRIX)


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> rb.Array:
    """A COO matrix, or its transpose, times a vector.

    Example:
      >>> coo_matvec(COO.fromdense(rnp.eye(2)), rnp.ones(2))
      Array([1., 1.], dtype=float32)
    """
    return product("COO", "coo_matvec", mat, v, transpose, 1)


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> rb.Array:
    """A COO matrix, or its transpose, times a matrix.

    Example:
      >>> coo_matmat(COO.fromdense(rnp.eye(1)), rnp.ones((1, 2)))
      Array([[1., 1.]], dtype=float32)
    """
    return product("COO", "coo_matmat", mat, B, transpose, 2)


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> rb.Array:
    """A CSR matrix, or its transpose, times a vector.

    Example:
      >>> csr_matvec(CSR.fromdense(rnp.eye(2)), rnp.ones(2))
      Array([1., 1.], dtype=float32)
    """
    return product("CSR", "csr_matvec", mat, v, transpose, 1)


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> rb.Array:
    """A CSR matrix, or its transpose, times a matrix.

    Example:
      >>> csr_matmat(CSR.fromdense(rnp.eye(1)), rnp.ones((1, 2)))
      Array([[1., 1.]], dtype=float32)
    """
    return product("CSR", "csr_matmat", mat, B, transpose, 2)
