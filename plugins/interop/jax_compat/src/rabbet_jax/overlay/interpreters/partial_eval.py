"""``jax.interpreters.partial_eval``: programs of what cannot be known yet."""

from types import SimpleNamespace

import numpy as np
from rabbet.extend.passes import ClosedJaxpr, Equation, Jaxpr, Literal, Var, stage
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import Interpreter, RuleTable, Tracer, payload_of, run_traced, typeof
from rabbet.extend.wrapping import name_of


class _Recording(RuleTable):
    """One rule for all primitives: write the operation down, the programs that it carries as they are."""

    def explain(self, primitive, platform=None):
        return SimpleNamespace(rule=_record, source="otherwise")


_table = _Recording("jax_partial_eval", doc="(op, *(trace, atom)) -> (trace, variable)")


def _record(op, *payloads):
    trace = payloads[0][0]
    types = op.out(tuple([atom.aval for _, atom in payloads]))
    many = op.primitive.multiple_results
    outputs = [Var(aval) for aval in (types if many else [types])]
    trace.equations.append(Equation(op, [atom for _, atom in payloads], outputs))
    found = [(trace, variable) for variable in outputs]
    return found if many else found[0]


class PartialVal(tuple):
    """``(aval, None)`` for a value that is not known, ``(None, value)`` for one that is."""

    def __new__(cls, pair):
        return super().__new__(cls, pair)

    @classmethod
    def known(cls, const):
        """A value that is known."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval):
        """One of which the type is known."""
        return cls((aval, None))

    def is_known(self):
        """Whether there is a value."""
        return self[0] is None

    def get_known(self):
        """The value, or None."""
        return self[1] if self.is_known() else None

    def get_aval(self):
        """The type."""
        return typeof(self[1]) if self.is_known() else self[0]


class JaxprTrace(Interpreter):
    """Computes what is known and records the rest."""

    table = _table
    stages = True

    def __init__(self):
        self.equations, self.captured = [], {}

    def lift(self, value):
        if isinstance(value, (bool, int, float, complex, np.generic)):
            return self, Literal(value, typeof(value))
        return self, self.captured.setdefault(id(value), (Var(typeof(value)), value))[0]

    def type_of(self, payload):
        return payload[1].aval


def trace_to_jaxpr_nounits(fun, pvals, instantiate=False):
    """Run a function of which some arguments are not known.

    Args:
      fun: a ``WrappedFun``.
      pvals: a ``PartialVal`` for each argument.
      instantiate: True, or True for each result: it is an output of the program even if it is known.

    Returns:
      ``(jaxpr, out_pvals, consts)``: the program of what is not known, a ``PartialVal`` for each result, and
      the values for the program's ``constvars``.
    """
    trace = JaxprTrace()
    variables = [Var(pval[0]) for pval in pvals if not pval.is_known()]

    def run(*tracers):
        unknown = iter(tracers)
        return fun.call_wrapped(*[p.get_known() if p.is_known() else next(unknown) for p in pvals])

    outs = run_traced(trace, run, [(trace, v) for v in variables])
    wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
    outvars, out_pvals = [], []
    for out, always in zip(outs, wanted, strict=True):
        mine = type(out) is Tracer and out.interpreter is trace
        if mine or always:
            outvars.append(payload_of(trace, out)[1])
            out_pvals.append(PartialVal.unknown(outvars[-1].aval))
        else:
            out_pvals.append(PartialVal.known(out))
    held = list(trace.captured.values())
    jaxpr = Jaxpr(variables, outvars, trace.equations, [v for v, _ in held], name=name_of(fun.call))
    return jaxpr, out_pvals, [x for _, x in held]


def trace_to_jaxpr_dynamic(fun, in_avals, *, keep_inputs=None, lower=False):
    """``(jaxpr, out_avals, consts)`` of a ``WrappedFun`` on arguments of the given types."""
    if keep_inputs is not None and not all(keep_inputs):
        raise NotImplementedError("trace_to_jaxpr_dynamic: every input is kept; leave keep_inputs out")
    closed = stage(lambda *args: list(fun.call_wrapped(*args)), [_type(aval) for aval in in_avals])
    return closed.jaxpr, list(closed.out_avals), closed.consts


def _type(aval):
    return aval if isinstance(aval, ShapedArray) else typeof(aval)


def dce_jaxpr(jaxpr, used_outputs, instantiate=False):
    """A program without what the outputs in use do not need.

    Args:
      used_outputs: a bool for each output.
      instantiate: True, or True for each input: it stays even if nothing needs it.

    Returns:
      ``(jaxpr, used_inputs)``: the program, of whose inputs those that ``used_inputs`` says are left.
    """
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    needed = {v for v in outvars if type(v) is Var}
    equations = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            equations.append(eqn)
            needed.update([v for v in eqn.invars if type(v) is Var])
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else instantiate
    used_inputs = [v in needed or kept for v, kept in zip(jaxpr.invars, keep, strict=True)]
    invars = [v for v, used in zip(jaxpr.invars, used_inputs, strict=True) if used]
    return Jaxpr(invars, outvars, equations[::-1], jaxpr.constvars, name=jaxpr.name), used_inputs


def dce_jaxpr_consts(jaxpr, used_outputs, instantiate=False):
    """``(jaxpr, used_consts, used_inputs)``: as ``dce_jaxpr``, and of the captured arrays too."""
    found, used_inputs = dce_jaxpr(jaxpr, used_outputs, instantiate)
    needed = {v for eqn in found.eqns for v in eqn.invars if type(v) is Var}
    needed.update([v for v in found.outvars if type(v) is Var])
    used_consts = [v in needed for v in jaxpr.constvars]
    constvars = [v for v in jaxpr.constvars if v in needed]
    return (
        Jaxpr(found.invars, found.outvars, found.eqns, constvars, name=jaxpr.name),
        used_consts,
        used_inputs,
    )


def convert_constvars_jaxpr(jaxpr):
    """The program with its captured arrays as leading inputs."""
    return Jaxpr([*jaxpr.constvars, *jaxpr.invars], jaxpr.outvars, jaxpr.eqns, name=jaxpr.name)


def convert_invars_to_constvars(jaxpr, n):
    """The program with its first ``n`` inputs as captured arrays."""
    return Jaxpr(
        jaxpr.invars[n:], jaxpr.outvars, jaxpr.eqns, [*jaxpr.constvars, *jaxpr.invars[:n]], name=jaxpr.name
    )


def abstract_eval_fun(fun, *avals, **params):
    """The types of a function's results."""
    return list(stage(lambda *args: list(fun(*args, **params)), [_type(aval) for aval in avals]).out_avals)


