"""Moving elements about: broadcast, reshape, transpose, slice, pad, concatenate, reverse, iota.

All but iota are *structural*: they copy elements without looking at them, so their derivative is themselves.
``broadcast_in_dim`` and ``transpose`` are made in ``layout.py``; their rules stand here.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.errors import DTypeError, ShapeError
from rabbet.primitives import basic_reductions, batching, checks, elementwise, few_bits, logic, zeros
from rabbet.primitives.attributes import int_list
from rabbet.primitives.layout import broadcast_in_dim, inverse, lower_with, transpose
from rabbet.program.avals import ShapedArray
from rabbet.program.dimensions import exceeds
from rabbet.rules.payloads import Batched, Dual, Linear
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.rules.operator import Op
    from rabbet.typing import DType, Value

# --------------------------------------------------------------------------------------- broadcast_in_dim


@broadcast_in_dim.rule("transpose")
def transpose_broadcast_in_dim(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    shape, dims = op.params["shape"], op.params["broadcast_dimensions"]
    stretched = [d for k, d in enumerate(dims) if x.shape[k] != shape[d]]
    summed = tuple(d for d in range(len(shape)) if d not in dims or d in stretched)
    out = basic_reductions.reduce_sum(ct, axes=summed) if summed else ct
    return (reshape(out, new_sizes=x.shape) if stretched else out,)


@broadcast_in_dim.rule("batch")
def batch_broadcast_in_dim(op: Op, x: Batched) -> Batched:
    size = batching.batch_size(x)
    dims = (0, *(d + 1 for d in op.params["broadcast_dimensions"]))
    value = batching.move_axis(x.value, x.axis, 0)
    return Batched(broadcast_in_dim(value, shape=(size, *op.params["shape"]), broadcast_dimensions=dims), 0)


# ------------------------------------------------------------------------------------------------ reshape
def reshape_aval(x: ShapedArray, new_sizes: tuple[int, ...]) -> ShapedArray:
    if prod(new_sizes) != x.size:
        raise ShapeError(
            f"cannot reshape array {x.str_short()} of {x.size} elements to {tuple(new_sizes)} of "
            f"{prod(new_sizes)}"
        )
    return ShapedArray(tuple(new_sizes), x.dtype, x.weak_type)


reshape = Primitive(
    "reshape", reshape_aval, kinds=("structural",), doc="the same elements in row-major order",
    parameters={"new_sizes": "tuple of int: the shape of the result"},
)
reshape.rule("lower")(lower_with("stablehlo.reshape", lambda op: ""))


@reshape.rule("transpose")
def transpose_reshape(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (reshape(ct, new_sizes=x.shape),)


@reshape.rule("batch")
def batch_reshape(op: Op, x: Batched) -> Batched:
    value = batching.move_axis(x.value, x.axis, 0)
    return Batched(reshape(value, new_sizes=(batching.batch_size(x), *op.params["new_sizes"])), 0)


# ----------------------------------------------------------------------------------- squeeze, expand_dims
def squeeze_aval(x: ShapedArray, dimensions: tuple[int, ...]) -> ShapedArray:
    checks.axes_valid("squeeze", dimensions, x.ndim)
    for d in dimensions:
        if x.shape[d] != 1:
            raise ShapeError(
                f"squeeze: dimension {d} of {x.str_short()} has size {x.shape[d]}, only size 1 can be removed"
            )
    return x.update(shape=tuple([s for i, s in enumerate(x.shape) if i not in dimensions]))


squeeze = Primitive(
    "squeeze", squeeze_aval, kinds=("structural",), doc="x without some dimensions of size 1",
    parameters={"dimensions": "tuple of int: those of size 1 that disappear"},
)
squeeze.rule("lower")(lower_with("stablehlo.reshape", lambda op: ""))


@squeeze.rule("transpose")
def transpose_squeeze(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (reshape(ct, new_sizes=x.shape),)


@squeeze.rule("batch")
def batch_squeeze(op: Op, x: Batched) -> Batched:
    value = batching.move_axis(x.value, x.axis, 0)
    return Batched(squeeze(value, dimensions=tuple(d + 1 for d in op.params["dimensions"])), 0)


def expand_dims_aval(x: ShapedArray, dimensions: tuple[int, ...]) -> ShapedArray:
    checks.axes_valid("expand_dims", dimensions, x.ndim + len(dimensions))
    sizes = iter(x.shape)
    return x.update(
        shape=tuple([1 if i in dimensions else next(sizes) for i in range(x.ndim + len(dimensions))])
    )


expand_dims = Primitive(
    "expand_dims", expand_dims_aval, kinds=("structural",), doc="x with new dimensions of size 1",
    parameters={"dimensions": "tuple of int: where the new dimensions are in the result"},
)
expand_dims.rule("lower")(lower_with("stablehlo.reshape", lambda op: ""))


@expand_dims.rule("transpose")
def transpose_expand_dims(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (reshape(ct, new_sizes=x.shape),)


@expand_dims.rule("batch")
def batch_expand_dims(op: Op, x: Batched) -> Batched:
    value = batching.move_axis(x.value, x.axis, 0)
    return Batched(expand_dims(value, dimensions=tuple(d + 1 for d in op.params["dimensions"])), 0)


# ---------------------------------------------------------------------------------------------- transpose


@transpose.rule("transpose")
def transpose_transpose(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (transpose(ct, permutation=inverse(op.params["permutation"])),)


@transpose.rule("batch")
def batch_transpose(op: Op, x: Batched) -> Batched:
    axis = x.axis
    shifted = tuple([p + (p >= axis) for p in op.params["permutation"]])
    return Batched(transpose(x.value, permutation=(axis, *shifted)), 0)


# ---------------------------------------------------------------------------------------------------- rev
def rev_aval(x: ShapedArray, dimensions: tuple[int, ...]) -> ShapedArray:
    checks.axes_valid("rev", dimensions, x.ndim)
    return x


rev = Primitive(
    "rev", rev_aval, kinds=("structural", "shapeless"), doc="x with some dimensions in reverse order",
    parameters={"dimensions": "tuple of int: those that are turned round"},
)


@rev.rule("lower")
def lower_rev(op: Site, x: str) -> str:
    return op.emit(f"stablehlo.reverse {x}, dims = {int_list(op['dimensions'])} : {op.out.mlir}")


@rev.rule("transpose")
def transpose_rev(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (op(ct),)


@rev.rule("batch")
def batch_rev(op: Op, x: Batched) -> Batched:
    shifted = tuple([d + (d >= x.axis) for d in op.params["dimensions"]])
    return Batched(rev(x.value, dimensions=shifted), x.axis)


# -------------------------------------------------------------------------------------------------- slice
def slice_aval(
    x: ShapedArray,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> ShapedArray:
    steps = strides or (1,) * x.ndim
    if not len(start_indices) == len(limit_indices) == len(steps) == x.ndim:
        raise ShapeError(
            f"slice of {x.str_short()} needs {x.ndim} starts, limits and strides, got {start_indices}, "
            f"{limit_indices}, {strides}"
        )
    for size, lo, hi, step in zip(x.shape, start_indices, limit_indices, steps, strict=True):
        if not 0 <= lo <= hi <= size or step < 1:
            raise ShapeError(
                f"slice of {x.str_short()}: need 0 <= start <= limit <= size and stride >= 1, "
                f"got {start_indices}, {limit_indices}, {strides}"
            )
    shape = tuple(
        [-(-(hi - lo) // step) for lo, hi, step in zip(start_indices, limit_indices, steps, strict=True)]
    )
    return x.update(shape=shape)


slice = Primitive(
    "slice", slice_aval, kinds=("structural",), doc="a box of x, every stride-th element",
    parameters={
        "start_indices": "tuple of int: the first element along each dimension",
        "limit_indices": "tuple of int: the end, which is not part of it",
        "strides": "tuple of int or None: steps; None: 1",
    },
)


@slice.rule("lower")
def lower_slice(op: Site, x: str) -> str:
    starts, limits = op["start_indices"], op["limit_indices"]
    steps = op.params.get("strides") or (1,) * len(starts)
    spans = ", ".join([f"{lo}:{hi}:{s}" for lo, hi, s in zip(starts, limits, steps, strict=True)])
    return op.emit(f"stablehlo.slice {x} [{spans}] : ({op.in_avals[0].mlir}) -> {op.out.mlir}")


@slice.rule("transpose")
def transpose_slice(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    starts, steps = op.params["start_indices"], op.params.get("strides") or (1,) * x.ndim
    spans = [(n - 1) * s + 1 if n else 0 for n, s in zip(typeof(ct).shape, steps, strict=True)]
    config = tuple(
        [
            (lo, size - lo - span, s - 1)
            for lo, size, span, s in zip(starts, x.shape, spans, steps, strict=True)
        ]
    )
    return (pad(ct, zeros.padding(ct), padding_config=config),)


@slice.rule("batch")
def batch_slice(op: Op, x: Batched) -> Batched:
    def insert(values: tuple[int, ...], extra: int) -> Any:
        return (*values[: x.axis], extra, *values[x.axis :])

    strides = op.params.get("strides")
    return Batched(
        slice(
            x.value,
            start_indices=insert(op.params["start_indices"], 0),
            limit_indices=insert(op.params["limit_indices"], batching.batch_size(x)),
            strides=insert(strides, 1) if strides else None,
        ),
        x.axis,
    )


# ---------------------------------------------------------------------------------------------------- pad
def pad_aval(x: ShapedArray, value: ShapedArray, padding_config: Any) -> ShapedArray:
    checks.same_dtype("pad", x, value)
    if value.shape:
        raise ShapeError(f"pad: the padding value must be a scalar, got {value.str_short()}")
    if len(padding_config) != x.ndim:
        raise ShapeError(
            f"pad: {x.str_short()} needs {x.ndim} triples (low, high, interior), got {padding_config}"
        )
    sizes = [
        lo + hi + n + max(n - 1, 0) * mid for n, (lo, hi, mid) in zip(x.shape, padding_config, strict=True)
    ]
    if any(mid < 0 for _, _, mid in padding_config) or any(n < 0 for n in sizes):
        raise ShapeError(
            f"pad of {x.str_short()} by {padding_config} gives the shape {tuple(sizes)} or negative interior"
        )
    return x.update(shape=tuple(sizes))


pad = Primitive(
    "pad",
    pad_aval,
    kinds=("structural",),
    adopt=0,
    doc="x with a value put around (or, if negative, elements cut off) and between its elements",
    parameters={
        "padding_config": "tuple of (before, after, between) for each dimension: how many values are "
        "put there; below 0, elements are cut off",
    },
)


@pad.rule("lower")
def lower_pad(op: Site, x: str, value: str) -> str:
    config, (a, v) = op["padding_config"], op.in_avals
    if op.cut_over > 1 and any(mid for _, _, mid in config):
        return _pad_apart(op, x, value)
    low, high, interior = (int_list(column) for column in _columns(config))
    return op.emit(
        f"stablehlo.pad {x}, {value}, low = {low}, high = {high}, interior = {interior} : "
        f"({a.mlir}, {v.mlir}) -> {op.out.mlir}"
    )


def _pad_apart(op: Site, x: Any, value: Any) -> Any:
    """A pad with values between elements, as the compiler can cut it up. Where it cuts off elements in one
    operation, too, the compiler ends the process; between unequal parts it puts too few or too many.
    """
    config, (a, v) = op["padding_config"], op.in_avals
    uneven = [d for d, (_, _, mid) in enumerate(config) if mid and a.shape[d] % op.cut_over]
    x = op.whole(x, a, uneven) if uneven else x
    grown = [(max(lo, 0), max(hi, 0), mid) for lo, hi, mid in config]
    more = pad_aval(a, v, grown)
    low, high, interior = (int_list(column) for column in _columns(grown))
    x = op.emit(
        f"stablehlo.pad {x}, {value}, low = {low}, high = {high}, interior = {interior} : "
        f"({a.mlir}, {v.mlir}) -> {more.mlir}"
    )
    x = op.whole(x, more, uneven) if uneven else x  # or it would be computed in parts all the same
    kept = [f"{max(-lo, 0)}:{n + min(hi, 0)}:1" for n, (lo, hi, _) in zip(more.shape, config, strict=True)]
    if more.shape == op.out.shape:
        return x
    return op.emit(f"stablehlo.slice {x} [{', '.join(kept)}] : ({more.mlir}) -> {op.out.mlir}")


def _columns(config: Any) -> Any:
    return zip(*config, strict=True) if config else ((), (), ())


@pad.rule("jvp")
def jvp_pad(op: Op, x: Dual, value: Dual) -> Dual:
    return Dual(
        op(x.primal, value.primal), op(zeros.instantiate(x.tangent), zeros.instantiate(value.tangent))
    )


@pad.rule("transpose")
def transpose_pad(op: Op, ct: Value, x: Linear, value: np.generic) -> tuple[Value | None, ...]:
    config = op.params["padding_config"]
    inner = outer = None
    if type(x) is Linear:
        zero = zeros.padding(ct)
        trimmed = pad(ct, zero, padding_config=tuple([(-lo, -hi, 0) for lo, hi, _ in config]))
        steps = tuple([mid + 1 for _, _, mid in config])
        limits = typeof(trimmed).shape
        inner = slice(trimmed, start_indices=(0,) * len(config), limit_indices=limits, strides=steps)
    if type(value) is Linear:
        every = tuple(range(len(config)))
        total = basic_reductions.reduce_sum(ct, axes=every)
        mine = (
            inner if inner is not None else transpose_pad(op, ct, Linear(typeof_operand(op, ct, x)), None)[0]
        )
        outer = elementwise.sub(total, basic_reductions.reduce_sum(mine, axes=every))
    return inner, outer


def typeof_operand(op: Op, ct: Any, x: Any) -> Any:
    """The aval of pad's operand, whether it is linear or known."""
    return x.aval if type(x) is Linear else typeof(x)


