"""What a function with derivative rules of its own holds: ``ForwardRule`` for forward mode,
``BackwardRule`` for reverse mode. Forward mode can use either.

Where there are both, the derivative is one linear equation (``custom_linear``) that knows its value and its
transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rabbet.extend.primitive import Dual, Zero, instantiate, tangent_aval, zero_tangent
from rabbet.extend.transform import Role, Tracer, payload_of, typeof
from rabbet_custom_rules import CustomRule

from rabbet_autodiff import rules_under_interpreters, rules_with_state
from rabbet_autodiff.primitives.custom_linear import custom_linear

if TYPE_CHECKING:
    from rabbet.extend.primitive import ShapedArray
    from rabbet.extend.transform import Interpreter
    from rabbet.typing import Value

PUSH, PULL = "jvp", "vjp"
"""The names under which a function's rules hold a ``ForwardRule`` and a ``BackwardRule``."""


@dataclass(frozen=True, eq=False)
class Derivative(CustomRule):
    """What both have in common: they survive what carries them."""

    def survives(self, interpreter: Interpreter) -> bool:
        return interpreter.carries

    def apply(
        self,
        interpreter: Interpreter,
        rules: dict[Any, Any],
        args: list[Value] | tuple[Value, ...],
        name: str,
        wanted: tuple[ShapedArray, ...] | None,
    ) -> list[Value]:
        duals = [payload_of(interpreter, a) for a in args]
        primals, tangents = [d.primal for d in duals], [d.tangent for d in duals]
        push, pull = rules.get(PUSH), rules.get(PULL)
        by_push = pull is None or (push is not None and not to_be_transposed(tangents))
        outs, out_tangents = (
            pushed(push, primals, tangents) if by_push else pulled(pull, push, primals, tangents, name)
        )
        check_outputs(outs, wanted, name)
        return [interpreter.wrap(Dual(p, _tangent(t, p))) for p, t in zip(outs, out_tangents, strict=True)]


@dataclass(frozen=True, eq=False)
class ForwardRule(Derivative):
    """The rule of forward mode: ``rule(primals, tangents) -> (outs, tangents)``, all of them lists.

    ``symbolic``: whether zero tangents reach the rule as ``Zero``, not as arrays; it may return such, too.
    """

    rule: Callable
    symbolic: bool = False

    def under(self, passage: Any) -> ForwardRule:
        if passage.interpreter.threads:
            return replace(self, rule=rules_with_state.Stateful(passage).pushforward(self), symbolic=True)
        return replace(self, rule=rules_under_interpreters.pushforward(passage, self.rule))


@dataclass(frozen=True, eq=False)
class BackwardRule(Derivative):
    """The rules of reverse mode: ``forward(primals, perturbed) -> (outs, residuals)``, where ``perturbed``
    says of each input whether it is differentiated, and ``backward(residuals, cotangents) -> cotangents``.

    ``symbolic``: whether zero cotangents reach ``backward`` as ``Zero``. ``still``: which outputs, by number,
    have no derivative. ``at_one``: whether the cotangent of a result that mapped examples share is one
    example's, also for inputs that each has its own of.
    """

    forward: Callable
    backward: Callable
    symbolic: bool = False
    still: frozenset = frozenset()
    at_one: bool = False

    def serves(self, interpreter: Interpreter) -> bool:
        return interpreter.plays(Role.FORWARD)

    def under(self, passage: Any) -> BackwardRule:
        if passage.interpreter.threads:
            function = rules_with_state.Stateful(passage)
            forward, backward = function.pullback(self)
            still = self.still | function.still()
            return replace(self, forward=forward, backward=backward, symbolic=True, still=still)
        forward, backward = rules_under_interpreters.pullback(passage)(self)
        return replace(self, forward=forward, backward=backward)


def to_be_transposed(tangents: list[Value]) -> bool:
    """Whether what is computed from these tangents may end in a transposition: they are being recorded."""
    found = [t.interpreter for t in tangents if type(t) is Tracer]
    return any(i.stages or i.plays(Role.TRANSPOSES) for i in found)


def pushed(
    push: Any, primals: list[Value], tangents: list[Zero | Value]
) -> list[list[Value]] | tuple[list[Zero | Value], ...]:
    """Outputs and their tangents by the rule of forward mode."""
    return push.rule(primals, tangents if push.symbolic else [instantiate(t) for t in tangents])


def pulled(
    pull: Any, push: ForwardRule | None, primals: list[Value], tangents: list[Zero | Value], name: str
) -> tuple[list[Zero | Value], ...]:
    """Outputs by the rule of reverse mode, and their tangents as a linear equation that it transposes."""
    outs, residuals = pull.forward(primals, tuple([type(t) is not Zero for t in tangents]))
    moving = tuple([_differentiable(p) for p in primals])
    out_avals = tuple([tangent_aval(typeof(o)) for o in outs])
    known, backward, forwards = list(residuals), pull.backward, None
    if push is not None:
        # A rule for each mode: the derivative is a linear operation that knows its value and its transpose.
        known += primals
        n = len(residuals)
        backward = lambda values, cts: pull.backward(values[:n], cts)
        forwards = lambda values, given: _tangents_alone(push, values[n:], moving, given)
    linear = custom_linear(
        *known, *[instantiate(t) for t, m in zip(tangents, moving, strict=True) if m],
        forward=forwards, backward=backward, residuals=len(known), moving=moving, out_avals=out_avals,
        symbolic=pull.symbolic, name=name,
    )  # fmt: skip
    moved = list(linear)
    for i in pull.still:
        moved[i] = zero_tangent(typeof(outs[i]))
    return outs, moved


def _tangents_alone(push: ForwardRule, primals: Any, moving: Any, given: Any) -> list[Value]:
    """The tangents of the outputs by the rule of forward mode, from those that there are of the inputs."""
    given = iter(given)
    tangents = [next(given) if m else zero_tangent(typeof(p)) for p, m in zip(primals, moving, strict=True)]
    return [instantiate(t) for t in pushed(push, primals, tangents)[1]]


def check_outputs(outs: list[Value], wanted: tuple[ShapedArray, ...] | None, name: str) -> None:
    """Refuse a rule whose outputs are not of the function's types."""
    for i, (out, aval) in enumerate(zip(outs, wanted or (), strict=bool(wanted))):
        have = typeof(out)
        if (have.shape, have.dtype) != (aval.shape, aval.dtype):
            raise TypeError(
                f"the derivative rule of {name!r} returned {have.str_short()} for output number {i}, which "
                f"the function returns as {aval.str_short()}"
            )


def _differentiable(x: Value) -> bool:
    return tangent_aval(typeof(x)).dtype == typeof(x).dtype


def _tangent(t: Zero | Value, primal: Value) -> Zero | Value:
    return zero_tangent(typeof(primal)) if type(t) is Zero or not _differentiable(primal) else t
