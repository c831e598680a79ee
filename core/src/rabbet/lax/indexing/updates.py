"""``x.at[index].set(value)`` and its like: copies of an array with some elements changed.

Slices and integers become slices that are updated, which compilers do in place; computed positions become
one scatter, and slices of neighbours beside them belong to its windows. A single mask becomes a selection,
so it may be a value that is not known yet.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.config import config
from rabbet.dtypes.array_protocol import array_of
from rabbet.lax import broadcasting, creation, scatter_by_function, shapes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer
from rabbet.lax.gathering import fill_of
from rabbet.lax.indexing import boxes
from rabbet.lax.indexing.arrays import lifted, put_arrays
from rabbet.lax.indexing.plans import (
    ARRAY,
    SCALAR,
    empty_by_rule,
    is_mask,
    leaves_in,
    parse,
    proper,
    stacked,
)
from rabbet.lax.indexing.reads import is_eager, on_device, take, take_traced
from rabbet.lax.powers import power
from rabbet.messages.source_positions import stacklevel
from rabbet.messages.tracebacks import folded
from rabbet.primitives import convert, elementwise, extremes, logic
from rabbet.primitives import scatter as scatters
from rabbet.primitives.gather import GatherScatterMode
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.runtime.arrays.values import scalar_array, to_array
from rabbet.runtime.fused import fused
from rabbet.runtime.transfer import hidden, obey_sharding
from rabbet.trace.interpreter import typeof
from rabbet.trace.tracer import Tracer


@folded
class Indexer:
    """``x.at``: index it to choose the elements to change, as in ``x.at[2:4].set(0)``."""

    __slots__ = ("array",)

    def __init__(self, array: ArrayOrTracer) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexedArray:
        return IndexedArray(self.array, index)

    def __repr__(self) -> str:
        return f"Indexer({self.array!r})"


# The modes that say what happens at positions out of range.
TELLING = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
STRATEGIES = ("auto", "gather", "dynamic_slice", "static_slice")


@folded
class IndexedArray:
    """Some elements of an array, ``x.at[index]``: each method returns a changed copy of ``x``, of its dtype.

    All take the keywords

    - ``mode``: for positions out of range. ``"drop"`` (the default of changes) leaves them out, ``"clip"``
      (the default of ``get``) moves them to the edge, ``"fill"`` (of ``get``) reads ``fill_value``,
      ``"promise_in_bounds"`` says that there are none. Static ones raise ``IndexError`` unless one of the
      first three is given;
    - ``indices_are_sorted``, ``unique_indices``: promises about arrays of positions, for speed; results are
      undefined if broken;
    - ``wrap_negative_indices``: whether negative positions count from the end.

    Where an array of positions names an element twice, ``add``, ``subtract``, ``multiply``, ``divide``,
    ``power``, ``min`` and ``max`` count both; which of two values ``set`` keeps is not defined.

    Example:
      >>> x.at[0, 1:].add(1.0)
      >>> x.at[rnp.array([0, 0, 2])].multiply(2.0)
      >>> x.at[x < 0].set(0)
    """

    __slots__ = ("array", "index")
    # The methods that change elements are made below, from their table.
    set: Any
    add: Any
    multiply: Any
    mul: Any

    def __init__(self, array: ArrayOrTracer, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexedArray({self.array!r}, {self.index!r})"

    def get(
        self, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
        fill_value: Any = None, out_sharding: Any = None, wrap_negative_indices: bool = True,
        strategy: str = "auto",
    ) -> ArrayOrTracer:  # fmt: skip
        """``x[index]`` with a choice of what is read out of range: see the class.

        ``fill_value`` is a scalar known before the program runs; by default NaN, the smallest (signed) or
        largest (unsigned) integer, or True. ``strategy`` is one of JAX's names for how it is done; here
        the index decides.
        """
        if strategy not in STRATEGIES:
            raise ValueError(f"x.at[...].get: strategy must be one of {STRATEGIES}, got {strategy!r}")
        if mode is None and fill_value is not None:
            mode = "fill"
        options: dict[str, Any] = {
            "mode": None if mode is None else GatherScatterMode.from_any(mode),
            "fill_value": fill_of(fill_value),
            "indices_are_sorted": bool(indices_are_sorted), "unique_indices": bool(unique_indices),
            "wrap": bool(wrap_negative_indices),
        }  # fmt: skip
        x: Any = self.array if out_sharding is None else hidden(self.array)
        eager = is_eager(x)
        index = self.index if out_sharding is None else hidden_index(self.index)
        plan = parse(x.aval, index, eager, options["mode"] in TELLING, options["wrap"])
        if eager:
            out = take(x, *on_device(plan.operands, x.spec.device), entries=plan.entries, **options)
        else:
            out = take_traced(x, *plan.operands, entries=plan.entries, **options)
        return out if out_sharding is None else obey_sharding("x.at[...].get", out, out_sharding)

    def apply(self, func: Callable, **options: Any) -> ArrayOrTracer:
        """``func`` of the elements, an elementwise function; of an element named twice, ``func`` of that.

        With ``unique_indices=True`` it is evaluated for the chosen elements alone.
        """
        items = self.index if type(self.index) is tuple else (self.index,)
        if options.get("unique_indices") or not any(map(names_several, items)):
            # What is read out of range is dropped or, clipped, written back where it was read.
            reading = {**options, "mode": "clip"} if options.get("mode") is not None else options
            return self.set(scatter_by_function.one_array(func, func(self.get(**reading))), **options)
        counts = creation.full_like(self.array, 0, np.int32)
        counts = IndexedArray(counts, self.index).add(1, **options)
        return scatter_by_function.repeated(func, self.array, counts)


def names_several(item: Any) -> bool:
    """Whether an index is an array of positions or a mask, which may name an element twice."""
    return isinstance(item, (list, tuple, range)) or getattr(item, "ndim", 0) > 0


def changing(how: str, doc: str) -> Callable:
    """The method of ``IndexedArray`` for one way to change elements."""

    def method(
        self: Any, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
        mode: Any = None, out_sharding: Any = None, wrap_negative_indices: bool = True,
    ) -> ArrayOrTracer:  # fmt: skip
        x, index = self.array, self.index
        if out_sharding is not None:
            x, values, index = hidden(x), hidden(values), hidden_index(index)
        known = GatherScatterMode.from_any(mode)
        out = change(
            x, index, values, outside=mode is not None and known in TELLING, how=how, mode=known,
            indices_are_sorted=bool(indices_are_sorted), unique_indices=bool(unique_indices),
            wrap=bool(wrap_negative_indices),
        )  # fmt: skip
        return out if out_sharding is None else obey_sharding(f"x.at[...].{how}", out, out_sharding)

    method.__name__ = how
    method.__qualname__ = f"IndexedArray.{how}"
    method.__doc__ = doc + " ``values`` broadcasts to the shape of ``x[index]`` and takes the dtype of ``x``."
    return folded(method)


def hidden_index(index: Any) -> Any:
    """An index whose arrays show no layout: the result's is said."""
    if type(index) is tuple:
        return tuple([hidden_index(item) for item in index])
    return hidden(index) if hasattr(index, "aval") else index


