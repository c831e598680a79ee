"""Derivative rules under an interpreter that goes through their function, such as ``vmap``. For one that
threads a state see ``rules_with_state``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, tree
from rabbet.extend.bodies import PLAIN, put_together
from rabbet.extend.primitive import Zero, instantiate, tangent_aval
from rabbet.extend.transform import Tracer, payload_of
from rabbet_custom_rules import Under

if TYPE_CHECKING:
    from rabbet.extend.transform import Interpreter
    from rabbet.typing import Value

    from rabbet_autodiff.derivative_rules import BackwardRule


def is_float0(x: Value) -> bool:
    """Whether ``x`` is the tangent of an integer, a NumPy array without bytes."""
    return type(x) is not Tracer and getattr(x, "dtype", None) == dtypes.float0


class UnderWithZeros(Under):
    """``Under`` for functions of tangents and cotangents.

    A ``Zero`` among the leaves, which are one per input then, stands for one that is zero; float0 arrays, the
    tangents of integers, stay what they are.
    """

    def values(self, inner: Interpreter, flat: list[Zero | Value]) -> Any:
        if not any(type(x) is Zero for x in flat):
            return super().values(inner, flat)
        return [
            zero_of(inner, x, s) if type(x) is Zero else put_together(inner, (s,), [x])[0]
            for x, s in zip(flat, self.structures, strict=True)
        ]

    def leaves(self, inner: Interpreter, values: list[Value]) -> Any:
        found = []
        for x in values:
            found += [x] if is_float0(x) else super().leaves(inner, [instantiate(x)])
        return found

    def given_back(self, flat: list[Zero | Value], structures: list[Any] | tuple[Any, ...]) -> Any:
        """Call it for its only list, cotangents of inputs of the given static parts."""
        inner, (values,) = self.run(flat)
        return [
            x if x is None or is_float0(x) else inner.give_back(payload_of(inner, instantiate(x)), s)
            for x, s in zip(values, structures, strict=True)
        ]


def zero_of(interpreter: Interpreter, zero: Zero, structure: Any) -> Zero:
    """The symbolic zero that the function sees for that of a payload's only leaf."""
    if structure is PLAIN or zero.aval.dtype == dtypes.float0:
        return zero
    return Zero(tangent_aval(interpreter.type_of(tree.unflatten(structure, [zero]))))


# ------------------------------------------------------------------------------- through maps and the like
def pushforward(passage: Any, push: Any) -> Callable[..., Any]:
    """The flat rule of forward mode under an interpreter."""
    n = len(passage.inputs)

    def rule(*values: Zero | Value) -> tuple[list[Value], ...]:
        return tuple(push(list(values[:n]), list(values[n:])))

    both = UnderWithZeros(passage.interpreter, rule, (*passage.inputs, *passage.inputs))
    return lambda primals, tangents: both([*primals, *tangents])


def pullback(passage: Any) -> Any:
    """The flat rules of reverse mode under an interpreter: residuals and cotangents are uniform, results fit
    the inputs.
    """
    interpreter, inputs = passage.interpreter, passage.inputs
    structure = passage.outputs[0] if passage.outputs else None

    def of(pull: BackwardRule) -> Any:
        def forward(primals: list[Value], perturbed: tuple[bool, ...]) -> list[list[Value]]:
            on = lambda *values: tuple(pull.forward(list(values), perturbed))
            return UnderWithZeros(interpreter, on, inputs)(primals)

        def backward(residuals: list[Value], cotangents: list[Zero | Value]) -> list[Value]:
            n = len(residuals)
            run = UnderWithZeros(
                interpreter, lambda *values: (list(pull.backward(list(values[:n]), list(values[n:]))),),
                (structure,) * (n + len(cotangents)),
            )  # fmt: skip
            found = run.given_back([*residuals, *cotangents], inputs)
            shared = _shared(passage, cotangents)
            if pull.at_one or not any(shared) or all(s is PLAIN for s in inputs):
                return found
            # A result that the examples share was taken from one of them, and so is its cotangent. That is
            # right for inputs that they share too, for which the examples' cotangents are added up. Of an
            # input that each has its own of, the result depends at each: all get what there is for it.
            whole = UnderWithZeros(interpreter, run.function, run.structures[:n] + tuple(
                [PLAIN if s else structure for s in shared]
            ))  # fmt: skip
            cotangents = [
                interpreter.give_back(tree.unflatten(structure, [ct]), PLAIN) if s else ct
                for ct, s in zip(cotangents, shared, strict=True)
            ]
            each = whole.given_back([*residuals, *cotangents], inputs)
            return [f if s is PLAIN else e for f, e, s in zip(found, each, inputs, strict=True)]

        return forward, backward

    return of


def _shared(passage: Any, cotangents: list[Zero | Value]) -> list[bool]:
    """Which of these are cotangents of a result that the interpreter had not touched."""
    plain = passage.plain or (False,) * len(cotangents)
    return [p and type(ct) is not Zero and not is_float0(ct) for p, ct in zip(plain, cotangents, strict=True)]
