"""Linear algebra on batches of matrices, the field's ``lax.linalg``.

All arrays are of shape ``(..., m, n)``: the leading dimensions count matrices. Dtypes narrower than float32
are computed in float32. The module is imported when ``lax.linalg`` is first used.
"""

from rabbet.lax.linalg.factors import (
    cholesky,
    cholesky_update,
    lu,
    lu_pivots_to_permutation,
    symmetric_product,
)
from rabbet.lax.linalg.polar import qdwh
from rabbet.lax.linalg.reductions import hessenberg, schur, tridiagonal
from rabbet.lax.linalg.solving import triangular_solve, tridiagonal_solve
from rabbet.lax.linalg.orthogonal import geqp3, geqrf, householder_product, ormqr, qr
from rabbet.lax.linalg.spectral import EigImplementation, EighImplementation, SvdAlgorithm, eig, eigh, svd
from rabbet.messages.tracebacks import fold_public as _fold_public

_fold_public(globals())