DOCS = {
    "set": "``x`` with the elements replaced.", "add": "``x`` with ``values`` added to the elements.",
    "subtract": "``x`` with ``values`` subtracted from the elements.",
    "multiply": "``x`` with the elements multiplied.",
    "divide": "``x`` with the elements divided; integers become floats.",
    "power": "``x`` with the elements raised to a power.",
    "min": "``x`` with the elements made at most ``values``.",
    "max": "``x`` with the elements made at least ``values``.",
}  # fmt: skip

for _how, _doc in DOCS.items():
    setattr(IndexedArray, _how, changing(_how, _doc))
IndexedArray.mul = IndexedArray.multiply


# ----------------------------------------------------------------------------------------------- changing
def change(x: ArrayLike, index: Any, values: Any, outside: bool = False, **options: Any) -> ArrayOrTracer:
    """A copy of ``x`` changed at ``index``; ``outside`` as ``parse``, ``options`` as ``change_traced`` takes
    them.
    """
    sums = x.aval.kind == "b" and options["how"] in ("add", "multiply") and config.index_rules == "clamped"
    if sums and not isinstance(values, (list, tuple)) and typeof(values).kind == "b":
        raise TypeError(
            f"scatter-{options['how']} does not accept dtype bool; change numbers, or use .max or .min"
        )
    if options["how"] == "divide" and dtypes.kind(x.aval.dtype) not in "fc":
        x = convert.to_dtype(x, dtypes.to_inexact(x.aval.dtype))
    eager = is_eager(x)
    values = proper_values(values, x, eager)
    device = x.spec.device if eager else None
    if eager:
        values = to_array(values, device)
    mask = index[0] if type(index) is tuple and len(index) == 1 else index
    whole = is_mask(mask) and typeof(values).ndim <= x.aval.ndim - typeof(mask).ndim
    if whole and not empty_by_rule(proper(mask, x.aval)):
        mask = proper(mask, x.aval)
        mask = mask[()] if isinstance(mask, np.ndarray) else mask
        if eager:
            return masked(x, to_array(mask, device), values, how=options["how"])
        return masked_traced(x, mask, values, how=options["how"])
    plan = parse(x.aval, index, eager, outside, options.get("wrap", True))
    if eager:
        return change_eager(x, values, *on_device(plan.operands, device), entries=plan.entries, **options)
    return change_traced(x, values, *plan.operands, entries=plan.entries, **options)


