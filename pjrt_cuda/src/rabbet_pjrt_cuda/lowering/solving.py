"""Systems of linear equations by cuSPARSE."""

from rabbet import lax
from rabbet.extend.primitive import ShapedArray

from rabbet_pjrt_cuda.lowering import native_calls

LEAST = 3  # rows that `gtsv2` takes


def tridiagonal_solve(op, dl, d, du, b):
    """By `gtsv2`, which exchanges rows, or by the solver that perturbs small pivots."""
    avals, names = op.in_avals, [dl, d, du, b]
    batch = op.out.ndim - 2
    if op["perturb_singular"]:
        return native_calls.call(op, "cu_tridiagonal_solve_perturbed", names, avals, [op.out], batch=batch)[0]
    rows = op.out.shape[-2]
    if 0 < rows < LEAST:
        avals = [ShapedArray((*a.shape[:batch], LEAST, *a.shape[batch + 1 :]), a.dtype) for a in avals]
        names = op.write(lambda *args: with_rows(args, LEAST - rows, batch), op.in_avals, names)
    out = native_calls.call(op, "cusparse_gtsv2_ffi", names, avals, avals[3:], batch=batch, aliases={3: 0})[0]
    if avals[3].shape == op.out.shape:
        return out
    return op.write(lambda x: [lax.slice(x, (0,) * x.ndim, op.out.shape)], avals[3:], [out])[0]


def with_rows(args, more, batch):
    """A system with rows behind it that say `x = 0`, and have nothing to do with the others."""

    def longer(x, diagonal):
        after = [(0, more if d == batch else 0, 0) for d in range(x.ndim)]
        return lax.pad(x, x.dtype.type(diagonal), after)

    return [longer(x, diagonal) for x, diagonal in zip(args, (0, 1, 0, 0), strict=True)]
