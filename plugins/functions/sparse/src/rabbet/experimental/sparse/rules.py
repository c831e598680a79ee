"""What operations do with sparse arrays, in the table ``sparse``.

A rule gets sparse arrays and ``Dense`` values, one of them sparse at least. What it computes with speaks to
the level below.
"""

import numpy as np

from rabbet.experimental.sparse import arithmetic, gathering, products, structure, sums
from rabbet.experimental.sparse.base import is_sparse
from rabbet.experimental.sparse.payloads import Dense, densified, rules
from rabbet.extend import primitive as p

# Functions with f(0) = 0: of the stored values, where each place is stored once.
KEEP_ZERO = [
    p.abs, p.sign, p.sin, p.tan, p.sinh, p.tanh, p.asin, p.atan, p.asinh, p.atanh, p.expm1, p.log1p, p.sqrt,
    p.cbrt, p.square, p.floor, p.ceil, p.round_away, p.round_even, p.erf, p.erf_inv, p.reduce_precision,
]  # fmt: skip
OF_SUMS = [p.neg, p.real, p.imag, p.conj, p.stop_gradient]


def shown(out):
    """A result as a payload."""
    return out if is_sparse(out) else Dense(out)


def plain(payload):
    """A payload as the functions of this package take it: a BCOO or an array."""
    return payload.to_bcoo() if is_sparse(payload) else payload.value


def first_sparse(payloads):
    return next(x for x in payloads if is_sparse(x)).to_bcoo()


@rules.otherwise
def would_densify(op, *payloads):
    name = op.primitive.name
    arithmetic.refuse(f"{name!r}, which has no rule for sparse arrays,", first_sparse(payloads), name)


@rules.primitive(*KEEP_ZERO)
def of_values(op, x):
    x = arithmetic.once_each(x.to_bcoo()) if not getattr(x, "unique_indices", False) else x
    return x._with_data(op(x.data))


@rules.primitive(*OF_SUMS)
def of_each_value(op, x):
    return x._with_data(op(x.data))


@rules.primitive(p.convert_element_type)
def convert_element_type(op, x):
    wanted = np.dtype(op.params["new_dtype"])
    rounds = not np.issubdtype(wanted, np.inexact) and wanted != x.dtype
    return of_values(op, x) if rounds else of_each_value(op, x)


@rules.primitive(p.integer_pow)
def integer_pow(op, x):
    if op.params["y"] <= 0:
        arithmetic.refuse(f"the power {op.params['y']} of a sparse array", x.to_bcoo())
    return of_values(op, x)


@rules.primitive(p.pow)
def pow(op, x, y):
    if not is_sparse(x) or np.ndim(y.value) or not isinstance(y.value, (int, float)) or not y.value > 0:
        return would_densify(op, x, y)
    x = arithmetic.once_each(x.to_bcoo())
    return x._with_data(op(x.data, y.value))


@rules.primitive(p.add, p.sub)
def add(op, x, y):
    x, y = plain(x), plain(y)
    return shown(arithmetic.add(x, y if op.primitive is p.add else -y))


@rules.primitive(p.mul)
def mul(op, x, y):
    return shown(arithmetic.multiply(plain(x), plain(y)))


@rules.primitive(p.div)
def div(op, x, y):
    return shown(arithmetic.divide(plain(x), plain(y)))


@rules.primitive(p.transpose)
def transpose(op, x):
    return structure.transposed(x.to_bcoo(), op.params["permutation"])


@rules.primitive(p.reshape)
def reshape(op, x):
    x, sizes = x.to_bcoo(), op.params["new_sizes"]
    try:
        return structure.bcoo_reshape(x, new_sizes=sizes)
    except ValueError:  # the kinds of dimensions mix
        return structure.bcoo_reshape(sums.bcoo_update_layout(x, n_batch=0, n_dense=0), new_sizes=sizes)


@rules.primitive(p.expand_dims)
def expand_dims(op, x):
    x = x.to_bcoo()
    rank = x.ndim + len(op.params["dimensions"])
    new = {d % rank for d in op.params["dimensions"]}
    old = [d for d in range(rank) if d not in new]
    sizes = iter(x.shape)
    shape = [1 if d in new else next(sizes) for d in range(rank)]
    return structure.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=old)


@rules.primitive(p.broadcast_in_dim)
def broadcast_in_dim(op, x):
    return structure.bcoo_broadcast_in_dim(
        x.to_bcoo(), shape=op.params["shape"], broadcast_dimensions=op.params["broadcast_dimensions"]
    )


@rules.primitive(p.squeeze)
def squeeze(op, x):
    return structure.bcoo_squeeze(x.to_bcoo(), dimensions=op.params["dimensions"])


@rules.primitive(p.slice)
def slice(op, x):
    return structure.bcoo_slice(x.to_bcoo(), **op.params)


@rules.primitive(p.dynamic_slice)
def dynamic_slice(op, x, *starts):
    if not is_sparse(x) or any(is_sparse(s) for s in starts):
        return would_densify(op, x, *starts)
    return structure.bcoo_dynamic_slice(x.to_bcoo(), [s.value for s in starts], op.params["slice_sizes"])


@rules.primitive(p.rev)
def rev(op, x):
    return structure.bcoo_rev(x.to_bcoo(), op.params["dimensions"])


@rules.primitive(p.gather)
def gather(op, x, starts):
    if not is_sparse(x) or is_sparse(starts):
        return would_densify(op, x, starts)
    return gathering.bcoo_gather(x.to_bcoo(), starts.value, **op.params)


@rules.primitive(p.concatenate)
def concatenate(op, *payloads):
    if not all(map(is_sparse, payloads)):
        return would_densify(op, *payloads)
    mats = [x.to_bcoo() for x in payloads]
    n_batch, n_dense = min(m.n_batch for m in mats), min(m.n_dense for m in mats)
    mats = [sums.bcoo_update_layout(m, n_batch=n_batch, n_dense=n_dense) for m in mats]
    return structure.bcoo_concatenate(mats, dimension=op.params["dimension"])


@rules.primitive(p.reduce_sum)
def reduce_sum(op, x):
    x = x.to_bcoo()
    out = sums.bcoo_reduce_sum(x, axes=op.params["axes"])
    return out if out.ndim else Dense(out.todense())


@rules.primitive(p.dot_general)
def dot_general(op, x, y):
    params = {k: op.params.get(k) for k in ("precision", "preferred_element_type")}
    out = products.bcoo_dot_general(
        plain(x), plain(y), dimension_numbers=op.params["dimension_numbers"], **params
    )
    return shown(out)


@rules.primitive(densified)
def todense(op, x):
    return Dense(x.todense())
