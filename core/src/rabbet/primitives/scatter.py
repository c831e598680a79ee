"""Writing windows into an array at many computed positions: scatter, scatter_add, scatter_mul, scatter_min,
scatter_max.

The reverse of gather: each index vector along the last dimension of ``indices`` places one window of
``updates`` in the operand, and what was there is combined with it. Where several windows meet, the order is
not defined. Windows that would leave the array are dropped, unless the mode moves them inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rabbet import dtypes
from rabbet.errors import ShapeError
from rabbet.primitives import (
    batching,
    checks,
    convert,
    elementwise,
    extremes,
    gather,
    inlining,
    logic,
    regions,
    shape,
    zeros,
)
from rabbet.primitives.attributes import int_list
from rabbet.primitives.dynamic import dynamic_slice, dynamic_update_slice
from rabbet.program.avals import ShapedArray
from rabbet.rules.payloads import Batched, Dual, Linear, Zero, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.primitives.gather import GatherScatterMode
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


class ScatterDimensionNumbers(NamedTuple):
    """Which dimension of a scatter is what.

    update_window_dims: dimensions of the updates that run over the window. inserted_window_dims: dimensions
    of the operand, of window size 1, that the updates lack. scatter_dims_to_operand_dims: for each entry of
    an index vector, the dimension of the operand it positions. operand_batching_dims,
    scatter_indices_batching_dims: paired dimensions that run together.

    Example:
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_add(rnp.zeros(3), rnp.array([[1], [1]]), rnp.ones(2), numbers)
      Array([0., 2., 0.], dtype=float32)
    """

    update_window_dims: tuple
    inserted_window_dims: tuple
    scatter_dims_to_operand_dims: tuple
    operand_batching_dims: tuple = ()
    scatter_indices_batching_dims: tuple = ()

    def window_sizes(self, operand_rank: int, updates_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The size of the window along each dimension of the operand."""
        lacking = (*self.inserted_window_dims, *self.operand_batching_dims)
        window = iter([updates_shape[d] for d in self.update_window_dims])
        return tuple([1 if d in lacking else next(window) for d in range(operand_rank)])


def scatter_aval(
    name: str, x: ShapedArray, indices: ShapedArray, updates: ShapedArray, numbers: ScatterDimensionNumbers
) -> ShapedArray:
    checks.accept(f"{name} indices", checks.INTEGERS, indices)
    checks.same_dtype(name, x, updates)
    shown = f"{name} into {x.str_short()} of {updates.str_short()} at {indices.str_short()}"
    if not indices.ndim:
        raise ShapeError(
            f"{shown}: the indices need at least one dimension, the last one holding index vectors"
        )
    lacking = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    checks.axes_valid(f"{name}: inserted_window_dims and operand_batching_dims", lacking, x.ndim)
    checks.axes_valid(f"{name}: update_window_dims", numbers.update_window_dims, updates.ndim)
    for field in ("update_window_dims", "inserted_window_dims", "operand_batching_dims"):
        gather.in_order(shown, field, getattr(numbers, field))
    to_dims = numbers.scatter_dims_to_operand_dims
    gather.check_index_map(
        shown, "scatter_dims_to_operand_dims", to_dims, x, indices, numbers.operand_batching_dims
    )
    gather.check_batching(
        shown, x, indices, numbers.operand_batching_dims, numbers.scatter_indices_batching_dims
    )
    if len(numbers.update_window_dims) + len(lacking) != x.ndim:
        raise ShapeError(
            f"{shown}: update_window_dims {numbers.update_window_dims}, inserted_window_dims and "
            "operand_batching_dims "
            f"{lacking} together must be as many as the operand has dimensions, {x.ndim}"
        )
    outer = tuple([n for d, n in enumerate(updates.shape) if d not in numbers.update_window_dims])
    if outer != indices.shape[:-1]:
        raise ShapeError(f"{shown}: the updates have {outer} windows, the indices place {indices.shape[:-1]}")
    sizes = numbers.window_sizes(x.ndim, updates.shape)
    if any(s > n for d, (s, n) in enumerate(zip(sizes, x.shape, strict=True)) if d not in lacking):
        raise ShapeError(f"{shown}: windows of the sizes {sizes} are larger than the operand")
    return x


