"""Products that this module has, too, and the chain of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShapeError
from rabbet.numpy.creation import matrices as plain
from rabbet.numpy.products import dots
from rabbet.numpy.products.dots import vecdot
from rabbet.numpy.shapes.reshaping import array_of, matrix_transpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DTypeLike, Value


def cross(x1: Value, x2: Value, /, *, axis: Any = -1) -> Value:
    """The vector product of three-dimensional vectors along an axis.

    Raises:
      ValueError: for other sizes.

    Example:
      >>> rnp.linalg.cross(rnp.array([1, 0, 0]), rnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    x1, x2 = array_of("cross", x1), array_of("cross", x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross takes arrays of size 3 along axis {axis}, got {x1.aval.str_short()} and "
            f"{x2.aval.str_short()}"
        )
    return dots.cross(x1, x2, axis=axis)


def matmul(
    x1: Value, x2: Value, /, *, precision: Any = None, preferred_element_type: DTypeLike | None = None
) -> Value:
    """``x1 @ x2``, see ``rabbet.numpy.matmul``.

    Example:
      >>> rnp.linalg.matmul(rnp.ones((2, 3)), rnp.ones((3, 4))).shape
      (2, 4)
    """
    return dots.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(
    x1: Value,
    x2: Value,
    /,
    *,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Value:
    """The product of two arrays over pairs of dimensions, see ``rabbet.numpy.tensordot``.

    Example:
      >>> rnp.linalg.tensordot(rnp.ones((2, 3)), rnp.ones((3, 4)), axes=1).shape
      (2, 4)
    """
    return dots.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )  # fmt: skip


def outer(x1: Value, x2: Value, /) -> Value:
    """The products of all elements of two vectors, a matrix.

    Raises:
      ValueError: for arrays of other than one dimension.

    Example:
      >>> rnp.linalg.outer(rnp.array([1, 10]), rnp.array([1, 2]))
      Array([[ 1,  2],
             [10, 20]], dtype=int32)
    """
    x1, x2 = array_of("outer", x1), array_of("outer", x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer takes vectors, got {x1.aval.str_short()} and {x2.aval.str_short()}")
    return dots.outer(x1, x2)


def diagonal(x: Value, /, *, offset: int = 0) -> Value:
    """The diagonals of matrices of shape ``(..., m, n)``, along the last dimension of the result.

    Example:
      >>> rnp.linalg.diagonal(rnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    return plain.diagonal(x, offset, -2, -1)


def trace(x: Value, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Value:
    """The sums of the diagonals of matrices of shape ``(..., m, n)``.

    Example:
      >>> rnp.linalg.trace(rnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    return plain.trace(x, offset, -2, -1, dtype)


def multi_dot(arrays: Sequence[Value], *, precision: Any = None) -> Value:
    """The product of several matrices, multiplied in the order that takes the fewest operations.

    Args:
      arrays: at least two; matrices, the first and the last may be vectors.
      precision: see ``lax.Precision``.

    Raises:
      ValueError: for fewer arrays or other shapes.

    Example:
      >>> rnp.linalg.multi_dot([rnp.ones((2, 3)), rnp.ones((3, 4)), rnp.ones(4)])
      Array([12., 12.], dtype=float32)
    """
    arrays = [array_of("multi_dot", a) for a in arrays]
    inside = all(a.ndim == 2 for a in arrays[1:-1])
    if len(arrays) < 2 or not inside or not all(a.ndim in (1, 2) for a in arrays):
        shown = ", ".join([a.aval.str_short() for a in arrays])
        raise ShapeError(
            "multi_dot takes at least two matrices, of which the first and the last may be vectors, got "
            f"{shown or 'none'}"
        )
    sizes = [1 if arrays[0].ndim == 1 else arrays[0].shape[0], *[a.shape[0] for a in arrays[1:]]]
    sizes.append(1 if arrays[-1].ndim == 1 else arrays[-1].shape[1])
    order = cheapest(sizes)

    def multiplied(i: int, j: int) -> Value:
        if i == j:
            return arrays[i]
        k = order[i, j]
        return matmul(multiplied(i, k), multiplied(k + 1, j), precision=precision)

    return multiplied(0, len(arrays) - 1)


def cheapest(sizes: list[int]) -> dict[Any, Any]:
    """Where to split each chain ``(i, j)`` of matrices, the i-th having ``sizes[i]`` rows and
    ``sizes[i + 1]`` columns (T. Cormen et al., Introduction to Algorithms, section 14.2).
    """
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    order = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            choices = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            cost[i, j], order[i, j] = min(choices)
    return order


__all__ = [
    "cross", "diagonal", "matmul", "matrix_transpose", "multi_dot", "outer", "tensordot", "trace", "vecdot",
]  # fmt: skip
