"""Systems of linear equations by cuSPARSE."""

from rabbet_pjrt_cuda.lowering import native


def tridiagonal_solve(op, dl, d, du, b):
    """By `gtsv2`, which exchanges rows, or by the solver that perturbs small pivots."""
    avals, names = op.in_avals, [dl, d, du, b]
    batch = op.out.ndim - 2
    if op["perturb_singular"]:
        return native.call(op, "cu_tridiagonal_solve_perturbed", names, avals, [op.out], batch=batch)[0]
    return native.call(op, "cusparse_gtsv2_ffi", names, avals, [op.out], batch=batch, aliases={3: 0})[0]
