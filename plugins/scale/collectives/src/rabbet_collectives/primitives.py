"""Communication along a named axis: psum, pmax, pmin, all_gather, all_gather_invariant, reduce_scatter,
all_to_all, ppermute, axis_index.

``axis`` is the name, ``size`` the axis's size. ``groups``, where given, is a tuple of tuples of indices
that cover the axis once: each group communicates within itself. Those that change a shape work on the first
dimension; ``functions`` puts it where users want it.

Each primitive has two rules for mapping. ``"batch"`` is for mapping along another axis, which stays outside
of the communication. ``"collective"`` is its meaning where the batch dimension *is* the axis: a rule
receives payloads as ``batch`` rules do, of which any or none may have the dimension. The result of a
reduction is the same for all members and has it no more.
"""

from rabbet import lax
from rabbet.extend.primitive import (
    Batched,
    Primitive,
    accept,
    concatenate,
    full_of_type,
    move_axis,
    mul,
    new_axis,
    reduce_sum,
)  # fmt: skip
from rabbet.extend.rules import at_axis
from rabbet.extend.transform import typeof

from rabbet_collectives import stablehlo
from rabbet_collectives.groups import by_group, by_member, rows
from rabbet_collectives.reductions import NUMBERS, axis_index, by_devices, pmax, pmin, psum
from rabbet_collectives.varying import (
    differs,
    is_sum,
    of_communication,
    said_of,
    sums_of,
    varied,
    with_axes,
)

NOWHERE: frozenset = frozenset()


def members(op):
    """How many members communicate with each other: the axis's size, or that of a group."""
    groups = op.params["groups"]
    return op.params["size"] if groups is None else len(groups[0])


@psum.rule("transpose")
def transpose_psum(op, ct, x):
    axis = op.params["axis"]
    if op.params["groups"] is None and (differs(x.aval, axis) or is_sum(x.aval, axis)):
        return (ct,)  # what all members share, each of them has
    return (op(ct),)


@psum.rule("addends")
def added_up(op, x):
    axis, sums = op.params["axis"], sums_of(x)
    if not is_sum(x, axis) or op.params["groups"] is not None:
        return of_communication(op, [x])
    return frozenset([pair for pair in sums if pair[0] != axis]), said_of(x)


# ------------------------------------------------------------------------------- gathering and scattering
def all_gather_aval(x, axis, size, groups):
    count = size if groups is None else len(groups[0])
    return x.update(shape=(count, *x.shape))


all_gather = Primitive(
    "all_gather", all_gather_aval, kinds=("structural", "linear"), axis="axis",
    doc="the values of all members of a named axis, stacked in front",
)  # fmt: skip
all_gather.rule("lower")(by_devices(stablehlo.all_gather))


@all_gather.rule("batch")
def batch_all_gather(op, x):
    return Batched(op(x.value), x.axis + 1)


@all_gather.rule("collective")
def gather_members(op, x):
    groups, size = op.params["groups"], op.params["size"]
    if groups is None:
        return Batched(at_axis(x, 0, size), None)
    stacked = by_group(at_axis(x, 0, size), groups)
    return Batched(by_member(new_axis(stacked, 1, members(op)), groups), 0)


@all_gather.rule("transpose")
def transpose_all_gather(op, ct, x):
    return (reduce_scatter(ct, **op.params),)


all_gather_invariant = Primitive(
    "all_gather_invariant", all_gather_aval, kinds=("structural", "linear"), axis="axis",
    doc="the values of all members of a named axis, stacked in front, as one value that all share",
)  # fmt: skip
all_gather_invariant.rule("lower")(by_devices(stablehlo.all_gather))
all_gather_invariant.rule("batch")(batch_all_gather)
all_gather_invariant.rule("collective")(gather_members)


@all_gather_invariant.rule("varying")
def shared_by_all(op, axes):
    return [frozenset([pair for pair in axes if pair[0] != op.params["axis"]])]


@all_gather_invariant.rule("transpose")
def transpose_all_gather_invariant(op, ct, x):
    # What all share has one cotangent, which each member has whole: its own slice is all it needs of it.
    axis, size = op.params["axis"], op.params["size"]
    index = varied(axis_index(axis=axis, size=size), [(axis, size)])
    return (lax.dynamic_index_in_dim(ct, index, 0, keepdims=False),)


def reduce_scatter_aval(x, axis, size, groups):
    accept("reduce_scatter", NUMBERS, x)
    leading_is_members("reduce_scatter", x, size, groups)
    return x.update(shape=x.shape[1:])


def leading_is_members(name, x, size, groups):
    """Refuse an operand whose first dimension does not have a slice for each member."""
    count = size if groups is None else len(groups[0])
    if not x.shape or x.shape[0] != count:
        raise TypeError(f"{name} of {x.str_short()}: the first dimension must have the size {count}")


reduce_scatter = Primitive(
    "reduce_scatter", reduce_scatter_aval, kinds=("increasing", "linear"), axis="axis",
    doc="of the sum over the members of a named axis the slice of each member's own index",
)  # fmt: skip
reduce_scatter.rule("lower")(by_devices(stablehlo.reduce_scatter))