class _Staged(type):
    def __instancecheck__(cls, x):
        return type(x) is Tracer and x.interpreter.stages and type(x.interpreter) is not JaxprTrace


class DynamicJaxprTracer(metaclass=_Staged):
    """What a value of a program under construction is an instance of."""


class _Unknown(type):
    def __instancecheck__(cls, x):
        return type(x) is Tracer and type(x.interpreter) is JaxprTrace


class JaxprTracer(metaclass=_Unknown):
    """What a value that is not known is an instance of, in ``trace_to_jaxpr_nounits``."""


def close_jaxpr(jaxpr):
    """A program that captures nothing, as a closed one; a closed one as it is."""
    return jaxpr if type(jaxpr) is ClosedJaxpr else ClosedJaxpr(jaxpr, [])


def move_binders_to_back(closed_jaxpr, to_move):
    """The program with those inputs last of which ``to_move`` is True."""
    return _with_inputs(closed_jaxpr, [not move for move in to_move])


def move_binders_to_front(closed_jaxpr, to_move):
    """The program with those inputs first of which ``to_move`` is True."""
    return _with_inputs(closed_jaxpr, list(to_move))


def _with_inputs(closed, first):
    jaxpr = closed.jaxpr
    pairs = list(zip(jaxpr.invars, first, strict=True))
    invars = [v for v, early in pairs if early] + [v for v, early in pairs if not early]
    found = Jaxpr(invars, jaxpr.outvars, jaxpr.eqns, jaxpr.constvars, name=jaxpr.name)
    return ClosedJaxpr(found, closed.consts)


