"""Branches and loops that are decided by a batched value.

A ``cond`` becomes a selection between the results of all branches. A ``while`` runs as one loop for the
whole batch, until the last example is done; those that are done earlier keep their values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import lax, tree
from rabbet.extend.bodies import PLAIN, put_together, take_apart
from rabbet.extend.functions import source_position, with_weak_type
from rabbet.extend.passes import consts_as_inputs, effects_of, evaluate, stage
from rabbet.extend.primitive import Batched, effect_names
from rabbet.extend.primitive import cond as cond_call
from rabbet.extend.primitive import while_ as while_call
from rabbet.extend.transform import Interpreter, context, run_traced, typeof

from rabbet_vmap.branch_guards import guarded

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op
    from rabbet.typing import Value


def decide(interpreter: Interpreter, op: Op, args: list[float] | tuple[Value, ...]) -> list[Value]:
    """The outputs of ``op``, whose predicate is batched, with ``interpreter`` current."""
    refuse_effects(interpreter, op)
    if op.primitive is cond_call:
        index, *operands = args
        branches = op.params["branches"]
        outcomes = [
            evaluate(branch, guarded(index, len(branches), branch, number, operands))
            for number, branch in enumerate(branches)
        ]
        selected = [lax.select_n(index, *cases) for cases in zip(*outcomes, strict=True)]
        # Where branches differ in weak types the first one counts, as it does for cond.
        weak = [aval.weak_type for aval in branches[0].out_avals]
        return [with_weak_type(x, w) for x, w in zip(selected, weak, strict=True)]
    if op.primitive is while_call:
        return interpreter.at_parent(loop, interpreter, op, args)
    return Interpreter.predicate(interpreter, op, args)


def refuse_effects(interpreter: Interpreter, op: Op) -> None:
    """Refuse what would do something for examples for which the program does not say so."""
    effects = [e for e in effects_of(op) if not e.observes]
    if effects:
        where = f" at {source_position(context.where)}" if context.where is not None else ""
        raise TypeError(
            f"{interpreter.describe()}: {op.primitive.name}{where} is decided by a batched value and has "
            f"effects ({effect_names(effects)}), which would happen for every example of the batch, "
            "whichever way it decides\n  to fix: use lax.map instead of vmap, or move the effect out of the "
            f"{op.primitive.name}"
        )


def loop(interpreter: Any, op: Op, args: tuple[Value, ...]) -> list[Value]:
    """One ``while`` over the batch, on the level below: every carried value batched in front, steps masked
    by the predicate.
    """
    m, n = op.params["cond_consts"], op.params["body_consts"]
    test, body = op.params["cond_jaxpr"], op.params["body_jaxpr"]
    held, carry = args[: m + n], args[m + n :]
    held_leaves, held_structures = take_apart(interpreter, held)
    uniform = tree.structure(Batched(0, 0))
    start = [interpreter.at_axis(_payload(interpreter, x), 0) for x in carry]
    structures = (*held_structures, *[uniform] * len(carry))
    count = sum(1 if s is PLAIN else s.num_leaves for s in held_structures)

    def under(function: Callable[..., Any], flat: tuple[Value, ...]) -> list[Value]:
        inner = interpreter.fresh()
        outs = run_traced(inner, lambda: function(put_together(inner, structures, flat)), [])
        return [inner.at_axis(_payload(inner, x), 0) for x in outs]

    def unfinished(values: list[Value]) -> list[Value]:
        return evaluate(test, [*values[:m], *values[m + n :]])

    def step(values: list[Value]) -> list[Value]:
        carried = values[m + n :]
        (more,) = unfinished(values)
        after = evaluate(body, [*values[m : m + n], *carried])
        return [lax.select_n(more, old, new) for old, new in zip(carried, after, strict=True)]

    avals = [typeof(x) for x in (*held_leaves, *start)]
    any_left = stage(
        lambda *flat: [lax.reduce_or(under(unfinished, flat)[0], axes=(0,))], avals, "unfinished"
    )
    stepped = stage(lambda *flat: under(step, flat), avals, "step")
    outs = while_call(
        *any_left.consts, *held_leaves, *stepped.consts, *held_leaves, *start,
        cond_jaxpr=consts_as_inputs(any_left), body_jaxpr=consts_as_inputs(stepped),
        cond_consts=len(any_left.consts) + count, body_consts=len(stepped.consts) + count,
    )  # fmt: skip
    return put_together(interpreter, (uniform,) * len(outs), outs)


def _payload(interpreter: Interpreter, x: Value) -> Batched:
    """The payload of a tracer of ``interpreter``, or a plain value lifted."""
    mine = hasattr(x, "payload") and x.interpreter is interpreter
    return x.payload if mine else interpreter.lift(x)
