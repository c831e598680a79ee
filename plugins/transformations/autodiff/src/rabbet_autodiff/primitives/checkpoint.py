"""The primitive ``checkpoint``, a call whose intermediate values reverse mode computes again; and ``name``,
which gives a value a name for policies to speak of.

Any interpreter goes through the body. Reverse mode splits it (``checkpoint_splitting``): the half that runs
forward hands over what the policy allows, and the linear half, a ``checkpoint`` marked ``differentiated``,
computes the rest again. That half begins with a barrier (``prevent_cse``), or else the compiler would find
out that it computed all this before, and keep it.

``value_or_rule`` stands for the forward rule of a function with a derivative of its own that asks for
``optimize_remat``: where a ``checkpoint`` throws the residuals away, its half that runs forward computes the
function instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.extend.bodies import (
    count_leaves,
    interpret,
    interpret_call,
    join_structures,
    put_together,
    share_consts,
    take_apart,
    transposed_program,
)
from rabbet.extend.passes import consts_as_inputs, evaluate, stage
from rabbet.extend.primitive import Linear, Primitive, Zero
from rabbet.extend.transform import Feeds, typeof

if TYPE_CHECKING:
    from rabbet.extend.passes import Jaxpr
    from rabbet.extend.primitive import Op, ShapedArray
    from rabbet.extend.rules import Site
    from rabbet.extend.transform import Interpreter
    from rabbet.typing import Value


def checkpoint_aval(
    *avals: ShapedArray,
    jaxpr: Jaxpr,
    prevent_cse: bool,
    policy: Callable[..., Any] | None,
    differentiated: bool,
    name: str,
) -> Any:
    return jaxpr.out_avals


checkpoint = Primitive(
    "checkpoint", checkpoint_aval, kinds=("body", "distinct", "shapeless"), multiple_results=True,
    doc="a program whose intermediate values reverse mode computes again",
)  # fmt: skip


@checkpoint.rule("feeds")
def feeds_checkpoint(op: Op) -> Feeds:
    return Feeds({"jaxpr": range(len(op.params["jaxpr"].invars))})


@checkpoint.rule("captures")
def captures_checkpoint(args: Any, params: Any, captured: Any) -> Any:
    return [*captured["jaxpr"], *args], params


@checkpoint.rule("lower")
def lower_checkpoint(op: Site, *names: str) -> list[str]:
    if op["differentiated"] and op["prevent_cse"] and names:
        types = ", ".join([a.mlir for a in op.in_avals])
        text = f"stablehlo.optimization_barrier {', '.join(names)} : {types}"
        held = [op.emit(text)] if len(names) == 1 else op.emit_many(text, len(names))
        return op.inline(op["jaxpr"], held)
    return op.inline(op["jaxpr"], names)


@checkpoint.rule("steps")
def steps_of_checkpoint(op: Op, args: Any, run: Any) -> None:
    run(op.params["jaxpr"], args)


@checkpoint.rule("body")
def body_checkpoint(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    body, operands, finish = interpret_call(interpreter, op.params["jaxpr"], args)
    return finish(op.replaced(jaxpr=body)(*operands))


@checkpoint.rule("transpose")
def transpose_checkpoint(
    op: Op, cts: tuple[Value, ...], *operands: Linear | Value
) -> tuple[Value | None, ...]:
    linear = tuple([type(x) is Linear for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    body, produced, captured = transposed_program(op.params["jaxpr"], linear, nonzero)
    known = [x for x in operands if type(x) is not Linear]
    given = [ct for ct in cts if type(ct) is not Zero]
    results = iter(op.replaced(jaxpr=body)(*captured, *known, *given))
    kept = iter(produced)
    return tuple([next(results) if lin and next(kept) else None for lin in linear])


# --------------------------------------------------------------------------------------- value_or_rule
def value_or_rule_aval(*avals: ShapedArray, jaxpr: Jaxpr, value: Jaxpr, outs: int, name: str) -> Any:
    return jaxpr.out_avals


value_or_rule = Primitive(
    "value_or_rule", value_or_rule_aval, kinds=("body",), multiple_results=True,
    doc="a forward rule, of which the first results are those of a function",
)  # fmt: skip
"""Parameters: ``jaxpr``, the rule, whose first ``outs`` results are those of ``value``."""


def rule_or_value(
    rule: Callable[..., Any], value: Any, args: list[Value], name: str
) -> tuple[list[Value], ...]:
    """Bind a forward rule beside its function.

    Args:
      rule: from arrays to ``(outs, residuals)``, two lists.
      value: from arrays to the list of outs.
      args: arrays.
      name: for messages and programs.
    """
    count = None

    def flat(*xs: Value) -> list[Value]:
        nonlocal count
        outs, residuals = rule(xs)
        count = len(outs)
        return [*outs, *residuals]

    avals = [typeof(x) for x in args]
    made = [stage(flat, avals, name), stage(value, avals, name)]
    programs = share_consts([consts_as_inputs(c) for c in made], [len(c.consts) for c in made])
    consts = [c for closed in made for c in closed.consts]
    results = value_or_rule(*consts, *args, jaxpr=programs[0], value=programs[1], outs=count, name=name)
    return results[:count], results[count:]


@value_or_rule.rule("lower")
def lower_value_or_rule(op: Site, *names: str) -> list[str]:
    return op.inline(op["jaxpr"], names)


@value_or_rule.rule("body")
def body_value_or_rule(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    if interpreter.threads:
        return interpreter.at_this_level(evaluate, op.params["jaxpr"], args)
    leaves, structures = take_apart(interpreter, args)
    avals, n = [typeof(x) for x in leaves], op.params["outs"]
    both = [op.params["jaxpr"], op.params["value"]]
    found = [interpret(interpreter, body, structures, avals)[1] for body in both]
    outs = join_structures(interpreter, found[0][:n], found[1])
    wanted = [(*outs, *found[0][n:]), outs]
    made = [
        interpret(interpreter, b, structures, avals, outputs=w) for b, w in zip(both, wanted, strict=True)
    ]
    programs = share_consts([body for body, _, _ in made], [len(captured) for _, _, captured in made])
    consts = [c for _, _, captured in made for c in captured]
    results = value_or_rule(
        *consts, *leaves, jaxpr=programs[0], value=programs[1], outs=count_leaves(outs),
        name=op.params["name"],
    )  # fmt: skip
    return put_together(interpreter, wanted[0], results)


# ------------------------------------------------------------------------------------------------ name
name = Primitive(
    "name", lambda x, name: x, kinds=("elementwise", "increasing", "linear", "structural"),
    doc="x, under a name that checkpoint policies may speak of",
)  # fmt: skip


@name.rule("lower")
def lower_name(op: Site, x: str) -> str:
    return x


@name.rule("transpose")
def transpose_name(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (ct,)
