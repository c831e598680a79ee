"""Splitting a program into what is known now and what is linear: partial evaluation of bodies for the recorder.

When differentiation goes through a call, its body becomes one program on values and tangents. The recorder takes it apart: the equations that no tangent
reaches make the *known* half, which runs now and hands over the intermediate values (residuals) that the rest needs; the others make the *linear* half,
which is recorded as one equation and transposed as a whole.
"""

from typing import NamedTuple

from rabbet.extend import Equation, Jaxpr, Op, RuleTable, Var, call_of, context, jit_call

splits = RuleTable("split", doc="(op, recorder, args) -> outputs: run the known half of a primitive with bodies, record the linear one")


class Split(NamedTuple):
    """The halves of a program.

    ``known`` takes the inputs that are not linear and returns the known outputs and then the computed residuals. ``linear`` takes the residuals (those that
    are inputs of the program, by ``passed``, then the computed ones) and the linear inputs, and returns the linear outputs.
    """

    known: Jaxpr
    linear: Jaxpr
    passed: tuple
    out_linear: tuple


def split(jaxpr, linear_in):
    """Split a program by which of its inputs are linear; made once for each pattern."""
    return jaxpr.once(("split", linear_in), lambda: _split(jaxpr, linear_in))


def _split(jaxpr, linear_in):
    linear = {v for v, lin in zip(jaxpr.invars, linear_in, strict=True) if lin}
    known_equations, linear_equations = [], []
    for eqn in jaxpr.equations:
        flags = tuple([type(v) is Var and v in linear for v in eqn.inputs])
        if not any(flags):
            known_equations.append(eqn)
        elif eqn.op.primitive is jit_call:
            known, rest = _split_call(eqn, flags)
            known_equations += known
            linear_equations += rest
            linear.update(v for e in rest for v in e.outputs)
        else:
            linear_equations.append(eqn)
            linear.update(eqn.outputs)
    out_linear = tuple([type(v) is Var and v in linear for v in jaxpr.outvars])
    residuals = _read_but_not_linear(linear_equations, linear)
    inputs = [v for v, lin in zip(jaxpr.invars, linear_in, strict=True) if not lin]
    places = {v: i for i, v in enumerate(inputs)}
    passed = [v for v in residuals if v in places]
    computed = [v for v in residuals if v not in places]
    known = Jaxpr(
        inputs, [v for v, lin in zip(jaxpr.outvars, out_linear, strict=True) if not lin] + computed, known_equations,
        name=jaxpr.name,
    )  # fmt: skip
    rest = Jaxpr(
        passed + computed + [v for v, lin in zip(jaxpr.invars, linear_in, strict=True) if lin],
        [v for v, lin in zip(jaxpr.outvars, out_linear, strict=True) if lin], linear_equations, name=jaxpr.name,
    )  # fmt: skip
    return Split(known, rest, tuple([places[v] for v in passed]), out_linear)


def _read_but_not_linear(equations, linear):
    """The known variables that linear equations read, each once, in order."""
    found = {}
    for eqn in equations:
        for v in eqn.inputs:
            if type(v) is Var and v not in linear:
                found[v] = None
    return list(found)


def _split_call(eqn, flags):
    """A nested call as a known call and a linear call."""
    halves = split(eqn.op.params["jaxpr"], flags)
    name, inline = eqn.op.params["name"], eqn.op.params.get("inline", False)
    known_in = [v for v, lin in zip(eqn.inputs, flags, strict=True) if not lin]
    known_out = [v for v, lin in zip(eqn.outputs, halves.out_linear, strict=True) if not lin]
    linear_out = [v for v, lin in zip(eqn.outputs, halves.out_linear, strict=True) if lin]
    computed = [Var(v.aval) for v in halves.known.outvars[len(known_out) :]]
    residuals = [known_in[i] for i in halves.passed] + computed
    known, rest = [], []
    if known_out or computed:
        known.append(Equation(call_of(halves.known, name, inline), known_in, known_out + computed, eqn.where))
    if linear_out:
        linear_in = [v for v, lin in zip(eqn.inputs, flags, strict=True) if lin]
        rest.append(Equation(call_of(halves.linear, name, inline), residuals + linear_in, linear_out, eqn.where))
    return known, rest


@splits.primitive(jit_call)
def split_jit(op, recorder, args):
    flags = tuple([recorder.is_mine(a) for a in args])
    halves = split(op.params["jaxpr"], flags)
    name, inline = op.params["name"], op.params.get("inline", False)
    known_args = [a for a, lin in zip(args, flags, strict=True) if not lin]
    outs = at_parent(recorder, call_of(halves.known, name, inline), known_args) if halves.known.outvars else []
    count = len(halves.out_linear) - sum(halves.out_linear)
    residuals = [known_args[i] for i in halves.passed] + list(outs[count:])
    linear_args = [a.payload for a, lin in zip(args, flags, strict=True) if lin]
    tracers = []
    if any(halves.out_linear):
        linear = call_of(halves.linear, name, inline)
        tracers = recorder.append(linear, residuals + linear_args, halves.linear.out_avals, True)
    known, linear = iter(outs[:count]), iter(tracers)
    return [next(linear) if lin else next(known) for lin in halves.out_linear]


def at_parent(recorder, op: Op, args):
    """Bind ``op`` on the level below the recorder."""
    context.interpreter = recorder.parent
    try:
        return op(*args)
    finally:
        context.interpreter = recorder
