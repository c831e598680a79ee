"""Matrices that are made of the elements of vectors or of other matrices."""

import operator

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import array, one_of
from rabbet.scipy.linalg.matrices import inexact


def vector(name, argument, a):
    """An array of at least one dimension, whose last one counts."""
    a = array(name, a)
    if a.ndim < 1:
        raise ValueError(f"{name}: {argument} must be of shape (..., n), got a number")
    return a


def offsets(rows, columns):
    """``i - j`` for each place of a matrix, a NumPy array."""
    return np.arange(rows)[:, None] - np.arange(columns)[None, :]


def beside(name, *arrays):
    """Vectors in one dtype with their leading dimensions broadcast, side by side."""
    dtype = dtypes.result_type(*arrays)
    batch = rnp.broadcast_shapes(*[a.shape[:-1] for a in arrays])
    parts = [rnp.broadcast_to(rnp.asarray(a, dtype), (*batch, a.shape[-1])) for a in arrays]
    return rnp.concatenate(parts, -1)


@fused
def toeplitz(c: Array, r: Array | None = None) -> Array:
    """The matrix with ``c[i - j]`` on and below the diagonal and ``r[j - i]`` above it.

    Args:
      c: of shape ``(..., n)``, the first column.
      r: of shape ``(..., m)``, the first row, whose first element is not read; None: the conjugate of ``c``.
        Leading dimensions are broadcast.

    Returns:
      of shape ``(..., n, m)``.

    Example:
      >>> print(toeplitz(rnp.array([1, 2, 3])))
      [[1 2 3]
       [2 1 2]
       [3 2 1]]
    """
    c = rnp.atleast_1d(array("toeplitz", c))
    r = rnp.conj(c) if r is None else rnp.atleast_1d(array("toeplitz", r))
    n, m = c.shape[-1], r.shape[-1]
    if not n or not m:
        return beside("toeplitz", c[..., :0], r[..., :0])[..., None][..., :0].reshape(
            (*rnp.broadcast_shapes(c.shape[:-1], r.shape[:-1]), n, m)
        )
    return beside("toeplitz", r[..., :0:-1], c)[..., offsets(n, m) + m - 1]


@fused
def hankel(c: Array, r: Array | None = None) -> Array:
    """The matrix with ``v[i + j]``, where ``v`` is ``c`` and then ``r`` without its first element.

    Args:
      c: of shape ``(..., n)``, the first column.
      r: of shape ``(..., m)``, the last row; None: zeros, as many as ``c`` has. Leading dimensions are
        broadcast.

    Returns:
      of shape ``(..., n, m)``.

    Example:
      >>> print(hankel(rnp.array([1, 2, 3])))
      [[1 2 3]
       [2 3 0]
       [3 0 0]]
    """
    c = vector("hankel", "c", c)
    r = rnp.zeros_like(c) if r is None else vector("hankel", "r", r)
    n, m = c.shape[-1], r.shape[-1]
    return beside("hankel", c, r[..., 1:])[..., np.arange(n)[:, None] + np.arange(m)]


@fused
def circulant(c: Array) -> Array:
    """The matrix with ``c[(i - j) % n]``: each column is the one before it, turned by one.

    Args:
      c: of shape ``(..., n)``, the first column.

    Returns:
      of shape ``(..., n, n)``.

    Example:
      >>> print(circulant(rnp.array([1, 2, 3])))
      [[1 3 2]
       [2 1 3]
       [3 2 1]]
    """
    c = rnp.atleast_1d(array("circulant", c))
    n = c.shape[-1]
    return c[..., offsets(n, n) % max(n, 1)]


@fused
def companion(a: Array) -> Array:
    """A matrix whose eigenvalues are the roots of a polynomial.

    Args:
      a: of shape ``(..., n)`` with ``n >= 2``: coefficients, the highest power first; the first is not zero
        (else the result is not finite).

    Returns:
      of shape ``(..., n - 1, n - 1)``: ``-a[1:] / a[0]`` in the first row, ones below the diagonal.

    Raises:
      ValueError: for less than two coefficients.

    Example:
      >>> print(companion(rnp.array([1.0, -3.0, 2.0])))
      [[ 3. -2.]
       [ 1.  0.]]
    """
    a = vector("companion", "a", inexact("companion", a))
    n = a.shape[-1]
    if n < 2:
        raise ValueError(f"companion takes at least two coefficients, got shape {a.shape}")
    first = -a[..., 1:] / a[..., :1]
    below = rnp.broadcast_to(rnp.eye(n - 2, n - 1, dtype=a.dtype), (*a.shape[:-1], n - 2, n - 1))
    return rnp.concatenate([first[..., None, :], below], -2)


