"""Factorizations of matrices by LAPACK."""

from rabbet import lax
from rabbet.extend import matrices

from rabbet_pjrt_cpu.lowering import lapack


def cholesky(op, a):
    """The lower factor by `potrf`, which leaves the upper half as it was."""
    aval = op.out
    batch = aval.ndim - 2
    info = lapack.info_aval(aval.shape[:batch])
    names = lapack.call(
        op, "potrf", [a], [aval], [aval, info], batch=batch, attributes={"uplo": "L"}, aliases={0: 0}
    )

    def finish(factor, info):
        return [lapack.nan_unless(lax.eq(info, 0), matrices.lower_triangle(factor))]

    return op.write(finish, [aval, info], names)[0]