PARAMETERS = {
    "dimension_numbers": "lax.ScatterDimensionNumbers: which dimensions of the updates are windows, and "
    "where these go",
    "indices_are_sorted": "bool: a promise that the indices ascend",
    "unique_indices": "bool: a promise that no two windows overlap",
    "mode": "lax.GatherScatterMode: what becomes of windows that do not lie within the array",
}
INDICES = slice(1, 2)  # of the operands x, indices, updates


def scattering(name: str, hlo: str | None, accepts: str, combine: Any, doc: str) -> Primitive:
    """Make a scatter primitive.

    Args:
      name: the primitive's name.
      hlo: the StableHLO operation that combines an old and a new element, or None to take the new one.
      accepts: the dtype kinds it takes.
      combine: the same on arrays of old and new elements.
    """

    def abstract(
        x: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
    ) -> ShapedArray:
        checks.accept(name, accepts, x)
        return scatter_aval(name, x, indices, updates, dimension_numbers)

    kinds = ("shapeless",) if hlo else ("indexed", "shapeless")  # one that combines computes new elements
    primitive = Primitive(
        name, abstract, kinds=kinds, indices=None if hlo else INDICES, doc=doc, parameters=PARAMETERS
    )

    @primitive.rule("lower")
    def lower_scatter(op: Site, x: str, indices: str, updates: str) -> str:
        if op.out.size == 0:
            return x
        if op.in_avals[1].ndim == 1:
            return inlining.inline(
                op, lambda *args: one_window(op.params, combine, *args), [x, indices, updates]
            )
        if op["mode"] is gather.CLIP:
            indices = gather.moved_inside(op, indices, *_windows(op))
        ordering = combine in (extremes.min, extremes.max) and dtypes.kind(op.out.dtype) == "c"
        return _emit(op, combine if ordering else hlo, x, indices, updates)

    primitive.rule("batch")(batch_scatter)
    return primitive


# ----------------------------------------------------------------------------------------------- lowering
def _emit(op: Site, combine: str | None, x: str, indices: str, updates: str) -> str:
    """Write the scatter; ``combine`` is a StableHLO operation, a function of two scalars, or None."""
    numbers = op["dimension_numbers"]
    a, b, c = op.in_avals
    if op.cut_over > 1 and numbers.scatter_indices_batching_dims:
        indices, updates = _whole_places(op, numbers, indices, updates)
    attribute = (
        f"#stablehlo.scatter<update_window_dims = {int_list(numbers.update_window_dims)}, "
        f"inserted_window_dims = {int_list(numbers.inserted_window_dims)}, "
        f"input_batching_dims = {int_list(numbers.operand_batching_dims)}, "
        f"scatter_indices_batching_dims = {int_list(numbers.scatter_indices_batching_dims)}, "
        f"scatter_dims_to_operand_dims = {int_list(numbers.scatter_dims_to_operand_dims)}, "
        f"index_vector_dim = {b.ndim - 1}>"
    )
    flags = [f"{flag} = {str(op[flag]).lower()}" for flag in ("indices_are_sorted", "unique_indices")]
    attributes = f"{flags[0]}, scatter_dimension_numbers = {attribute}, {flags[1]}"
    head = f'"stablehlo.scatter"({x}, {indices}, {updates}) <{{{attributes}}}>'
    types = f": ({a.mlir}, {b.mlir}, {c.mlir}) -> {op.out.mlir}"
    if callable(combine):
        return regions.emit_pairs(op, head, combine, types)
    scalar = a.update(shape=()).mlir
    body = f"  stablehlo.return %new : {scalar}"
    if combine is not None:
        body = f"  %both = {combine} %old, %new : {scalar}\n  stablehlo.return %both : {scalar}"
    return op.emit(f"{head} ({{\n^bb0(%old: {scalar}, %new: {scalar}):\n{body}\n}}) {types}")


