"""A transformation: an ``Interpreter`` with a ``RuleTable``, the standard tables, functions with rules."""

from __future__ import annotations

from rabbet.calls.custom_rules import rule_on_payloads
from rabbet.calls.ruled import RuledFunction
from rabbet.primitives.custom import call as call_with_rules
from rabbet.primitives.standard import batch, collective, jvp, lower, transpose
from rabbet.program.context import context
from rabbet.rules.rule_sets import RuleSet
from rabbet.rules.tables import Role, RuleTable, all_tables, refusing
from rabbet.trace.custom_rules import CustomRule, PayloadRule
from rabbet.trace.interpreter import Interpreter, Tracer, is_tracer, payload_of, run, run_traced, typeof
from rabbet.trace.named_axes import bind_axes, bound_axes

__all__ = [
    "CustomRule",
    "Interpreter",
    "PayloadRule",
    "Role",
    "RuleSet",
    "RuleTable",
    "RuledFunction",
    "Tracer",
    "all_tables",
    "batch",
    "bind_axes",
    "bound_axes",
    "call_with_rules",
    "collective",
    "context",
    "is_tracer",
    "jvp",
    "lower",
    "payload_of",
    "refusing",
    "rule_on_payloads",
    "run",
    "run_traced",
    "transpose",
    "typeof",
]


def __dir__() -> list[str]:
    return list(__all__)
