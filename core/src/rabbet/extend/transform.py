"""A transformation: an ``Interpreter`` with a ``RuleTable``, the standard tables, functions with rules."""

from __future__ import annotations

from rabbet.dtypes.array_protocol import array_of
from rabbet.primitives.standard import batch, collective, jvp, lower, transpose
from rabbet.program.body_operands import Feeds, feeds_of
from rabbet.program.context import context
from rabbet.rules.rule_sets import RuleSet
from rabbet.rules.tables import Role, RuleTable, all_tables, refusing
from rabbet.trace.interpreter import Interpreter, typeof
from rabbet.trace.named_axes import axes_used_in, bind_axes, bound_axes
from rabbet.trace.rules_with_interpreter import with_interpreter
from rabbet.trace.traced_runs import run, run_traced
from rabbet.trace.tracer import Tracer, is_tracer, payload_of

__all__ = [
    "Feeds",
    "Interpreter",
    "Role",
    "RuleSet",
    "RuleTable",
    "Tracer",
    "all_tables",
    "array_of",
    "axes_used_in",
    "batch",
    "bind_axes",
    "bound_axes",
    "collective",
    "context",
    "feeds_of",
    "is_tracer",
    "jvp",
    "lower",
    "payload_of",
    "refusing",
    "run",
    "run_traced",
    "transpose",
    "typeof",
    "with_interpreter",
]


def __dir__() -> list[str]:
    return list(__all__)
