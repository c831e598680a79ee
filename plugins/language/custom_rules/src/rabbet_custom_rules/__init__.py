"""Functions with rules of their own: ``rabbet.custom_rules``, and what packages are written with that give
such functions in another way, as ``custom_jvp``, ``custom_vjp`` and ``custom_vmap`` do.

``lax.composite`` is a function under a name that a backend may know better.

``custom_call`` is the primitive. A rule is a ``CustomRule``; core's interpreters ask for the one that serves
them (``Interpreter.custom_rule``).
"""

from rabbet_custom_rules.rules_under_interpreters import Passage, Under, to_keep
from rabbet_custom_rules.composite import composite
from rabbet_custom_rules.decorator import custom_rules, rule_on_payloads
from rabbet_custom_rules.custom_call_primitive import call_with_rules, custom_call
from rabbet_custom_rules.functions_with_rules import RuledFunction
from rabbet_custom_rules.rules import CustomRule, PayloadRule

__all__ = [
    "CustomRule", "Passage", "PayloadRule", "RuledFunction", "Under", "call_with_rules", "composite",
    "custom_call", "custom_rules", "rule_on_payloads", "to_keep",
]  # fmt: skip
