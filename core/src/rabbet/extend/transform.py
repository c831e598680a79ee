"""A transformation: an ``Interpreter`` with a ``RuleTable``, the standard tables and their payloads."""

from rabbet.calls.derivatives import CustomVJPPrimal, SymbolicZero, pullback, pushforward
from rabbet.calls.ruled import RuledFunction
from rabbet.primitives.collectives import collective
from rabbet.primitives.custom import call as call_with_rules
from rabbet.primitives.standard import batch, jvp, lower, transpose
from rabbet.program.context import context
from rabbet.rules.rule_sets import RuleSet
from rabbet.rules.tables import RuleTable, all_tables, refusing
from rabbet.trace.bodies import HOLE, PLAIN, put_together, take_apart
from rabbet.trace.interpreter import Interpreter, Tracer, is_tracer, payload_of, run, run_traced, typeof
from rabbet.trace.named_axes import bind_axes, bound_axes

__all__ = [
    "HOLE",
    "PLAIN",
    "CustomVJPPrimal",
    "Interpreter",
    "RuleSet",
    "RuleTable",
    "RuledFunction",
    "SymbolicZero",
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
    "pullback",
    "pushforward",
    "put_together",
    "refusing",
    "run",
    "run_traced",
    "take_apart",
    "transpose",
    "typeof",
]


def __dir__():
    return list(__all__)