@pad.rule("batch")
def batch_pad(op: Op, x: Batched, value: Batched) -> Batched:
    config = op.params["padding_config"]
    if value.axis is None:
        return Batched(
            pad(x.value, value.value, padding_config=(*config[: x.axis], (0, 0, 0), *config[x.axis :])),
            x.axis,
        )
    # A padding value per example: pad with zeros, and choose by a mask of where the padding went.
    data, padding = batching.at_front(x, value)
    config = ((0, 0, 0), *config)
    zero = zeros.padding(data)
    padded = pad(data, zero, padding_config=config)
    inside = pad(
        zeros.full_of_type(ShapedArray(typeof(data).shape, logic.BOOL), True),
        np.False_,
        padding_config=config,
    )
    spread = broadcast_in_dim(padding, shape=typeof(padded).shape, broadcast_dimensions=(0,))
    return Batched(logic.select_n(inside, spread, padded), 0)


# -------------------------------------------------------------------------------------------- concatenate
def concatenate_aval(*arrays: ShapedArray, dimension: int) -> ShapedArray:
    if not arrays:
        raise ShapeError("concatenate needs at least one array")
    checks.same_dtype("concatenate", *arrays)
    first = arrays[0]
    if not 0 <= dimension < first.ndim:
        raise ShapeError(f"concatenate: dimension {dimension} is out of range for {first.str_short()}")
    for a in arrays[1:]:
        if a.ndim != first.ndim or any(
            i != dimension and s != t for i, (s, t) in enumerate(zip(a.shape, first.shape, strict=False))
        ):
            shown = ", ".join(v.str_short() for v in arrays)
            raise ShapeError(f"concatenate: shapes must agree in all dimensions but {dimension}, got {shown}")
    total = sum(a.shape[dimension] for a in arrays)
    shape = (*first.shape[:dimension], total, *first.shape[dimension + 1 :])
    return ShapedArray(shape, first.dtype, all(a.weak_type for a in arrays))


