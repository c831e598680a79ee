"""A kernel that is mapped: the mapped dimension goes in front of the grid, so that it stays one kernel."""

import dataclasses

from rabbet import lax
from rabbet.extend.passes import Jaxpr, Var
from rabbet.extend.primitive import Batched, ShapedArray, move_axis
from rabbet.extend.transform import typeof

from rabbet_pallas.block_specs import Squeezed
from rabbet_pallas.blocks import I32
from rabbet_pallas.grids import split


def batched_call(primitive, call, operands):
    """The results of a call some of whose operands are mapped.

    Args:
      primitive: ``pallas_call``.
      operands: a ``Batched`` each.
    """
    size = next(typeof(x.value).shape[x.axis] for x in operands if x.axis is not None)
    sizes, prefetch, ins = split(call, operands)
    if any(x.axis is not None for x in (*sizes, *prefetch)):
        return one_after_another(primitive, call, operands)
    shared = {i for i, _ in call.aliases}
    values, mapped = [], []
    for i, x in enumerate(ins):
        is_mapped = x.axis is not None
        value = move_axis(x.value, x.axis, 0) if is_mapped else x.value
        if i in shared and not is_mapped:
            shape = typeof(value).shape
            value = lax.broadcast_in_dim(value, (size, *shape), tuple(range(1, len(shape) + 1)))
            is_mapped = True
        values.append(value)
        mapped.append(is_mapped)
    wider = with_dimension(call, size, mapped)
    outs = primitive(*[x.value for x in (*sizes, *prefetch)], *values, call=wider)
    return [Batched(out, 0) for out in outs]


def one_after_another(primitive, call, operands):
    """A loop of calls: where what is prefetched, or the grid, differs from one to the next."""
    fixed = {i: x.value for i, x in enumerate(operands) if x.axis is None}
    moving = [move_axis(x.value, x.axis, 0) for x in operands if x.axis is not None]

    def one(xs):
        given = iter(xs)
        return primitive(*[fixed[i] if i in fixed else next(given) for i in range(len(operands))], call=call)

    return [Batched(out, 0) for out in lax.map(one, moving)]


def with_dimension(call, size, mapped):
    """A call with one more dimension in front of its grid, along which some operands and all results go."""
    ins = [along(b, size) if m else beside(b) for b, m in zip(call.ins, mapped, strict=True)]
    cost = call.cost and type(call.cost)(*[size * n for n in dataclasses.astuple(call.cost)])
    return dataclasses.replace(
        call,
        grid=(size, *call.grid),
        semantics=("parallel", *call.semantics),
        ins=tuple(ins),
        outs=tuple([along(b, size) for b in call.outs]),
        kernel=with_id(call.kernel, Var(I32)),
        cost=cost,
    )


def along(block, size):
    """A block of an array that has the new dimension in front."""
    new = Var(I32)
    index = with_id(block.index, new)
    index = Jaxpr(index.invars, [new, *index.outvars], index.equations, [], index.effects, index.name)
    array = ShapedArray((size, *block.array.shape), block.array.dtype)
    return dataclasses.replace(block, dims=(Squeezed(), *block.dims), index=index, array=array)


def beside(block):
    """A block of an array that all share."""
    return dataclasses.replace(block, index=with_id(block.index, Var(I32)))


def with_id(program, new):
    """A program with one more program id in front."""
    return Jaxpr(
        [new, *program.invars], program.outvars, program.equations, [], program.effects, program.name
    )


__all__ = ["batched_call"]
