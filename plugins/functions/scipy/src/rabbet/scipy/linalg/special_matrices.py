"""Matrices with a name that are known by their size. Their elements are computed exactly and rounded once."""

import operator
from math import comb
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes
from rabbet.scipy.inputs import one_of


def size_of(name, n, least=0):
    """The number of rows.

    Raises:
      ValueError: if it is too small.
    """
    n = operator.index(n)
    if n < least:
        raise ValueError(f"{name}: n must be at least {least}, got {n}")
    return n


def floats(rows, n):
    """A matrix of the default float dtype from rows of numbers."""
    return rnp.asarray(np.array(rows, "float64").reshape(len(rows), n))


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Array:
    """The matrix of the discrete Fourier transform: ``exp(-2 pi i j k / n)``.

    Args:
      n: how many rows.
      scale: by what it is divided: None: nothing; ``"sqrtn"``: the root of ``n``, which makes it unitary;
        ``"n"``: ``n``.
      dtype: a complex dtype; None: the default one.

    Raises:
      ValueError: for another ``scale``, or a dtype that is not complex.

    Example:
      >>> print(dft(2).real)
      [[ 1.  1.]
       [ 1. -1.]]
    """
    n = size_of("dft", n)
    one_of("dft", "scale", scale, (None, "sqrtn", "n"))
    if dtype is not None and dtypes.kind(dtypes.canonicalize(dtype)) != "c":
        raise ValueError(f"dft: dtype must be a complex dtype, got {dtype}")
    steps = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    turns = np.exp(-2j * np.pi * np.arange(n) / max(n, 1))
    if n % 2 == 0 and n:
        turns[n // 2] = -1
    if n % 4 == 0 and n:
        turns[n // 4], turns[3 * n // 4] = -1j, 1j
    out = turns[steps] / {None: 1, "sqrtn": max(n, 1) ** 0.5, "n": max(n, 1)}[scale]
    return rnp.asarray(out) if dtype is None else rnp.asarray(out, dtype)


def hadamard(n: int, dtype: Any = int) -> Array:
    """Hadamard's matrix of ones and minus ones, whose rows are orthogonal (J. Sylvester's construction).

    Args:
      n: a power of 2.
      dtype: of the result.

    Raises:
      ValueError: if ``n`` is not a power of 2.

    Example:
      >>> print(hadamard(2))
      [[ 1  1]
       [ 1 -1]]
    """
    n = size_of("hadamard", n, 1)
    if n & (n - 1):
        raise ValueError(f"hadamard: n must be a power of 2, got {n}")
    out = np.ones((1, 1), "int8")
    while len(out) < n:
        out = np.block([[out, out], [out, -out]])
    return rnp.asarray(out, dtype)


def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix: orthonormal rows that compare each number with the mean of those before it.

    Args:
      n: how many columns.
      full: begin with a row of equal elements, which makes it square.

    Example:
      >>> print(np.asarray(helmert(3)).round(3) + 0.0)
      [[ 0.707 -0.707  0.   ]
       [ 0.408  0.408 -0.816]]
    """
    n = size_of("helmert", n, 1)
    rows = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    rows[0] = 1.0
    k = np.arange(n)
    rows /= np.sqrt(np.where(k == 0, n, k * (k + 1.0)))[:, None]
    return floats(rows if full else rows[1:], n)


def hilbert(n: int) -> Array:
    """Hilbert's matrix: ``1 / (i + j + 1)``.

    Example:
      >>> print(np.asarray(hilbert(2)).round(3) + 0.0)
      [[1.    0.5  ]
       [0.5   0.333]]
    """
    n = size_of("hilbert", n)
    return floats(1.0 / (1.0 + np.add.outer(np.arange(n), np.arange(n))), n)


def invhilbert(n: int) -> Array:
    """The inverse of Hilbert's matrix, whose elements are whole numbers.

    Example:
      >>> print(invhilbert(2))
      [[ 4. -6.]
       [-6. 12.]]
    """
    n = size_of("invhilbert", n)

    def element(i, j):
        size = (i + j + 1) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1) * comb(i + j, i) ** 2
        return (-1) ** (i + j) * size

    return floats([[float(element(i, j)) for j in range(n)] for i in range(n)], n)


KINDS = (None, "symmetric", "lower", "upper")


def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's matrix of binomial coefficients.

    Args:
      n: how many rows.
      kind: ``"symmetric"`` (None): ``comb(i + j, i)``; ``"lower"``: ``comb(i, j)``; ``"upper"``: its
        transpose.

    Returns:
      of the default float dtype, into which the exact numbers are rounded.

    Example:
      >>> print(pascal(3))
      [[1. 1. 1.]
       [1. 2. 3.]
       [1. 3. 6.]]
    """
    n = size_of("pascal", n)
    one_of("pascal", "kind", kind, KINDS)
    element = lambda i, j: comb(i + j, i)
    if kind == "lower":
        element = lambda i, j: comb(i, j)
    elif kind == "upper":
        element = lambda i, j: comb(j, i)
    return floats([[float(element(i, j)) for j in range(n)] for i in range(n)], n)


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of Pascal's matrix, whose elements are whole numbers. Arguments as for ``pascal``.

    Example:
      >>> print(invpascal(3))
      [[ 3. -3.  1.]
       [-3.  5. -2.]
       [ 1. -2.  1.]]
    """
    n = size_of("invpascal", n)
    one_of("invpascal", "kind", kind, KINDS)
    if kind in ("lower", "upper"):
        rows = [[float((-1) ** (i - j) * comb(i, j)) for j in range(n)] for i in range(n)]
        lower = np.array(rows, "float64").reshape(n, n)
        return floats(lower if kind == "lower" else lower.T, n)

    def element(i, j):
        return (-1) ** (i - j) * sum(comb(k, i) * comb(k, j) for k in range(max(i, j), n))

    return floats([[float(element(i, j)) for j in range(n)] for i in range(n)], n)


__all__ = ["dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal"]
