"""Basic indexing: integers, slices, new axes. Reading a box out of an array, and putting one back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rabbet.lax import broadcasting, dynamic, shapes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer
from rabbet.lax.indexing.plans import ALL, ARRAY, HERE, NEW, SCALAR, At, Box, BoxFrom
from rabbet.lax.values import with_weak_type
from rabbet.primitives import dynamic as dynamic_primitives
from rabbet.primitives import gather as gathers
from rabbet.primitives import logic, zeros
from rabbet.program.avals import ShapedArray
from rabbet.program.dimensions import SymbolicDimension
from rabbet.trace.interpreter import typeof


class Bounds(NamedTuple):
    """A box of an array: per dimension where it starts (an int or a scalar), how far it reaches, and its
    step.

    ``dropped`` are the dimensions that an integer removes, ``new`` those of the result that are new;
    ``loose`` are the dimensions whose start may be out of range.
    """

    starts: list
    spans: list
    steps: list
    dropped: tuple
    new: tuple
    loose: tuple

    def is_static(self) -> bool:
        return all(isinstance(s, (int, SymbolicDimension)) for s in self.starts)

    def is_whole(self, shape: Sequence[int]) -> bool:
        return tuple(self.spans) == shape and all(s == 1 for s in self.steps)


def region(shape: Sequence[int], entries: tuple, operands: Sequence[Any], wrap: bool = True) -> Bounds:
    """The ``Bounds`` that entries without arrays describe."""
    starts, spans, steps, dropped, new, loose = [], [], [], [], [], []
    given = iter(operands)
    at = kept = 0
    for entry in entries:
        if entry is NEW or entry == NEW:
            new.append(kept)
            kept += 1
            continue
        start, span, step = 0, shape[at], 1
        kind = type(entry)
        if kind is Box:
            step = entry.step
            span = (entry.size - 1) * abs(step) + 1 if entry.size else 0
            start = entry.start if step > 0 else entry.start - span + 1
        elif kind is BoxFrom:
            start, span = next(given), entry.size
        elif kind is At:
            start, span = entry.position, 1
        elif entry in (HERE, SCALAR):
            start, span = next(given), 1
            if entry == SCALAR:
                start = dynamic.wrapped(start, shape[at], wrap)
                loose.append(at)
        if kind is At or entry in (HERE, SCALAR):
            dropped.append(at)
        else:
            kept += 1
        starts.append(start)
        spans.append(span)
        steps.append(step)
        at += 1
    return Bounds(starts, spans, steps, tuple(dropped), tuple(new), tuple(loose))


def hull(x: ArrayLike, where: Bounds) -> ArrayOrTracer:
    """The contiguous box that a region lies in."""
    shape = typeof(x).shape
    if tuple(where.spans) == shape:
        return x
    if where.is_static():
        return shapes.slice(x, where.starts, [s + n for s, n in zip(where.starts, where.spans, strict=True)])
    starts = dynamic.in_one_dtype(where.starts)
    return dynamic_primitives.dynamic_slice(x, *starts, slice_sizes=tuple(where.spans))


def take_box(
    x: ArrayLike, entries: tuple, operands: Sequence[Any], mode: Any = None, fill_value: Any = None,
    wrap: bool = True,
) -> ArrayOrTracer:  # fmt: skip
    """``x[...]`` by entries without arrays."""
    shape = typeof(x).shape
    where = region(shape, entries, operands, wrap)
    steps = [abs(s) for s in where.steps]
    if where.is_static():
        limits = [s + n for s, n in zip(where.starts, where.spans, strict=True)]
        out = shapes.slice(x, where.starts, limits, steps)
    else:
        out = hull(x, where)
        out = shapes.slice(out, [0] * len(shape), typeof(out).shape, steps)
    backwards = [d for d, s in enumerate(where.steps) if s < 0]
    out = shapes.rev(out, backwards) if backwards else out
    out = shapes.expand_dims(shapes.squeeze(out, where.dropped), where.new)
    if mode is gathers.FILL_OR_DROP and where.loose:
        fill = gathers.default_fill(typeof(x).dtype) if fill_value is None else fill_value
        weak = typeof(out).weak_type
        filled = zeros.full_of_type(typeof(out), fill)
        out = with_weak_type(logic.select_n(inside(where, shape), filled, out), weak)
    return out


def inside(where: Bounds, shape: Sequence[int]) -> ArrayOrTracer:
    """Whether the computed positions of a region are in range; a boolean scalar."""
    ok = None
    for d in where.loose:
        i = where.starts[d]
        fits = logic.lt(i, shape[d])
        if typeof(i).kind == "i":
            fits = logic.bitwise_and(fits, logic.ge(i, 0))
        ok = fits if ok is None else logic.bitwise_and(ok, fits)
    return ok


def put_box(x: ArrayLike, new: ArrayLike, entries: tuple, operands: Sequence[Any]) -> ArrayOrTracer:
    """``x`` with the box that ``take_box`` reads replaced by ``new``, an array of exactly its shape.

    Positions are in range: entries hold no ``SCALAR``.
    """
    shape = typeof(x).shape
    where = region(shape, entries, operands)
    new = shapes.squeeze(new, where.new)
    new = shapes.expand_dims(new, where.dropped)
    backwards = [d for d, s in enumerate(where.steps) if s < 0]
    new = shapes.rev(new, backwards) if backwards else new
    if where.is_whole(shape):
        return new
    if 0 in typeof(new).shape:
        return x
    if any(abs(s) != 1 for s in where.steps):
        new = spread_out(new, hull(x, where), where)
    if tuple(where.spans) == shape:
        return new
    return dynamic_primitives.dynamic_update_slice(x, new, *dynamic.in_one_dtype(where.starts))


def spread_out(new: ArrayLike, old: ArrayLike, where: Bounds) -> ArrayOrTracer:
    """``old`` with every ``step``-th element replaced: ``new`` is pulled apart, and a mask of the same form
    selects it.
    """
    config = [(0, 0, abs(s) - 1) for s in where.steps]
    aval = typeof(new)
    pulled = shapes.pad(new, zeros.full_of_type(ShapedArray((), aval.dtype), 0), config)
    mask = shapes.pad(
        zeros.full_of_type(ShapedArray(aval.shape, logic.BOOL), True),
        zeros.full_of_type(ShapedArray((), logic.BOOL), False),
        config,
    )
    return logic.select_n(mask, old, pulled)


def fitted(values: Any, shape: Sequence[int]) -> ArrayOrTracer:
    """``values`` broadcast to the shape of the elements that they replace.

    As NumPy does, leading dimensions of size 1 may be too many.
    """
    have = typeof(values).shape
    extra = [d for d in range(len(have) - len(shape)) if have[d] == 1]
    kept = shapes.squeeze(values, extra) if extra else values
    try:
        return broadcasting.broadcast_to(kept, shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"values of the shape {have} do not broadcast to the shape {shape} of the indexed elements"
        ) from None


def is_box(entry: Any) -> bool:
    """Whether an entry is a slice of less than the whole dimension."""
    return type(entry) in (Box, BoxFrom)


def is_run(entry: Any) -> bool:
    """Whether an entry is a slice of neighbours."""
    return type(entry) is BoxFrom or (type(entry) is Box and entry.step == 1)


def needs_operand(entry: Any) -> bool:
    """Whether an entry has an operand."""
    return type(entry) is BoxFrom or (type(entry) is str and entry in (HERE, SCALAR, ARRAY))


def without_slices(entries: tuple, operands: Sequence[Any], keep_runs: bool = False) -> tuple:
    """Entries in two steps: first all slices, then everything else, with ``keep_runs`` the slices of
    neighbours among it.

    Returns:
      (entries of the slices, their operands, remaining entries, their operands)
    """
    slices, rest, slice_operands, rest_operands = [], [], [], []
    given = iter(operands)
    for entry in entries:
        operand = next(given) if needs_operand(entry) else None
        if is_box(entry) and not (keep_runs and is_run(entry)):
            slices.append(entry)
            rest.append(ALL)
            slice_operands += [operand] if operand is not None else []
        else:
            if entry != NEW:
                slices.append(ALL)
            rest.append(entry)
            rest_operands += [operand] if operand is not None else []
    return tuple(slices), slice_operands, tuple(rest), rest_operands


__all__ = ["fitted", "is_run", "put_box", "take_box", "without_slices"]
