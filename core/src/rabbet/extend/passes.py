"""A pass: ``Pass``, and programs as data."""

from rabbet.passes import Pass, PassContext
from rabbet.passes.rewriting import rewrite_bodies, rewrite_equations
from rabbet.primitives.scalar_programs import at_each_place, is_elementwise, without_calls
from rabbet.program.checking import check
from rabbet.program.jaxpr import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Literal,
    Var,
    bodies_of,
    consts_as_inputs,
    effects_of,
    evaluate,
)
from rabbet.trace.staging import stage

__all__ = [
    "ClosedJaxpr",
    "Equation",
    "Jaxpr",
    "Literal",
    "Pass",
    "PassContext",
    "Var",
    "at_each_place",
    "bodies_of",
    "check",
    "consts_as_inputs",
    "effects_of",
    "evaluate",
    "is_elementwise",
    "rewrite_bodies",
    "rewrite_equations",
    "stage",
    "without_calls",
]


def __dir__():
    return list(__all__)