def proper_values(values: Any, x: ArrayLike, eager: bool) -> ArrayOrTracer:
    """Values as an array; Python scalars in the dtype of ``x``. Warns where something would be lost."""
    dtype = x.aval.dtype
    if isinstance(values, (list, tuple)):
        leaves = list(leaves_in(values))
        traced = any(type(v) is Tracer for v in leaves)
        values = stacked(values, dtypes.result_type(*leaves)) if traced else np.asarray(values)
    elif not hasattr(values, "aval") and hasattr(values, "__jax_array__"):
        values = array_of(values)
    if python_scalars.is_python_scalar(values):
        if not python_scalars.fits(values, dtype):
            values = np.asarray(values)
        else:
            aval = ShapedArray((), dtype)
            return (
                scalar_array(values, aval, x.spec.device)
                if eager
                else python_scalars.as_numpy(values, aval)[()]
            )
    given = typeof(values).dtype
    if given != dtype and config.numpy_dtype_promotion == "strict":
        dtypes.promote(values, x)  # refuses
    if given != dtype and dtypes.result_type(x, values) != dtype:
        warnings.warn(
            f"scatter inputs have incompatible types: cannot safely cast values of dtype "
            f"{dtypes.short_name(given)} to that of the array {x.aval.str_short()}, which they are put into; "
            f"they lose what it cannot hold. Convert them with astype if that is meant",
            FutureWarning,
            stacklevel=stacklevel(),
        )
    return values


def change_traced(
    x: ArrayLike, values: Any, *operands: Any, entries: tuple, how: str, mode: Any,
    indices_are_sorted: bool = False, unique_indices: bool = False, wrap: bool = True,
) -> ArrayOrTracer:  # fmt: skip
    """What ``x.at[...].add(values)`` and its like compute, by primitives."""
    x, entries, flags = lifted(x, entries)
    values = cast(values, x)
    if ARRAY not in entries and SCALAR not in entries:
        old = boxes.take_box(x, entries, operands)
        new = combined(how, old, spread(values, typeof(old).shape, how))
        out = boxes.put_box(x, new, entries, operands)
    else:
        slices, starts, rest, arrays = boxes.without_slices(entries, operands, keep_runs=True)
        part = boxes.take_box(x, slices, starts)
        part = scattered(
            how, part, values, rest, arrays, mode=mode, indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            wrap=wrap,
        )  # fmt: skip
        out = boxes.put_box(x, part, slices, starts)
    return as_weak_as(x, shapes.squeeze(out, flags))


change_eager = fused(
    change_traced, static=("entries", "how", "mode", "indices_are_sorted", "unique_indices", "wrap")
)


def cast(values: Any, x: ArrayLike) -> ArrayOrTracer:
    """``values`` in the dtype of ``x``, strongly typed as it is."""
    dtype = typeof(x).dtype
    return convert.to_dtype(values, dtype)


def as_weak_as(x: ArrayLike, out: Any) -> ArrayOrTracer:
    """``out``, weak if ``x`` is: what is put into an array does not change its type."""
    weak = typeof(x).weak_type
    if typeof(out).weak_type == weak:
        return out
    return convert.convert_element_type(out, new_dtype=typeof(x).dtype, weak_type=weak)


def spread(values: Any, shape: Sequence[int], how: str) -> ArrayOrTracer:
    """``values`` in the shape of the elements; a scalar stays one where arithmetic spreads it."""
    return values if how != "set" and not typeof(values).shape else boxes.fitted(values, shape)


def combined(how: str, old: ArrayLike, new: ArrayLike) -> ArrayOrTracer:
    """The elements that result from old ones and given ones."""
    if how == "power":
        return power(old, new)
    return COMBINE[how](old, new)


COMBINE: dict[str, Callable[..., Any]] = {
    "set": lambda old, new: new, "add": elementwise.add, "subtract": elementwise.sub,
    "multiply": elementwise.mul,
    "divide": elementwise.div, "min": extremes.min, "max": extremes.max,
}  # fmt: skip
SCATTERS = {
    "set": scatters.scatter, "add": scatters.scatter_add, "subtract": scatters.scatter_sub,
    "multiply": scatters.scatter_mul, "min": scatters.scatter_min, "max": scatters.scatter_max,
}  # fmt: skip


def scattered(
    how: str, x: ArrayLike, values: Any, entries: tuple, operands: Sequence[Any], **options: Any,
) -> ArrayOrTracer:  # fmt: skip
    """``x`` changed at arrays of positions. Division and power by an element named twice count twice, as
    products do.
    """
    if typeof(x).kind == "b":  # a sum of booleans is whether any is true, a product whether all are
        how = {"add": "max", "multiply": "min"}.get(how, how)
    if how in SCATTERS:
        return put_arrays(x, values, entries, operands, SCATTERS[how], **options)
    ones = creation.full_like(x, 1)
    factors = put_arrays(ones, values, entries, operands, scatters.scatter_mul, **options)
    return combined(how, x, factors)


def masked_traced(x: ArrayLike, mask: ArrayLike, values: Any, *, how: str) -> ArrayOrTracer:
    """``x`` changed where a mask over its first dimensions holds."""
    have, where = typeof(x), typeof(mask)
    if where.shape != have.shape[: where.ndim]:
        raise IndexError(
            f"a mask of the shape {where.shape} cannot index {have.str_short()}: it must have the shape "
            f"{have.shape[: where.ndim]}"
        )
    new = combined(how, x, spread(cast(values, x), have.shape, how))
    wide = broadcasting.broadcast_in_dim(mask, have.shape, tuple(range(where.ndim)))
    return logic.select_n(wide, x, new)


masked = fused(masked_traced, static=("how",))

__all__ = ["IndexedArray", "Indexer", "change_traced"]
