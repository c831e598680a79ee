"""Factorizations of matrices by LAPACK."""

import numpy as np
from rabbet import lax
from rabbet.lax.linalg import matrices

from rabbet_pjrt_cpu.lowering import lapack


def cholesky(op, a):
    """The lower factor by `potrf`, which leaves the upper half as it was."""
    aval = op.out
    batch = aval.shape[:-2]
    info = lapack.info_aval(batch)
    names = lapack.call(
        op, "potrf", [a], [aval], [aval, info], batch=len(batch), attributes={"uplo": "L"}, aliases={0: 0}
    )

    def finish(factor, info):
        return [matrices.lower_triangle(lapack.nan_unless(lax.eq(info, 0), factor))]

    return op.write(finish, [aval, info], names)[0]


def lu(op, a):
    """By `getrf`, which counts rows from 1. A zero pivot is not a failure: the factors are what they are."""
    aval, pivots, _ = op.out_avals
    batch = aval.shape[:-2]
    out_avals = [aval, pivots, lapack.info_aval(batch)]
    names = lapack.call(op, "getrf", [a], [aval], out_avals, batch=len(batch), aliases={0: 0})

    def finish(factors, pivots, info):
        pivots = lax.sub(pivots, np.int32(1)) if aval.size else pivots
        permutation = lax.linalg.lu_pivots_to_permutation(pivots, aval.shape[-2])
        return [lapack.nan_unless(lax.ge(info, 0), factors), pivots, permutation]

    return op.write(finish, out_avals, names)
