"""The generalized minimal residual method."""

import operator
from collections.abc import Callable
from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.scipy.inputs import one_of, where
from rabbet.scipy.sparse.linalg.systems import as_vector, limits_of, solved


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-05,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Callable | Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Array]:
    """Solve ``A x = b`` for any ``A`` by the generalized minimal residual method.

    Args:
      A, b, x0: as for ``cg``; ``A`` need not be Hermitian.
      tol, atol: done when the residual's norm is at most ``max(tol |b|, atol)``. With ``M`` it is the
        residual multiplied by ``M``, beside ``M b``.
      restart: how many directions are built before the best combination of them is taken and a new round
        begins.
      maxiter: how many rounds at most; None: ten times the number of unknowns.
      M: what approximates the inverse of ``A``; it is multiplied from the left.
      solve_method: ``"batched"``: the combination is computed at the end of a round; ``"incremental"``: it is
        kept up to date by rotations, and a round ends as soon as the residual is small enough.

    Returns:
      ``(x, info)``; ``x`` like ``b``, ``info`` an integer: 0, or -1 where ``x`` has a NaN.

    Derivatives are found by another solve, as for ``cg``.

    Raises:
      ValueError: for an unknown ``solve_method``, ``restart`` below 1, or arguments that do not fit.

    The method is that of Y. Saad and M. Schultz, GMRES: a generalized minimal residual algorithm for solving
    nonsymmetric linear systems, 1986. Directions are made orthogonal twice, by sums of products.

    Example:
      >>> x, _ = gmres(rnp.array([[4.0, 1.0], [2.0, 3.0]]), rnp.array([1.0, 2.0]))
      >>> print(np.asarray(x).round(3) + 0.0)
      [0.1 0.6]
    """
    one_of("gmres", "solve_method", solve_method, ("batched", "incremental"))
    restart = operator.index(restart)
    if restart < 1:
        raise ValueError(f"gmres: restart must be at least 1, got {restart}")
    a_round = batched_round if solve_method == "batched" else incremental_round

    def steps(A, b, x, M):
        limits = limits_of("gmres", b, tol, atol, maxiter, 10)
        flat, unravel = as_vector(b)
        size = min(restart, flat.size)

        def preconditioned(v):
            return as_vector(M(unravel(v)))[0]

        def product(v):
            return preconditioned(as_vector(A(unravel(v)))[0])

        def residual(x):
            return preconditioned(flat - as_vector(A(unravel(x)))[0])

        right, plain = rnp.linalg.norm(preconditioned(flat)), rnp.linalg.norm(flat)
        share = limits.atol / where(plain > 0, plain, 1)
        stop = right * rnp.maximum(limits.tol, rnp.minimum(share, 1.0))

        def more(state):
            _, _, size_of_rest, k = state
            return (size_of_rest > stop) & (k < limits.maxiter)

        def again(state):
            x, r, beta, k = state
            x = x + a_round(product, r, beta, size, stop)
            r = residual(x)
            return x, r, rnp.linalg.norm(r), k + 1

        start = as_vector(x)[0]
        r = residual(start)
        return unravel(lax.while_loop(more, again, (start, r, rnp.linalg.norm(r), 0))[0])

    x, _ = solved("gmres", steps, A, b, x0, M, symmetric=False)
    return x, rnp.where(rnp.isnan(rnp.linalg.norm(as_vector(x)[0])), -1, 0)


def next_direction(product, V, k):
    """One step of W. Arnoldi's process: ``A`` times the ``k``-th row of ``V``, its parts along all rows, and
    what is left, of length 1 (or zero, where nothing is left).
    """
    w = product(V[k])
    length = rnp.linalg.norm(w)
    parts = V.conj() @ w
    w = w - parts @ V
    more = V.conj() @ w
    w, parts = w - more @ V, parts + more
    rest = rnp.linalg.norm(w)
    some = rest > length * rnp.finfo(w.dtype).eps
    rest = where(some, rest, 0)
    return parts, rest, where(some, w / where(some, rest, 1), 0)


