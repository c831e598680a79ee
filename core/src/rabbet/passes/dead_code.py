"""Dead code: equations that no output needs and that have no effect."""

from __future__ import annotations

from rabbet.program.jaxpr import Jaxpr, effects_of


def eliminate_dead_code(jaxpr: Jaxpr) -> Jaxpr:
    """The program without equations that nothing reads; the same object if there are none."""
    live = set(jaxpr.outvars)
    kept = []
    for eqn in reversed(jaxpr.equations):
        if not live.isdisjoint(eqn.outputs) or (eqn.op.primitive.special and effects_of(eqn.op)):
            kept.append(eqn)
            live.update(eqn.inputs)
    if len(kept) == len(jaxpr.equations):
        return jaxpr
    kept.reverse()
    return Jaxpr(jaxpr.invars, jaxpr.outvars, kept, jaxpr.constvars, jaxpr.effects, jaxpr.name)