def _whole_places(op: Site, numbers: Any, indices: Any, updates: Any) -> Any:
    """The indices and updates of a scatter with batching dimensions, those of each example on one device: the
    compiler of jaxlib 0.10 adds up parts of them wrongly.
    """
    _, b, c = op.in_avals
    outer = [d for d in range(c.ndim) if d not in numbers.update_window_dims]
    own = [i for i in range(b.ndim - 1) if i not in numbers.scatter_indices_batching_dims and b.shape[i] > 1]
    if not own:
        return indices, updates
    return op.whole(indices, b, own), op.whole(updates, c, [outer[i] for i in own])


def _windows(op: Site) -> Any:
    """The sizes of windows, and the dimensions that each entry of an index vector is for."""
    numbers, (a, _, c) = op["dimension_numbers"], op.in_avals
    return numbers.window_sizes(a.ndim, c.shape), numbers.scatter_dims_to_operand_dims


def one_window(params: dict[Any, Any], combine: Any, x: Value, indices: Value, updates: Value) -> Value:
    """A scatter of a single window, as a slice that is updated: compilers do that in place and without a
    loop.
    """
    numbers, have = params["dimension_numbers"], typeof(x)
    sizes = numbers.window_sizes(have.ndim, typeof(updates).shape)
    starts = [zeros.full_of_type(ShapedArray((), typeof(indices).dtype), 0)] * have.ndim
    for k, d in enumerate(numbers.scatter_dims_to_operand_dims):
        entry = shape.slice(indices, start_indices=(k,), limit_indices=(k + 1,), strides=None)
        starts[d] = shape.reshape(entry, new_sizes=())
    old = dynamic_slice(x, *starts, slice_sizes=sizes)
    new = combine(old, shape.reshape(updates, new_sizes=sizes))
    if params["mode"] is gather.FILL_OR_DROP:
        inside = gather.in_bounds(indices, have.shape, sizes, numbers.scatter_dims_to_operand_dims)
        new = logic.select_n(inside, old, new)
    return dynamic_update_slice(x, new, *starts)


# ----------------------------------------------------------------------------------------------- batching
def batch_scatter(op: Op, x: Batched, indices: Batched, updates: Batched) -> Batched:
    """One scatter for all examples: with the batch in every window if positions are shared, else along
    batching dimensions.
    """
    numbers = op.params["dimension_numbers"]
    size = batching.batch_size(x, indices, updates)
    up = gather.up
    value, news = batching.at_axis(x, 0, size), batching.at_axis(updates, 0, size)
    window, inserted = up(numbers.update_window_dims), up(numbers.inserted_window_dims)
    to_dims, operand_dims = up(numbers.scatter_dims_to_operand_dims), up(numbers.operand_batching_dims)
    params = dict(op.params)
    if indices.axis is None:
        places = indices.value
        numbers = ScatterDimensionNumbers(
            (0, *window), inserted, to_dims, operand_dims, numbers.scatter_indices_batching_dims
        )
    else:
        places = batching.move_axis(indices.value, indices.axis, 0)
        numbers = ScatterDimensionNumbers(
            window, inserted, to_dims, (0, *operand_dims), (0, *up(numbers.scatter_indices_batching_dims))
        )
        params["indices_are_sorted"] = False
    params["dimension_numbers"] = numbers
    return Batched(op.primitive(value, places, news, **params), 0)


