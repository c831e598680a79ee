"""Programs without what some of their outputs alone need: of a half that runs forward, what its residuals
cost where nobody wants them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.extend.passes import Equation, Jaxpr, Var, effects_of
from rabbet.extend.primitive import call_op
from rabbet.extend.primitive import jit as jit_call
from rabbet.extend.primitive import scan as scan_call

from rabbet_autodiff.primitives.checkpoint import checkpoint, value_or_rule

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op


def pruned(jaxpr: Jaxpr, wanted: Any = None) -> Jaxpr:
    """The program returning only some of its outputs (``wanted``, indices; None: all), without equations that
    nothing reads, in its bodies too. Forward rules whose residuals nobody reads become their functions.
    """
    wanted = tuple(range(len(jaxpr.outvars))) if wanted is None else tuple(wanted)
    return jaxpr.once(("pruned", wanted), lambda: _pruned(jaxpr, wanted))


def _pruned(jaxpr: Jaxpr, wanted: tuple[int, ...]) -> Jaxpr:
    outs = [jaxpr.outvars[i] for i in wanted]
    read = {v for v in outs if type(v) is Var}
    kept = []
    for eqn in reversed(jaxpr.equations):
        live = tuple([i for i, v in enumerate(eqn.outputs) if v in read])
        if not live and not effects_of(eqn.op):
            continue
        shrink = SHRINKS.get(eqn.op.primitive)
        eqn = eqn if shrink is None else shrink(eqn, live)
        kept.append(eqn)
        read.update([v for v in eqn.inputs if type(v) is Var])
    return Jaxpr(jaxpr.invars, outs, kept[::-1], jaxpr.constvars, name=jaxpr.name)


def _with(eqn: Equation, op: Op, live: tuple[int, ...]) -> Equation:
    return Equation(op, eqn.inputs, [eqn.outputs[i] for i in live], eqn.where)


def _jit(eqn: Any, live: Any) -> Any:
    params = eqn.op.params
    body = pruned(params["jaxpr"], live)
    return _with(eqn, call_op(body, params["name"], params.get("inline", False)), live)


def _checkpoint(eqn: Any, live: Any) -> Any:
    return _with(eqn, eqn.op.replaced(jaxpr=pruned(eqn.op.params["jaxpr"], live)), live)


def _scan(eqn: Equation, live: tuple[int, ...]) -> Equation:
    """All that is carried stays: the next step may read it."""
    params = dict(eqn.op.params)
    live = (*range(params["carry"]), *[i for i in live if i >= params["carry"]])
    params["jaxpr"] = pruned(params["jaxpr"], live)
    return _with(eqn, scan_call.op(**params), live)


def _value_or_rule(eqn: Equation, live: tuple[int, ...]) -> Equation:
    params = eqn.op.params
    if any(i >= params["outs"] for i in live):
        return eqn
    call = call_op(pruned(params["value"], live), params["name"], inline=True)
    return _with(eqn, call, live)


SHRINKS = {
    jit_call: _jit, checkpoint: _checkpoint, scan_call: _scan, value_or_rule: _value_or_rule,
}  # fmt: skip
