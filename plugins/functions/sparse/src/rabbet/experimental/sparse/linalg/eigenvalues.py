"""The largest eigenvalues of symmetric matrices that are known by their products."""

from collections.abc import Callable
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import lax


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> tuple[Any, Any, Any]:
    """The ``k`` largest eigenvalues of a symmetric matrix, and their eigenvectors.

    Args:
      A: a symmetric matrix [n, n], dense or sparse, or a function that returns ``A @ X`` for a matrix
        ``X`` [n, j].
      X: where the search starts: a matrix [n, k] of floats, with ``5 k < n``; random numbers will do.
      m: how many steps at most.
      tol: done when for every pair ``|A u - theta u| <= 10 n tol (|A| + |theta|)``, where ``|A|``
        is an estimate from the first products; None: the precision of the dtype.

    Returns:
      ``(theta, U, i)``: the eigenvalues from the largest on, [k]; orthonormal eigenvectors, [n, k]; the
      number of steps.

    Raises:
      ValueError: if the shapes do not fit.
      TypeError: if ``X`` is not of floats.

    Every step takes the best vectors out of the space of the current ones, their residuals and the directions
    of the last step: A. Knyazev, Toward the optimal preconditioned eigensolver, 2001; with an orthonormal
    basis, as J. Duersch and others, A robust and efficient implementation of LOBPCG, 2018.

    Example:
      >>> A = rnp.diag(rnp.arange(1.0, 21.0))
      >>> theta, U, i = lobpcg_standard(A, rnp.eye(20, 2) + 0.1)
      >>> print(np.asarray(theta).round(3))
      [20. 19.]
    """
    X = rnp.asarray(X)
    product = product_with(A)
    check(A, X, product)
    n, k = X.shape
    eps = np.finfo(X.dtype).eps if tol is None else tol
    X, _ = rnp.linalg.qr(X)
    AX = product(X)
    scale = rnp.sqrt(rnp.sum(AX * AX) / k)

    def best_of(S, AS):
        """Ritz vectors of a space with an orthonormal basis: values and coordinates, the largest first."""
        G = S.T @ AS
        values, Y = rnp.linalg.eigh((G + G.T) / 2)
        return values[::-1][:k], Y[:, ::-1][:, :k]

    def going_on(state):
        *_, done, i = state
        return ~done & (i < m)

    def step(state):
        X, AX, P, theta, _, i = state
        R = AX - X * theta
        S, _ = rnp.linalg.qr(rnp.concatenate([X, outside(R, X), outside(P, X)], 1))
        AS = product(S)
        theta, Y = best_of(S, AS)
        P = S[:, k:] @ Y[k:]
        X, AX = S @ Y, AS @ Y
        left = rnp.linalg.norm(AX - X * theta, axis=0)
        done = (left <= 10 * n * eps * (scale + rnp.abs(theta))).all()
        return X, AX, P, theta, done, i + 1

    theta, Y = best_of(X, AX)
    X, AX = X @ Y, AX @ Y
    start = (X, AX, rnp.zeros_like(X), theta, rnp.asarray(False), rnp.asarray(0, "int32"))
    X, _, _, theta, _, i = lax.while_loop(going_on, step, start)
    return theta, X, i


def outside(V, X):
    """What of vectors is orthogonal to ``X``, normalized."""
    for _ in range(2):
        V = V - X @ (X.T @ V)
    length = rnp.linalg.norm(V, axis=0)
    return V / rnp.where(length == 0, 1, length)


def product_with(A: Any) -> Callable:
    """The function ``X -> A @ X``."""
    return A if callable(A) else lambda X: A @ X


def check(A, X, product):
    """Refuse what does not fit together."""
    if X.ndim != 2:
        raise ValueError(f"lobpcg_standard: X must be a matrix, got shape {X.shape}")
    if not np.issubdtype(X.dtype, np.floating):
        raise TypeError(f"lobpcg_standard: X must be of floats, got {X.dtype}")
    n, k = X.shape
    if k < 1 or n <= 5 * k:
        raise ValueError(
            f"lobpcg_standard: X of shape {X.shape}: there must be a column, and more than 5 k rows"
        )
    shape = getattr(A, "shape", None)
    if not callable(A) and shape != (n, n):
        raise ValueError(f"lobpcg_standard: A must have the shape {(n, n)}, got {shape}")
    if callable(A):
        out = rnp.shape(product(rnp.zeros((n, 1), X.dtype)))
        if out != (n, 1):
            raise ValueError(f"lobpcg_standard: A made {out} of a matrix of shape {(n, 1)}")
