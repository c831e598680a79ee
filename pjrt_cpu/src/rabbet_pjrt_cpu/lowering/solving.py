"""Systems of linear equations by BLAS and LAPACK."""

from rabbet import lax
from rabbet.lax.linalg import matrices

from rabbet_pjrt_cpu.lowering import lapack


def triangular_solve(op, a, b):
    """By `trsm`, which knows transposes and adjoints, but no matrix that is conjugated only."""
    aval, out = op.in_avals
    transposed = "N"
    if op["transpose_a"]:
        transposed = "C" if op["conjugate_a"] else "T"
    elif op["conjugate_a"]:
        (a,) = op.write(lambda x: [matrices.conjugate(x)], [aval], [a])
    attributes = {
        "side": "L" if op["left_side"] else "R",
        "uplo": "L" if op["lower"] else "U",
        "trans_x": transposed,
        "diag": "U" if op["unit_diagonal"] else "N",
    }
    return lapack.call(
        op, "trsm", [a, b], [aval, out], [op.out], batch=out.ndim - 2, attributes=attributes, aliases={1: 0}
    )[0]


def tridiagonal_solve(op, dl, d, du, b):
    """By `gtsv`, which swaps rows, or by jaxlib's solver that perturbs small pivots."""
    avals = op.in_avals
    batch = op.out.shape[:-2]
    names = [dl, d, du, b]
    if op["perturb_singular"]:
        return lapack.call(
            op, "tridiagonal_solve_perturbed_ffi", names, avals, [op.out], batch=len(batch), whole=True
        )[0]
    info = lapack.info_aval(batch)
    outs = lapack.call(
        op, "gtsv", names, avals, [*avals, info], batch=len(batch), aliases={0: 0, 1: 1, 2: 2, 3: 3}
    )

    def finish(x, info):
        return [lapack.nan_unless(lax.eq(info, 0), x)]

    return op.write(finish, [op.out, info], outs[3:])[0]
