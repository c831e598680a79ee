"""The primitive ``custom_call``: a function whose author says how some transformations treat it.

Its rules are kept by table name; an interpreter whose table has one uses it, any other goes through the
function. ``custom_jvp`` and ``custom_vjp`` are both this primitive, with the rule ``"jvp"`` or ``"vjp"``.

A call looks for the interpreter that it concerns, from the current one down:

1. at the bottom the function just runs;
2. an interpreter with a rule, and an argument of its own, applies the rule: the function itself does not
run, so it may branch on values; 3. one with a rule but no argument of its own has no say: the call goes on
to its parent; 4. any other one that takes part runs the function;
5. where a program is staged, or the rules have to survive (``Interpreter.carries``) or others are made from
them (``RuleTable.derived_from``), the function is staged and becomes an equation.
"""

from typing import Any, NamedTuple

from rabbet.primitives import carrying, transposition, zeros
from rabbet.primitives.carrying import at, is_mine, payload_or_plain
from rabbet.primitives.custom_linear import custom_linear
from rabbet.program.context import Context, context
from rabbet.program.jaxpr import evaluate, open_consts
from rabbet.rules.payloads import Dual, Linear, Zero, tangent_aval, zero_for
from rabbet.rules.primitive import Primitive
from rabbet.trace import bodies, named_axes
from rabbet.trace.interpreter import Tracer, typeof
from rabbet.trace.staging import Stage, stage


class Pushforward(NamedTuple):
    """The rule of forward mode: ``rule(primals, tangents) -> (outs, tangents)``, all of them lists.

    ``symbolic``: whether zero tangents reach the rule as ``Zero``, not as arrays; it may return such, too.
    """

    rule: Any
    symbolic: bool = False


class Pullback(NamedTuple):
    """The rules of reverse mode: ``forward(primals, perturbed) -> (outs, residuals)``, where ``perturbed``
    says of each input whether it is differentiated, and ``backward(residuals, cotangents) -> cotangents``.

    ``symbolic``: whether zero cotangents reach ``backward`` as ``Zero``.
    """

    forward: Any
    backward: Any
    symbolic: bool = False


def custom_call_aval(*avals, jaxpr, rules, consts, name):
    return jaxpr.out_avals


custom_call = Primitive(
    "custom_call", custom_call_aval, kinds=("body",), multiple_results=True,
    doc="a function with rules of its own for some transformations",
)  # fmt: skip


def call(function, rules, args, name):
    """Call a flat function that has rules of its own.

    Args:
      function: takes arrays, returns a list of arrays.
      rules: ``"jvp"``: a ``Pushforward``; ``"vjp"``: a ``Pullback``; any other table:
        ``(interpreter, payloads) -> payloads``.
      args: arrays.
      name: for messages and programs.
    """
    interpreter = context.interpreter
    while not is_bottom(interpreter):
        ruled = has_rule(interpreter, rules)
        mine = any(is_mine(a, interpreter) for a in args)
        if ruled and mine:
            return at(interpreter.parent, lambda i=interpreter: by_rule(i, rules, name, args))
        if ruled or (not mine and is_transposing(interpreter)):
            interpreter = interpreter.parent
            continue
        if type(interpreter) is Stage or not mine or survive(interpreter, rules):
            return at(interpreter, lambda: staged(function, rules, args, name))
        break
    return at(interpreter, lambda: function(*args))


def survive(interpreter, rules):
    """Whether rules for other tables are to be had after this interpreter, too."""
    return (
        interpreter.carries
        or ("batch" in rules and is_forward(interpreter))
        or bodies.follows(interpreter, rules)
    )


def is_forward(interpreter):
    """Whether this is forward-mode differentiation."""
    return interpreter.table is not None and interpreter.table.name == "jvp"


def is_bottom(interpreter):
    """Whether operations are executed at once here."""
    return interpreter is Context.interpreter


def is_transposing(interpreter):
    """Whether this interpreter writes linear operations down for transposition: nothing else concerns it."""
    return interpreter.table is not None and interpreter.table.name == "transpose"


def has_rule(interpreter, rules):
    """Whether the function has a rule for this interpreter's table; forward mode can use either of two."""
    if interpreter.table is None:
        return False
    name = interpreter.table.name
    return name in rules or (name == "jvp" and "vjp" in rules)


def staged(function, rules, args, name):
    """The call as an equation; what the function captured becomes its first operands."""
    closed = stage(function, [typeof(a) for a in args], name)
    return bind([*closed.consts, *args], open_consts(closed), rules, len(closed.consts), name)


def bind(operands, body, rules, consts, name):
    """Bind a staged function at the first level that it concerns; at the bottom it runs."""
    interpreter = context.interpreter
    names = named_axes.used_in(body) if context.axes else ()
    while interpreter.parent is not None and not (
        interpreter.threads or interpreter.binds(names) or any(is_mine(a, interpreter) for a in operands)
    ):
        interpreter = interpreter.parent
    if is_bottom(interpreter):
        return at(interpreter, lambda: evaluate(body, operands))
    op = custom_call.op(jaxpr=body, rules=rules, consts=consts, name=name)
    return at(interpreter, lambda: op(*operands))


