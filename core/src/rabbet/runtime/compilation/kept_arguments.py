"""Which of a program's inputs are arguments of what is compiled: those that it reads, and whose values are
not written into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.program.jaxpr import Equation, Jaxpr, Literal, Var

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


def with_constants(jaxpr: Jaxpr, constants: Sequence[np.ndarray]) -> Jaxpr:
    """The program with the values of its ``constvars`` in their places, as literals.

    The passes have run: literals that they see are numbers.
    """
    literals: dict[Any, Literal] = {
        v: Literal(x, v.aval) for v, x in zip(jaxpr.constvars, constants, strict=True)
    }
    here = lambda atoms: [literals.get(v, v) if type(v) is Var else v for v in atoms]
    equations = [Equation(e.op, here(e.inputs), e.outputs, e.where) for e in jaxpr.equations]
    return Jaxpr(jaxpr.invars, here(jaxpr.outvars), equations, (), jaxpr.effects, jaxpr.name)


def trim(jaxpr: Jaxpr, keep_unused: bool) -> tuple[tuple[int, ...], int, Jaxpr]:
    """The places of the inputs that stay, captured arrays first, of how many, and the program of these."""
    arguments = [*jaxpr.constvars, *jaxpr.invars]
    kept = tuple(range(len(arguments)))
    if not keep_unused:
        used = set(jaxpr.outvars).union(*[eqn.inputs for eqn in jaxpr.equations])
        kept = tuple([i for i, v in enumerate(arguments) if v in used])
    inputs = [arguments[i] for i in kept]
    trimmed = type(jaxpr)(inputs, jaxpr.outvars, jaxpr.equations, (), jaxpr.effects, jaxpr.name)
    return kept, len(arguments), trimmed


__all__ = ["trim", "with_constants"]
