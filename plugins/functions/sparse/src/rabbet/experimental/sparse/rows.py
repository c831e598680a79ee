"""Rows of the test kit for products by rows and with vectors; imported by tests alone."""

from typing import NamedTuple

import numpy as np

from rabbet.experimental.sparse.csr_products import rows_product
from rabbet.experimental.sparse.vector_products import vector_product
from rabbet.testing.draws import some
from rabbet.testing.table import Row

PLACES = np.array([[0, 1], [0, 3], [2, 0], [2, 1], [2, 2]], "int32")
POINTERS = np.array([0, 2, 2, 5], "int32")


class Fixed(NamedTuple):
    """An array that is no other."""

    array: np.ndarray

    @property
    def shape(self):
        """The array's shape."""
        return self.array.shape

    def __call__(self, rng, dtype):
        return self.array.copy()


def product(data, array, rows, columns, within, indptr):
    out = np.zeros((3, *array.shape[1:]), np.result_type(data, array))
    np.add.at(out, rows, data.reshape(-1, *(1,) * (array.ndim - 1)) * array[columns])
    return out


def by_rows(note, *shape):
    """A row for a matrix of 3 rows and 4 columns times an array of a shape."""
    rows, columns = PLACES.T
    places = [Fixed(rows), Fixed(columns), Fixed(columns), Fixed(POINTERS)]
    return Row(
        rows_product, product, (some(5), some(*shape), *places), ("float64", "float32", "int32", "complex64"),
        {"count": 3}, note, orders=2,
    )  # fmt: skip


def with_vector(data, array, rows, columns):
    return product(data, array, rows, columns, None, None)


VECTOR = Row(
    vector_product, with_vector, (some(5), some(4), *map(Fixed, PLACES.T)),
    ("float64", "float32", "int32", "complex64"), {"count": 3, "in_order": True}, orders=2,
)  # fmt: skip

ROWS = [by_rows("vector", 4), by_rows("columns", 4, 6), VECTOR]

__all__ = ["ROWS"]
