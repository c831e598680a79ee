"""Singular values and eigenvalues by LAPACK. Where it does not converge, a matrix's results are NaN."""

from rabbet import lax
from rabbet.extend.primitive import ShapedArray, full_of_type
from rabbet.lax.linalg import matrices

from rabbet_pjrt_cpu.lowering import lapack

SVD = lax.linalg.SvdAlgorithm
ROUTINES = {None: "gesdd", SVD.DEFAULT: "gesdd", SVD.DIVIDE_AND_CONQUER: "gesdd", SVD.QR: "gesvd"}


def svd(op, a):
    """By `gesdd` (divide and conquer), or `gesvd` (QR iteration)."""
    algorithm = op["algorithm"]
    if algorithm not in ROUTINES:
        raise NotImplementedError(
            f"svd by {algorithm} is not offered on the CPU; use DEFAULT, DIVIDE_AND_CONQUER or QR"
        )
    (aval,) = op.in_avals
    if not aval.size:
        return op.write(lambda: [nothing(x, matrix=x.ndim == aval.ndim) for x in op.out_avals], [], [])
    *batch, m, n = aval.shape
    vectors, full = op["compute_uv"], op["full_matrices"] or not op["compute_uv"]
    u = ShapedArray((*batch, m, m if full else min(m, n)), aval.dtype)
    vh = ShapedArray((*batch, n if full else min(m, n), n), aval.dtype)
    s = op.out_avals[1 if vectors else 0]
    info = lapack.info_aval(batch)
    _, *names, ok = lapack.call(
        op, ROUTINES[algorithm], [a], [aval], [aval, s, u, vh, info], batch=len(batch), aliases={0: 0},
        attributes={"mode": ("A" if full else "S") if vectors else "N"},
    )  # fmt: skip
    if not vectors:
        return checked(op, [s], names[:1], info, ok)
    return checked(op, [u, s, vh], [names[1], names[0], names[2]], info, ok)


def nothing(aval, matrix):
    """What a matrix without elements has: an identity, or zeros."""
    return matrices.identity(aval) if matrix else full_of_type(aval, 0)


def checked(op, avals, names, info, ok):
    """Results, NaN where `ok`, the numbers that LAPACK returned, are not 0."""

    def finish(info, *outs):
        return [lapack.nan_unless(lax.eq(info, 0), x) for x in outs]

    return op.write(finish, [info, *avals], [ok, *names])


def eigh(op, a):
    """By `syevd` (`heevd`), divide and conquer."""
    implementation = op["implementation"]
    if implementation not in (None, lax.linalg.EighImplementation.QR):
        raise NotImplementedError(f"eigh by {implementation} is not offered on the CPU; use QR")
    vectors, values = op.out_avals
    batch = vectors.shape[:-2]
    info = lapack.info_aval(batch)
    *names, ok = lapack.call(
        op, "syevd", [a], [vectors], [vectors, values, info], batch=len(batch), aliases={0: 0},
        attributes={"mode": "V", "uplo": "L" if op["lower"] else "U"}, unitary="heevd",
    )  # fmt: skip
    return checked(op, [vectors, values], names, info, ok)


def eig(op, a):
    """By `geev`, which returns the eigenvalues of real matrices in two parts."""
    (aval,) = op.in_avals
    values = op.out_avals[0]
    batch = aval.shape[:-2]
    vectors, info = ShapedArray(aval.shape, values.dtype), lapack.info_aval(batch)
    real = aval.kind != "c"
    parts = [ShapedArray(values.shape, aval.dtype)] * 2 if real else [values]
    left, right = op["compute_left_eigenvectors"], op["compute_right_eigenvectors"]
    *names, vl, vr, ok = lapack.call(
        op, "geev", [a], [aval], [*parts, vectors, vectors, info], batch=len(batch),
        attributes={"compute_left": "V" if left else "N", "compute_right": "V" if right else "N"},
    )  # fmt: skip
    w = op.write(lambda re, im: [lax.complex(re, im)], parts, names) if real else names
    return checked(op, op.out_avals, [*w, *[vl] * left, *[vr] * right], info, ok)
