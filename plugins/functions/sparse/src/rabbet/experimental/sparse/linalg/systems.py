"""Sparse linear systems by a direct method, SciPy's SuperLU, on the host."""

import importlib.util
import warnings
from typing import Any

import numpy as np

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental.sparse.bcsr import BCSR


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """Solve ``A x = b`` for a square matrix ``A`` that is given as CSR stores it.

    Args:
      data, indices, indptr: the values, their columns, and where each row begins.
      b: the right-hand side, a vector [n] or several as a matrix [n, k].
      tol, reorder: accepted, without effect: SuperLU chooses its own order.

    Returns:
      an array like ``b``; NaN, with a warning of SciPy, if the matrix is singular.

    Raises:
      ImportError: if SciPy is not installed.
      ValueError: if the shapes do not fit.
      TypeError: if a dtype is not floating point or complex.

    The system is solved on the host by SciPy, also in compiled programs. Derivatives by ``data`` and ``b``
    are found by another solve each, and ``vmap`` solves one system after the other.

    Example:
      >>> A = rb.experimental.sparse.BCSR.fromdense(rnp.array([[2.0, 1.0], [0.0, 4.0]]))
      >>> spsolve(A.data, A.indices, A.indptr, rnp.array([4.0, 8.0]))
      Array([1., 2.], dtype=float32)
    """
    del tol, reorder
    if importlib.util.find_spec("scipy") is None:
        raise ImportError("spsolve needs SciPy: python -m pip install rabbet-sparse[scipy]")
    data, indices, indptr, b = [rnp.asarray(x) for x in (data, indices, indptr, b)]
    if data.ndim != 1 or indices.shape != data.shape or indptr.ndim != 1 or b.ndim not in (1, 2):
        raise ValueError(
            "spsolve: data, indices and indptr must have one dimension, the first two of one length, and b "
            f"one or two; got the shapes {data.shape}, {indices.shape}, {indptr.shape} and {b.shape}"
        )
    n = indptr.shape[0] - 1
    if b.shape[0] != n:
        raise ValueError(f"spsolve: indptr is that of {n} rows, and b has {b.shape[0]}")
    dtype = rnp.result_type(data, b)
    if not np.issubdtype(dtype, np.inexact):
        raise TypeError(f"spsolve: data and b must be floating point or complex, got {data.dtype}, {b.dtype}")
    data, b = data.astype(dtype), b.astype(dtype)
    matrix = BCSR((data, indices, indptr), shape=(n, n)).to_bcoo()

    def solve_with(transposed):
        def solve(_, b):
            host = lambda *arrays: on_host(*arrays, transposed=transposed)
            shape = rb.ShapeDtypeStruct(b.shape, b.dtype)
            return rb.pure_callback(host, shape, data, indices, indptr, b, vmap_method="sequential")

        return solve

    return lax.custom_linear_solve(lambda x: matrix @ x, b, solve_with(False), solve_with(True))


def on_host(data, indices, indptr, b, transposed):
    """The solution of one system, or of the transposed one, by SciPy."""
    from scipy import sparse
    from scipy.sparse import linalg

    n = len(indptr) - 1
    matrix = sparse.csr_matrix((np.asarray(data), np.asarray(indices), np.asarray(indptr)), shape=(n, n))
    b = np.asarray(b)
    if not n:
        return b
    matrix = matrix.T if transposed else matrix
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        x = linalg.spsolve(matrix.tocsc(), b)
    return np.asarray(x, b.dtype).reshape(b.shape)
