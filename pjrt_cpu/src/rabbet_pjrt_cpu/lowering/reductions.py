"""Hessenberg, tridiagonal and Schur form by LAPACK."""

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import ShapedArray

from rabbet_pjrt_cpu.lowering import lapack


def with_info(op, routine, a, out_avals, keep, *, attributes, unitary=None):
    """Call a routine on the one operand, whose last result is its info; NaN in the results where it failed.

    Args:
      out_avals: of all results but the info; the first shares memory with the operand.
      keep: the indices of those that are wanted.
    """
    (aval,) = op.in_avals
    batch = aval.shape[:-2]
    info = lapack.info_aval(batch)
    names = lapack.call(
        op, routine, [a], [aval], [*out_avals, info], batch=len(batch), attributes=attributes,
        aliases={0: 0}, unitary=unitary,
    )  # fmt: skip

    def finish(info, *outs):
        good = lax.eq(info, 0)
        return [lapack.nan_unless(good, x) for x in outs]

    kept = [out_avals[i] for i in keep]
    return op.write(finish, [info, *kept], [names[-1], *[names[i] for i in keep]])


def hessenberg(op, a):
    """By `gehrd`, on all rows and columns."""
    n = op.in_avals[0].shape[-1]
    attributes = {"low": np.int32(1), "high": np.int32(n)}
    return with_info(op, "gehrd", a, op.out_avals, (0, 1), attributes=attributes)


def tridiagonal(op, a):
    """By `sytrd`, for complex matrices `hetrd`."""
    attributes = {"uplo": "L" if op["lower"] else "U"}
    return with_info(op, "sytrd", a, op.out_avals, (0, 1, 2, 3), attributes=attributes, unitary="hetrd")


def schur(op, a):
    """By `gees`, without sorting. It computes eigenvalues too, as one complex array or two real ones."""
    (aval,) = op.in_avals
    batch = aval.shape[:-2]
    values = [ShapedArray(aval.shape[:-1], aval.dtype)] * (1 if aval.kind == "c" else 2)
    selected = lapack.info_aval(batch)
    vectors = op["compute_schur_vectors"]
    attributes = {"mode": "V" if vectors else "N", "sort": "N"}
    return with_info(
        op, "gees", a, [aval, aval, *values, selected], (0, 1) if vectors else (0,), attributes=attributes
    )
