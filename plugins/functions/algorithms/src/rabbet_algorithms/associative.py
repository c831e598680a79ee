"""``associative_scan``: all prefixes of an associative operation in a logarithmic number of steps.

The algorithm is that of G. E. Blelloch, "Prefix Sums and Their Applications" (1990): combine neighbours,
scan the half as many results, which are every other prefix, and combine those with what lies between.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from rabbet import lax, tree
from rabbet.errors import ShapeError
from rabbet.extend.functions import array_or_tracer, describe_function
from rabbet.extend.transform import typeof
from rabbet.tree import keystr


def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """The results of combining the first ``k`` elements along an axis, for every ``k``, in parallel.

    Args:
      fn: an associative operation on two pytrees like ``elems``, applied elementwise along ``axis`` (which
        may have any size in its arguments), returning another such pytree;
        where the whole is a tuple or a list, it may return either, and the result is as ``elems``.
      elems: a pytree of arrays with one size along ``axis``.
      reverse: combine from the last element on; the first argument of ``fn`` is then the later one.
      axis: the axis to scan along.

    Returns:
      a pytree like ``elems``: ``[a, fn(a, b), fn(fn(a, b), c), ...]``.

    Raises:
      ValueError, TypeError: if sizes differ or ``fn`` returns something else than it takes; the message
        names the leaf.

    Example:
      >>> lax.associative_scan(lax.mul, rnp.array([2.0, 3.0, 4.0]))
      Array([ 2.,  6., 24.], dtype=float32)
    """
    if not callable(fn):
        raise ShapeError(f"associative_scan takes a function of two arguments, got {type(fn).__name__}")
    leaves, treedef = tree.flatten(elems)
    leaves = [array_or_tracer(x) for x in leaves]
    places = _places(leaves, treedef, axis)

    def combine(a, b):
        result = fn(tree.unflatten(treedef, a), tree.unflatten(treedef, b))
        if {type(elems), type(result)} == {list, tuple}:
            result = type(elems)(result)
        outs, out_tree = tree.flatten(result)
        outs = [array_or_tracer(x) for x in outs]
        _check(fn, treedef, out_tree, a, outs)
        return outs

    return tree.unflatten(treedef, _directed(combine, leaves, places, reverse) if leaves else leaves)


def _places(leaves, treedef, axis):
    """``axis`` as a position in each leaf, after checking that its sizes agree."""
    places, sizes = [], {}
    for x, path in zip(leaves, tree.leaf_paths(treedef), strict=True):
        aval = typeof(x)
        place = operator.index(axis)
        if not -aval.ndim <= place < aval.ndim:
            raise ShapeError(
                f"associative_scan: elems{keystr(path)} is {aval.str_short()} and has no axis {axis}"
            )
        places.append(place % aval.ndim)
        sizes.setdefault(aval.shape[place], f"elems{keystr(path)} ({aval.str_short()})")
    if len(sizes) > 1:
        shown = "; ".join([f"{size} in {name}" for size, name in sizes.items()])
        raise ShapeError(f"associative_scan: the sizes along axis {axis} differ: {shown}")
    return places


def _check(fn, treedef, out_tree, given, outs):
    """Refuse an operation that returns another structure or other types than it takes."""
    who = f"associative_scan of {describe_function(fn)}"
    if out_tree != treedef:
        raise ShapeError(
            f"{who}: the function takes {treedef} twice and must return it, it returns {out_tree}"
        )
    for i, (a, b) in enumerate(zip(given, outs, strict=True)):
        a, b = typeof(a), typeof(b)
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            path = tree.leaf_path(treedef, i)
            raise ShapeError(
                f"{who}: the function must return the types that it takes; the output{keystr(path)} is "
                f"{b.str_short()} for {a.str_short()}"
            )


def scan_arrays(combine: Callable, arrays: list, axis: int, reverse: bool = False) -> list:
    """All prefixes of an associative operation on lists of arrays of one size along ``axis``; ``reverse``:
    suffixes, each combined from the last element to the first.
    """
    return _directed(combine, arrays, [axis] * len(arrays), reverse)


def _directed(combine, elems, places, reverse):
    """All prefixes, or suffixes, of lists of arrays along their axes."""
    if not reverse:
        return _scan(combine, elems, places)
    turned = [lax.rev(x, (place,)) for x, place in zip(elems, places, strict=True)]
    outs = _scan(combine, turned, places)
    return [lax.rev(x, (place,)) for x, place in zip(outs, places, strict=True)]


def _scan(combine, elems, places):
    """All prefixes of lists of arrays along their axes."""
    n = typeof(elems[0]).shape[places[0]]
    if n < 2:
        return elems
    odd = _scan(
        combine, combine(_every_other(elems, places, 0, n - 1), _every_other(elems, places, 1, n)), places
    )
    if n == 2:
        even = [_part(x, place, 0, 1) for x, place in zip(elems, places, strict=True)]
        return [_joined([e, o], place) for e, o, place in zip(even, odd, places, strict=True)]
    before = [_part(x, place, 0, (n - 1) // 2) for x, place in zip(odd, places, strict=True)]
    rest = combine(before, _every_other(elems, places, 2, n))
    even = [
        _joined([_part(x, place, 0, 1), r], place) for x, r, place in zip(elems, rest, places, strict=True)
    ]
    return [_interleaved(e, o, place) for e, o, place in zip(even, odd, places, strict=True)]


def _every_other(elems, places, start, stop):
    return [lax.slice_in_dim(x, start, stop, 2, place) for x, place in zip(elems, places, strict=True)]


def _part(x, place, start, stop):
    return lax.slice_in_dim(x, start, stop, 1, place)


def _joined(parts, place):
    return lax.concatenate(parts, place)


def _interleaved(even, odd, place):
    """``even[0], odd[0], even[1], ...`` along an axis; ``even`` may have one element more."""
    full, half = typeof(even).shape, typeof(odd).shape[place]
    pairs = [lax.expand_dims(v, (place + 1,)) for v in (_part(even, place, 0, half), odd)]
    mixed = lax.reshape(_joined(pairs, place + 1), (*full[:place], 2 * half, *full[place + 1 :]))
    return mixed if full[place] == half else _joined([mixed, _part(even, place, half, half + 1)], place)


__all__ = ["associative_scan", "scan_arrays"]
