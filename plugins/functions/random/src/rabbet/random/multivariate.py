"""Random vectors and matrices; and two more distributions of numbers."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.primitive import keep_apart
from rabbet.extend.transform import typeof
from rabbet.random.arguments import broadcast, common_shape, dtype_of, operand, parameter, shape_of
from rabbet.random.continuous import gaussian
from rabbet.random.discrete import signs
from rabbet.random.generator import unit
from rabbet.random.keys import subkeys, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value

METHODS = ("cholesky", "eigh", "svd")


@obeys_out_sharding
def multivariate_normal(
    key: Value,
    mean: Value,
    cov: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Value:
    """Normal vectors.

    Args:
      key: a single key.
      mean: of shape ``(..., n)``.
      cov: the covariance, symmetric and positive semidefinite, of shape ``(..., n, n)``.
      shape: the shape of the result without its last dimension; by default that to which the leading
        dimensions of both broadcast.
      dtype: a float dtype; by default that of ``mean`` and ``cov`` together, at least float32.
      method: how the covariance is factored: ``"cholesky"``, which needs it to be positive definite,
        ``"eigh"`` or ``"svd"``.

    Returns:
      an array of shape ``(*shape, n)``.

    Raises:
      ValueError: for shapes that do not fit together, another method or dtype.

    Example:
      >>> random.multivariate_normal(random.key(0), rnp.zeros(2), rnp.eye(2), (4,)).shape
      (4, 2)
    """
    if method not in METHODS:
        raise ValueError(f"multivariate_normal: method must be one of {', '.join(METHODS)}, got {method!r}")
    if dtype is None:
        together = dtypes.to_inexact(dtypes.result_type(typeof(mean), typeof(cov)))
        dtype = together if together in ("float32", "float64") else "float32"
    found = dtype_of(dtype, float, "f", "multivariate_normal")
    return _multivariate_normal(key, parameter(mean, found), parameter(cov, found), shape, found, method)


@fused(static=("shape", "dtype", "method"))
def _multivariate_normal(key, mean, cov, shape, dtype, method):
    mean, cov = operand(mean, dtype), operand(cov, dtype)
    have, square = typeof(mean).shape, typeof(cov).shape
    if not have or square[-2:] != (have[-1], have[-1]):
        raise ValueError(
            "multivariate_normal: mean must be of shape (..., n) and cov (..., n, n), got "
            f"{have} and {square}"
        )
    n, lead = have[-1], lax.broadcast_shapes(have[:-1], square[:-2])
    shape = lead if shape is None else shape_of(shape, "multivariate_normal")
    mean = broadcast(mean, (*shape, n), "multivariate_normal", "mean")
    broadcast(lax.full(square[:-2], False), shape, "multivariate_normal", "cov")
    normals = gaussian(words_of(key, "multivariate_normal"), (*shape, n), dtype)
    factor = root_of(cov, method)
    at = len(shape)
    factor = lax.broadcast_in_dim(factor, (*shape, n, n), tuple(range(at + 2 - len(square), at + 2)))
    dims = (((at + 1,), (at,)), (tuple(range(at)), tuple(range(at))))
    return lax.add(mean, lax.dot_general(factor, normals, dims, precision="highest"))


def root_of(cov, method):
    """A matrix whose product with its transpose is ``cov``."""
    from rabbet.lax import linalg  # here, as below: many programs draw numbers, and few vectors

    if method == "cholesky":
        return linalg.cholesky(cov)
    shape = typeof(cov).shape
    if method == "eigh":
        vectors, values = linalg.eigh(cov)
    else:
        vectors, values, _ = linalg.svd(cov)
    spread = lax.broadcast_in_dim(lax.sqrt(values), shape, (*range(len(shape) - 2), len(shape) - 1))
    return lax.mul(vectors, spread)


@obeys_out_sharding
def orthogonal(
    key: Value,
    n: int,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Orthogonal matrices, all equally likely; for a complex dtype unitary ones.

    Each is the orthogonal factor of a matrix of normal numbers, with the signs that make it unique (F.
    Mezzadri, "How to generate random matrices from the classical compact groups", 2007).

    Args:
      key: a single key.
      n: the number of rows, a static int.
      shape: the shape of the result without its last two dimensions.
      dtype: a float or complex dtype.
      m: the number of columns, by default ``n``. If it is another, the rows or the columns, whichever are
        fewer, are orthonormal.

    Returns:
      an array of shape ``(*shape, n, m)``.

    Example:
      >>> q = random.orthogonal(random.key(0), 3)
      >>> rnp.allclose(q.T @ q, rnp.eye(3), atol=1e-5)
      Array(True, dtype=bool)
    """
    n = operator.index(n)
    m = n if m is None else operator.index(m)
    if n < 0 or m < 0:
        raise ValueError(f"orthogonal: the numbers of rows and columns must not be negative, got {n} and {m}")
    return _orthogonal(key, n, shape, dtype_of(dtype, float, "fc", "orthogonal"), m)


