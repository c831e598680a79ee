"""Factorizations of matrices by cuSOLVER."""

import numpy as np
from rabbet import lax
from rabbet.extend.transform import lower
from rabbet.lax.linalg import matrices

from rabbet_pjrt_cuda.lowering import native_calls


def cholesky(op, a):
    """The lower factor by `potrf`, which leaves the upper half as it was."""
    aval = op.out
    batch = aval.shape[:-2]
    info = native_calls.info_aval(batch)
    names = native_calls.call(
        op, "cusolver_potrf_ffi", [a], [aval], [aval, info], batch=len(batch), attributes={"lower": True},
        aliases={0: 0},
    )  # fmt: skip

    def finish(factor, info):
        return [native_calls.nan_unless(lax.eq(info, 0), matrices.lower_triangle(factor))]

    return op.write(finish, [aval, info], names)[0]


def lu(op, a):
    """By `getrf`, which counts rows from 1. A zero pivot is not a failure: the factors are what they are."""
    aval, pivots, _ = op.out_avals
    batch = aval.shape[:-2]
    out_avals = [aval, pivots, native_calls.info_aval(batch)]
    names = native_calls.call(
        op, "cusolver_getrf_ffi", [a], [aval], out_avals, batch=len(batch), aliases={0: 0}
    )

    def finish(factors, pivots, info):
        pivots = lax.sub(pivots, np.int32(1)) if aval.size else pivots
        permutation = lax.linalg.lu_pivots_to_permutation(pivots, aval.shape[-2])
        return [native_calls.nan_unless(lax.ge(info, 0), factors), pivots, permutation]

    return op.write(finish, out_avals, names)


def lu_pivots_to_permutation(op, pivots):
    """By the function of that name, which knows 32-bit integers."""
    aval = op.in_avals[0]
    if aval.dtype.name != "int32" or not aval.size:
        parts = lower.lookup(op.primitive, "").parts
        return op.write(lambda x: [parts(op, x)], [aval], [pivots])[0]
    return native_calls.call(
        op, "cu_lu_pivots_to_permutation", [pivots], [aval], [op.out], batch=aval.ndim - 1
    )[0]  # fmt: skip
