"""Reductions by any associative operation: ``reduce`` over dimensions, ``reduce_window`` over windows.

The operation is a program of scalars, ``computation``: from two elements (of several arrays at once) to one.
Every transformation that has no rule for that gets a decomposition: the same program on whole arrays, pair by
pair, or place by place of the window.

A `reduce` is lowered by its decomposition too. XLA's own reduction takes 1 to 4 times as long on a CPU, and
cuts 33 elements and more into groups that each begin with the initial value: one that is not neutral counts
many times. `reduce_window` is lowered as a region; there the initial value has to be neutral.
"""

from math import prod

import numpy as np
from rabbet import lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.passes import at_each_place, stage, without_calls
from rabbet.extend.primitive import (
    Batched,
    Primitive,
    broadcast_in_dim,
    concatenate,
    dynamic_slice,
    iota,
    pad,
    reshape,
    scan,
    transpose,
)  # fmt: skip
from rabbet.extend.primitive import slice as slice_
from rabbet.extend.rules import at_axis, axes_valid, batch_size
from rabbet.extend.transform import batch, typeof

from rabbet_convolution.primitives import windows


def _spread(x, wanted):
    if typeof(x).shape == wanted:
        return x
    return broadcast_in_dim(x, shape=wanted, broadcast_dimensions=())


# ---------------------------------------------------------------------------------------- reduce
def check_computation(name, computation, operands, inits):
    """Refuse operands that do not belong together, and a computation of other types."""
    first = operands[0]
    for x, init in zip(operands, inits, strict=True):
        if x.shape != first.shape:
            shown = ", ".join([a.str_short() for a in operands])
            raise ShapeError(f"{name}: all arrays must have one shape, got {shown}")
        if init.shape or init.dtype != x.dtype:
            raise DTypeError(
                f"{name}: the initial value for {x.str_short()} must be a scalar of its dtype, got "
                f"{init.str_short()}"
            )
    wanted = [(x.dtype, ()) for x in operands]
    for what, avals in (("takes", computation.in_avals), ("returns", computation.out_avals)):
        if [(a.dtype, a.shape) for a in avals] != (wanted * 2 if what == "takes" else wanted):
            shown, of = (", ".join([a.str_short() for a in some]) for some in (avals, operands))
            raise ShapeError(
                f"{name}: the computation combines two elements of {of} to one, but it {what} {shown}"
            )


def reduce_aval(*args, computation, dimensions):
    n = len(args) // 2
    operands, inits = args[:n], args[n:]
    check_computation("reduce", computation, operands, inits)
    axes_valid("reduce", dimensions, operands[0].ndim)
    kept = tuple([s for d, s in enumerate(operands[0].shape) if d not in dimensions])
    return tuple([x.update(shape=kept, weak_type=False) for x in operands])


reduce = Primitive(
    "reduce", reduce_aval, kinds=("body", "shapeless"), multiple_results=True,
    doc="the elements of arrays along dimensions, combined by a computation",
)  # fmt: skip


@reduce.rule("runs")
def runs_of_reduce(op, *types):
    return {"computation": types[0].size - op.outs(types)[0].size}


def _emit_region(op, hlo, attributes, names):
    program = without_calls(op["computation"])
    ins, outs = (", ".join([a.mlir for a in avals]) for avals in (op.in_avals, op.out_avals))
    head = f'"{hlo}"({", ".join(names)}) <{{{attributes}}}>'
    return op.emit_regions(head, [(program, [])], f": ({ins}) -> ({outs})", len(op.out_avals), closed=True)


@reduce.decompose
def reduce_by_pairs(op, *args):
    n = len(args) // 2
    return reduced(op.params["computation"], args[:n], args[n:], op.params["dimensions"])


def reduced(program, operands, inits, dimensions, consts=()):
    """``reduce`` by a tree: neighbours are combined, then neighbours of those, in their order.

    Args:
      inits: scalars, or arrays of the result's shape.
    """
    aval = typeof(operands[0])
    kept = tuple([d for d in range(aval.ndim) if d not in dimensions])
    n = prod([aval.shape[d] for d in dimensions])
    out = tuple([aval.shape[d] for d in kept])
    inits = [_spread(x, out) for x in inits]
    if not n:
        return inits
    order = (*dimensions, *kept)
    values = [reshape(transpose(x, permutation=order), new_sizes=(n, *out)) for x in operands]
    while n > 1:
        values, n = _halved(program, values, n, consts), (n + 1) // 2
    folded = [reshape(x, new_sizes=out) for x in values]
    return at_each_place(program, [*inits, *folded], consts)


def _halved(program, values, n, consts):
    """Neighbours along the first dimension combined; a last one without partner stays."""
    half = n // 2
    evens, odds = [], []
    for x in values:
        rest = typeof(x).shape[1:]
        pairs = reshape(_rows(x, 0, 2 * half), new_sizes=(half, 2, *rest))
        evens.append(reshape(_column(pairs, 0), new_sizes=(half, *rest)))
        odds.append(reshape(_column(pairs, 1), new_sizes=(half, *rest)))
    outs = at_each_place(program, [*evens, *odds], consts)
    if n % 2:
        outs = [concatenate(o, _rows(x, n - 1, n), dimension=0) for o, x in zip(outs, values, strict=True)]
    return outs


def _rows(x, start, stop):
    sizes = typeof(x).shape
    if (start, stop) == (0, sizes[0]):
        return x
    return slice_(
        x, start_indices=(start, *[0] * (len(sizes) - 1)), limit_indices=(stop, *sizes[1:]), strides=None
    )


def _column(x, i):
    sizes = typeof(x).shape
    return slice_(
        x, start_indices=(0, i, *[0] * (len(sizes) - 2)), limit_indices=(sizes[0], i + 1, *sizes[2:]),
        strides=None,
    )  # fmt: skip


