"""Orthogonal factors: a matrix in reflections, and products of reflections."""

from rabbet import lax
from rabbet.extend.primitive import ShapedArray
from rabbet.lax.linalg import matrices

from rabbet_pjrt_cuda.lowering import native_calls


def geqrf(op, a):
    """The factorization without exchanges, by cuSOLVER."""
    packed, taus = op.out_avals
    return native_calls.call(
        op, "cusolver_geqrf_ffi", [a], [packed], [packed, taus], batch=packed.ndim - 2, aliases={0: 0}
    )


def geqp3(op, a):
    """The factorization with exchanges, by LAPACK on the host (or MAGMA, where it is installed), which counts
    columns from 1; 0 leaves one free.
    """
    packed, order, taus = op.out_avals
    if not packed.size:
        (same,) = op.write(lambda: [lax.broadcasted_iota("int32", order.shape, order.ndim - 1)], [], [])
        return [op.constant(0, packed), same, op.constant(0, taus)]
    free = op.constant(0, order)
    outs = native_calls.call(
        op, "cuhybrid_geqp3", [a, free], [packed, order], [packed, order, taus], batch=packed.ndim - 2,
        attributes={"magma": b"auto"}, aliases={0: 0, 1: 1},
    )  # fmt: skip
    (from_zero,) = op.write(lambda p: [lax.sub(p, 1)], [order], [outs[1]])
    return [outs[0], from_zero, outs[2]]


def householder_product(op, a, taus):
    """The first columns of a product of reflections, by cuSOLVER."""
    out = op.out
    if not op.in_avals[1].size:
        return op.write(lambda: [matrices.identity(out)], [], [])[0]
    return native_calls.call(
        op, "cusolver_orgqr_ffi", [a, taus], op.in_avals, [out], batch=out.ndim - 2, aliases={0: 0}
    )[0]


def ormqr(op, a, taus, c):
    """A matrix times a product of reflections, by cuSOLVER, which reads a column per factor."""
    packed, factors, out = op.in_avals
    *lead, m, _ = packed.shape
    k = factors.shape[-1]
    if not k:
        return c
    columns = ShapedArray((*lead, m, k), packed.dtype)
    (a,) = op.write(lambda x: [matrices.corner(x, m, k)], [packed], [a])
    return native_calls.call(
        op, "cusolver_ormqr_ffi", [a, taus, c], [columns, factors, out], [out], batch=out.ndim - 2,
        aliases={2: 0}, attributes={"left": bool(op["left"]), "transpose": bool(op["transpose"])},
    )[0]  # fmt: skip