concatenate = Primitive(
    "concatenate", concatenate_aval, kinds=("structural", "shapeless"), adopt=0,
    doc="arrays joined along a dimension",
    parameters={"dimension": "int: the dimension along which the arrays are joined"},
)  # fmt: skip


@concatenate.rule("lower")
def lower_concatenate(op: Site, *arrays: str) -> str:
    if few_bits.less_than_a_byte(op.out.dtype):  # the CPU's compiler ends the process over it
        return few_bits.in_wider(op, arrays)[0]
    types = ", ".join([a.mlir for a in op.in_avals])
    return op.emit(
        f"stablehlo.concatenate {', '.join(arrays)}, dim = {op['dimension']} : ({types}) -> {op.out.mlir}"
    )


@concatenate.rule("transpose")
def transpose_concatenate(op: Op, ct: Value, *arrays: Linear | Value) -> tuple[Value | None, ...]:
    dimension, at, parts = op.params["dimension"], 0, []
    full = typeof(ct).shape
    for a in arrays:
        size = typeof(a).shape[dimension] if type(a) is not Linear else a.shape[dimension]
        if type(a) is Linear:
            lo = tuple([at if d == dimension else 0 for d in range(len(full))])
            hi = tuple([at + size if d == dimension else n for d, n in enumerate(full)])
            parts.append(slice(ct, start_indices=lo, limit_indices=hi))
        else:
            parts.append(None)
        at += size
    return tuple(parts)


