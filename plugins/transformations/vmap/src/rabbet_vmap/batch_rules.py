"""The rule of a function for being mapped: on ``Batched`` payloads, and under forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.extend.bodies import PLAIN, force_payload, put_together
from rabbet.extend.primitive import Batched, move_axis, new_axis
from rabbet.extend.transform import Role, batch, run_traced
from rabbet_custom_rules import PayloadRule, rule_on_payloads

if TYPE_CHECKING:
    from rabbet.extend.transform import Interpreter

BATCH = batch.name


class BatchRule(PayloadRule):
    """``function(interpreter, payloads) -> payloads``. The derivative of a function that has such a rule is
    mapped by the rule's own derivative.
    """

    def survives(self, interpreter: Interpreter) -> bool:
        return interpreter.plays(Role.FORWARD)

    def under(self, passage: Any) -> BatchRule:
        interpreter, inputs, outputs = passage.interpreter, passage.inputs, passage.outputs

        def batched(mapped: Interpreter, payloads: list[Batched]) -> list[Batched]:
            inner = interpreter.fresh()
            values = [whole(mapped, inner, *x) for x in grouped(inputs, payloads)]
            found = run_traced(inner, lambda: self.function(mapped, values), [])
            return [
                Batched(leaf, b.axis)
                for b, s in zip(found, outputs, strict=True)
                for leaf in force_payload(inner, b.value, s)
            ]

        return BatchRule(batched)


def by_user(call: Any, function: Callable[..., Any]) -> BatchRule:
    """The rule that a ``custom_rules`` function has for being mapped."""
    return BatchRule(rule_on_payloads(call, BATCH, function))


def grouped(structures: tuple[Any, ...], payloads: list[Batched]) -> list[tuple[Any, ...]]:
    """Batched leaves by the value that they belong to, each with its static part."""
    given = iter(payloads)
    return [(s, [next(given) for _ in range(1 if s is PLAIN else s.num_leaves)]) for s in structures]


def whole(mapped: Any, inner: Interpreter, structure: Any, parts: Any) -> Batched:
    """The batched value of an interpreter from its batched leaves, some of which may be the same for all."""
    if structure is PLAIN:
        return parts[0]
    if all(b.axis is None for b in parts):
        return Batched(put_together(inner, (structure,), [b.value for b in parts])[0], None)
    leaves = [
        new_axis(b.value, 0, mapped.size) if b.axis is None else move_axis(b.value, b.axis, 0) for b in parts
    ]
    return Batched(put_together(inner, (structure,), leaves)[0], 0)


__all__ = ["BATCH", "BatchRule", "by_user"]
