"""A pass: ``Pass``, and programs as data."""

from rabbet.passes import Pass, PassContext
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
    "bodies_of",
    "check",
    "consts_as_inputs",
    "effects_of",
    "evaluate",
    "stage",
]


def __dir__():
    return list(__all__)
