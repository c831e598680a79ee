"""The primitive ``custom_call``: a function whose author says how some transformations treat it.

Its rules are kept by table name, each a ``CustomRule`` (``rules.py``); an interpreter that has one
(``Interpreter.custom_rule``) uses it, any other goes through the function.

A call looks for the interpreter that it concerns, from the current one down:

1. At the bottom the function just runs.
2. An interpreter with a rule, and an argument of its own, applies the rule. The function itself does not run
   there, so it may branch on values.
3. An interpreter with a rule but no argument of its own has no say: the call goes on to its parent.
4. Any other interpreter that takes part runs the function.
5. Where a program is staged, or a rule survives the interpreter (``CustomRule.survives``), or others are made
   from it (``RuleTable.derived_from``), the function is staged and becomes an equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rabbet.extend.bodies import apply_derived_rule, follows, is_tracer_of, transpose_program
from rabbet.extend.passes import consts_as_inputs, evaluate, stage
from rabbet.extend.primitive import Linear, Primitive, Zero
from rabbet.extend.transform import axes_used_in, context, typeof

from rabbet_custom_rules import rules_under_interpreters


def custom_call_aval(*avals, jaxpr, rules, consts, name):
    return jaxpr.out_avals


custom_call = Primitive(
    "custom_call", custom_call_aval, kinds=("body", "shapeless"), multiple_results=True,
    doc="a function with rules of its own for some transformations",
)  # fmt: skip


def at(interpreter, function, *args):
    """``function(*args)`` with ``interpreter`` current."""
    ctx = context
    previous = ctx.interpreter
    ctx.interpreter = interpreter
    try:
        return function(*args)
    finally:
        ctx.interpreter = previous


def call_with_rules(function: Callable, rules: dict, args: Sequence[Any], name: str) -> list:
    """Call a flat function that has rules of its own.

    Args:
      function: takes arrays, returns a list of arrays.
      rules: dict from the name of a rule table to a ``CustomRule``.
      args: arrays.
      name: for messages and programs.

    Example:
      >>> from rabbet_custom_rules import PayloadRule, call_with_rules
      >>> rules = {"pairs": PayloadRule(lambda interpreter, payloads: payloads)}
      >>> float(call_with_rules(lambda x: [x * 2.0], rules, [np.float32(3)], "double")[0])
      6.0
    """
    interpreter = context.interpreter
    while not is_bottom(interpreter):
        rule = interpreter.custom_rule(rules)
        mine = any(is_tracer_of(a, interpreter) for a in args)
        if rule is not None and mine:
            return at(interpreter.parent, rule.apply, interpreter, rules, args, name, None)
        if rule is not None or (not mine and interpreter.concerns_only_its_own):
            interpreter = interpreter.parent
            continue
        if interpreter.stages or not mine or survive(interpreter, rules):
            return at(interpreter, staged, function, rules, args, name)
        break
    return at(interpreter, function, *args)


def survive(interpreter, rules):
    """Whether rules for other tables are to be had after this interpreter, too."""
    for rule in rules.values():
        if rule.survives(interpreter):
            return True
    return follows(interpreter, rules)


def is_bottom(interpreter):
    """Whether operations are executed at once here: it is what every thread begins with."""
    return getattr(interpreter, "executes", False)


def staged(function, rules, args, name):
    """The call as an equation; what the function captured becomes its first operands."""
    closed = stage(function, [typeof(a) for a in args], name)
    return bind([*closed.consts, *args], consts_as_inputs(closed), rules, len(closed.consts), name)


def bind(operands, body, rules, consts, name):
    """Bind a staged function at the first level that it concerns; at the bottom it runs."""
    interpreter = context.interpreter
    names = axes_used_in(body) if context.axes else ()
    while interpreter.parent is not None and not (
        interpreter.threads or interpreter.binds(names) or any(is_tracer_of(a, interpreter) for a in operands)
    ):
        interpreter = interpreter.parent
    if is_bottom(interpreter):
        return at(interpreter, evaluate, body, operands)
    op = custom_call.op(jaxpr=body, rules=rules, consts=consts, name=name)
    return at(interpreter, op, *operands)


@custom_call.rule("lower")
def lower_custom_call(op, *names):
    return op.inline(op["jaxpr"], names)


@custom_call.rule("transpose")
def transpose_custom_call(op, cts, *operands):
    linear = tuple([type(x) is Linear for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    known = [x for x in operands if type(x) is not Linear]
    given = [ct for ct in cts if type(ct) is not Zero]
    results = iter(transpose_program(op.params["jaxpr"], linear, known, nonzero, given))
    return tuple([next(results) if lin else None for lin in linear])


@custom_call.rule("steps")
def steps_of_custom_call(op, args, run):
    run(op.params["jaxpr"], args)


@custom_call.rule("body")
def body_custom_call(op, interpreter, args):
    rules, name, n = op.params["rules"], op.params["name"], op.params["consts"]
    rule = interpreter.custom_rule(rules)
    if rule is not None:
        for x in args[:n]:
            refuse_moving(interpreter, x, name)
        return rule.apply(interpreter, rules, args[n:], name, op.params["jaxpr"].out_avals)
    if follows(interpreter, rules):
        return apply_derived_rule(interpreter, op, args)
    if not is_bottom(interpreter.parent) and survive(interpreter, rules):
        made = rules_under_interpreters.through(interpreter, op, args)
        return made.finish(bind(made.operands, made.body, made.rules, made.consts, name))
    return interpreter.at_this_level(evaluate, op.params["jaxpr"], args)


def refuse_moving(interpreter, x, name):
    """Refuse a captured value that is being transformed: the rule cannot see it."""
    if is_tracer_of(x, interpreter):
        raise TypeError(
            f"{name!r} has a rule of its own for {interpreter.describe()} and closes over a value that is "
            f"being transformed, of type {typeof(x).str_short()}; make that value an argument, so that the "
            "rule can see it"
        )