@concatenate.rule("batch")
def batch_concatenate(op: Op, *arrays: Batched) -> Batched:
    return Batched(concatenate(*batching.at_front(*arrays), dimension=op.params["dimension"] + 1), 0)


# --------------------------------------------------------------------------------------------------- iota
def iota_aval(*, dtype: DType, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    if dtypes.kind(dtype) not in checks.NUMBERS:
        raise DTypeError(f"iota makes numbers, not {dtypes.short_name(dtype)}")
    if not 0 <= dimension < len(shape):
        raise ShapeError(f"iota: dimension {dimension} is out of range for the shape {tuple(shape)}")
    made = ShapedArray(tuple(shape), dtype)  # a shape that no memory can hold is refused first
    # Fewer bits wrap around, as they do in StableHLO; positions of 32 bits would be negative.
    if dtypes.kind(dtype) in "iu" and dtypes.itemsize_bits(dtype) >= 32:
        last = shape[dimension] - 1
        if exceeds(last, dtypes.iinfo(dtype).max):
            raise DTypeError(f"iota: {dtypes.canonicalize(dtype)} cannot hold {last}; take a wider dtype")
    return made


iota = Primitive(
    "iota", iota_aval, doc="0, 1, 2, ... along a dimension",
    parameters={
        "dtype": "dtype: of the result",
        "shape": "tuple of int: of the result",
        "dimension": "int: the dimension along which it counts",
    },
)


@iota.rule("lower")
def lower_iota(op: Site) -> str:
    return op.emit(f"stablehlo.iota dim = {op['dimension']} : {op.out.mlir}")
