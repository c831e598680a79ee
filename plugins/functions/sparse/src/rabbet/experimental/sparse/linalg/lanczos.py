"""A few eigenvalues of Hermitian matrices that are known by their products with vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rabbet_autodiff import closure_convert
from rabbet_vmap import vmap

import rabbet.numpy as rnp
from rabbet import lax, random

WHICH = ("LM", "SM", "LA", "SA", "BE")


def eigsh(
    A: Any,
    k: int = 6,
    which: str = "LM",
    v0: Any = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0,
    return_eigenvectors: bool = True,
) -> Any:
    """A few eigenvalues of a Hermitian matrix and their eigenvectors, by the method of Lanczos.

    Args:
      A: a Hermitian matrix [n, n], dense or sparse, or a function that returns ``A @ x`` for a vector
        ``x`` [n] and can be mapped (``vmap``).
      k: how many.
      which: ``"LM"``, ``"SM"``: those of largest or smallest magnitude; ``"LA"``, ``"SA"``: the largest or
        smallest; ``"BE"``: half of them from either end, one more from the upper. Those of smallest magnitude
        lie inside and take many steps.
      v0: [n], where the search starts; None: random numbers, always the same. A function ``A`` needs it, for
        its shape and dtype.
      ncv: how many vectors are kept, more than ``k`` and at most ``n``; None: ``max(2 k + 1, 20)``.
      maxiter: how often to start again at most; None: ``10 n``.
      tol: a pair is found when ``|A u - w u| <= tol |w|``; 0: the precision of the dtype.
      return_eigenvectors: False: return the eigenvalues alone.

    Returns:
      ``(w, v)``: the eigenvalues, increasing, real, [k]; orthonormal eigenvectors, [n, k]. Both are NaN for
      what was not found within ``maxiter``.

    Derivatives, in both modes and of higher order, are those of the equation ``A v = v w``, by what ``A``
    holds or closes over; nothing of the steps is kept. Those of a vector need an eigenvalue that differs from
    all others, those of ``"SM"`` take twice as many products. The gradient by a matrix is one of Hermitian
    changes.

    All vectors are kept orthogonal to each other, and the search starts again from the best of them: K. Wu
    and H. Simon, Thick-restart Lanczos method for large symmetric eigenvalue problems, 2000. As with all
    methods of this kind, of an eigenvalue that occurs several times not all copies need be found.

    Raises:
      TypeError: if ``A`` is a function and ``v0`` is missing, or if neither floats nor complex numbers are
        given.
      ValueError: for shapes or numbers that do not fit.

    Example:
      >>> A = rnp.diag(rnp.arange(1.0, 101.0))
      >>> w, v = eigsh(A, k=2, which="LA")
      >>> print(np.asarray(w).round(2))
      [ 99. 100.]
      >>> w = eigsh(lambda x: A @ x, k=1, which="SA", v0=rnp.ones(100), return_eigenvectors=False)
      >>> print(np.asarray(w).round(2))
      [1.]
    """
    product, v0 = operands(A, v0)
    (n,) = v0.shape
    m = min(n, max(2 * k + 1, 20)) if ncv is None else ncv
    check(k, which, n, m)
    steps = 10 * n if maxiter is None else maxiter
    converted: Any
    consts: Any
    converted, consts = closure_convert(product, v0)
    still = [lax.stop_gradient(c) for c in consts]

    def fixed(x):
        return converted(x, *still)

    values, vectors = search(fixed, lax.stop_gradient(v0), k, which, m, steps, tol)
    out = implicitly(product, fixed, values, vectors, which == "SM")
    return out if return_eigenvectors else out[0]


def operands(A, v0):
    """The product with a vector, and where to start."""
    if callable(A):
        if v0 is None:
            raise TypeError("eigsh: a function A needs v0, a vector [n], for its shape and dtype")
        v0 = rnp.asarray(v0)
        product = A
    else:
        shape = rnp.shape(A)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"eigsh: A must be square, [n, n], got shape {shape}")
        A = rnp.asarray(A) if isinstance(A, np.ndarray) else A
        product = lambda x: A @ x
        if v0 is None:
            v0 = fresh(shape[0], A.dtype, 0)
        v0 = rnp.asarray(v0)
        if v0.shape != shape[:1]:
            raise ValueError(f"eigsh: v0 must have the shape {shape[:1]}, got {v0.shape}")
        v0 = rnp.asarray(v0, rnp.result_type(v0.dtype, A.dtype))
    if v0.ndim != 1:
        raise ValueError(f"eigsh: v0 must be a vector, got shape {v0.shape}")
    if not np.issubdtype(v0.dtype, np.inexact):
        raise TypeError(f"eigsh takes floats or complex numbers, got {v0.dtype}; convert A or v0 first")
    return product, v0


def check(k, which, n, m):
    """Refuse numbers that do not fit."""
    if which not in WHICH:
        raise ValueError(f"eigsh: which must be one of {', '.join(map(repr, WHICH))}, got {which!r}")
    if not 0 < k <= n:
        raise ValueError(f"eigsh: k must be from 1 to n = {n}, got {k}")
    if not (k < m <= n or k == m == n):
        raise ValueError(f"eigsh: ncv must be above k = {k} and at most n = {n}, got {m}")


def fresh(n, dtype, number):
    """Random numbers, always the same."""
    return random.normal(random.fold_in(random.key(0), number), (n,), dtype)


def ranked(theta, which):
    """Positions of increasing numbers, the wanted ones first."""
    m = theta.shape[0]
    if which == "BE":
        return rnp.asarray([m - 1 - i // 2 if i % 2 == 0 else i // 2 for i in range(m)])
    keys = {"LA": -theta, "SA": theta, "LM": -rnp.abs(theta), "SM": rnp.abs(theta)}
    return rnp.argsort(keys[which])


def length(x):
    return rnp.sqrt(rnp.sum(rnp.square(rnp.abs(x))))


def search(product, v0, k, which, m, steps, tol):
    """``(w, v)``: the pairs, eigenvalues increasing."""
    (n,), dtype = v0.shape, v0.dtype
    eps = float(rnp.finfo(dtype).eps)
    kept = min(k + (m - k) // 2, m)

    def without(w, V):
        """What of ``w`` is orthogonal to the rows of ``V``, and its parts along them; twice is enough."""
        h = rnp.conj(V) @ w
        w = w - h @ V
        more = rnp.conj(V) @ w
        return w - more @ V, h + more

    def expanded(j, state):
        """One vector more: the product with the newest one."""
        V, T, _, again = state
        w, h = without(product(V[j]), V)
        beta = length(w)
        # Nothing new comes out of this space: go on from another place.
        over = beta <= 10 * eps * length(h)
        other, _ = without(fresh(n, dtype, again + j + 1), V)
        size = length(other)
        other = rnp.where(size > n * 10 * eps, other / rnp.where(size == 0, 1, size), 0)
        other, _ = without(other, V)
        new = rnp.where(over, other, w / rnp.where(over, 1, beta))
        return V.at[j + 1].set(new), T.at[:, j].set(h[:m]), rnp.where(over, 0, beta), again

    def going_on(state):
        return ~state[-2] & (state[-1] < steps)

    def turn(state):
        V, T, start, *_, i = state
        V, T, beta, _ = lax.fori_loop(start, m, expanded, (V, T, rnp.zeros((), v0.real.dtype), i * (m + 1)))
        T = rnp.triu(T)
        theta, Y = rnp.linalg.eigh(T + rnp.conj(rnp.triu(T, 1)).T, symmetrize_input=False, UPLO="U")
        order = ranked(theta, which)[:kept]
        left, theta = beta * rnp.abs(Y[m - 1, order]), theta[order]
        size = rnp.max(rnp.abs(theta))
        near = rnp.maximum(max(tol, eps) * rnp.abs(theta[:k]), 4 * eps * size)
        found = left[:k] <= near
        V = rnp.zeros_like(V).at[:kept].set(Y[:, order].T @ V[:m]).at[kept].set(V[m])
        T = rnp.zeros_like(T).at[rnp.arange(kept), rnp.arange(kept)].set(rnp.asarray(theta, dtype))
        done = rnp.all(found) | rnp.isnan(beta)
        return V, T, rnp.asarray(kept, "int32"), theta[:k], found, done, i + 1

    V = rnp.zeros((m + 1, n), dtype).at[0].set(v0 / length(v0))
    nothing = rnp.zeros(k, v0.real.dtype)
    zero = rnp.zeros((), "int32")
    start = (V, rnp.zeros((m, m), dtype), zero, nothing, nothing > 0, rnp.asarray(False), zero)
    V, _, _, theta, found, _, _ = lax.while_loop(going_on, turn, start)
    order = rnp.argsort(theta)
    values = rnp.where(found, theta, rnp.nan)[order]
    return values, rnp.where(found[:, None], V[:k], rnp.nan)[order].T


# ------------------------------------------------------------------------------------------------ derivatives
def implicitly(product: Callable, fixed: Callable, values: Any, vectors: Any, inside: bool) -> Any:
    """The pairs as a root of ``A v - v w = 0`` and ``v0^H v = 1``, with ``v0`` the vectors that were found:
    that makes both unique. The length of the vectors is set to 1 afterwards.

    Args:
      fixed: the same product, which is not differentiated.
      inside: other eigenvalues are on both sides of these.
    """
    dtype = vectors.dtype
    many, many_fixed = vmap(product, 1, 1), vmap(fixed, 1, 1)
    w0, v0 = rnp.asarray(values, dtype), vectors
    gaps = w0[:, None] - w0[None, :]
    equal = rnp.abs(gaps) == 0

    def equation(pair):
        v, w = pair
        return many(v) - v * w[None, :], 1 - rnp.sum(rnp.conj(v0) * v, 0)

    def outside(x):
        return x - v0 @ (rnp.conj(v0).T @ x)

    def shifted(x):
        x = outside(many_fixed(x) - x * w0[None, :])
        return outside(many_fixed(x) - x * w0[None, :]) if inside else x

    def solve(_, right):
        """Along the vectors by differences of eigenvalues; beside them by conjugate gradients: there all
        other eigenvalues are on one side, or with the square of the map, which is definite.
        """
        y, z = right
        w = -rnp.sum(rnp.conj(v0) * y, 0)
        y = y + v0 * w[None, :]
        along = rnp.conj(v0).T @ y
        nothing = rnp.eye(w0.shape[0], dtype=bool) | (equal & (along == 0))
        along = rnp.where(nothing, 0, along / rnp.where(nothing, 1, gaps))
        y = outside(y)
        if inside:
            y = outside(many_fixed(y) - y * w0[None, :])
        return v0 @ along + conjugate_gradients(shifted, y, outside) - v0 * z[None, :], w

    def solve_transposed(_, right):
        x, w = solve(_, tuple(rnp.conj(part) for part in right))
        return rnp.conj(x), rnp.conj(w)

    def tangents(linear, right):
        return lax.custom_linear_solve(linear, right, solve, solve_transposed)

    v, w = lax.custom_root(equation, (v0, w0), lambda _, pair: pair, tangents)
    return w.real, v / rnp.sqrt(rnp.sum(rnp.square(rnp.abs(v)), 0))[None, :]


def conjugate_gradients(linear, b, clean):
    """The solution for each column, by a map that is definite, positive or negative, on a space.

    Args:
      clean: the projection on that space: what rounding leaves beside it, where the map is zero, would grow
        without end.
    """
    most = 4 * b.shape[0]
    eps = float(rnp.finfo(b.dtype).eps)

    def squares(x):
        return rnp.sum(rnp.square(rnp.abs(x)), 0)

    bound = squares(b) * (8 * eps) ** 2

    def going_on(state):
        return rnp.any(state[3] > bound) & (state[-1] < most)

    def step(state):
        x, r, p, size, best, least, i = state
        on = size > bound
        q = linear(p)
        bent = rnp.sum(rnp.conj(p) * q, 0).real
        on = on & (bent != 0)
        alpha = rnp.where(on, size / rnp.where(on, bent, 1), 0)
        x, r = x + p * alpha[None, :], clean(r - q * alpha[None, :])
        new = squares(r)
        p = r + p * rnp.where(on, new / rnp.where(on, size, 1), 0)[None, :]
        better = on & (new < least)
        best = rnp.where(better[None, :], x, best)
        return x, r, p, rnp.where(on, new, 0), best, rnp.where(better, new, least), i + 1

    size = squares(b)
    start = (rnp.zeros_like(b), b, b, size, rnp.zeros_like(b), size, rnp.zeros((), "int32"))
    return lax.while_loop(going_on, step, start)[4]
