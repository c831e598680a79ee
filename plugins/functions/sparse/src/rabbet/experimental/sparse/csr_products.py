"""The product of a matrix that is stored by rows with a dense one, as one primitive.

It is decomposed into the gather, multiplication and scatter of ``gather_scatter_products``; a backend may
have a library for it, as the CPU does (``rabbet_pjrt_cpu.lowering.sparse_products``). Products with one
vector are those of ``vector_products``.
"""

import numpy as np

from rabbet import typeof
from rabbet.experimental.sparse import gather_scatter_products
from rabbet.experimental.sparse.base import is_known
from rabbet.extend.primitive import Dual, Primitive, ShapedArray, Zero

# What the CPU's library computes in. The limits are measured, see docs/sparse.md: with fewer columns a
# scatter is faster, and XLA's is again with a multiple of 64.
DTYPES = frozenset(["int32", "int64", "float32", "float64", "complex64", "complex128"])
FEWEST, FAST_SCATTER = 5, 64


def pays(mat, array, numbers, dtype):
    """Whether the product of a BCOO with an array is one for ``product``, and worth it."""
    if mat.n_sparse != 2 or mat.ndim != 2 or numbers != (((1,), (0,)), ((), ())) or array.ndim != 2:
        return False
    if np.dtype(dtype).name not in DTYPES or 0 in (*mat.shape, *array.shape, mat.nse):
        return False
    columns = array.shape[1]
    if columns % FAST_SCATTER == 0:
        return False
    if mat._known.indptr is not None and not is_known(mat.indices):
        return True  # a BCSR that is traced: the row of each entry need not be found
    return columns >= FEWEST and (mat.indices_sorted or mat._known.indptr is not None)


def product(mat, array, dtype):
    """The product ``mat @ array``."""
    within, indptr = mat._by_rows()
    rows, columns = mat._columns()
    return rows_product(
        mat.data.astype(dtype), array.astype(dtype), rows, columns, within.astype(indptr.dtype), indptr,
        count=mat.shape[0],
    )  # fmt: skip


def product_type(data, array, rows, columns, within, indptr, *, count):
    return ShapedArray((count, *array.shape[1:]), data.dtype)


rows_product = Primitive(
    "sparse_rows_product", product_type,
    operands=("data", "array", "rows", "columns", "within", "indptr"),
    doc="the product of a matrix of ``count`` rows with a dense vector or matrix; entries by their rows and "
    "columns, and once more by columns within rows that begin at ``indptr``",
)  # fmt: skip


@rows_product.decompose
def scattered(op, data, array, rows, columns, within, indptr):
    plan = gather_scatter_products.Plan(
        (op.params["count"], array.shape[0]), 0, 2, ((1, 0),), (), True, np.dtype(data.dtype)
    )
    return gather_scatter_products.planned_product(data, (rows, columns), array, plan=plan, precision=None)


@rows_product.rule("partition")
def partition_rows_product(op, data, array, *places):
    """Columns of the dense matrix are independent of each other; all else is whole on each device."""
    columns = " n" * (array.ndim - 1)
    return f"e, m{columns}, e, e, e, p -> r{columns}"


@rows_product.rule("jvp")
def jvp_rows_product(op, data, array, *without_tangent):
    """The value as it is computed best; tangents are linear parts, whose transposes are known."""
    places = [x.primal for x in without_tangent]
    out = op(data.primal, array.primal, *places)
    tangents = [
        scattered(op, *pair, *places)
        for pair in ((data.tangent, array.primal), (data.primal, array.tangent))
        if not any(isinstance(x, Zero) for x in pair)
    ]
    if not tangents:
        return Dual(out, Zero(typeof(out)))
    return Dual(out, tangents[0] if len(tangents) == 1 else tangents[0] + tangents[1])