# --------------------------------------------------------------------------------------------- the family
scatter = scattering(
    "scatter",
    None,
    checks.ANY,
    lambda old, new: new,
    "x with windows replaced; which of several wins is not defined",
)
scatter_add = scattering(
    "scatter_add", "stablehlo.add", checks.NUMBERS, elementwise.add, "x with windows added to it"
)
scatter_sub = scattering(
    "scatter_sub", "stablehlo.subtract", checks.NUMBERS, elementwise.sub, "x with windows subtracted from it"
)
scatter_mul = scattering(
    "scatter_mul", "stablehlo.multiply", checks.NUMBERS, elementwise.mul, "x with windows multiplied in"
)
scatter_min = scattering(
    "scatter_min", "stablehlo.minimum", checks.NUMBERS + "b", extremes.min, "x, lowered to windows"
)
scatter_max = scattering(
    "scatter_max", "stablehlo.maximum", checks.NUMBERS + "b", extremes.max, "x, raised to windows"
)


# -------------------------------------------------------------------------------------------- derivatives
def gather_back(op: Op, values: Value, indices: Value, updates_shape: tuple[int, ...]) -> Value:
    """What stands in ``values`` at the places that a scatter writes: an array like its updates, zero for
    dropped windows.
    """
    numbers = op.params["dimension_numbers"]
    sizes = numbers.window_sizes(typeof(values).ndim, updates_shape)
    sizes = tuple([min(s, n) for s, n in zip(sizes, typeof(values).shape, strict=True)])
    reading = gather.GatherDimensionNumbers(
        numbers.update_window_dims, numbers.inserted_window_dims, numbers.scatter_dims_to_operand_dims,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
    )  # fmt: skip
    mode = op.params["mode"]
    return gather.gather(
        values, indices, dimension_numbers=reading, slice_sizes=sizes,
        indices_are_sorted=op.params["indices_are_sorted"],
        unique_indices=op.params["unique_indices"], mode=mode,
        fill_value=0 if mode is gather.FILL_OR_DROP else None,
    )  # fmt: skip


def _same_places(op: Op, primitive: Any, **changes: Any) -> Any:
    """Another scatter at the places of this one."""
    return primitive.op(**{**op.params, **changes})


def jvp_sum(op: Op, x: Any, indices: Any, updates: Any) -> Any:
    """Sums are linear in both."""
    out = op(x.primal, indices.primal, updates.primal)
    if type(x.tangent) is Zero and type(updates.tangent) is Zero:
        return Dual(out, zero_tangent(typeof(out)))
    if type(updates.tangent) is Zero:
        return Dual(out, x.tangent)
    return Dual(out, op(zeros.instantiate(x.tangent), indices.primal, updates.tangent))


def transpose_sum(op: Op, ct: Any, x: Any, indices: Any, updates: Any) -> Any:
    of_updates = None
    if type(updates) is Linear:
        of_updates = gather_back(op, ct, indices, updates.aval.shape)
        if op.primitive is scatter_sub:
            of_updates = elementwise.neg(of_updates)
    return (ct if type(x) is Linear else None), None, of_updates


for _primitive in (scatter_add, scatter_sub):
    _primitive.rule("jvp")(jvp_sum)
    _primitive.rule("transpose")(transpose_sum)


@scatter.rule("jvp")
def jvp_scatter(op: Op, x: Dual, indices: Dual, updates: Dual) -> Dual:
    """Linear where no two windows meet. Else only the winner of each place counts, and it is found by
    scattering numbers.
    """
    at = indices.primal
    out = op(x.primal, at, updates.primal)
    if type(x.tangent) is Zero and type(updates.tangent) is Zero:
        return Dual(out, zero_tangent(typeof(out)))
    of_x = zeros.instantiate(x.tangent)
    if op.params["unique_indices"] or type(updates.tangent) is Zero:
        return Dual(out, op(of_x, at, zeros.instantiate(updates.tangent)))
    have = typeof(updates.primal)
    numbered = np.dtype("uint32")
    numbers = shape.reshape(shape.iota(dtype=numbered, shape=(have.size,), dimension=0), new_sizes=have.shape)
    numbers = elementwise.add(numbers, 1)
    winners = op(zeros.full_of_type(ShapedArray(typeof(x.primal).shape, numbered), 0), at, numbers)
    won = logic.eq(gather_back(op, winners, at, have.shape), numbers)
    kept = logic.select_n(logic.eq(winners, 0), zeros.full_of_type(typeof(of_x), 0), of_x)
    moved = logic.select_n(won, zeros.full_of_type(typeof(updates.tangent), 0), updates.tangent)
    return Dual(out, _same_places(op, scatter_add)(kept, at, moved))


