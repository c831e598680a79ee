"""Over which axes the values of a program on parts differ between devices: a walk through its equations.

``shard_map`` uses it to refuse results whose spec leaves out an axis over which they differ; of these, one
device's would be taken for all. It also refuses a collective that only some devices would come to, because a
condition differs between them: the others would wait for it until the runtime ends the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShardingError
from rabbet.extend.passes import Var, bodies_of
from rabbet.extend.primitive import cond, scan, while_
from rabbet_collectives.primitives import (
    all_gather,
    all_gather_invariant,
    all_gather_reduced,
    axis_index,
    pmax,
    pmin,
    psum,
)
from rabbet_collectives.varying import cast, pvary

from rabbet_parallel.manual_axes import several
from rabbet_parallel.partition_spec import axes_of
from rabbet_parallel.shard_map_primitive import shard_map

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op

NOWHERE: frozenset = frozenset()
# Over a whole axis their results are the same for all members.
UNITING = (psum, pmax, pmin, all_gather, all_gather_invariant, all_gather_reduced)


def varying_outputs(jaxpr: Any, ins: Any, manual: Any) -> Any:
    """The axes, a frozenset each, over which the outputs differ.

    Args:
      jaxpr: a program on parts.
      ins: the axes over which each of its inputs differs.
      manual: all axes that may be meant.
    """
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), ins, strict=True))
    read = lambda v: known.get(v, NOWHERE) if type(v) is Var else NOWHERE
    for eqn in jaxpr.equations:
        found = of_equation(eqn, [read(v) for v in eqn.inputs], manual)
        known.update(zip(eqn.outputs, found, strict=True))
    return [read(v) for v in jaxpr.outvars]


def of_equation(eqn: Any, ins: Any, manual: Any) -> Any:
    """The axes over which the outputs of one equation differ."""
    op, count = eqn.op, len(eqn.outputs)
    primitive, params = op.primitive, op.params
    together = NOWHERE.union(*ins)
    if primitive is pvary:
        return [together | {name for name, _ in params["axes"]}]
    if primitive is cast:  # of sums their types are asked
        named = {name for name, _ in params["axes"]}
        return [together | named if params["to"] == "varying" else together - named]
    if primitive.axis is not None:
        names = named_by(op)
        if unites(op):
            return [together - names] * count
        return [together | (names & manual)] * count
    bodies = bodies_of(op)
    if not bodies:
        return [together] * count
    if primitive is shard_map:
        inner = frozenset(params["manual"])
        own = [s | frozenset(axes_of(spec)) for s, spec in zip(ins, params["in_specs"], strict=True)]
        return [s - inner for s in varying_outputs(params["jaxpr"], own, manual | inner)]
    if primitive is scan:
        return of_scan(params, ins, manual)
    if primitive is while_:
        return of_while(params, ins, manual)
    if primitive is cond:
        refuse_absent("cond", ins[0], params["branches"])
        branches = [varying_outputs(b, ins[1:], manual) for b in params["branches"]]
        return [ins[0].union(*sets) for sets in zip(*branches, strict=True)]
    if len(bodies) == 1 and len(bodies[0][1].invars) == len(ins):
        return varying_outputs(bodies[0][1], ins, manual)
    # How the bodies stand to each other is not known, as of a solver with its matrix and its transpose. What
    # differs between devices comes in by operands or along the axes that bodies name.
    return [together | (named_within(bodies) & manual)] * count


def named_within(bodies: Any) -> frozenset:
    """The names of the axes along which equations of bodies, and of those in them, communicate or differ."""
    names = NOWHERE
    for _, body in bodies:
        for eqn in body.equations:
            if eqn.op.primitive is pvary:
                names |= {name for name, _ in eqn.op.params["axes"]}
            elif eqn.op.primitive.axis is not None and not unites(eqn.op):
                names |= named_by(eqn.op)
            names |= named_within(bodies_of(eqn.op))
    return names


def unites(op: Op) -> bool:
    """Whether all members of the axes that a collective names get the same."""
    return op.primitive in UNITING and op.params["groups"] is None


def named_by(op: Op) -> Any:
    """The names of the axes along which a collective communicates."""
    return frozenset(several(op.params[op.primitive.axis]))


def settled(step: Any, carry: Any) -> Any:
    """The least sets that cover ``carry`` and what ``step`` makes of them."""
    while True:
        after = [a | b for a, b in zip(carry, step(carry), strict=True)]
        if after == carry:
            return carry
        carry = after


def of_scan(params: Any, ins: Any, manual: Any) -> Any:
    """The carries' sets until they stay, then those of the stacks."""
    a, b = params["consts"], params["consts"] + params["carry"]
    step = lambda carry: varying_outputs(params["jaxpr"], [*ins[:a], *carry, *ins[b:]], manual)
    carry = settled(lambda c: step(c)[: b - a], list(ins[a:b]))
    return [*carry, *step(carry)[b - a :]]


def of_while(params: Any, ins: Any, manual: Any) -> Any:
    """The carries' sets until they stay; a condition that differs makes everything differ."""
    a, b = params["cond_consts"], params["cond_consts"] + params["body_consts"]
    bodies = params["cond_jaxpr"], params["body_jaxpr"]

    def step(carry: Any) -> Any:
        (test,) = varying_outputs(params["cond_jaxpr"], [*ins[:a], *carry], manual)
        refuse_absent("while_loop", test, bodies)
        return [s | test for s in varying_outputs(params["body_jaxpr"], [*ins[a:b], *carry], manual)]

    return settled(step, list(ins[b:]))


def refuse_absent(what: Any, differs: Any, bodies: Any) -> None:
    """Refuse a collective in ``bodies``, where a condition ``differs`` over axes, along one of them."""
    for body in bodies if differs else ():
        for eqn in body.equations:
            primitive = eqn.op.primitive
            if primitive.axis is not None and primitive is not axis_index:
                for name in sorted(named_by(eqn.op) & differs, key=str):
                    raise ShardingError(
                        f"{primitive.name} along {name!r} stands in a {what} whose condition may differ "
                        "between the devices along that axis: those that come to it would wait forever for "
                        f"the others\n  to fix: communicate outside of the {what} and choose with rnp.where, "
                        "make the condition equal (lax.pmax), or give check_vma=False if it is equal anyway"
                    )
            refuse_absent(what, differs, [inner for _, inner in bodies_of(eqn.op)])


__all__ = ["varying_outputs"]
