"""``map``: a function over slices, one after the other or a batch at a time."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from rabbet import lax, tree
from rabbet.extend.bodies import named_scan, number_of_steps
from rabbet.extend.functions import array_or_tracer, folded, named_like
from rabbet.extend.transform import typeof

from rabbet_vmap.api import vmap

if TYPE_CHECKING:
    from collections.abc import Callable

    from rabbet.typing import Value


@folded
def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """``f`` applied to each slice of ``xs`` along the first dimension; results stacked.

    Args:
      f: from a slice to a pytree of arrays.
      xs: a pytree of arrays with one leading size.
      batch_size: how many slices to take at a time, by ``vmap``; what is left over is one smaller batch.
        0: all of them. None: one after the other.

    Example:
      >>> lax.map(lambda row: row / rnp.sum(row), rnp.array([[1.0, 3.0], [2.0, 2.0]]), batch_size=8)
      Array([[0.25, 0.75],
             [0.5 , 0.5 ]], dtype=float32)
    """
    if batch_size is None:
        return named_scan("map", named_like(lambda _, x: ((), f(x)), f), (), xs)[1]
    batched = vmap(f)
    size = operator.index(batch_size)
    if size < 0:
        raise ValueError(f"map: batch_size must not be negative, got {batch_size}")
    leaves, treedef = tree.flatten(xs)
    leaves = [array_or_tracer(x) for x in leaves]
    n = number_of_steps(f, leaves, treedef, None, "map")
    if size == 0 or size >= n:
        return batched(tree.unflatten(treedef, leaves))
    whole = n // size * size
    chunks = [_chunks(lax.slice_in_dim(x, 0, whole), size) for x in leaves]
    step = named_like(lambda _, x: ((), batched(x)), f)
    _, ys = named_scan("map", step, (), tree.unflatten(treedef, chunks))
    ys = tree.map(lambda y: _joined_chunks(y, whole), ys)
    if whole == n:
        return ys
    rest = batched(tree.unflatten(treedef, [lax.slice_in_dim(x, whole, n) for x in leaves]))
    return tree.map(lambda a, b: lax.concatenate([a, b], 0), ys, rest)


def _chunks(x: Value, size: int) -> Value:
    full = typeof(x).shape
    return lax.reshape(x, (full[0] // size, size, *full[1:]))


def _joined_chunks(y: Value, whole: int) -> Value:
    return lax.reshape(y, (whole, *typeof(y).shape[2:]))


__all__ = ["map"]
