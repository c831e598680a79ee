"""``custom_rules``: a function whose author says how transformations treat it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rabbet import tree
from rabbet.errors import RuleConflict
from rabbet.extend.commands import address, plugin_manager, provider_of
from rabbet.extend.functions import array_or_tracer, describe_function, folded
from rabbet.extend.passes import stage
from rabbet.extend.transform import payload_of

from rabbet_custom_rules.functions_with_rules import RuledFunction
from rabbet_custom_rules.rules import PayloadRule

GROUP = "rabbet.custom_rules"


@functools.cache
def find_maker(table: str) -> Callable | None:
    """How rules for a table are made, ``(call, function) -> CustomRule``, by the package that knows of more
    than payloads; None where none does. Where that package is not installed nobody will ask for the rule,
    and it is dropped.
    """
    if table in plugin_manager().names(GROUP):
        return plugin_manager().get(GROUP, table)
    return (lambda call, rule: None) if provider_of(GROUP, table) is not None else None


@folded
class custom_rules(RuledFunction):
    """Decorator: a function that may have a rule of its own for any transformation.

    Where a transformation has no rule it goes through the function. Rules hold under ``jit``, in branches and
    in loops. Derivative rules hold outside of ``vmap`` too, which maps them, and so does the rule for
    ``"batch"`` outside of forward mode; any other rule holds where its transformation meets the call first.

    Args:
      fun: takes arguments by position and returns a pytree of arrays.
      nondiff_argnums, nondiff_argnames: arguments that are static, such as functions and options.

    Example:
      >>> @rb.custom_rules
      ... def square(x):
      ...     return x * x
      >>> @square.def_rule("jvp")
      ... def square_jvp(primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return square(x), 2 * x * t
    """

    def __init__(self, fun, nondiff_argnums=(), nondiff_argnames=()):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.by_table = {}

    def def_rule(self, table, rule=None):
        """Set the rule for the transformation whose rule table has this name; a decorator without ``rule``.

        What a rule takes and returns:

        ==========  ====================================================================================
        ``"jvp"``   ``(*static, primals, tangents) -> (out, out_tangent)``, linear in the tangents
        ``"vjp"``   ``(*args) -> (out, pull)``, where ``pull(cotangent)`` returns a tuple with a
                    cotangent per argument that is not static (None for zero)
        any other   ``(*args) -> out`` with that table's payloads in the places of arrays: ``Batched``
                    for ``"batch"``, a ``Box`` for ``"enclose"``. Operations in it speak to the level
                    below. Outputs that the transformation does not touch may be plain arrays
        ==========  ====================================================================================

        With both ``"jvp"`` and ``"vjp"`` each serves its own mode.

        Raises:
          RuleConflict: if there is a rule for the table already.
        """
        if not isinstance(table, str):
            raise TypeError(f"def_rule takes the name of a rule table, such as 'jvp', got {table!r:.60}")
        if rule is None:
            return lambda function: self.def_rule(table, function)
        if not callable(rule):
            raise TypeError(
                f"def_rule({table!r}) of {describe_function(self.fun)} takes a function: {rule!r:.60}"
            )
        if table in self.by_table:
            raise RuleConflict(
                f"{describe_function(self.fun)} already has a {table!r} rule at "
                f"{address(self.by_table[table])}; a second one stands at {address(rule)}. Keep one of them."
            )
        self.by_table[table] = rule
        return rule

    def has_rule(self):
        return True

    def rules(self, call):
        found = {table: made(call, table, rule) for table, rule in self.by_table.items()}
        return {table: rule for table, rule in found.items() if rule is not None}


def made(call: Any, table: str, rule: Callable) -> Any:
    """The ``CustomRule`` of what a user gave as the rule for a table; None for one that nobody will use."""
    maker = find_maker(table)
    return PayloadRule(rule_on_payloads(call, table, rule)) if maker is None else maker(call, rule)


def rule_on_payloads(call: Any, table: str, rule: Callable) -> Callable:
    """The flat rule of one on payloads: ``(interpreter, payloads) -> payloads``.

    Example:
      >>> from rabbet_custom_rules import PayloadRule, RuledFunction, rule_on_payloads
      >>> class Doubled(RuledFunction):
      ...     def has_rule(self):
      ...         return True
      ...     def rules(self, call):
      ...         return {"pairs": PayloadRule(rule_on_payloads(call, "pairs", lambda x: x))}
      >>> float(Doubled(lambda x: x * 2.0)(3.0))
      6.0
    """

    def flat(interpreter, payloads):
        kinds = {type(p) for p in payloads}
        name = f"the {table!r} rule of {describe_function(call.fun)}"
        result = rule(*call.arguments(payloads))
        if kinds & {tuple, list, dict}:
            # Such payloads cannot be told from the structure of the result, which the function knows.
            outs = _structure(call, interpreter, payloads).flatten_up_to(result)
        else:
            outs, out_tree = tree.flatten(result, is_leaf=lambda x: type(x) in kinds)
            if call.out_tree is not None and out_tree != call.out_tree:
                raise TypeError(
                    f"{name} returned the structure {out_tree}, the function returns {call.out_tree}"
                )
            call.out_tree = out_tree
        return [x if type(x) in kinds else payload_of(interpreter, array_or_tracer(x)) for x in outs]

    return flat


def _structure(call, interpreter, payloads):
    if call.out_tree is None:
        stage(call, [interpreter.type_of(p) for p in payloads], call.__name__)
    return call.out_tree
