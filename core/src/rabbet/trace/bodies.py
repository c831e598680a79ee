"""How any interpreter goes through primitives that carry programs: calls, branches, loops.

An interpreter gives ``lift`` and ``type_of`` (and ``join``, where static parts differ); from that alone the
functions here stage a body *under* the interpreter: its payloads, flattened to their leaves, become the
inputs of a new program, and what comes out is flattened again. The static parts, which say how leaves make
payloads, stay outside the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.program.jaxpr import consts_as_inputs, evaluate
from rabbet.trace import interpreter_state
from rabbet.trace.interpreter import typeof
from rabbet.trace.payload_parts import (
    STATE,
    Threaded,
    count_leaves,
    force_payload,
    join_structures,
    put_together,
    take_apart,
)
from rabbet.trace.staging import stage
from rabbet.trace.traced_runs import run_traced
from rabbet.trace.tracer import payload_of

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.program.jaxpr import Jaxpr
    from rabbet.rules.operator import Op
    from rabbet.trace.interpreter import Interpreter
    from rabbet.trace.payload_parts import State
    from rabbet.typing import Value


def entering(interpreter: Interpreter, args: list[Value] | tuple[Value, ...]) -> Any:
    """The operands of a body: ``args``, and ``STATE`` where the interpreter threads one.

    Example:
      >>> from rabbet.extend.bodies import entering
      >>> from rabbet.extend.transform import Interpreter
      >>> entering(Interpreter(), (1.0, 2.0))
      [1.0, 2.0]
    """
    return [*args, STATE] if interpreter.threads else list(args)


def interpret(
    interpreter: Interpreter,
    jaxpr: Jaxpr,
    structures: Any,
    leaf_avals: Any,
    outputs: Any = None,
    state_at: Any = None,
) -> Any:
    """Stage ``jaxpr`` under a fresh copy of ``interpreter``.

    Args:
      jaxpr: the body.
      structures: the static part of each of its inputs.
      leaf_avals: the types of the flattened inputs.
      outputs: the static part that each output must have (None: whatever it comes to have); values are
        forced to it.
      state_at: where the state stands among the outputs, for an interpreter that threads one; by default
        behind them.

    Returns:
      (body, out_structures, consts): ``body`` takes ``consts`` and then the leaves of the inputs, and
      returns the leaves of the outputs. ``consts`` are empty where nothing outside was captured, and then
      the result is kept with ``jaxpr``.

    Example:
      >>> from rabbet.extend.bodies import interpret
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.primitive import Dual
      >>> from rabbet.extend.transform import Interpreter, jvp
      >>> class Forward(Interpreter):
      ...     table = jvp
      ...     def lift(self, value):
      ...         return Dual(value, 0.0)
      ...     def type_of(self, dual):
      ...         return rb.typeof(dual.primal)
      >>> aval = rb.typeof(np.float32(1))
      >>> program = stage(lambda x: [lax.sin(x)], [aval]).jaxpr
      >>> body, outs, consts = interpret(Forward(), program, (rb.tree.structure(Dual(0, 0)),), [aval, aval])
      >>> [eqn.primitive for eqn in body.equations], len(body.outvars)
      ([sin, cos, mul], 2)
    """
    key = interpreter.key()
    memo = None if key is None else (key, structures, tuple(leaf_avals), outputs, state_at)
    if memo is not None and memo in jaxpr.memo:
        return jaxpr.memo[memo]
    out_structures = None

    def flat(*leaves: Any) -> Any:
        nonlocal out_structures
        inner = interpreter.fresh()
        before = interpreter_state.of(inner)

        values = [put_together(inner, structures, leaves)]

        def on_values(*_: Any) -> list[Value]:
            # Taken out, since rules may keep the interpreter, and so this function, for later.
            return evaluate(jaxpr, values.pop())

        vars(on_values)["described"] = f"the program {jaxpr.name!r}"
        outs = run_traced(inner, on_values, [])
        interpreter_state.refuse_lost(inner, before)
        if inner.threads:
            refuse_other_types(inner, structures, leaf_avals)
            outs.insert(len(outs) if state_at is None else state_at, STATE)
        if outputs is None:
            leaves, out_structures = take_apart(inner, outs)
            return leaves
        out_structures = outputs
        return [leaf for x, s in zip(outs, outputs, strict=True) for leaf in force_payload(inner, x, s)]

    closed = stage(flat, leaf_avals, jaxpr.name)
    result = consts_as_inputs(closed), out_structures, list(closed.consts)
    if memo is not None and not closed.consts:
        jaxpr.memo[memo] = result
    return result


def refuse_other_types(
    interpreter: Interpreter, structures: tuple[Any, ...], leaf_avals: list[ShapedArray]
) -> None:
    """Refuse a state of other types than the one that came in."""
    at = 0
    for structure in structures:
        if type(structure) is Threaded:
            n = structure.treedef.num_leaves
            interpreter_state.refuse_other_types(interpreter, structure.treedef, leaf_avals[at : at + n])
            return
        at += count_leaves((structure,))


def interpret_call(interpreter: Interpreter, jaxpr: Jaxpr, args: tuple[Value, ...]) -> tuple[Any, ...]:
    """An interpreter's way through a program that is called, for the ``body`` rule of a primitive.

    Returns:
      (body, operands, finish): bind ``body`` on ``operands``, which begin with what it captured;
      ``finish(results)`` makes values of the interpreter of what that gives.

    Example:
      >>> from rabbet.extend.bodies import interpret_call
      >>> from rabbet.extend.passes import evaluate, stage
      >>> from rabbet.extend.transform import Interpreter
      >>> program = stage(lambda x: [lax.mul(x, x)], [rb.typeof(np.float32(1))]).jaxpr
      >>> body, operands, finish = interpret_call(Interpreter(), program, [np.float32(3)])
      >>> finish(evaluate(body, operands))
      [Array(9., dtype=float32)]
    """
    leaves, structures = take_apart(interpreter, entering(interpreter, args))
    body, outs, consts = interpret(interpreter, jaxpr, structures, [typeof(x) for x in leaves])
    return body, [*consts, *leaves], lambda results: put_together(interpreter, outs, results)


def follows(interpreter: Interpreter, rules: dict[Any, Any]) -> bool:
    """Whether the interpreter's rules are made from those of a table (see ``RuleTable.derived_from``) for
    which there is one in the dict ``rules``: then it goes before the body.

    Example:
      >>> from rabbet.extend.bodies import follows
      >>> from rabbet.extend.transform import Interpreter
      >>> follows(Interpreter(), {})
      False
    """
    model = None if interpreter.table is None else interpreter.table.model
    return model is not None and model.name in rules


def apply_derived_rule(interpreter: Interpreter, op: Op, args: Any) -> Any:
    """The outputs of ``op`` by the rule that the interpreter's table makes from one of its model; for body
    rules, which run with the parent current.

    Example:
      >>> from rabbet.extend.bodies import apply_derived_rule
      >>> from rabbet.extend.transform import Interpreter, RuleTable, jvp
      >>> rules = RuleTable("largest", doc="(op, *values) -> the largest of them")
      >>> @rules.derived_from(jvp)
      ... def largest(op, *values):
      ...     return [max(values)]
      >>> class Largest(Interpreter):
      ...     table = rules
      ...     def lift(self, value):
      ...         return value
      ...     def type_of(self, value):
      ...         return rb.typeof(value)
      >>> (found,) = apply_derived_rule(Largest(), lax.mul.op(), [2.0, 5.0])
      >>> found.payload
      5.0
    """
    outs = interpreter.table.from_model(op, *[payload_of(interpreter, x) for x in args])
    return [interpreter.wrap(payload) for payload in outs]


def widened(interpreter: Interpreter, values: list[State | Value], body_of: Callable[..., Any]) -> Any:
    """The static parts of loop carries: the least that hold the initial values and whatever the body makes
    of them.

    Args:
      values: the initial values.
      body_of: from the carries' static parts and leaf avals to the static parts that the body returns for
        them.

    Returns:
      (structures, leaves): the static parts, and the initial values' leaves forced to them.
    """
    _, structures = take_apart(interpreter, values)
    while True:
        leaves = [
            leaf for x, s in zip(values, structures, strict=True) for leaf in force_payload(interpreter, x, s)
        ]
        after = join_structures(
            interpreter, structures, body_of(structures, [typeof(leaf) for leaf in leaves])
        )
        if after == structures:
            return structures, leaves
        structures = after
