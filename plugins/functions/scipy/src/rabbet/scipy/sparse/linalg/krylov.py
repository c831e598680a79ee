"""The conjugate gradient method and its relative for matrices that are not symmetric."""

from collections.abc import Callable
from typing import Any

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.inputs import where
from rabbet.scipy.sparse.linalg.systems import (
    dot,
    enough,
    limits_of,
    moved,
    solved,
    sub,
    vdot,
)  # fmt: skip


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Callable | Any = None,
) -> tuple[Any, None]:
    """Solve ``A x = b`` for a Hermitian positive definite ``A`` by the conjugate gradient method.

    Args:
      A: a matrix, an object with ``@``, or a function that returns ``A x`` for ``x`` like ``b``.
      b: an array, or a tree of arrays that are taken as one vector.
      x0: where to start, like ``b``; None: at zero.
      tol, atol: done when the residual's norm is at most ``max(tol |b|, atol)``.
      maxiter: how many steps at most; None: ten times the number of unknowns.
      M: what approximates the inverse of ``A`` (a preconditioner), given as ``A`` is; Hermitian and
        positive definite.

    Returns:
      ``(x, None)``; ``x`` like ``b``.

    Derivatives with respect to ``b`` and to arrays that ``A`` is made of are found by another solve. They are
    right if both converge. ``x0`` and ``M`` have none.

    Raises:
      ValueError: if ``x0`` is not like ``b``, or ``A`` is not a square matrix.

    The method is that of M. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear
    systems, 1952.

    Example:
      >>> x, _ = cg(rnp.array([[4.0, 1.0], [1.0, 3.0]]), rnp.array([1.0, 2.0]))
      >>> print(np.asarray(x).round(3) + 0.0)
      [0.091 0.636]
    """

    def steps(A, b, x, M):
        limits = limits_of("cg", b, tol, atol, maxiter, 10)
        stop = enough(b, limits)

        def more(state):
            _, r, _, _, k = state
            return (vdot(r, r) > stop) & (k < limits.maxiter)

        def step(state):
            x, r, p, gamma, k = state
            Ap = A(p)
            alpha = gamma / vdot(p, Ap)
            x, r = moved(x, alpha, p), moved(r, -alpha, Ap)
            z = M(r)
            after = vdot(r, z)
            return x, r, moved(z, after / gamma, p), after, k + 1

        r = sub(b, A(x))
        z = M(r)
        return lax.while_loop(more, step, (x, r, z, vdot(r, z), 0))[0]

    return solved("cg", steps, A, b, x0, M, symmetric=True)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Callable | Any = None,
) -> tuple[Any, None]:
    """Solve ``A x = b`` for any ``A`` by the stabilized biconjugate gradient method.

    Args:
      A, b, x0, tol, atol, maxiter: as for ``cg``; ``A`` need not be Hermitian.
      M: what approximates the inverse of ``A``.

    Returns:
      ``(x, None)``. Where the method breaks down before it has converged, ``x`` is what it had reached.

    Derivatives are found by another solve, as for ``cg``.

    The method is that of H. van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the
    solution of nonsymmetric linear systems, 1992.

    Example:
      >>> x, _ = bicgstab(rnp.array([[4.0, 1.0], [2.0, 3.0]]), rnp.array([1.0, 2.0]))
      >>> print(np.asarray(x).round(3) + 0.0)
      [0.1 0.6]
    """

    def steps(A, b, x, M):
        limits = limits_of("bicgstab", b, tol, atol, maxiter, 10)
        stop = enough(b, limits)

        def more(state):
            _, r, *_, sound, k = state
            return (vdot(r, r) > stop) & sound & (k < limits.maxiter)

        def step(state):
            x, r, shadow, p, v, alpha, omega, rho, _, k = state
            after = dot(shadow, r)
            beta = after / rho * alpha / omega
            p = moved(r, beta, moved(p, -omega, v))
            p_hat = M(p)
            v = A(p_hat)
            alpha = after / dot(shadow, v)
            s = moved(r, -alpha, v)
            half = vdot(s, s) <= stop
            s_hat = M(s)
            t = A(s_hat)
            squares = dot(t, t)
            none = half | (squares == 0)
            omega = where(none, 0, dot(t, s) / where(none, 1, squares))
            x = moved(moved(x, alpha, p_hat), omega, s_hat)
            r = moved(s, -omega, t)
            sound = ((omega != 0) & (after != 0)) | half
            return x, r, shadow, p, v, alpha, omega, after, sound, k + 1

        r = sub(b, A(x))
        one = rnp.ones_like(dot(b, b))
        start = (x, r, r, sub(r, r), sub(r, r), one, one, one, True, 0)
        return lax.while_loop(more, step, start)[0]

    return solved("bicgstab", steps, A, b, x0, M, symmetric=False)