@scatter.rule("transpose")
def transpose_scatter(
    op: Op, ct: Value, x: Linear, indices: Value, updates: Linear
) -> tuple[Value | None, ...]:
    aval = updates.aval if type(updates) is Linear else typeof(updates)
    of_x = of_updates = None
    if type(x) is Linear:
        of_x = op(ct, indices, zeros.full_of_type(ShapedArray(aval.shape, typeof(ct).dtype), 0))
    if type(updates) is Linear:
        if not op.params["unique_indices"]:
            raise NotImplementedError(
                "scatter is linear in its updates only where no two windows meet; pass unique_indices=True "
                "if that is so, or use scatter_add"
            )
        of_updates = gather_back(op, ct, indices, aval.shape)
    return of_x, None, of_updates


@scatter_mul.rule("jvp")
def jvp_scatter_mul(op: Any, x: Any, indices: Any, updates: Any) -> Any:
    at = indices.primal
    out = op(x.primal, at, updates.primal)
    tangent = zero_tangent(typeof(out))
    if type(x.tangent) is not Zero:
        tangent = op(x.tangent, at, updates.primal)
    if type(updates.tangent) is not Zero:
        if not op.params["unique_indices"]:
            raise NotImplementedError(
                "the derivative of scatter_mul by its updates is known only where no two windows meet; pass "
                "unique_indices=True if that is so"
            )
        here = gather_back(op, x.primal, at, typeof(updates.primal).shape)
        moved = elementwise.mul(here, updates.tangent)
        start = zeros.instantiate(zero_tangent(typeof(out)))
        tangent = elementwise.add_tangents(tangent, _same_places(op, scatter_add)(start, at, moved))
    return Dual(out, tangent)


@scatter_mul.rule("transpose")
def transpose_scatter_mul(op: Op, ct: Any, x: Any, indices: Any, updates: Any) -> Any:
    if type(x) is Linear:
        return op(ct, indices, updates), None, None
    return None, None, gather_back(op, elementwise.mul(ct, x), indices, updates.aval.shape)


def jvp_scatter_extreme(op: Op, x: Any, indices: Any, updates: Any) -> Any:
    """The mean of the tangents of all, old and new, that equal the extreme."""
    at = indices.primal
    out = op(x.primal, at, updates.primal)
    aval = typeof(out)
    if dtypes.kind(aval.dtype) not in "fc" or (type(x.tangent) is Zero and type(updates.tangent) is Zero):
        return Dual(out, zero_tangent(aval))
    start = zeros.instantiate(zero_tangent(aval))
    adding = _same_places(op, scatter_add)
    reached = gather_back(op, out, at, typeof(updates.primal).shape)
    old = convert.to_dtype(logic.eq(x.primal, out), aval.dtype)
    new = convert.to_dtype(logic.eq(updates.primal, reached), aval.dtype)
    ways = adding(old, at, new)
    tangent = start if type(x.tangent) is Zero else elementwise.mul(x.tangent, old)
    if type(updates.tangent) is not Zero:
        tangent = adding(tangent, at, elementwise.mul(updates.tangent, new))
    return Dual(out, elementwise.div(tangent, ways))


scatter_min.rule("jvp")(jvp_scatter_extreme)
scatter_max.rule("jvp")(jvp_scatter_extreme)

__all__ = [
    "ScatterDimensionNumbers", "scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul",
    "scatter_sub",
]  # fmt: skip
