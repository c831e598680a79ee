"""Splitting operators with bodies into what is known now and what is linear: partial evaluation for the
recorder.

When differentiation goes through a call, a branch or a loop, its body becomes one program on values and
tangents. The recorder takes it apart: the equations that no tangent reaches make the *known* half, which
runs now and hands over the intermediate values (residuals) that the rest needs; the others make the
*linear* half, which is recorded as one equation and transposed as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rabbet.errors import MissingRule
from rabbet.extend.commands import address
from rabbet.extend.functions import source_position
from rabbet.extend.passes import Equation, Jaxpr, Var, effects_of, stage
from rabbet.extend.primitive import Op, Primitive, add, call_op, effect_names, full_of_type, mul, neg, sub
from rabbet.extend.primitive import jit as jit_call
from rabbet.extend.transform import RuleTable, context
from rabbet_custom_rules import custom_call

splits = RuleTable(
    "split", doc="(op, flags) -> Halves: an operator with bodies as a known and a linear operator"
)

# Residuals that so many of these operations make of others are not stacked.
CHEAP, MOST_AGAIN = (add, sub, mul, neg), 3


class Halves(NamedTuple):
    """An operator split in two.

    Attributes:
      known: the operator that runs now (None: there is nothing to run); it takes the operands ``known_in``
        and returns the known outputs, then the residuals.
      known_in: indices of operands.
      linear: the operator to record (None: no output is linear).
      linear_in: its operands: ``("operand", i)`` of the original, or ``("residual", k)``.
      out_linear: for each output whether it is linear.
      residual_types: the residuals' avals.
    """

    known: Op | None
    known_in: tuple
    linear: Op | None
    linear_in: tuple
    out_linear: tuple
    residual_types: tuple


class Split(NamedTuple):
    """A program split in two.

    ``known`` takes the inputs that are not linear and returns the known outputs, then the residuals.
    ``linear`` takes some known inputs as they are (``passed``, indices of the program's inputs), the
    residuals, and the linear inputs; it returns the linear outputs.
    """

    known: Jaxpr
    linear: Jaxpr
    passed: tuple
    residuals: int
    out_linear: tuple


def split(
    jaxpr: Jaxpr, flags: tuple[bool, ...], force_linear: tuple[int, ...] = (), same: int | None = None
) -> Any:
    """Split a program by which of its inputs are linear; made once for each pattern.

    Args:
      jaxpr: a program.
      flags: for each input whether it is linear.
      force_linear: outputs that the linear half must return even if they turn out known; they are then zero.
      same: for the body of a loop how many inputs, the first, are the same at every step. Residuals are
        stacked by the loop then, so that reading one costs more than a cheap operation.
    """
    key = "split", flags, force_linear, same
    return jaxpr.once(key, lambda: _split(jaxpr, flags, force_linear, same))


def _split(jaxpr: Jaxpr, flags: tuple[bool, ...], force_linear: tuple[int, ...], same: int | None) -> Split:
    linear = {v for v, lin in zip(jaxpr.invars, flags, strict=True) if lin}
    known_equations, linear_equations = [], []
    for eqn in jaxpr.equations:
        touched = tuple([type(v) is Var and v in linear for v in eqn.inputs])
        if not any(touched):
            known_equations.append(eqn)
        elif "body" in eqn.op.primitive.kinds:
            _split_equation(eqn, touched, known_equations, linear_equations, linear)
        else:
            refuse_effects(eqn.op, eqn.where)
            linear_equations.append(eqn)
            linear.update(eqn.outputs)
    out_linear = tuple([
        (type(v) is Var and v in linear) or i in force_linear for i, v in enumerate(jaxpr.outvars)
    ])  # fmt: skip
    linear_outs = []
    for v, lin in zip(jaxpr.outvars, out_linear, strict=True):
        if lin:
            linear_outs.append(v if type(v) is Var and v in linear else _zero(v, linear_equations))
    residuals = _read_but_not_linear(linear_equations, linear)
    again = {}  # known equations that the linear half does once more
    if same is not None:
        residuals = _computed_again(residuals, known_equations, again)
    residuals = _spread_again(residuals, known_equations, again)
    if same is not None:
        residuals = _same_again(residuals, jaxpr.invars[:same], known_equations, again)
    made_again = {v for eqn in again for v in eqn.outputs}
    residuals = [v for v in residuals if v not in made_again]
    linear_equations[:0] = in_order(again, known_equations)
    places = {v: i for i, v in enumerate(jaxpr.invars)}
    passed = [v for v in residuals if v in places]
    computed = [v for v in residuals if v not in places]
    known = Jaxpr(
        [v for v, lin in zip(jaxpr.invars, flags, strict=True) if not lin],
        [v for v, lin in zip(jaxpr.outvars, out_linear, strict=True) if not lin] + computed, known_equations,
        name=jaxpr.name,
    )  # fmt: skip
    rest = Jaxpr(
        passed + computed + [v for v, lin in zip(jaxpr.invars, flags, strict=True) if lin], linear_outs,
        linear_equations, name=jaxpr.name,
    )  # fmt: skip
    return Split(known, rest, tuple([places[v] for v in passed]), len(computed), out_linear)


def is_needed(known: Jaxpr) -> Any:
    """Whether the known half of a program has to run: it computes or does something."""
    return bool(known.outvars or known.effects)


def refuse_effects(op: Op, where: tuple[Any, ...] | None) -> None:
    """Refuse an operation on a linear value that does something besides computing: it will never run as it
    is.
    """
    effects = effects_of(op)
    if effects:
        raise TypeError(
            f"{op.primitive.name}, at {source_position(where)}, has an effect "
            f"({effect_names(effects)}) on a tangent, which reverse-mode differentiation transposes "
            "instead of computing it\n  to fix: have the effect on values, or differentiate forwards "
            "(rb.jvp, rb.jacfwd)"
        )


def _zero(v: Any, equations: Any) -> Any:
    """The variable of zeros of the type of ``v``, made by an equation of its own."""
    made = stage(lambda: [full_of_type(v.aval, 0)], [], "zero").jaxpr
    (out,) = made.outvars
    equations.extend(made.equations)
    return out


def _read_but_not_linear(equations: list[Equation], linear: set[Any]) -> list[Var]:
    """The known variables that linear equations read, each once, in order; what these equations define is
    not among them.
    """
    defined = {v for eqn in equations for v in eqn.outputs}
    found = {}
    for eqn in equations:
        for v in eqn.inputs:
            if type(v) is Var and v not in linear and v not in defined:
                found[v] = None
    return list(found)


def _computed_again(
    residuals: list[Var], known_equations: list[Equation], again: dict[Any, Any]
) -> list[Var]:
    """Leave out residuals that a few cheap operations make of others, such as ``1 - y * y`` beside ``y``: the
    linear half does them once more. Like the two functions below it adds these equations to ``again``.
    """
    cheap = {eqn.outputs[0]: eqn for eqn in known_equations if _is_cheap(eqn)}
    kept = dict.fromkeys(residuals)

    def ways(v: Var, most: int) -> dict[Any, Any] | None:
        """The equations that make ``v`` of what is kept, in order; None if they are more than ``most``."""
        eqn, found = cheap.get(v), {}
        if eqn is None:
            return None
        for x in eqn.inputs:
            if type(x) is Var and x not in kept:
                before = ways(x, most - 1)
                if before is None:
                    return None
                found.update(before)
        found[eqn] = None
        return found if len(found) <= most else None

    for v in residuals:
        del kept[v]
        found = ways(v, MOST_AGAIN)
        if found is None:
            kept[v] = None
        else:
            again.update(found)
    return [v for v in residuals if v in kept]


def _same_again(
    residuals: list[Var], same: list[Var], known_equations: list[Equation], again: dict[Any, Any]
) -> list[Var]:
    """Leave out residuals that are the same at every step of a loop, such as the transpose of a constant: the
    linear half makes them once more, and the compiler takes that out of the loop.

    Args:
      same: the inputs that are the same at every step.
    """
    given, makers = set(same), {}
    for eqn in known_equations:
        fixed = all(type(x) is not Var or x in given or x in makers for x in eqn.inputs)
        if fixed and (not eqn.op.primitive.special or _only_calls(eqn.op)):
            makers.update(dict.fromkeys(eqn.outputs, eqn))
    pending = [v for v in residuals if v in makers]
    kept = {v: None for v in residuals if v not in makers}
    while pending:
        eqn = makers[pending.pop()]
        if eqn not in again:
            again[eqn] = None
            pending += [x for x in eqn.inputs if x in makers]
            kept.update({x: None for x in eqn.inputs if type(x) is Var and x in given})
    return list(kept)


def _only_calls(op: Op) -> bool:
    return op.primitive is jit_call and not effects_of(op)


def in_order(some: dict[Any, Any], equations: list[Equation]) -> Any:
    """Some of these equations in the order in which they stand."""
    place = {eqn: i for i, eqn in enumerate(equations)}
    return sorted(some, key=place.__getitem__)


def _is_cheap(eqn: Equation) -> bool:
    shape = eqn.outputs[0].aval.shape if eqn.op.primitive in CHEAP else None
    return shape is not None and all(type(x) is not Var or x.aval.shape == shape for x in eqn.inputs)


def _spread_again(residuals: list[Var], known_equations: list[Equation], again: dict[Any, Any]) -> list[Var]:
    """Keep what was repeated to a larger shape in its smaller form, and nothing of what has no operands: the
    linear half makes it once more.
    """
    producers = {eqn.outputs[0]: eqn for eqn in known_equations if _grows(eqn)}
    kept, pending = {}, list(residuals)
    while pending:
        v = pending.pop(0)
        eqn = producers.get(v)
        if eqn is None:
            kept[v] = None
        elif eqn not in again:
            again[eqn] = None
            pending += [x for x in eqn.inputs if type(x) is Var]
    return list(kept)


def _grows(eqn: Equation) -> bool:
    """Whether an equation only repeats elements, so that its result is larger than its input, or makes them
    from nothing.
    """
    primitive = eqn.op.primitive
    if not eqn.inputs:
        return not primitive.special and not primitive.multiple_results
    return (
        "structural" in primitive.kinds
        and len(eqn.inputs) == 1
        and (eqn.outputs[0].aval.size > eqn.inputs[0].aval.size)
    )


def _split_equation(
    eqn: Equation,
    flags: tuple[bool, ...],
    known_equations: list[Equation],
    linear_equations: list[Equation],
    linear: set[Any],
) -> None:
    """A nested operator with bodies as a known and a linear equation."""
    outer = context.where
    context.where = eqn.where or outer
    try:
        op, rule = eqn.op, rule_of(eqn.op.primitive)
        if hasattr(rule, "parts"):
            op, rule = call_of_parts(eqn, rule.parts), split_jit
        halves = rule(op, flags)
    finally:
        context.where = outer
    known_out = [v for v, lin in zip(eqn.outputs, halves.out_linear, strict=True) if not lin]
    linear_out = [v for v, lin in zip(eqn.outputs, halves.out_linear, strict=True) if lin]
    residuals = [Var(a) for a in halves.residual_types]
    if halves.known is not None:
        inputs = [eqn.inputs[i] for i in halves.known_in]
        known_equations.append(Equation(halves.known, inputs, known_out + residuals, eqn.where))
    if halves.linear is not None:
        pools = {"operand": eqn.inputs, "residual": residuals}
        inputs = [pools[pool][i] for pool, i in halves.linear_in]
        linear_equations.append(Equation(halves.linear, inputs, linear_out, eqn.where))
        linear.update(linear_out)


class OfParts(NamedTuple):
    """A rule that is the primitive's decomposition."""

    parts: Callable[..., Any]


def rule_of(primitive: Primitive) -> Any:
    """The rule by which an operator of this primitive is split, or what has its decomposition as ``parts``. A
    rule ``body`` is for interpreters, and here there is none.
    """
    rule = splits.lookup(primitive)
    if not hasattr(rule, "body"):
        return rule
    if primitive.decomposition is not None:
        return OfParts(primitive.decomposition)
    raise MissingRule(
        f"reverse mode cannot go through primitive {primitive.name!r} ({primitive.where}): its programs are "
        f"taken apart there, and its rule 'body' does not say how\n  to fix: give it a decomposition, "
        f"@{primitive.name}.decompose"
    )


def call_of_parts(eqn: Equation, parts: Callable[..., Any]) -> Op:
    """The decomposition of an equation's primitive as a call of a program, which can be split like any
    other.
    """
    primitive = eqn.op.primitive
    several = primitive.multiple_results
    avals = [v.aval for v in eqn.inputs]
    closed = stage(lambda *xs: parts(eqn.op, *xs) if several else [parts(eqn.op, *xs)], avals, primitive.name)
    if closed.consts:
        raise TypeError(
            f"the decomposition of primitive {primitive.name!r} ({address(parts)}) captures arrays, and this "
            "primitive is of the kind 'body', whose programs are taken apart in reverse mode\n  to fix: make "
            "what it captures operands of the primitive, or constants within the decomposition"
        )
    return call_op(closed.jaxpr, primitive.name, inline=True)


@splits.primitive(jit_call)
def split_jit(op: Op, flags: tuple[bool, ...]) -> Halves:
    halves = split(op.params["jaxpr"], flags)
    name, inline = op.params["name"], op.params.get("inline", False)
    known_outs = len(halves.out_linear) - sum(halves.out_linear)
    types = tuple([v.aval for v in halves.known.outvars[known_outs:]])
    linear_in = [("operand", i) for i in halves.passed]
    linear_in += [("residual", k) for k in range(halves.residuals)]
    linear_in += [("operand", i) for i, lin in enumerate(flags) if lin]
    return Halves(
        known=call_op(halves.known, name, inline) if is_needed(halves.known) else None,
        known_in=tuple([i for i, lin in enumerate(flags) if not lin]),
        linear=call_op(halves.linear, name, inline) if any(halves.out_linear) else None,
        linear_in=tuple(linear_in),
        out_linear=halves.out_linear,
        residual_types=types,
    )


@splits.primitive(custom_call)
def split_custom_call(op: Op, flags: tuple[bool, ...]) -> Halves:
    """Where operands are linear already, the function's own rules have nothing left to say: it is a call
    like any other.
    """
    return split_jit(call_op(op.params["jaxpr"], op.params["name"], inline=True), flags)
