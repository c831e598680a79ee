"""The product of a sparse array with a dense one, as a gather, a product and a scatter: XLA makes one loop of
it on a CPU.
"""

from typing import Any, NamedTuple

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental.sparse import entries
from rabbet.extend.functions import fused


class Plan(NamedTuple):
    """Which dimension of a sparse operand is for what, hashable: it chooses the program."""

    lhs: tuple  # shape
    n_batch: int
    n_sparse: int
    contract: tuple  # pairs (dimension of lhs, dimension of rhs)
    batch: tuple
    sorted: bool
    dtype: Any


@fused(static=("plan", "precision"))
def planned_product(data, indices, array, plan, precision):
    """The product, of the arrays that store it; ``indices`` is an array or a tuple of its columns."""
    data, array = data.astype(plan.dtype), array.astype(plan.dtype)
    contract, batch = dict(plan.contract), dict(plan.batch)
    partner = {**contract, **batch}
    sparse = range(plan.n_batch, plan.n_batch + plan.n_sparse)
    dense = range(plan.n_batch + plan.n_sparse, len(plan.lhs))
    taken = [d for d in sparse if d in partner]  # indices at which the array is read
    put = [d for d in sparse if d not in contract]  # indices at which the result is written
    # the array: dimensions of its own for the layout's batch, then read ones, then those of dense ones
    layout = [partner[d] for d in range(plan.n_batch) if d in partner]
    free = [r for r in range(array.ndim) if r not in set(partner.values())]
    array = rnp.transpose(
        array, [*layout, *[partner[d] for d in taken], *[partner[d] for d in dense if d in partner], *free]
    )
    n_taken = len(taken)
    dense_partners = [d for d in dense if d in partner]

    def one(values, places, other):
        read = gather_columns(other, places, [d - plan.n_batch for d in taken])
        product = entry_products(
            values, read, dense, dense_partners, contract, batch, precision, bool(n_taken)
        )
        in_order = plan.sorted and [d - plan.n_batch for d in put] == list(range(len(put)))
        at = tuple(places[d - plan.n_batch] for d in put)
        return entries.scatter_sum(at, product, tuple(plan.lhs[d] for d in put), in_order)

    for d in reversed(range(plan.n_batch)):
        one = rb.vmap(one, in_axes=(0, 0, 0 if d in partner else None))
    out = one(data, entries.columns(indices), array)
    # now [layout batch, put, dense batch, dense free, free of the array]
    names = [
        *range(plan.n_batch),
        *put,
        *[d for d in dense if d in batch],
        *[d for d in dense if d not in partner],
    ]
    gone = [k for k, d in enumerate(names) if d in contract]
    if gone:
        out = rnp.sum(out, tuple(gone), dtype=out.dtype)
        names = [d for d in names if d not in contract]
    own = [d for d in range(len(plan.lhs)) if d not in partner]
    order = [names.index(d) for d in [d for d, _ in plan.batch] + own]
    order += range(len(names), out.ndim)
    return rnp.transpose(out, order) if order != sorted(order) else out


def gather_columns(array, places, at):
    """The slices of an array at some of the index columns: [nse, ...]; without columns the array itself."""
    return entries.gather_at(array, tuple(places[k] for k in at)) if at else array


def entry_products(values, read, dense, dense_partners, contract, batch, precision, per_entry):
    """Values [nse, dense dimensions] times what was read: [nse, dense batch, dense free, free]."""
    if not dense_partners:
        shape = values.shape
        rest = read.ndim - per_entry
        left = values.reshape(*shape, *(1,) * rest)
        if per_entry:
            read = read.reshape(read.shape[0], *(1,) * (len(shape) - 1), *read.shape[1:])
        return left * read
    position = {d: 1 + k for k, d in enumerate(dense)}
    where = {d: k + per_entry for k, d in enumerate(dense_partners)}
    lc = [position[d] for d in dense_partners if d in contract]
    rc = [where[d] for d in dense_partners if d in contract]
    lb = [position[d] for d in dense_partners if d in batch]
    rb_ = [where[d] for d in dense_partners if d in batch]
    if per_entry:
        return lax.dot_general(values, read, ((lc, rc), ([0, *lb], [0, *rb_])), precision=precision)
    out = lax.dot_general(values, read, ((lc, rc), (lb, rb_)), precision=precision)
    return rnp.moveaxis(out, len(lb), 0)