@reduce_scatter.rule("batch")
def batch_reduce_scatter(op, x):
    return Batched(op(move_axis(x.value, x.axis, 1)), 0)


@reduce_scatter.rule("collective")
def scatter_to_members(op, x):
    groups, size = op.params["groups"], op.params["size"]
    if groups is None:
        if x.axis is None:
            return Batched(mul(x.value, size), 0)
        return Batched(reduce_sum(x.value, axes=(x.axis,)), 0)
    sums = reduce_sum(by_group(at_axis(x, 0, size), groups), axes=(1,))
    return Batched(by_member(sums, groups), 0)


@reduce_scatter.rule("transpose")
def transpose_reduce_scatter(op, ct, x):
    return (all_gather(ct, **op.params),)


# ----------------------------------------------------------------- between parts and what is said of sums
def all_gather_reduced_aval(x, axis, size, groups):
    return with_axes(all_gather_aval(x, axis, size, groups), NOWHERE, NOWHERE, [(axis, size)])


all_gather_reduced = Primitive(
    "all_gather_reduced", all_gather_reduced_aval, kinds=("structural", "linear"), axis="axis",
    doc="the values of all members of a named axis, stacked in front, whose cotangent is a sum",
)  # fmt: skip
all_gather_reduced.rule("lower")(by_devices(stablehlo.all_gather))
all_gather_reduced.rule("batch")(batch_all_gather)
all_gather_reduced.rule("collective")(gather_members)
all_gather_reduced.rule("varying")(shared_by_all)


@all_gather_reduced.rule("addends")
def gathered_and_said(op, x):
    return sums_of(x), said_of(x) | {(op.params["axis"], op.params["size"])}


@all_gather_reduced.rule("transpose")
def transpose_all_gather_reduced(op, ct, x):
    return (scatter_addends(ct, **op.params),)


def scatter_addends_aval(x, axis, size, groups):
    return with_axes(reduce_scatter_aval(x, axis, size, groups), [(axis, size)])


scatter_addends = Primitive(
    "scatter_addends", scatter_addends_aval, kinds=("increasing", "linear"), axis="axis",
    doc="of a sum whose addends the members of a named axis hold, the slice of each member's own index",
)  # fmt: skip
scatter_addends.rule("lower")(by_devices(stablehlo.reduce_scatter))
scatter_addends.rule("batch")(batch_reduce_scatter)
scatter_addends.rule("collective")(scatter_to_members)


@scatter_addends.rule("varying")
def scattered(op, axes):
    return [axes | {(op.params["axis"], op.params["size"])}]


@scatter_addends.rule("addends")
def added_and_scattered(op, x):
    return sums_of(x) - {(op.params["axis"], op.params["size"])}, said_of(x)


@scatter_addends.rule("transpose")
def transpose_scatter_addends(op, ct, x):
    return (all_gather_reduced(ct, **op.params),)


# ------------------------------------------------------------------------------------------- permutations
def all_to_all_aval(x, axis, size, groups):
    leading_is_members("all_to_all", x, size, groups)
    return x


all_to_all = Primitive(
    "all_to_all", all_to_all_aval, kinds=("structural", "linear"), axis="axis",
    doc="slice k of member m becomes slice m of member k, along a named axis and the first dimension",
)  # fmt: skip
all_to_all.rule("lower")(by_devices(stablehlo.all_to_all))


@all_to_all.rule("batch")
def batch_all_to_all(op, x):
    return Batched(op(move_axis(x.value, x.axis, 1)), 1)


@all_to_all.rule("collective")
def exchange(op, x):
    groups = op.params["groups"]
    stacked = at_axis(x, 0, op.params["size"])
    if groups is None:
        return Batched(stacked, 1)
    return Batched(by_member(move_axis(by_group(stacked, groups), 1, 2), groups), 0)


@all_to_all.rule("transpose")
def transpose_all_to_all(op, ct, x):
    return (op(ct),)


ppermute = Primitive(
    "ppermute", lambda x, axis, size, perm: x, kinds=("linear",), axis="axis",
    doc="for each pair (source, destination) of perm the source's value at the destination, else zeros",
)  # fmt: skip
ppermute.rule("lower")(by_devices(stablehlo.ppermute))


@ppermute.rule("batch")
def batch_ppermute(op, x):
    return Batched(op(x.value), x.axis)


@ppermute.rule("collective")
def permute_members(op, x):
    size = op.params["size"]
    source = {destination: source for source, destination in op.params["perm"]}
    stacked = at_axis(x, 0, size)
    if len(source) < size:
        one = typeof(stacked)
        nothing = full_of_type(one.update(shape=(1, *one.shape[1:])), 0)
        stacked = concatenate(stacked, nothing, dimension=0)
    return Batched(rows(stacked, [source.get(i, size) for i in range(size)]), 0)


@ppermute.rule("transpose")
def transpose_ppermute(op, ct, x):
    back = tuple([(destination, source) for source, destination in op.params["perm"]])
    return (ppermute(ct, **{**op.params, "perm": back}),)


__all__ = [
    "all_gather",
    "all_gather_invariant",
    "all_gather_reduced",
    "all_to_all",
    "axis_index",
    "pmax",
    "pmin",
    "ppermute",
    "psum",
    "reduce_scatter",
    "scatter_addends",
]
