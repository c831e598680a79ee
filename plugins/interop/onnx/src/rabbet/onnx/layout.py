"""Operations that only move elements, and indexing."""

import numpy as np

from rabbet.onnx.rules import Unsupported, named

FAR = np.iinfo(np.int64).min  # the end of a slice that runs backwards to the first element


@named("reshape", "squeeze", "expand_dims")
def reshape(graph, eqn, x):
    if eqn.params.get("dimensions") is not None and eqn.primitive.name == "reshape":
        raise Unsupported("with a new order of dimensions; transpose first")
    return graph.reshape(x.name, eqn.outputs[0].aval.shape)


@named("transpose")
def transpose(graph, eqn, x):
    return graph.transpose(x.name, eqn.params["permutation"])


@named("broadcast_in_dim")
def broadcast_in_dim(graph, eqn, x):
    shape, places = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    between = [1] * len(shape)
    for place, size in zip(places, x.shape, strict=True):
        between[place] = size
    name = x.name if tuple(between) == x.shape else graph.reshape(x.name, between)
    if tuple(between) == tuple(shape):
        return name
    return graph.node("Expand", name, graph.constant(shape, np.int64))


@named("concatenate")
def concatenate(graph, eqn, *operands):
    return graph.node("Concat", *[x.name for x in operands], axis=eqn.params["dimension"])


@named("slice")
def cut(graph, eqn, x):
    starts, stops = eqn.params["start_indices"], eqn.params["limit_indices"]
    return sliced(graph, x.name, starts, stops, eqn.params["strides"] or [1] * x.ndim)


def sliced(graph, name, starts, stops, steps, axes=None):
    axes = list(range(len(starts))) if axes is None else axes
    return graph.node("Slice", name, *[graph.constant(v, np.int64) for v in (starts, stops, axes, steps)])


@named("rev")
def rev(graph, eqn, x):
    axes = list(eqn.params["dimensions"])
    count = len(axes)
    return sliced(graph, x.name, [-1] * count, [FAR] * count, [-1] * count, axes) if axes else x.name


@named("pad")
def pad(graph, eqn, x, value):
    low, high, between = zip(*eqn.params["padding_config"], strict=True) if x.ndim else ((), (), ())
    name = spread(graph, x.name, x.shape, [n + 1 for n in between], value.name)
    return graph.node("Pad", name, graph.constant([*low, *high], np.int64), value.name)


def spread(graph, name, shape, factors, value):
    """Every element ``factors`` places after its neighbour, with a value between them."""
    shape = list(shape)
    for axis, factor in enumerate(factors):
        if factor == 1 or not shape[axis]:
            continue
        wide = graph.reshape(name, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
        pads = np.zeros((2, len(shape) + 1), np.int64)
        pads[1, axis + 1] = factor - 1
        wide = graph.node("Pad", wide, graph.constant(pads.reshape(-1)), value)
        shape[axis] *= factor
        wide = graph.reshape(wide, shape)
        shape[axis] -= factor - 1  # behind the last element nothing is put
        name = sliced(graph, wide, [0], [shape[axis]], [1], [axis])
    return name


def start_of(graph, starts, most):
    """Start indices as one vector of int64, moved to where the slice fits."""
    parts = [graph.reshape(graph.cast(s.name, np.int64), [1]) for s in starts]
    vector = graph.node("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
    vector = graph.node("Max", vector, graph.constant([0] * len(most), np.int64))
    return graph.node("Min", vector, graph.constant(most, np.int64))


@named("dynamic_slice")
def dynamic_slice(graph, eqn, x, *starts):
    if not x.ndim:
        return x.name
    sizes = eqn.outputs[0].aval.shape
    start = start_of(graph, starts, [n - size for n, size in zip(x.shape, sizes, strict=True)])
    stop = graph.node("Add", start, graph.constant(sizes, np.int64))
    return graph.node("Slice", x.name, start, stop, graph.constant(range(x.ndim), np.int64))


@named("dynamic_update_slice")
def dynamic_update_slice(graph, eqn, x, update, *starts):
    if not x.ndim:
        return update.name
    start = start_of(graph, starts, [n - size for n, size in zip(x.shape, update.shape, strict=True)])
    positions = np.moveaxis(np.indices(update.shape, np.int64), 0, -1)
    where = graph.node("Add", graph.constant(positions), start)
    return graph.node("ScatterND", x.name, where, update.name)


@named("gather")
def gather(graph, eqn, x, indices):
    """``x[i]`` along one dimension is ONNX's Gather, and ``x[i, j]`` its GatherND."""
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    axes, kept = numbers.start_index_map, [d for d in range(x.ndim) if d not in numbers.start_index_map]
    plain = (
        not numbers.operand_batching_dims
        and tuple(sorted(numbers.collapsed_slice_dims)) == tuple(sorted(axes))
        and all(sizes[d] == x.shape[d] for d in kept)
        and all(x.shape[d] for d in axes)
    )
    if not plain:
        raise Unsupported(
            "of slices that are not whole; x[i], x[:, i] and x[i, j] by integer arrays are known"
        )
    most = np.array([x.shape[d] - 1 for d in axes], np.int64)
    index = graph.cast(indices.name, np.int64)
    inside = graph.node("Min", graph.node("Max", index, graph.constant(0, np.int64)), graph.constant(most))
    moved = graph.transpose(x.name, [*axes, *kept])
    found = graph.node("GatherND", moved, inside)  # the indices' dimensions, then those that are kept
    if "FILL" in str(eqn.params["mode"]):
        valid = graph.node("ReduceMin", graph.cast(graph.node("Equal", index, inside), np.int32),
                           graph.constant([-1], np.int64), keepdims=0)  # fmt: skip
        lead = indices.shape[:-1]
        valid = graph.reshape(graph.cast(valid, bool), [*lead, *[1] * len(kept)])
        found = graph.node("Where", valid, found, graph.constant(fill_of(eqn.params["fill_value"], x.dtype)))
    out_rank, offset = eqn.outputs[0].aval.ndim, numbers.offset_dims
    lead_places = [d for d in range(out_rank) if d not in offset]
    order = [0] * out_rank
    for source, place in enumerate([*lead_places, *offset]):
        order[place] = source
    return graph.transpose(found, order)


def fill_of(value, dtype):
    """What stands where an index is out of range; None: NaN, or the least integer, as in JAX."""
    dtype = np.dtype(dtype)
    if value is None:
        if dtype.kind in "iu":
            value = np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
        else:
            value = True if dtype.kind == "b" else np.nan
    return np.asarray(value, dtype)
