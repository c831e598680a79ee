"""Rewriting programs: equation by equation, and the programs that equations carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.program.jaxpr import Equation, Jaxpr, bodies_of

if TYPE_CHECKING:
    from rabbet.rules.operator import Op


def rewrite_equations(jaxpr: Jaxpr, rule: Callable[..., Any]) -> Jaxpr:
    """A program in which a function says what stands for each equation.

    Args:
      jaxpr: the program.
      rule: ``rule(eqn)`` returns None to keep the equation, or an ``Equation``, or a list of them, to put in
        its place. Together they define the same output variables.

    Returns:
      a ``Jaxpr``; ``jaxpr`` itself where every equation is kept.

    Example:
      >>> from rabbet.extend.passes import Equation, rewrite_equations, stage
      >>> def softer(eqn):
      ...     return Equation(lax.tanh.op(), eqn.inputs, eqn.outputs) if eqn.primitive is lax.sin else None
      >>> program = stage(lambda x: [lax.sin(x) * 2.0], [rb.typeof(1.0)]).jaxpr
      >>> [eqn.primitive.name for eqn in rewrite_equations(program, softer).equations]
      ['tanh', 'mul']
    """
    equations, changed = [], False
    for eqn in jaxpr.equations:
        found = rule(eqn)
        if found is None:
            equations.append(eqn)
            continue
        changed = True
        equations += [found] if type(found) is Equation else found
    return with_equations(jaxpr, equations) if changed else jaxpr


def with_equations(jaxpr: Jaxpr, equations: list[Equation]) -> Jaxpr:
    """``jaxpr`` with other equations, of which it has the effects, and the same inputs and outputs."""
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, name=jaxpr.name)


def rewrite_bodies(jaxpr: Jaxpr, rewrite: Callable[..., Any]) -> Jaxpr:
    """A program in which the programs that its equations carry are rewritten: those furthest inside first,
    and one that several equations share once. Their operators are built anew with them.

    Args:
      jaxpr: the program; its own equations stay what they are.
      rewrite: ``rewrite(body) -> body``, a program with the same inputs and outputs.

    Returns:
      a ``Jaxpr``; ``jaxpr`` itself where nothing changes.

    Example:
      >>> from rabbet.extend.passes import bodies_of, rewrite_bodies, stage
      >>> program = stage(lambda x: [lax.cond(x > 0, lax.sin, lax.cos, x)], [rb.typeof(1.0)]).jaxpr
      >>> found = []
      >>> def looked_at(body):
      ...     found.append(body.equations[0].primitive.name)
      ...     return body
      >>> rewrite_bodies(program, looked_at) is program
      True
      >>> found
      ['cos', 'sin']
    """
    done = {}

    def whole(body: Jaxpr) -> Jaxpr:
        if body not in done:
            done[body] = rewrite(rewrite_outer_bodies(body, whole))
        return done[body]

    return rewrite_outer_bodies(jaxpr, whole)


def rewrite_outer_bodies(jaxpr: Jaxpr, rewrite: Callable[..., Any]) -> Jaxpr:
    """As ``rewrite_bodies``, for the programs of ``jaxpr``'s own equations alone, not those within them."""
    if not may_hold_bodies(jaxpr):
        return jaxpr
    operators = {}

    def rebuilt(eqn: Equation) -> Any:
        op = eqn.op
        if not op.primitive.special or not bodies_of(op):
            return None
        if op not in operators:
            operators[op] = with_bodies(op, rewrite)
        return None if operators[op] is op else Equation(operators[op], eqn.inputs, eqn.outputs, eqn.where)

    return rewrite_equations(jaxpr, rebuilt)


def may_hold_bodies(jaxpr: Jaxpr) -> bool:
    """Whether an equation of ``jaxpr`` may carry a program. Found once, for all passes."""
    return jaxpr.once("may hold bodies", lambda: any(eqn.op.primitive.special for eqn in jaxpr.equations))


def with_bodies(op: Op, rewrite: Callable[..., Any]) -> Op:
    """An operator with each of its programs rewritten; itself where nothing changes."""
    changed = {}
    for name, value in op.params.items():
        new = value
        if type(value) is Jaxpr:
            new = rewrite(value)
        elif type(value) is tuple and any(type(v) is Jaxpr for v in value):
            new = tuple([rewrite(v) if type(v) is Jaxpr else v for v in value])
            new = value if all(a is b for a, b in zip(new, value, strict=True)) else new
        if new is not value:
            changed[name] = new
    return op.replaced(**changed) if changed else op


__all__ = ["rewrite_bodies", "rewrite_equations", "rewrite_outer_bodies"]
