"""Programs with the equations of the functions that they call in the places of the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.primitives import calls
from rabbet.program.jaxpr import Equation, Jaxpr, Var

if TYPE_CHECKING:
    from rabbet.program.jaxpr import Literal


def open_calls(jaxpr: Jaxpr, wanted: Callable[..., Any]) -> Jaxpr:
    """A program with the equations of functions that it calls in the places of the calls.

    Args:
      jaxpr: the program.
      wanted: ``wanted(body)``, of a function's program in which calls are open already, says whether the
        calls of that function are opened.

    Returns:
      a ``Jaxpr``; ``jaxpr`` itself where no call is opened.

    Example:
      >>> from rabbet.extend.passes import open_calls, stage
      >>> program = stage(lambda x: [rb.jit(lax.neg)(x)], [rb.typeof(1.0)]).jaxpr
      >>> [eqn.primitive.name for eqn in open_calls(program, lambda body: True).equations]
      ['neg']
    """
    equations, changed = [], False
    names = {}  # what stands for the results of an opened call

    def renamed(v: Var) -> Literal | Var:
        return names.get(v, v) if type(v) is Var else v

    for eqn in jaxpr.equations:
        if eqn.op.primitive is calls.jit:
            body = open_calls(eqn.op.params["jaxpr"], wanted)
            if not body.constvars and wanted(body):
                inner, results = copied(body, [renamed(v) for v in eqn.inputs], eqn.where)
                equations += inner
                names.update(zip(eqn.outputs, results, strict=True))
                changed = True
                continue
        if names:
            eqn = Equation(eqn.op, [renamed(v) for v in eqn.inputs], eqn.outputs, eqn.where)
        equations.append(eqn)
    if not changed:
        return jaxpr
    outvars = [renamed(v) for v in jaxpr.outvars]
    return Jaxpr(jaxpr.invars, outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def copied(body: Jaxpr, inputs: list[Var], where: Any) -> tuple[list[Any], ...]:
    """The equations of ``body`` on ``inputs``, with variables of their own, and what its results are."""
    env = dict(zip(body.invars, inputs, strict=True))
    equations = []
    for eqn in body.equations:
        taken = [env[v] if type(v) is Var else v for v in eqn.inputs]
        made = [env.setdefault(v, Var(v.aval)) for v in eqn.outputs]
        equations.append(Equation(eqn.op, taken, made, where if eqn.where is None else eqn.where))
    return equations, [env[v] if type(v) is Var else v for v in body.outvars]


__all__ = ["open_calls"]
