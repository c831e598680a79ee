"""Linear algebra on batches of matrices, JAX's ``lax.linalg``.

All arrays are of shape ``(..., m, n)``: the leading dimensions count matrices. Dtypes narrower than float32
are computed in float32. The module is imported when ``lax.linalg`` is first used.
"""

from rabbet.extend.functions import public_module
from rabbet.lax.linalg.factors import (
    cholesky, cholesky_update, lu, lu_pivots_to_permutation, symmetric_product,
)  # fmt: skip
from rabbet.lax.linalg.explicit_shardings import give_to_all
from rabbet.lax.linalg.orthogonal import geqp3, geqrf, householder_product, ormqr, qr
from rabbet.lax.linalg.polar import qdwh
from rabbet.lax.linalg.reductions import hessenberg, schur, tridiagonal
from rabbet.lax.linalg.solving import triangular_solve, tridiagonal_solve
from rabbet.lax.linalg.spectral import EighImplementation, EigImplementation, SvdAlgorithm, eig, eigh, svd

__passes_operations_on__ = False

__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_update", "eig", "eigh",
    "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "lu_pivots_to_permutation", "ormqr",
    "qdwh", "qr", "schur", "svd", "symmetric_product", "triangular_solve", "tridiagonal",
    "tridiagonal_solve",
]  # fmt: skip

give_to_all()
public_module(globals())
