"""A tree of arrays as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rabbet import dtypes, lax, tree
from rabbet.errors import TreeError
from rabbet.extend.functions import folded, public_module
from rabbet.extend.transform import typeof

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of a tree in one vector.

    Args:
      pytree: a tree of arrays and scalars.

    Returns:
      ``(flat, unravel)``: a vector of the dtype that the leaves promote to, where Python numbers count as
      arrays of their default dtypes, and the function that makes a vector of that length and dtype into a
      tree of the same structure, shapes and dtypes. Where all leaves have one dtype, ``unravel`` takes
      vectors of any dtype and leaves it. The vector of a tree without leaves is empty and has the default
      float dtype.

    Example:
      >>> flat, restore = rb.flatten_util.ravel_pytree({"a": 1.0, "b": rnp.ones((2, 2))})
      >>> flat.shape, restore(flat)["b"].shape
      ((5,), (2, 2))
    """
    leaves, treedef = tree.flatten(pytree)
    avals = [typeof(leaf) for leaf in leaves]
    dtype = dtypes.result_type(*[aval.strong() for aval in avals]) if avals else dtypes.canonicalize(float)
    unravel = Unravel(treedef, tuple(avals), dtype)
    return _join(leaves, avals, dtype, unravel.mixed), unravel


@folded
class Unravel:
    """From a vector back to a tree: a function, equal to another that makes the same trees, so that it can
    be a static argument of a compiled function.
    """

    __name__ = __qualname__ = "unravel"

    def __init__(self, treedef: Any, avals: tuple[Any, ...], dtype: Any) -> None:
        self.treedef, self.avals, self.dtype = treedef, avals, dtype
        self.mixed = any(aval.dtype != dtype for aval in avals)
        self.size = sum([math.prod(aval.shape) for aval in avals])

    def __call__(self, flat: Any) -> Any:
        """The tree of the numbers in ``flat``, a vector as ``ravel_pytree`` made it."""
        got = typeof(flat)
        if got.shape != (self.size,):
            raise TreeError(f"unravel expects a vector of shape ({self.size},), got shape {got.shape}")
        if self.mixed and got.dtype != self.dtype:
            raise TypeError(
                f"unravel expects a vector of {self.dtype.name}, got {got.dtype.name}; convert it with astype"
            )
        return self.treedef.unflatten(_split(flat, self.avals, self.mixed))

    def _same(self) -> tuple[Any, ...]:
        return self.treedef, tuple((a.shape, a.dtype) for a in self.avals), self.dtype

    def __eq__(self, other: Any) -> bool:
        return type(other) is Unravel and self._same() == other._same()

    def __hash__(self) -> int:
        return hash(self._same())

    def __repr__(self) -> str:
        return f"<unravel of {self.treedef}>"


def _join(leaves: list[Any], avals: list[Any], dtype: Any, mixed: bool) -> Any:
    if not leaves:
        return lax.full((0,), 0, dtype)
    if mixed or not all(aval.weak_type for aval in avals):
        leaves = [lax.convert_element_type(leaf, dtype) for leaf in leaves]
    parts = [lax.reshape(leaf, (math.prod(aval.shape),)) for leaf, aval in zip(leaves, avals)]
    return lax.concatenate(parts, 0) if len(parts) > 1 else parts[0]


def _split(flat: Any, avals: tuple[Any, ...], mixed: bool) -> list[Any]:
    start, leaves = 0, []
    for aval in avals:
        stop = start + math.prod(aval.shape)
        part = lax.slice(flat, (start,), (stop,)) if len(avals) > 1 else flat
        part = lax.reshape(part, aval.shape)
        leaves.append(_back(part, aval.dtype) if mixed else part)
        start = stop
    return leaves


def _back(part: Any, dtype: Any) -> Any:
    if dtypes.kind(typeof(part).dtype) == "c" and dtypes.kind(dtype) != "c":
        part = lax.real(part)
    return lax.convert_element_type(part, dtype)


public_module(globals())
