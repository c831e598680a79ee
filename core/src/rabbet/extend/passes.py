"""A pass: ``Pass``, and programs as data."""

from __future__ import annotations

from rabbet.passes import Pass, PassContext
from rabbet.passes.pipeline import all_passes, is_on, set_watch, unknown_names
from rabbet.passes.rewriting import rewrite_bodies, rewrite_equations
from rabbet.primitives.expanded_calls import open_calls
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
from rabbet.program.text import program_lines
from rabbet.rules.primitive import all_primitives
from rabbet.trace.staging import stage

__all__ = [
    "ClosedJaxpr",
    "Equation",
    "Jaxpr",
    "Literal",
    "Pass",
    "PassContext",
    "Var",
    "all_passes",
    "all_primitives",
    "at_each_place",
    "bodies_of",
    "check",
    "consts_as_inputs",
    "effects_of",
    "evaluate",
    "is_elementwise",
    "is_on",
    "open_calls",
    "program_lines",
    "rewrite_bodies",
    "rewrite_equations",
    "set_watch",
    "stage",
    "unknown_names",
    "without_calls",
]


def __dir__() -> list[str]:
    return list(__all__)
