"""The primitive ``while``: a program repeated as long as another says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import dtypes
from rabbet.errors import ReverseModeError
from rabbet.lowering import stop_flag
from rabbet.lowering.regions import Region, types_of
from rabbet.messages.source_positions import source_position
from rabbet.primitives import elementwise, logic, zeros
from rabbet.program import effects
from rabbet.program.body_operands import Feeds
from rabbet.program.context import context
from rabbet.program.jaxpr import Jaxpr, Literal, evaluate
from rabbet.program.sharded_types import joined_over
from rabbet.rules.primitive import Primitive
from rabbet.trace import bodies, payload_parts
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.program.jaxpr import Var
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Linear, Zero
    from rabbet.trace.interpreter import Interpreter
    from rabbet.typing import Value

INDEX = dtypes.canonicalize("int32")


def as_carried(avals: tuple[ShapedArray, ...], wanted: tuple[ShapedArray, ...], what: str) -> None:
    """Refuse a body whose outputs do not have the types of what it carries."""
    for i, (a, b) in enumerate(zip(avals, wanted, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise TypeError(
                f"{what}: carried value {i} has the type {b.str_short()}, the body returns {a.str_short()}"
            )


def while_aval(
    *avals: ShapedArray, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_consts: int, body_consts: int
) -> tuple[ShapedArray, ...]:
    carry = avals[cond_consts + body_consts :]
    as_carried(body_jaxpr.out_avals, carry, "while")
    (test,) = cond_jaxpr.out_avals
    if test.shape or test.dtype != logic.BOOL:
        raise TypeError(f"while: the condition must be a boolean scalar, got {test.str_short()}")
    return tuple(carry)


class Counted(NamedTuple):
    """What a ``while`` counts.

    Example:
      >>> from rabbet.extend.rules import Counted, counted
      >>> from rabbet.extend.passes import stage
      >>> turns = lambda n: [lax.fori_loop(0, n, lambda i, x: x * 2, 1.0)]
      >>> loop = counted(stage(turns, [rb.typeof(np.int32(3))]).jaxpr.equations[-1].op)
      >>> isinstance(loop, Counted), loop.step
      (True, 1)
    """

    counter: int
    """Which of the carried values counts."""
    bound: Any
    """It goes on while the count is less than this: an operand of the loop, by number, or a ``Literal``."""
    step: int
    """What a round adds to it."""


def counts(op: Site | Op) -> bool:
    """Whether a ``while`` is a loop over a counter, as ``fori_loop`` makes it."""
    return counted(op) is not None


def counted(op: Site | Op) -> Counted | None:
    """What a ``while`` counts, where it is a loop over a counter, as ``fori_loop`` makes it; else None.

    It goes on while one carried integer is less than a number that stays, and the body adds to it.

    Args:
      op: the operator of an equation whose primitive is ``while``.

    Example:
      >>> from rabbet.extend.rules import counted
      >>> from rabbet.extend.passes import stage
      >>> halves = lambda x: [lax.while_loop(lambda x: x > 1, lambda x: x / 2, x)]
      >>> counted(stage(halves, [rb.typeof(8.0)]).jaxpr.equations[-1].op) is None
      True
    """
    params = op.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    if len(condition.equations) != 1 or condition.equations[0].op.primitive is not logic.lt:
        return None
    test = condition.equations[0]
    constants = params["cond_consts"]
    carried, inner = condition.invars[constants:], body.invars[params["body_consts"] :]
    counted, bound = test.inputs
    if counted not in carried or condition.outvars != test.outputs:
        return None
    counter = carried.index(counted)
    if bound in carried:
        at = carried.index(bound)
        stays = body.outvars[at] is inner[at]
    else:
        stays = type(bound) is Literal or bound in condition.invars[:constants]
    if not stays or inner[counter].aval.kind not in "iu":
        return None
    for step in body.equations:
        if body.outvars[counter] in step.outputs:
            adds = step.op.primitive is elementwise.add and step.inputs[0] is inner[counter]
            if not adds or type(step.inputs[1]) is not Literal or not step.inputs[1].value > 0:
                return None
            return Counted(counter, place_of(bound, condition, params), int(step.inputs[1].value))
    return None


def place_of(bound: Literal | Var, condition: Jaxpr, params: dict[Any, Any]) -> Literal | int:
    """The number of the operand that a variable of the condition stands for; a literal itself."""
    if type(bound) is Literal:
        return bound
    at = condition.invars.index(bound)
    constants = params["cond_consts"]
    return at if at < constants else at + params["body_consts"]


while_ = Primitive(
    "while",
    while_aval,
    kinds=("body", "shapeless"),
    multiple_results=True,
    endless=lambda op: not counts(op),
    doc="a program repeated while a condition holds",
    parameters={
        "cond_jaxpr": "Jaxpr: whether another round is to run",
        "body_jaxpr": "Jaxpr: a round",
        "cond_consts": "int: how many operands come first, which only the first program sees",
        "body_consts": "int: how many follow, which only the second sees; the others are handed on",
    },
)


def parts_of_while(op: Site | Op, args: tuple[Value | str, ...]) -> tuple[list[Value | str], ...]:
    """The operands by use: constants of the condition, constants of the body, carried values."""
    m, n = op.params["cond_consts"], op.params["body_consts"]
    return list(args[:m]), list(args[m : m + n]), list(args[m + n :])


@while_.rule("feeds")
def feeds_while(op: Op) -> Feeds:
    m, body = op.params["cond_consts"], len(op.params["body_jaxpr"].invars)
    first = m + op.params["body_consts"]
    places = {"cond_jaxpr": [*range(m), *range(first, m + body)], "body_jaxpr": range(m, m + body)}
    return Feeds(places, {j: first + j for j in range(m + body - first)}, decides=("cond_jaxpr",))


@while_.rule("captures")
def captures_while(args: Any, params: Any, captured: Any) -> Any:
    test, body = captured.get("cond_jaxpr", []), captured.get("body_jaxpr", [])
    m, n = params["cond_consts"], params["body_consts"]
    params = {**params, "cond_consts": m + len(test), "body_consts": n + len(body)}
    return [*test, *args[:m], *body, *args[m:]], params


@while_.rule("lower")
def lower_while(op: Site, *names: str) -> list[str]:
    if effects.ordered(op["cond_jaxpr"].effects):
        return op.write(lambda *args: carrying_decision(op, args), op.in_avals, names)
    test_consts, body_consts, carry = parts_of_while(op, names)
    threaded = op.ordered_effects
    types = types_of(op.out_avals, threaded)
    m, n = op["cond_consts"], op["body_consts"]
    stops = not counts(op) and stop_flag.changes(op["cond_jaxpr"], op["body_jaxpr"], m, n)
    regions = [
        Region(op["cond_jaxpr"], test_consts, takes=threaded, stops=stops),
        Region(op["body_jaxpr"], body_consts, takes=threaded, gives=threaded),
    ]
    carry = [*carry, *[op.token(e) for e in threaded]]
    head = f'"stablehlo.while"({", ".join(carry)})'
    outs = op.emit_regions(head, regions, f": ({types}) -> ({types})", len(carry))
    return op.take_tokens(threaded, outs)


def carrying_decision(op: Site | Op, args: tuple[Value, ...]) -> list[Value]:
    """The same loop with its condition computed in the body and carried: where the condition has ordered
    effects, since the region of a condition cannot give a token back.
    """
    test_consts, body_consts, carry = parts_of_while(op, args)
    m, n = len(test_consts), len(test_consts) + len(body_consts)

    def step(*flat: Value) -> list[Value]:
        held, carried = flat[:n], flat[n + 1 :]
        after = evaluate(op.params["body_jaxpr"], [*held[m:], *carried])
        return [*evaluate(op.params["cond_jaxpr"], [*held[:m], *after]), *after]

    first = evaluate(op.params["cond_jaxpr"], [*test_consts, *carry])
    avals = [typeof(x) for x in (*first, *carry)]
    body = stage(step, [*[typeof(x) for x in args[:n]], *avals], "step").jaxpr
    test = stage(lambda more, *_: [more], avals, "more").jaxpr
    outs = while_(*args[:n], *first, *carry, cond_jaxpr=test, body_jaxpr=body, cond_consts=0, body_consts=n)
    return outs[1:]


def deciding(test: Jaxpr) -> Jaxpr:
    """A condition without the outputs that only hand the state on."""
    return Jaxpr(test.invars, test.outvars[:1], test.equations, name=test.name)


@while_.rule("steps")
def steps_of_while(op: Op, args: Any, run: Any) -> None:
    test_consts, body_consts, carry = parts_of_while(op, args)
    while run(op.params["cond_jaxpr"], [*test_consts, *carry])[0]:
        carry = run(op.params["body_jaxpr"], [*body_consts, *carry])


def settled(leaves: Any, outputs_of: Callable[..., Any]) -> Any:
    """Carried values in types that cover what the body returns for them, as far as types speak of devices.

    Args:
      leaves: the first values.
      outputs_of: from their types to those of the body's outputs, of which the first are carried.
    """
    while True:
        outs = outputs_of([typeof(x) for x in leaves])
        if all(out.spread is None for out in outs):
            return leaves
        covering = [
            zeros.fitted(x, typeof(x).update(spread=joined_over(typeof(x).spread, out.spread)))
            for x, out in zip(leaves, outs, strict=False)
        ]
        if all(typeof(a).spread is typeof(b).spread for a, b in zip(leaves, covering, strict=True)):
            return leaves
        leaves = covering


@while_.rule("body")
def body_while(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    if interpreter.threads and op.params["cond_jaxpr"].equations:
        return interpreter.at_this_level(carrying_decision, op, args)
    test_args, body_args, carry = parts_of_while(op, args)
    carry = bodies.entering(interpreter, carry)
    test, body = op.params["cond_jaxpr"], op.params["body_jaxpr"]
    test_leaves, test_structures = payload_parts.take_apart(interpreter, test_args)
    body_leaves, body_structures = payload_parts.take_apart(interpreter, body_args)
    body_avals = [typeof(x) for x in body_leaves]

    def outputs_for(structures: tuple[Any, ...], avals: list[ShapedArray]) -> tuple[Any, ...]:
        return bodies.interpret(interpreter, body, (*body_structures, *structures), [*body_avals, *avals])[1]

    structures, leaves = bodies.widened(interpreter, carry, outputs_for)
    leaves = settled(
        leaves,
        lambda avals: (
            bodies.interpret(
                interpreter, body, (*body_structures, *structures), [*body_avals, *avals], outputs=structures
            )[0].out_avals
        ),
    )
    avals = [typeof(x) for x in leaves]
    test_made, (decided, *_), test_captured = bodies.interpret(
        interpreter, test, (*test_structures, *structures), [*[typeof(x) for x in test_leaves], *avals]
    )
    if interpreter.threads:
        test_made = deciding(test_made)
    if decided is not payload_parts.PLAIN and not (interpreter.threads and interpreter.carries):
        return interpreter.at_this_level(interpreter.predicate, op, args)
    made, _, captured = bodies.interpret(
        interpreter, body, (*body_structures, *structures), [*body_avals, *avals], outputs=structures
    )
    outs = while_(
        *test_captured, *test_leaves, *captured, *body_leaves, *leaves, cond_jaxpr=test_made, body_jaxpr=made,
        cond_consts=len(test_captured) + len(test_leaves), body_consts=len(captured) + len(body_leaves),
    )  # fmt: skip
    return payload_parts.put_together(interpreter, structures, outs)


@while_.rule("transpose")
def transpose_while(op: Op, cts: tuple[Zero | Value, ...], *operands: Linear | Value) -> None:
    """Of a loop whose number of steps is not known, nothing can be kept for the backward pass."""
    where = f" at {source_position(context.where)}" if context.where is not None else ""
    raise ReverseModeError(
        f"reverse-mode differentiation cannot go through a while_loop{where}: its number of steps is "
        "not known, so the values that the backward pass needs cannot be kept\n"
        "  to fix: give it a bound, lax.while_loop(..., max_steps=n), or a number of states to keep, "
        "lax.while_loop(..., checkpoints=k), or use "
        "lax.scan, or lax.fori_loop with static (Python int) bounds; forward mode (rb.jvp, rb.jacfwd) works; "
        "where no derivative is wanted, take lax.stop_gradient of the result"
    )