@reduce.rule("batch")
def batch_reduce(op, *args):
    n = len(args) // 2
    operands, inits = args[:n], args[n:]
    dimensions = tuple([d + 1 for d in op.params["dimensions"]])
    size = batch_size(*args)
    values = [at_axis(b, 0, size) for b in operands]
    program = op.params["computation"]
    if all(b.axis is None for b in inits):
        starts = [b.value for b in inits]
        return [Batched(x, 0) for x in reduce(*values, *starts, computation=program, dimensions=dimensions)]
    aval = typeof(values[0])
    out = tuple([s for d, s in enumerate(aval.shape) if d not in dimensions])
    starts = [broadcast_in_dim(at_axis(b, 0, size), shape=out, broadcast_dimensions=(0,)) for b in inits]
    return [Batched(x, 0) for x in reduced(program, values, starts, dimensions)]


# ---------------------------------------------------------------------------------- reduce_window
def reduce_window_aval(*args, computation, window):
    n = len(args) // 2
    operands, inits = args[:n], args[n:]
    check_computation("reduce_window", computation, operands, inits)
    windows.check("reduce_window", operands[0], window)
    out = windows.out_shape(operands[0].shape, window)
    return tuple([x.update(shape=out, weak_type=False) for x in operands])


reduce_window = Primitive(
    "reduce_window", reduce_window_aval, kinds=("body", "shapeless"), multiple_results=True,
    doc="the elements of each window of arrays, combined by a computation",
)  # fmt: skip


@reduce_window.rule("runs")
def runs_of_reduce_window(op, *types):
    return {"computation": op.outs(types)[0].size * (prod(op.params["window"].sizes) - 1)}


@reduce_window.rule("lower")
def lower_reduce_window(op, *names):
    return _emit_region(op, "stablehlo.reduce_window", windows.attributes(op["window"]), names)


@reduce_window.decompose
def reduce_window_by_places(op, *args):
    n = len(args) // 2
    window = op.params["window"]
    operands = [windows.padded(x, init, window) for x, init in zip(args[:n], args[n:], strict=True)]
    out = windows.out_shape(typeof(args[0]).shape, window)
    return window_reduced(op.params["computation"], operands, args[n:], window, out)


def window_reduced(program, operands, inits, window, out, consts=()):
    """``reduce_window`` of padded operands, place by place of the window.

    Args:
      inits: scalars, or arrays of the shape ``out``.
    """
    total = [_spread(x, out) for x in inits]
    if 0 in out or not window.places:
        return total
    if window.places <= windows.MOST_PLACES:
        for offset in windows.offsets(window):
            parts = [windows.patch(x, offset, window, out) for x in operands]
            total = at_each_place(program, [*total, *parts], consts)
        return total
    return _window_loop(program, operands, total, window, out, consts)


def _window_loop(program, operands, total, window, out, consts):
    """The same as a loop over the places."""
    n = len(operands)
    strides = None if all(s == 1 for s in window.strides) else window.strides
    sizes = tuple([(o - 1) * s + 1 for o, s in zip(out, window.strides, strict=True)])
    places = _positions(window)

    def step(*args):
        captured, arrays = args[: len(consts)], args[len(consts) : len(consts) + n]
        carried, starts = args[len(consts) + n : len(consts) + 2 * n], args[len(consts) + 2 * n :]
        parts = []
        for x in arrays:
            part = dynamic_slice(x, *starts, slice_sizes=sizes)
            if strides is not None:
                part = slice_(part, start_indices=(0,) * len(out), limit_indices=sizes, strides=strides)
            parts.append(part)
        return at_each_place(program, [*carried, *parts], captured)

    args = [*consts, *operands, *total]
    avals = [typeof(x).strong() for x in args] + [typeof(p).update(shape=()) for p in places]
    body = stage(step, avals, "window").jaxpr
    return scan(
        *args, *places, jaxpr=body, length=window.places, reverse=False, consts=len(consts) + n, carry=n,
        unroll=1,
    )  # fmt: skip


def _positions(window):
    """For each dimension the places of the window along it, row by row: int32 vectors."""
    grid = (*window.sizes,)
    columns = []
    for d, step in enumerate(window.dilation):
        index = iota(dtype=np.dtype("int32"), shape=grid, dimension=d)
        flat = reshape(index, new_sizes=(window.places,))
        columns.append(flat if step == 1 else lax.mul(flat, step))
    return columns


@reduce_window.rule("batch")
def batch_reduce_window(op, *args):
    n = len(args) // 2
    operands, inits = args[:n], args[n:]
    program = op.params["computation"]
    size = batch_size(*args)
    window = op.params["window"].with_batch(0)
    values = [at_axis(b, 0, size) for b in operands]
    if all(b.axis is None for b in inits):
        starts = [b.value for b in inits]
        return [Batched(x, 0) for x in reduce_window(*values, *starts, computation=program, window=window)]
    out = windows.out_shape(typeof(values[0]).shape, window)
    starts = [at_axis(b, 0, size) for b in inits]
    padded = [_padded_each(x, start, window) for x, start in zip(values, starts, strict=True)]
    totals = [broadcast_in_dim(x, shape=out, broadcast_dimensions=(0,)) for x in starts]
    return [Batched(x, 0) for x in window_reduced(program, padded, totals, window, out)]


def _padded_each(x, fills, window):
    """Examples padded with a value each."""
    config = [(lo, hi, b - 1) for (lo, hi), b in zip(window.padding, window.base_dilation, strict=True)]
    one = pad.op(padding_config=tuple(config[1:]))
    return batch.lookup(pad)(one, Batched(x, 0), Batched(fills, 0)).value


__all__ = ["reduce", "reduce_window"]
