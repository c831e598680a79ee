"""What the functions of this module accept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet import dtypes
from rabbet.lax.linalg import matrices
from rabbet.numpy.reductions.reducing import converted
from rabbet.numpy.shapes.reshaping import array_of

if TYPE_CHECKING:
    from rabbet.typing import Value


def inexact(name: str, a: Value) -> Value:
    """An array of floats or complex numbers from what was given."""
    a = array_of(name, a)
    return converted(a, dtypes.to_inexact(a.dtype))


def matrix(name: str, a: Value) -> Value:
    """A batch of matrices.

    Raises:
      ValueError: for arrays of less than two dimensions.
    """
    a = inexact(name, a)
    matrices.matrices(name, a.aval)
    return a


def square(name: str, a: Value) -> Value:
    """A batch of square matrices.

    Raises:
      ValueError: for arrays of another shape.
    """
    a = inexact(name, a)
    matrices.square_matrices(name, a.aval)
    return a


def one_of(name: str, argument: str, given: str | None, known: tuple[str | None, ...]) -> None:
    """Refuse a word that the function does not know."""
    if given not in known:
        shown = ", ".join(map(repr, known))
        raise ValueError(f"{name}: {argument} must be one of {shown}, got {given!r}")


def largest_size(a: Value) -> int:
    """The larger number of rows and columns, by which roundings grow."""
    return max(a.shape[-2:])
