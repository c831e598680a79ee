"""What the functions of this module accept, and small operations on matrices."""

from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes
from rabbet.scipy.inputs import array, is_complex

HIGHEST = "highest"


def inexact(name: str, a: Any) -> Array:
    """An array of floats or complex numbers."""
    a = array(name, a)
    return rnp.asarray(a, dtypes.to_inexact(a.dtype))


def matrix(name: str, a: Any, argument: str = "its argument") -> Array:
    """A batch of matrices.

    Raises:
      ValueError: for arrays of less than two dimensions.
    """
    a = inexact(name, a)
    if a.ndim < 2:
        raise ValueError(f"{name}: {argument} must be of shape (..., m, n), got {a.shape}")
    return a


def square(name: str, a: Any, argument: str = "its argument") -> Array:
    """A batch of square matrices.

    Raises:
      ValueError: for arrays of another shape.
    """
    a = matrix(name, a, argument)
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: {argument} must be square, of shape (..., n, n), got {a.shape}")
    return a


def wide(a: Array) -> Array:
    """``a`` in a dtype in which matrices are factored: float32 for narrower ones."""
    return (
        a if a.dtype.name in ("float64", "complex64", "complex128") else rnp.asarray(a, np.dtype("float32"))
    )


def transposed(a: Array) -> Array:
    """Each matrix transposed."""
    return rnp.matrix_transpose(a)


def adjoint(a: Array) -> Array:
    """Each matrix transposed and conjugated."""
    return rnp.conj(transposed(a)) if is_complex(a) else transposed(a)


def product(*factors: Array) -> Array:
    """The product of matrices in full precision."""
    out = factors[0]
    for factor in factors[1:]:
        out = rnp.matmul(out, factor, precision=HIGHEST)
    return out


def identity_like(a: Array) -> Array:
    """The identity, of the dtype and the last two dimensions of ``a``."""
    return rnp.eye(a.shape[-1], dtype=a.dtype)


def diagonal(a: Array) -> Array:
    """The elements on the diagonal of each matrix."""
    return rnp.diagonal(a, axis1=-2, axis2=-1)


def norm1(a: Array) -> Array:
    """The largest sum of absolute values in a column, of each matrix."""
    return rnp.max(rnp.sum(rnp.abs(a), -2), -1)


def is_vector(name: str, a: Array, b: Array) -> bool:
    """Whether the right-hand side ``b`` of a system is one vector.

    Raises:
      ValueError: if it fits no matrix of the shape of ``a``.
    """
    vector = b.ndim == 1
    if not b.ndim or b.shape[-1 if vector else -2] != a.shape[-1]:
        raise ValueError(
            f"{name} takes a matrix of shape (..., n, n) and a right-hand side of shape (n,) or (..., n, k), "
            f"got {a.shape} and {b.shape}"
        )
    return vector


def batches(*arrays: Array) -> list[Array]:
    """Matrices with their leading dimensions broadcast."""
    batch = rnp.broadcast_shapes(*[a.shape[:-2] for a in arrays])
    return [rnp.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
