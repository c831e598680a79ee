"""Products: ``dot_general`` of a sparse array with a dense or a sparse one.

For a sparse and a dense operand every entry takes the slice of the dense operand at its contracted indices,
multiplies it, and adds it at its other indices: a gather, a product and a scatter, which XLA compiles to one
loop on a CPU. For two sparse operands the entries of one are ordered by their contracted indices, and each
entry of the other meets those that match (F. Gustavson, Two fast algorithms for sparse matrices, 1978).
"""

import math
from typing import Any, NamedTuple

import numpy as np

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental.sparse import csr_products, entries, vector_products
from rabbet.experimental.sparse.base import JAXSparse, dimensions_of, is_known, is_sparse, needs
from rabbet.experimental.sparse.gather_scatter_products import Plan, planned_product
from rabbet.experimental.sparse.sums import bcoo_sum_duplicates, bcoo_update_layout, summed_duplicates
from rabbet.extend.functions import fused

Numbers = tuple


def numbers_of(dimension_numbers, lhs, rhs, who):
    """The dimension numbers as tuples, checked against the shapes."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    (lc, rc), (lb, rb_) = [
        [dimensions_of(who, "dimension_numbers", dims, len(s)) for dims, s in zip(pair, (lhs, rhs))]
        for pair in ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    ]
    for name, a, b in (("contracting", lc, rc), ("batch", lb, rb_)):
        if len(a) != len(b) or any(i >= len(lhs) or j >= len(rhs) or lhs[i] != rhs[j] for i, j in zip(a, b)):
            raise TypeError(
                f"{who}: {name} dimensions {a} of shape {tuple(lhs)} and {b} of shape {tuple(rhs)} do not "
                "have the same sizes"
            )
    return (lc, rc), (lb, rb_)


def result_dtype(lhs, rhs, preferred):
    return np.dtype(rnp.result_type(lhs, rhs)) if preferred is None else np.dtype(preferred)


def bcoo_dot_general(
    lhs: JAXSparse | rb.Array, rhs: JAXSparse | rb.Array, *, dimension_numbers: Any, precision: Any = None,
    preferred_element_type: Any = None, out_sharding: Any = None,
) -> Any:  # fmt: skip
    """``lax.dot_general`` where an operand, or both, is a BCOO.

    Args:
      lhs, rhs: BCOOs or arrays; dtypes are promoted.
      dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``. Dimensions of any
        kind of layout may be contracted, and be batch dimensions.
      precision: of products of dense slices.
      preferred_element_type: the dtype of the result.
      out_sharding: None alone.

    Returns:
      an array, or a BCOO if both operands are sparse: with one entry per place and, outside of traced
      functions, as many as there are products to store. In a traced function the number cannot depend on
      values: it is ``lhs.nse * rhs.nse``, or the number of places if that is smaller.

    Raises:
      TypeError: if the shapes do not fit.

    Example:
      >>> x = BCOO.fromdense(rnp.eye(3))
      >>> bcoo_dot_general(x, rnp.ones(3), dimension_numbers=(((1,), (0,)), ((), ())))
      Array([1., 1., 1.], dtype=float32)
    """
    if out_sharding is not None:
        raise NotImplementedError("bcoo_dot_general: sparse arrays take no sharding here")
    needs("BCOO", "bcoo_dot_general", *[x for x in (lhs, rhs) if is_sparse(x)])
    if not is_sparse(lhs) and not is_sparse(rhs):
        return lax.dot_general(
            lhs, rhs, dimension_numbers, precision=precision, preferred_element_type=preferred_element_type
        )
    operands: list[Any] = [x if is_sparse(x) else rnp.asarray(x) for x in (lhs, rhs)]
    lhs, rhs = operands
    numbers = numbers_of(dimension_numbers, lhs.shape, rhs.shape, "bcoo_dot_general")
    left, right = [x.data if is_sparse(x) else x for x in operands]
    dtype = result_dtype(left, right, preferred_element_type)
    if is_sparse(lhs) and is_sparse(rhs):
        return sparse_with_sparse(lhs, rhs, numbers, dtype)
    if is_sparse(lhs):
        return sparse_with_dense(lhs, rhs, numbers, dtype, precision)
    (lc, rc), (lb, rb_) = numbers
    out = sparse_with_dense(rhs, lhs, ((rc, lc), (rb_, lb)), dtype, precision)
    batch, mine = len(lb), rhs.ndim - len(rc) - len(rb_)
    order = (*range(batch), *range(batch + mine, out.ndim), *range(batch, batch + mine))
    return rnp.transpose(out, order) if list(order) != sorted(order) else out


def sparse_with_dense(mat, array, numbers, dtype, precision=None):
    """The product of a BCOO and an array: [batch, free dimensions of mat, free dimensions of array]."""
    (lc, rc), (lb, rb_) = numbers
    if vector_products.is_one(mat, array, numbers, dtype):
        return vector_products.product(mat, array, numbers, dtype)
    if csr_products.pays(mat, array, numbers, dtype):
        return csr_products.product(mat, array, dtype)
    plan = Plan(
        mat.shape,
        mat.n_batch,
        mat.n_sparse,
        tuple(zip(lc, rc)),
        tuple(zip(lb, rb_)),
        mat.indices_sorted,
        dtype,
    )
    return planned_product(mat.data, mat._columns(), array, plan=plan, precision=precision)


def sparse_with_sparse(lhs, rhs, numbers, dtype):
    """The product of two BCOOs: a BCOO [batch, free of lhs, free of rhs]."""
    (lc, rc), (lb, rb_) = numbers
    # Batch dimensions of both layouts that are the product's first ones stay; all others become sparse.
    n_batch = 0
    limit = min(lhs.n_batch, rhs.n_batch)
    while n_batch < len(lb) and lb[n_batch] == rb_[n_batch] == n_batch and n_batch < limit:
        n_batch += 1
    lhs, rhs = [bcoo_update_layout(m, n_batch=n_batch, n_dense=0) for m in (lhs, rhs)]
    lhs, rhs = [m._with_data(m.data.astype(dtype)) for m in (lhs, rhs)]
    match = [(a - n_batch, b - n_batch) for a, b in zip((*lb[n_batch:], *lc), (*rb_[n_batch:], *rc))]
    left = [a - n_batch for a in lb[n_batch:]]
    left += [k for k in range(lhs.n_sparse) if k + n_batch not in (*lb, *lc)]
    right = [k for k in range(rhs.n_sparse) if k + n_batch not in (*rb_, *rc)]
    join = Join(
        n_batch, tuple(lhs.sparse_shape), tuple(rhs.sparse_shape), tuple(match), tuple(left), tuple(right)
    )
    begin, count, order = meetings(lhs.indices, rhs.indices, join=join)
    total = lhs.nse * rhs.nse
    if is_known(count):
        sums = np.asarray(count).astype("int64").sum(-1)
        total = int(sums.max()) if sums.size else 0
    if total >= 2**31:
        raise ValueError(
            f"bcoo_dot_general: the product of {lhs!r} and {rhs!r} may have {total} terms, more than can be "
            "indexed; outside of jit the number is what the values need"
        )
    if total:
        data, places = terms(
            lhs.data, lhs.indices, rhs.data, rhs.indices, begin, count, order, join=join, total=total
        )
    else:
        batch, index = lhs.shape[:n_batch], np.result_type(lhs.indices.dtype, rhs.indices.dtype)
        data, places = rnp.zeros((*batch, 0), dtype), rnp.zeros((*batch, 0, len(join.sizes)), index)
    out = lhs.rebuilt(data, places, join.sizes, 0, False, False)
    if is_known(out.indices):
        return summed_duplicates(out, None, False, "bcoo_dot_general")
    return bcoo_sum_duplicates(out, nse=min(total, math.prod(join.sizes)))


class Join(NamedTuple):
    """Which sparse dimensions of two operands must match, and which go into the result; hashable."""

    n_batch: int
    lhs: tuple
    rhs: tuple
    match: tuple
    left: tuple
    right: tuple

    @property
    def sizes(self):
        """The sparse shape of the result."""
        return (*[self.lhs[k] for k in self.left], *[self.rhs[k] for k in self.right])


@fused(static=("join",))
def meetings(lhs, rhs, join):
    """For each entry of lhs: where the matching entries of rhs begin in order, how many there
    are; that order."""
    sizes = [join.lhs[a] for a, _ in join.match]

    def keys(places, shape, at):
        keep = entries.inside(places, shape)
        return entries.flat_places(entries.columns(places[:, np.array(at, int)]), sizes), keep

    def one(i, j):
        key_l, keep_l = keys(i, join.lhs, [a for a, _ in join.match])
        key_r, keep_r = keys(j, join.rhs, [b for _, b in join.match])
        last = np.iinfo(key_r.dtype).max
        count = rnp.arange(len(j), dtype="int32")
        key_r, order = lax.sort((rnp.where(keep_r, key_r, last), count), num_keys=1)
        begin = rnp.searchsorted(key_r, key_l, side="left").astype("int32")
        end = rnp.searchsorted(key_r, key_l, side="right").astype("int32")
        some = rnp.broadcast_to(end - begin, (len(i),))
        return rnp.broadcast_to(begin, (len(i),)), rnp.where(keep_l, some, 0), order

    return entries.over_batch(one, join.n_batch)(lhs, rhs)


@fused(static=("join", "total"))
def terms(a, i, b, j, begin, count, order, join, total):
    """All products of entries that meet, ``total`` of them: (data, indices)."""
    dtype = np.result_type(i.dtype, j.dtype)

    def one(a, i, b, j, begin, count, order):
        ends = rnp.cumsum(count, dtype="int32")
        term = rnp.arange(total, dtype="int32")
        starts = rnp.zeros(total + 1, "int32").at[ends].add(1, mode="drop", indices_are_sorted=True)
        mine = rnp.cumsum(starts[:total], dtype="int32")
        well = mine < len(a)
        mine = rnp.minimum(mine, len(a) - 1)
        within = term - (ends[mine] - count[mine])
        other = order[rnp.clip(begin[mine] + within, 0, len(b) - 1)]
        left, right = i[mine][:, np.array(join.left, int)], j[other][:, np.array(join.right, int)]
        places = rnp.concatenate([left.astype(dtype), right.astype(dtype)], -1)
        return entries.kept(a[mine] * b[other], well), entries.padded(places, join.sizes, well)

    return entries.over_batch(one, join.n_batch)(a, i, b, j, begin, count, order)


@fused(static=("dimension_numbers",))
def bcoo_dot_general_sampled(
    A: rb.Array, B: rb.Array, indices: rb.Array, *, dimension_numbers: Any
) -> rb.Array:
    """The values of ``lax.dot_general(A, B)`` at some places only: what gradients of products need.

    Args:
      A, B: arrays.
      indices: int[*batch, nse, n_sparse]; its batch dimensions are the first dimensions of the product, the
        columns the others.
      dimension_numbers: as for ``lax.dot_general``.

    Returns:
      an array [*batch, nse]; zeros at places outside.

    Raises:
      ValueError: if the indices do not have as many dimensions as the product.

    Example:
      >>> bcoo_dot_general_sampled(rnp.ones((2, 3)), rnp.ones((3, 2)), rnp.array([[0, 1]]),
      ...                          dimension_numbers=(((1,), (0,)), ((), ())))
      Array([3.], dtype=float32)
    """
    A, B, indices = rnp.asarray(A), rnp.asarray(B), rnp.asarray(indices)
    (lc, rc), (lb, rb_) = numbers_of(dimension_numbers, A.shape, B.shape, "bcoo_dot_general_sampled")
    a_free = [d for d in range(A.ndim) if d not in (*lb, *lc)]
    b_free = [d for d in range(B.ndim) if d not in (*rb_, *rc)]
    n_out, n_batch = len(lb) + len(a_free) + len(b_free), indices.ndim - 2
    if n_batch < 0 or n_batch + indices.shape[-1] != n_out:
        raise ValueError(
            f"bcoo_dot_general_sampled: indices of shape {indices.shape} have {n_batch} batch dimensions and "
            f"{indices.shape[-1]} columns, and the product has {n_out} dimensions"
        )
    dtype = rnp.result_type(A, B)
    size = math.prod(A.shape[d] for d in lc)
    A = rnp.transpose(A.astype(dtype), [*lb, *a_free, *lc]).reshape(
        *[A.shape[d] for d in (*lb, *a_free)], size
    )
    B = rnp.transpose(B.astype(dtype), [*rb_, *b_free, *rc]).reshape(
        *[B.shape[d] for d in (*rb_, *b_free)], size
    )
    kinds = ["both"] * len(lb) + ["a"] * len(a_free) + ["b"] * len(b_free)
    inner = kinds[n_batch:]
    in_a = np.array([k for k, kind in enumerate(inner) if kind != "b"], int)
    in_b = np.array([k for k, kind in enumerate(inner) if kind != "a"], int)

    def one(a, b, places):
        return (entries.gather_at(a, places[:, in_a]) * entries.gather_at(b, places[:, in_b])).sum(-1)

    for kind in reversed(kinds[:n_batch]):
        one = rb.vmap(one, in_axes=(None if kind == "b" else 0, None if kind == "a" else 0, 0))
    return one(A, B, indices)


def matmul(x, y):
    """``x @ y`` where one is a BCOO at least, with NumPy's rules for batches."""
    a, b = [len(np.shape(v)) if not is_sparse(v) else v.ndim for v in (x, y)]
    if not a or not b:
        raise TypeError("matmul: an operand has no dimensions; use *")
    shapes = [tuple(v.shape) if hasattr(v, "shape") else np.shape(v) for v in (x, y)]
    inner = shapes[0][-1], shapes[1][max(b - 2, 0)]
    if inner[0] != inner[1]:
        raise TypeError(
            f"matmul: shapes {shapes[0]} and {shapes[1]} do not fit: the contracted dimensions have sizes "
            f"{inner[0]} and {inner[1]}"
        )
    if a > 2 and b > 2:
        batch = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
        x, y = broadcast_batch(x, batch), broadcast_batch(y, batch)
        n = len(batch)
        dims = tuple(range(n))
        return bcoo_dot_general(x, y, dimension_numbers=(((n + 1,), (n,)), (dims, dims)))
    out = bcoo_dot_general(x, y, dimension_numbers=(((a - 1,), (max(b - 2, 0),)), ((), ())))
    if b > 2:  # [free of x, batch of y, columns]
        n = b - 2
        mine = a - 1
        order = (*range(mine, mine + n), *range(mine), *range(mine + n, mine + n + 1))
        out = out.transpose(order) if is_sparse(out) else rnp.transpose(out, order)
    return out


def broadcast_batch(x, batch):
    from rabbet.experimental.sparse.arithmetic import broadcast

    shape = (*batch, *x.shape[-2:])
    return broadcast(x, shape) if is_sparse(x) else rnp.broadcast_to(x, shape)