@fused(static=("n", "mode"))
def convolution_matrix(a: Array, n: int, mode: str = "full") -> Array:
    """The matrix whose product with ``v`` is the convolution of ``a`` with ``v``.

    Args:
      a: of shape ``(..., m)`` with ``m >= 1``.
      n: how many elements ``v`` has.
      mode: ``"full"``, ``"same"`` or ``"valid"``, as for ``convolve``.

    Returns:
      of shape ``(..., k, n)``; ``k`` is ``m + n - 1``, ``max(m, n)`` or ``max(m, n) - min(m, n) + 1``.

    Raises:
      ValueError: for an empty ``a``, ``n`` below 1 or an unknown mode.

    Example:
      >>> print(convolution_matrix(rnp.array([1, 2]), 3, "valid"))
      [[2 1 0]
       [0 2 1]]
    """
    a = vector("convolution_matrix", "a", a)
    one_of("convolution_matrix", "mode", mode, ("full", "same", "valid"))
    n, m = operator.index(n), a.shape[-1]
    if n < 1 or m < 1:
        raise ValueError(f"convolution_matrix: n and the length of a must be at least 1, got {n} and {m}")
    cut = min(n, m) - 1
    before = {"full": 0, "same": cut // 2, "valid": cut}[mode]
    after = {"full": 0, "same": cut - cut // 2, "valid": cut}[mode]
    at = offsets(m + n - 1, n)[before : m + n - 1 - after]
    inside = (at >= 0) & (at < m)
    return a[..., np.where(inside, at, 0)] * rnp.asarray(inside, a.dtype)


@fused
def fiedler(a: Array) -> Array:
    """The matrix of differences ``abs(a[i] - a[j])``.

    Args:
      a: of shape ``(..., n)``.

    Returns:
      of shape ``(..., n, n)``.

    Example:
      >>> print(fiedler(rnp.array([1, 4])))
      [[0 3]
       [3 0]]
    """
    a = rnp.atleast_1d(array("fiedler", a))
    return rnp.abs(a[..., :, None] - a[..., None, :])


@fused
def fiedler_companion(a: Array) -> Array:
    """A matrix of five diagonals whose eigenvalues are the roots of a polynomial (M. Fiedler, A note on
    companion matrices, 2003).

    Args:
      a: of shape ``(..., n)`` with ``n >= 1``: coefficients, the highest power first; the first is not zero
        (else the result is not finite).

    Returns:
      of shape ``(..., n - 1, n - 1)``.

    Example:
      >>> print(fiedler_companion(rnp.array([1.0, -3.0, 2.0])))
      [[ 3. -2.]
       [ 1.  0.]]
    """
    a = vector("fiedler_companion", "a", inexact("fiedler_companion", a))
    n = a.shape[-1] - 1
    if n < 0:
        raise ValueError("fiedler_companion takes at least one coefficient, got none")
    if n == 0:
        return rnp.zeros((*a.shape[:-1], 0, 0), a.dtype)
    a = -a[..., 1:] / a[..., :1]
    if n == 1:
        return a[..., None]
    # The matrix is a product of n simple ones; what comes out are ones and coefficients in these places.
    out = rnp.zeros((*a.shape[:-1], n, n), a.dtype)
    out = out.at[..., 0, 0].set(a[..., 0]).at[..., 1, 0].set(1)
    rows = np.arange(0, n - 1, 2)
    out = out.at[..., rows, rows + 1].set(a[..., rows + 1])
    rows = np.arange(0, n - 2, 2)
    out = out.at[..., rows, rows + 2].set(1)
    rows = np.arange(2, n, 2)
    out = out.at[..., rows, rows - 1].set(a[..., rows])
    rows = np.arange(3, n, 2)
    return out.at[..., rows, rows - 2].set(1)


@fused
def leslie(f: Array, s: Array) -> Array:
    """The matrix by which a population ages: ``f`` in its first row, ``s`` below its diagonal.

    Args:
      f: of shape ``(..., n)`` with ``n >= 2``: how many offspring each age has.
      s: of shape ``(..., n - 1)``: which share of each age survives.

    Returns:
      of shape ``(..., n, n)``.

    Raises:
      ValueError: for other lengths.

    Example:
      >>> print(leslie(rnp.array([0.5, 2.0]), rnp.array([0.25])))
      [[0.5  2.  ]
       [0.25 0.  ]]
    """
    f, s = vector("leslie", "f", f), vector("leslie", "s", s)
    n = f.shape[-1]
    if n < 2 or s.shape[-1] != n - 1:
        raise ValueError(f"leslie takes f with n >= 2 elements and s with n - 1, got {f.shape} and {s.shape}")
    both = beside("leslie", f, s)
    below = both[..., n:, None] * rnp.eye(n - 1, n, dtype=both.dtype)
    return rnp.concatenate([both[..., None, :n], below], -2)


@fused
def block_diag(*arrs: Array) -> Array:
    """A matrix with matrices along its diagonal, zeros beside them.

    Args:
      arrs: arrays of at most two dimensions; vectors are rows.

    Returns:
      of their common dtype and the sums of their shapes; without arguments of shape ``(1, 0)``.

    Raises:
      ValueError: for arrays of more dimensions.

    Example:
      >>> print(block_diag(rnp.array([[1, 2]]), 3))
      [[1 2 0]
       [0 0 3]]
    """
    if not arrs:
        return rnp.zeros((1, 0))
    blocks = [array("block_diag", a) for a in arrs]
    for i, a in enumerate(blocks):
        if a.ndim > 2:
            raise ValueError(
                f"block_diag takes arrays of at most two dimensions, got {a.shape} as argument {i}"
            )
    dtype = dtypes.result_type(*arrs)
    blocks = [rnp.atleast_2d(rnp.asarray(a, dtype)) for a in blocks]
    width, before, rows = sum(a.shape[1] for a in blocks), 0, []
    for a in blocks:
        rows.append(rnp.pad(a, [(0, 0), (before, width - before - a.shape[1])]))
        before += a.shape[1]
    return rnp.concatenate(rows, 0)


__all__ = [
    "block_diag", "circulant", "companion", "convolution_matrix", "fiedler", "fiedler_companion", "hankel",
    "leslie", "toeplitz",
]  # fmt: skip
