"""Products of sparse matrices by rows, with the function that jaxlib has for them (Eigen's).

It computes eight columns at once and all others one by one, which takes ten times as long, so columns are
filled up to a multiple of eight. It looks at no index before it reads: columns outside are sent to a row of
zeros behind the operand's, and where rows begin is kept within the entries.
"""

from rabbet import lax
from rabbet.extend.primitive import ShapedArray

TARGET = "cpu_csr_sparse_dense_ffi"
WIDTH = 8


def sparse_rows_product(op, data, array, rows, columns, within, indptr):
    """The rule for `sparse_rows_product`: see the primitive, in `rabbet.experimental.sparse.csr_products`."""
    given = list(zip([data, array, within, indptr], [op.in_avals[i] for i in (0, 1, 4, 5)], strict=True))
    operands = [op.whole(name, aval) for name, aval in given]
    avals = [aval for _, aval in given]
    nse, (size, *free) = avals[0].shape[0], avals[1].shape
    count = free[0] if free else 1
    wide = count + -count % WIDTH
    index = avals[3].dtype

    def prepared(data, array, within, indptr):
        array = lax.reshape(array, (size, count))
        array = lax.pad(array, array.dtype.type(0), ((0, 1, 0), (0, wide - count, 0)))
        inside = lax.bitwise_and(lax.ge(within, index.type(0)), lax.lt(within, index.type(size)))
        within = lax.select(inside, within, lax.full_like(within, size))
        return [data, lax.clamp(index.type(0), indptr, index.type(nse)), within, array]

    ready = op.write(prepared, avals, operands)
    types = [avals[0], avals[3], avals[2], ShapedArray((size + 1, wide), avals[1].dtype)]
    whole = ShapedArray((op.out.shape[0], wide), op.out.dtype)
    (product,) = op.custom_call(TARGET, ready, [whole], in_avals=types)

    def taken(product):
        return [lax.reshape(lax.slice(product, (0, 0), (op.out.shape[0], count)), op.out.shape)]

    (name,) = op.write(taken, [whole], [product])
    return op.whole(name, op.out)
