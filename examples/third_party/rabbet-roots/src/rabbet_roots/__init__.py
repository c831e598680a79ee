"""1 / sqrt(x) in one operation: a pass between tracing and lowering."""

from rabbet import lax
from rabbet.extend.passes import Equation, Jaxpr, Pass, PassContext, Var


def roots_at_once(jaxpr: Jaxpr, context: PassContext) -> Jaxpr:
    """The program with `rsqrt` for the reciprocals of square roots; itself if there are none.

    The square root stays where it is: if nobody else reads it, `dead-code`, which follows, drops it.
    """
    made_by = {eqn.outputs[0]: eqn for eqn in jaxpr.equations if eqn.primitive is lax.sqrt}
    equations = [reciprocal(eqn, made_by) or eqn for eqn in jaxpr.equations]
    if equations == jaxpr.equations:
        return jaxpr
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def reciprocal(eqn: Equation, made_by: dict[Var, Equation]) -> Equation | None:
    """The equation that computes the same as `eqn` with one operation, or None."""
    if eqn.primitive is not lax.div or getattr(eqn.inputs[0], "value", None) != 1.0:
        return None
    root = made_by.get(eqn.inputs[1])
    # The 1 may be a literal of a wider type, which decides the type of the result.
    if root is None or root.outputs[0].aval != eqn.outputs[0].aval:
        return None
    return Equation(lax.rsqrt.op(), root.inputs, eqn.outputs, eqn.where)


ROOTS = Pass("roots-at-once", roots_at_once, before=("cse", "dead-code"), doc="1 / sqrt(x) is rsqrt(x)")
