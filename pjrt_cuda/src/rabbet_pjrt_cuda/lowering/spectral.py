"""Singular values and eigenvalues. Where it does not converge, and where a matrix is
not finite, its results are NaN."""

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import ShapedArray, full_of_type
from rabbet.lax.linalg import matrices

from rabbet_pjrt_cuda.lowering import native_calls

SVD, EIGH = lax.linalg.SvdAlgorithm, lax.linalg.EighImplementation
# Up to this size cuSOLVER has a routine for batches, Jacobi's.
SMALL = 32
# By what cuSOLVER's handler for symmetric matrices calls them; 0 lets it choose by the size.
SYMMETRIC = {None: 0, EIGH.QR: 1, EIGH.JACOBI: 2}


def svd(op, a):
    """By `gesvd` (QR iteration), for small matrices `gesvdj` (Jacobi's method), on demand by `gesvdp`."""
    (aval,) = op.in_avals
    if not aval.size:
        return op.write(lambda: [nothing(x, matrix=x.ndim == aval.ndim) for x in op.out_avals], [], [])
    algorithm = op["algorithm"]
    if algorithm in (None, SVD.DEFAULT):
        algorithm = SVD.JACOBI if max(aval.shape[-2:]) <= SMALL else SVD.QR
    if algorithm is SVD.JACOBI:
        return by_adjoint(op, a, aval, "cusolver_gesvdj_ffi", whole=True)
    if algorithm is SVD.POLAR:
        return by_adjoint(op, a, aval, "cusolver_gesvdp_ffi", whole=op["full_matrices"])
    if algorithm is SVD.QR:
        return by_iteration(op, a, aval)
    raise NotImplementedError(f"svd by {algorithm} is not offered on GPUs; use DEFAULT, QR, JACOBI or POLAR")


def nothing(aval, matrix):
    """What a matrix without elements has: an identity, or zeros."""
    return matrices.identity(aval) if matrix else full_of_type(aval, 0)


def by_adjoint(op, a, aval, target, whole):
    """By a routine that returns `v` and not its adjoint; `whole`: all columns of both factors, always."""
    *batch, m, n = aval.shape
    k, vectors = min(m, n), op["compute_uv"]
    s = op.out_avals[1 if vectors else 0]
    u = ShapedArray((*batch, m, m if whole else k), aval.dtype)
    v = ShapedArray((*batch, n, n if whole else k), aval.dtype)
    outs = [aval, s, u, v, native_calls.info_aval(batch)]
    _, *names, ok = native_calls.call(
        op, target, [a], [aval], outs, batch=len(batch), aliases={0: 0},
        attributes={"compute_uv": bool(vectors), "full_matrices": bool(whole)},
    )  # fmt: skip
    if not vectors:
        return native_calls.checked(op, [s], names[:1], ok, a)
    full = op["full_matrices"]

    def finish(s, u, v):
        u, v = (u, v) if full or not whole else (matrices.corner(u, m, k), matrices.corner(v, n, k))
        return [u, s, matrices.adjoint(v)]

    return native_calls.checked(op, op.out_avals, op.write(finish, [s, u, v], names), ok, a)


def by_iteration(op, a, aval):
    """By `gesvd`, which takes matrices with as many rows as columns or more. A wide one is handed over by
    rows, that is transposed: then the factors change places.
    """
    *batch, m, n = aval.shape
    vectors, full, wide = op["compute_uv"], op["full_matrices"] or not op["compute_uv"], m < n
    s = op.out_avals[1 if vectors else 0]
    info = native_calls.info_aval(batch)
    u = vh = ShapedArray((), aval.dtype)  # in the places of vectors that nobody wants
    if vectors:
        u, _, vh = op.out_avals
    first, second = (vh, u) if wide else (u, vh)
    attributes = {"compute_uv": bool(vectors), "full_matrices": bool(full), "transposed": wide}
    _, *names, ok = native_calls.call(
        op, "cusolver_gesvd_ffi", [a], [aval], [aval, s, first, second, info], batch=len(batch),
        aliases={0: 0}, attributes=attributes, by_rows=wide,
    )  # fmt: skip
    if not vectors:
        return native_calls.checked(op, [s], names[:1], ok, a)
    s, first, second = names
    ordered = [second, s, first] if wide else [first, s, second]
    return native_calls.checked(op, op.out_avals, ordered, ok, a)


def eigh(op, a):
    """By `syevd` or `syevj`, complex ones by their relatives. Left to itself, cuSOLVER takes Jacobi's method
    for batches of small matrices, whose vectors have 6 digits instead of 15 in complex128: QR is taken there.
    """
    implementation = op["implementation"]
    if implementation is None and op.in_avals[0].dtype.name == "complex128":
        implementation = EIGH.QR
    if implementation not in SYMMETRIC:
        raise NotImplementedError(f"eigh by {implementation} is not offered on GPUs; use QR or JACOBI")
    vectors, values = op.out_avals
    batch = vectors.shape[:-2]
    *names, ok = native_calls.call(
        op, "cusolver_syevd_ffi", [a], [vectors], [vectors, values, native_calls.info_aval(batch)],
        batch=len(batch), aliases={0: 0},
        attributes={"algorithm": np.uint8(SYMMETRIC[implementation]), "lower": bool(op["lower"])},
    )  # fmt: skip
    return native_calls.checked(op, [vectors, values], names, ok, a)


def eig(op, a):
    """By LAPACK on the host (or MAGMA, where it is installed), which returns the eigenvalues of real matrices
    in two parts.
    """
    (aval,) = op.in_avals
    values = op.out_avals[0]
    batch = aval.shape[:-2]
    vectors = ShapedArray(aval.shape, values.dtype)
    real = aval.kind != "c"
    parts = [ShapedArray(values.shape, aval.dtype)] * 2 if real else [values]
    left, right = bool(op["compute_left_eigenvectors"]), bool(op["compute_right_eigenvectors"])
    *names, vl, vr, ok = native_calls.call(
        op, "cuhybrid_eig_real" if real else "cuhybrid_eig_comp", [a], [aval],
        [*parts, vectors, vectors, native_calls.info_aval(batch)], batch=len(batch),
        attributes={"left": left, "magma": b"auto", "right": right},
    )  # fmt: skip
    w = op.write(lambda re, im: [lax.complex(re, im)], parts, names) if real else names
    return native_calls.checked(op, op.out_avals, [*w, *[vl] * left, *[vr] * right], ok)


def tridiagonal(op, a):
    """By `sytrd`, for complex matrices `hetrd`."""
    batch = op.out_avals[0].shape[:-2]
    *names, ok = native_calls.call(
        op, "cusolver_sytrd_ffi", [a], op.in_avals, [*op.out_avals, native_calls.info_aval(batch)],
        batch=len(batch), aliases={0: 0}, attributes={"lower": bool(op["lower"])},
    )  # fmt: skip
    return native_calls.checked(op, op.out_avals, names, ok)