@fused(static=("n", "shape", "dtype", "m"))
def _orthogonal(key, n, shape, dtype, m):
    from rabbet.lax import linalg
    from rabbet.random.continuous import normal

    shape = shape_of(shape, "orthogonal")
    rows, columns = max(n, m), min(n, m)
    if not columns:
        return lax.full((*shape, n, m), 0, dtype)
    wide = np.dtype("float32") if dtypes.kind(dtype) == "f" and dtypes.itemsize_bits(dtype) < 32 else dtype
    words_of(key, "orthogonal", uses=False)
    normals = lax.convert_element_type(normal(key, (*shape, rows, columns), dtype), wide)
    q, r = linalg.qr(normals, full_matrices=False)
    at = np.arange(columns, dtype="int32")
    diagonal = r[..., at, at]
    turn = lax.sign(diagonal)
    rank = len(shape) + 2
    q = lax.mul(q, lax.broadcast_in_dim(turn, (*shape, rows, columns), (*range(rank - 2), rank - 1)))
    q = lax.convert_element_type(q, dtype)
    return q if n >= m else lax.transpose(q, (*range(rank - 2), rank - 1, rank - 2))


@obeys_out_sharding
def wald(
    key: Value,
    mean: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Inverse Gaussian numbers of scale 1: when a Brownian motion with a drift first reaches a level. By
    J. R. Michael, W. R. Schucany and R. W. Haas ("Generating random variates using transformations with
    multiple roots", 1976).

    Args:
      key: a single key.
      mean: positive.
      shape: the shape of the result; by default that of ``mean``.
      dtype: a float dtype.

    Example:
      >>> bool((random.wald(random.key(0), 2.0, (100,)) > 0).all())
      True
    """
    found = dtype_of(dtype, float, "f", "wald")
    return _wald(key, parameter(mean, found), shape, found)


@fused(static=("shape", "dtype"))
def _wald(key, mean, shape, dtype):
    mean = operand(mean, dtype)
    shape = common_shape(shape, "wald", mean)
    mean = broadcast(mean, shape, "wald", "mean")
    for_normal, for_unit = subkeys(words_of(key, "wald"), 2)
    normals, choice = gaussian(for_normal, shape, dtype), unit(for_unit, shape, dtype)
    # Where the mean is mapped and the key is not, XLA would draw anew for each use of a draw, in one kernel
    # that LLVM does not compile in minutes.
    normals, choice = keep_apart(normals), keep_apart(choice)
    y, squared = lax.mul(normals, normals), lax.mul(mean, mean)
    root = lax.sqrt(lax.add(lax.mul(lax.mul(mean, 4.0), y), lax.mul(squared, lax.mul(y, y))))
    x = lax.sub(lax.add(lax.mul(lax.mul(squared, y), 0.5), mean), lax.mul(lax.mul(mean, 0.5), root))
    first = lax.le(choice, lax.div(mean, lax.add(x, mean)))
    return lax.select(first, x, lax.div(lax.mul(lax.full_like(x, 1), squared), x))


@obeys_out_sharding
def double_sided_maxwell(
    key: Value,
    loc: Value,
    scale: Value,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """``loc`` plus or minus ``scale`` times the lengths of vectors of three normal numbers.

    Args:
      key: a single key.
      loc, scale: numbers, or arrays that broadcast to ``shape``.
      shape: the shape of the result.
      dtype: a float dtype.

    Example:
      >>> random.double_sided_maxwell(random.key(0), 0.0, 1.0, (3,)).shape
      (3,)
    """
    found = dtype_of(dtype, float, "f", "double_sided_maxwell")
    return _double_sided_maxwell(key, parameter(loc, found), parameter(scale, found), shape, found)


@fused(static=("shape", "dtype"))
def _double_sided_maxwell(key, loc, scale, shape, dtype):
    shape = shape_of(shape, "double_sided_maxwell")
    loc, scale = (
        broadcast(operand(x, dtype), shape, "double_sided_maxwell", what)
        for x, what in ((loc, "loc"), (scale, "scale"))
    )
    for_length, for_sign = subkeys(words_of(key, "double_sided_maxwell"), 2)
    vectors = gaussian(for_length, (*shape, 3), dtype)
    lengths = lax.sqrt(lax.reduce_sum(lax.mul(vectors, vectors), (len(shape),)))
    return lax.add(lax.mul(lax.mul(lengths, signs(for_sign, shape, dtype)), scale), loc)


__all__ = ["double_sided_maxwell", "multivariate_normal", "orthogonal", "wald"]