def by_rule(interpreter, rules, name, args, wanted=None):
    """Apply the rule for ``interpreter``'s table; ``wanted`` are the types of the outputs, where they are
    known.
    """
    if is_forward(interpreter):
        return differentiate(interpreter, rules, name, args, wanted)
    payloads = [a.payload if is_mine(a, interpreter) else interpreter.lift(a) for a in args]
    return [interpreter.wrap(p) for p in rules[interpreter.table.name](interpreter, payloads)]


@custom_call.rule("lower")
def lower_custom_call(op, *names):
    return op.inline(op["jaxpr"], names)


@custom_call.rule("transpose")
def transpose_custom_call(op, cts, *operands):
    linear = tuple([type(x) is Linear for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    known = [x for x in operands if type(x) is not Linear]
    given = [ct for ct in cts if type(ct) is not Zero]
    results = iter(transposition.transpose_program(op.params["jaxpr"], linear, known, nonzero, given))
    return tuple([next(results) if lin else None for lin in linear])


@custom_call.rule("body")
def body_custom_call(op, interpreter, args):
    rules, name, n = op.params["rules"], op.params["name"], op.params["consts"]
    if has_rule(interpreter, rules):
        for x in args[:n]:
            refuse_moving(interpreter, x, name)
        return by_rule(interpreter, rules, name, args[n:], op.params["jaxpr"].out_avals)
    if bodies.follows(interpreter, rules):
        return bodies.by_model(interpreter, op, args)
    if rules and not is_bottom(interpreter.parent) and survive(interpreter, rules):
        carry = carrying.through_forward if is_forward(interpreter) else carrying.through
        carry = carrying.through_state if interpreter.threads else carry
        made = carry(interpreter, op, args)
        return made.finish(bind(made.operands, made.body, made.rules, made.consts, name))
    return at(interpreter, lambda: evaluate(op.params["jaxpr"], args))


def refuse_moving(interpreter, x, name):
    """Refuse a captured value that is being transformed: the rule cannot see it."""
    if is_mine(x, interpreter):
        raise TypeError(
            f"{name!r} has a rule of its own for {interpreter.describe()} and closes over a value that is "
            f"being transformed, of type {typeof(x).str_short()}; make that value an argument, so that the "
            "rule can see it"
        )


def differentiate(interpreter, rules, name, args, wanted):
    """Forward mode by the function's own rule."""
    duals = [payload_or_plain(interpreter, a) for a in args]
    primals, tangents = [d.primal for d in duals], [d.tangent for d in duals]
    push = rules.get("jvp")
    if push is not None and ("vjp" not in rules or not to_be_transposed(tangents)):
        given = tangents if push.symbolic else [zeros.instantiate(t) for t in tangents]
        outs, out_tangents = push.rule(primals, given)
        check_outputs(outs, wanted, name)
        return [interpreter.wrap(Dual(p, _tangent(t, p))) for p, t in zip(outs, out_tangents, strict=True)]
    pull = rules["vjp"]
    outs, residuals = pull.forward(primals, tuple([type(t) is not Zero for t in tangents]))
    check_outputs(outs, wanted, name)
    moving = tuple([_differentiable(p) for p in primals])
    out_avals = tuple([tangent_aval(typeof(o)) for o in outs])
    known, backward, forwards = list(residuals), pull.backward, None
    if push is not None:
        # A rule for each mode: the derivative is a linear operation that knows its value and its transpose.
        known += primals
        n = len(residuals)
        backward = lambda values, cts: pull.backward(values[:n], cts)
        forwards = lambda values, given: pushed(push, values[n:], moving, given)
    linear = custom_linear(
        *known, *[zeros.instantiate(t) for t, m in zip(tangents, moving, strict=True) if m],
        forward=forwards, backward=backward, residuals=len(known), moving=moving, out_avals=out_avals,
        symbolic=pull.symbolic, name=name,
    )  # fmt: skip
    return [interpreter.wrap(Dual(o, _tangent(t, o))) for o, t in zip(outs, linear, strict=True)]


def to_be_transposed(tangents):
    """Whether what is computed from these tangents may end in a transposition: they are being recorded."""
    found = [t.interpreter for t in tangents if type(t) is Tracer]
    return any(type(i) is Stage or is_transposing(i) for i in found)


def pushed(push, primals, moving, given):
    """The tangents of the outputs by the rule of forward mode, from those that there are of the inputs."""
    given = iter(given)
    tangents = [next(given) if m else zero_for(typeof(p)) for p, m in zip(primals, moving, strict=True)]
    if not push.symbolic:
        tangents = [zeros.instantiate(t) for t in tangents]
    return [zeros.instantiate(t) for t in push.rule(primals, tangents)[1]]


def check_outputs(outs, wanted, name):
    """Refuse a rule whose outputs are not of the function's types."""
    for i, (out, aval) in enumerate(zip(outs, wanted or (), strict=bool(wanted))):
        have = typeof(out)
        if (have.shape, have.dtype) != (aval.shape, aval.dtype):
            raise TypeError(
                f"the derivative rule of {name!r} returned {have.str_short()} for output number {i}, which "
                f"the function returns as {aval.str_short()}"
            )


def _differentiable(x):
    return tangent_aval(typeof(x)).dtype == typeof(x).dtype


def _tangent(t, primal):
    return zero_for(typeof(primal)) if type(t) is Zero or not _differentiable(primal) else t