def prune_closed_jaxpr_outputs(jaxpr, used_outputs):
    """The program with those outputs alone of which ``used_outputs`` is True; all inputs stay."""
    found, _ = dce_jaxpr(jaxpr.jaxpr, list(used_outputs), instantiate=True)
    return ClosedJaxpr(found, jaxpr.consts)


def partial_eval_jaxpr_nounits(jaxpr, unknowns, instantiate):
    """Cut a program in two: what can be computed of the known inputs, and the rest.

    Args:
      jaxpr: a closed program.
      unknowns: a bool for each input.
      instantiate: True, or True for each output: it is an output of the second program even if it is known.

    Returns:
      ``(known, unknown, out_unknowns, residual_avals)``: the first program gives the known outputs and the
      residuals, the second takes the residuals and the unknown inputs.
    """
    program, many = jaxpr.jaxpr, len(jaxpr.jaxpr.outvars)
    always = [instantiate] * many if isinstance(instantiate, bool) else list(instantiate)
    waiting = {v for v, unknown in zip(program.invars, unknowns, strict=True) if unknown}
    now, later = [], []
    for eqn in program.eqns:
        if eqn.effects or any(type(v) is Var and v in waiting for v in eqn.invars):
            waiting.update(eqn.outvars)
            later.append(eqn)
        else:
            now.append(eqn)
    is_late = [type(v) is Var and v in waiting for v in program.outvars]
    out_unknowns = [late or kept for late, kept in zip(is_late, always, strict=True)]
    given = [v for v, unknown in zip(program.invars, unknowns, strict=True) if not unknown]
    asked = [v for v, unknown in zip(program.invars, unknowns, strict=True) if unknown]
    outs = [v for v, out in zip(program.outvars, out_unknowns, strict=True) if out]
    needed = [v for eqn in later for v in eqn.invars] + outs
    held = set(program.constvars) & {v for v in needed if type(v) is Var}
    residuals = list(dict.fromkeys(v for v in needed if type(v) is Var and v not in waiting))
    residuals = [v for v in residuals if v not in held and not any(v in e.outvars for e in later)]
    early = [v for v, out in zip(program.outvars, out_unknowns, strict=True) if not out]
    known = Jaxpr(given, [*early, *residuals], now, program.constvars, name=program.name)
    consts = [(v, c) for v, c in zip(program.constvars, jaxpr.consts, strict=True) if v in held]
    rest = Jaxpr([*residuals, *asked], outs, later, [v for v, _ in consts], name=program.name)
    return (
        ClosedJaxpr(known, jaxpr.consts),
        ClosedJaxpr(rest, [c for _, c in consts]),
        out_unknowns,
        [v.aval for v in residuals],
    )


def lower_jaxpr(jaxpr):
    """The program itself: types of a library's own are written out when they are traced."""
    return jaxpr


lower_jaxpr2 = lower_jaxpr
ABSENT = (
    "Val custom_partial_eval_rules dce_jaxpr_call_rule dce_jaxpr_closed_call_rule dce_rules new_eqn_recipe "
    "partial_eval_jaxpr_custom_rules partial_eval_jaxpr_custom"
)
__all__ = [
    "DynamicJaxprTracer", "JaxprTrace", "JaxprTracer", "PartialVal", "abstract_eval_fun", "close_jaxpr",
    "convert_constvars_jaxpr", "convert_invars_to_constvars", "dce_jaxpr", "dce_jaxpr_consts", "lower_jaxpr",
    "lower_jaxpr2", "move_binders_to_back", "partial_eval_jaxpr_nounits", "prune_closed_jaxpr_outputs",
    "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits",
]  # fmt: skip