def first_direction(r, beta, size):
    """``size + 1`` rows, the first of which is ``r`` of length 1, the others zero."""
    some = beta > 0
    first = where(some, r / where(some, beta, 1), 0)
    return rnp.zeros((size + 1, r.size), r.dtype).at[0].set(first)


def batched_round(product, r, beta, size, stop):
    """What to add to ``x`` after ``size`` directions: the least-squares solution with their matrix."""

    def step(k, state):
        V, H = state
        parts, rest, v = next_direction(product, V, k)
        return V.at[k + 1].set(v), H.at[k].set(parts.at[k + 1].set(rest))

    V = first_direction(r, beta, size)
    V, H = lax.fori_loop(0, size, step, (V, rnp.zeros((size, size + 1), r.dtype)))
    right = rnp.zeros(size + 1, r.dtype).at[0].set(beta)
    y = least_squares(H.T, right)
    return y @ V[:size]


def least_squares(H, right):
    """The least-squares solution, with zeros for directions that were not found any more."""
    used = rnp.any(H != 0, 0)
    H = H + rnp.pad(rnp.diag(where(used, 0, 1)), [(0, 1), (0, 0)]).astype(H.dtype)
    q, R = rnp.linalg.qr(H)
    d = rnp.abs(rnp.diagonal(R))
    R = R + rnp.diag(where(d == 0, 1, 0)).astype(R.dtype)  # a singular A that breaks down
    return where(used & (d != 0), lax.linalg.triangular_solve(R, q.conj().T @ right, left_side=True), 0)


def incremental_round(product, r, beta, size, stop):
    """What to add to ``x``: the triangular factor of the directions' matrix is kept by Givens rotations, by
    which the residual's norm is known after each.
    """

    def more(state):
        *_, rest, k = state
        return (k < size) & (rest > stop)

    def step(state):
        V, R, turns, right, _, k = state
        parts, rest, v = next_direction(product, V, k)
        column = parts.at[k + 1].set(rest)
        column = lax.fori_loop(0, k, lambda i, c: turned(c, turns[i], i), column)
        turn = rotation(column[k], column[k + 1])
        column, right = turned(column, turn, k), turned(right, turn, k)
        return (
            V.at[k + 1].set(v), R.at[:, k].set(column[:size]), turns.at[k].set(turn), right,
            rnp.abs(right[k + 1]), k + 1,
        )  # fmt: skip

    dtype = r.dtype
    right = rnp.zeros(size + 1, dtype).at[0].set(beta)
    start = (first_direction(r, beta, size), rnp.eye(size, dtype=dtype), rnp.zeros((size, 2), dtype), right,
             beta, 0)  # fmt: skip
    V, R, _, right, _, k = lax.while_loop(more, step, start)
    d = rnp.diagonal(R)
    used = (rnp.arange(size) < k) & (d != 0)
    R = R + rnp.diag(where(d == 0, 1, 0)).astype(dtype)
    y = lax.linalg.triangular_solve(R, where(used, right[:size], 0), left_side=True)
    return y @ V[:size]


def rotation(a, b):
    """``(c, s)`` with ``[[c*, s*], [-s, c]]`` that turns ``(a, b)`` to ``(r, 0)``."""
    length = rnp.sqrt(rnp.square(rnp.abs(a)) + rnp.square(rnp.abs(b)))
    some = length > 0
    safe = where(some, length, 1)
    return rnp.stack([where(some, a / safe, 1), where(some, b / safe, 0)])


def turned(x, turn, i):
    """``x`` with its elements ``i`` and ``i + 1`` rotated."""
    c, s = turn[0], turn[1]
    a, b = x[i], x[i + 1]
    return x.at[i].set(c.conj() * a + s.conj() * b).at[i + 1].set(c * b - s * a)
