"""The product of a sparse matrix with one vector, as a primitive and from row pointers.

A scatter of single numbers runs on one processor. The entries of a large matrix are therefore parted into
two halves, whose scatters a backend may run side by side, and the two results are added.

Where rows are given by pointers alone, each entry needs its row. The first entries of rows are marked in a
bit set, and the number of marks up to an entry is the *rank* of its row among those that have entries
(G. Jacobson, Space-efficient static trees and graphs, 1989): a table of 32 entries a word, so that the long
array is written by one loop without branches. Sums go to ranks, and rows take theirs from there.
"""

import numpy as np

import rabbet.numpy as rnp
from rabbet import lax, typeof
from rabbet.experimental.sparse import entries
from rabbet.experimental.sparse.base import is_known
from rabbet.extend.functions import fused
from rabbet.extend.primitive import Dual, Primitive, ShapedArray, Zero

# With fewer entries, or fewer for each row, a second stream costs more than it gains.
FEWEST_ENTRIES, FEWEST_OF_A_ROW = 2**18, 4
ORDERS = {(((1,), (0,)), ((), ())): (0, 1), (((0,), (0,)), ((), ())): (1, 0)}


def is_one(mat, array, numbers, dtype):
    """Whether the product of a BCOO with an array is that of a matrix with one vector."""
    if mat.n_sparse != 2 or mat.ndim != 2 or numbers not in ORDERS or np.dtype(dtype).name == "bool":
        return False
    return array.ndim == 1 and 0 not in (*mat.shape, mat.nse)


def product(mat, array, numbers, dtype):
    """The product of a BCOO, or of its transpose, with a vector."""
    data, array = mat.data.astype(dtype), array.astype(dtype)
    rows_first = ORDERS[numbers]
    indptr = mat._known.indptr
    if rows_first == (0, 1) and indptr is not None and not is_known(mat.indices):  # a BCSR that is traced
        return by_pointers(data, mat._known.within, indptr, array, count=mat.shape[0])
    columns = mat._columns()
    rows, columns = [columns[k] for k in rows_first]
    in_order = mat.indices_sorted and rows_first == (0, 1)
    return vector_product(data, array, rows, columns, count=mat.shape[rows_first[0]], in_order=in_order)


def product_type(data, array, rows, columns, *, count, in_order):
    return ShapedArray((count,), data.dtype)


vector_product = Primitive(
    "sparse_vector_product", product_type, operands=("data", "array", "rows", "columns"),
    doc="the product of a matrix of ``count`` rows, entries by their rows and columns, with a dense vector; "
    "``in_order`` promises that rows do not fall",
)  # fmt: skip


def with_zero(array):
    """The vector with a zero behind it, for columns outside."""
    return lax.pad(array, array.dtype.type(0), ((0, 1, 0),))


def stream(op, data, padded, rows, columns):
    """The sums of some entries. As unsigned numbers columns below zero are large, so that one comparison
    sends all those outside to the zero behind the vector.
    """
    if np.issubdtype(columns.dtype, np.signedinteger):
        columns = lax.bitcast_convert_type(columns, f"u{columns.dtype.name}")
    read = padded.at[columns].get(mode="clip", wrap_negative_indices=False)
    return entries.scatter_sum((rows,), data * read, (op.params["count"],), op.params["in_order"])


def scattered(op, data, array, rows, columns):
    """In one stream: linear in the data and in the vector."""
    return stream(op, data, with_zero(array), rows, columns)


@vector_product.decompose
def streams(op, data, array, rows, columns):
    """In two streams, if there are enough entries for them."""
    nse = data.shape[0]
    if nse < max(FEWEST_ENTRIES, FEWEST_OF_A_ROW * op.params["count"]):
        return scattered(op, data, array, rows, columns)
    padded = with_zero(array)
    first, second = [
        stream(op, data[part], padded, rows[part], columns[part])
        for part in (slice(None, nse // 2), slice(nse // 2, None))
    ]
    return first + second


@vector_product.rule("jvp")
def jvp_vector_product(op, data, array, *without_tangent):
    """The value as it is computed best; tangents are linear parts, whose transposes are known."""
    places = [x.primal for x in without_tangent]
    out = op(data.primal, array.primal, *places)
    pairs = ((data.tangent, array.primal), (data.primal, array.tangent))
    tangents = [scattered(op, *pair, *places) for pair in pairs if not any(isinstance(x, Zero) for x in pair)]
    if not tangents:
        return Dual(out, Zero(typeof(out)))
    return Dual(out, tangents[0] if len(tangents) == 1 else tangents[0] + tangents[1])


@fused(static=("count",))
def by_pointers(data, columns, indptr, array, count):
    """The product of a matrix whose rows begin at ``indptr``; entries past the last row count for nothing."""
    nse = data.shape[0]
    marks, before = entries.marks_of(indptr, nse)
    within = rnp.arange(nse, dtype=indptr.dtype) < indptr[-1]
    ranks = rnp.where(within, entries.ranks(marks, before, nse), count)
    sums = vector_product(data, array, ranks, columns, count=count, in_order=True)
    begins = entries.rank_at(marks, before, indptr[:-1])
    of_rows = sums.at[begins].get(mode="clip", wrap_negative_indices=False)
    return rnp.where(indptr[1:] > indptr[:-1], of_rows, of_rows.dtype.type(0))
