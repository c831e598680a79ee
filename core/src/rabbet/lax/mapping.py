"""``map``: a function over slices, one after the other or a batch at a time."""

import operator

from rabbet import tree
from rabbet.lax import control, shapes
from rabbet.messages.source_positions import named_like
from rabbet.messages.tracebacks import folded
from rabbet.runtime.values import traceable
from rabbet.trace.interpreter import typeof
from rabbet.trace.provided import by_plugin


@folded
def map(f, xs, *, batch_size=None):
    """``f`` applied to each slice of ``xs`` along the first dimension; results stacked.

    Args:
      f: from a slice to a pytree of arrays.
      xs: a pytree of arrays with one leading size.
      batch_size: how many slices to take at a time, by ``vmap``; what is left over is one smaller batch.
        0: all of them. None: one after the other.

    Raises:
      MissingPluginError: if batches are asked for and no package that provides ``vmap`` is installed.
    """
    if batch_size is None:
        return control.scan_as("map", named_like(lambda _, x: ((), f(x)), f), (), xs)[1]
    batched = by_plugin("vmap")(f)
    size = operator.index(batch_size)
    if size < 0:
        raise ValueError(f"map: batch_size must not be negative, got {batch_size}")
    leaves, treedef = tree.flatten(xs)
    leaves = [traceable(x) for x in leaves]
    n = control.steps_of(f, leaves, treedef, None, "map")
    if size == 0 or size >= n:
        return batched(tree.unflatten(treedef, leaves))
    whole = n // size * size
    chunks = [_chunks(shapes.slice_in_dim(x, 0, whole), size) for x in leaves]
    step = named_like(lambda _, x: ((), batched(x)), f)
    _, ys = control.scan_as("map", step, (), tree.unflatten(treedef, chunks))
    ys = tree.map(lambda y: _joined_chunks(y, whole), ys)
    if whole == n:
        return ys
    rest = batched(tree.unflatten(treedef, [shapes.slice_in_dim(x, whole, n) for x in leaves]))
    return tree.map(lambda a, b: shapes.concatenate([a, b], 0), ys, rest)


def _chunks(x, size):
    full = typeof(x).shape
    return shapes.reshape(x, (full[0] // size, size, *full[1:]))


def _joined_chunks(y, whole):
    return shapes.reshape(y, (whole, *typeof(y).shape[2:]))


__all__ = ["map"]
