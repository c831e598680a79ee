"""Derivative rules as users write them, on pytrees, as the flat rules that ``custom_call`` keeps; with checks
of what they return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet import dtypes, tree
from rabbet.errors import ArgumentError
from rabbet.extend.functions import (
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    named_like,
    parameter_name,
    with_weak_type,
)
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.primitive import Zero, full_of_type, instantiate, tangent_aval, zero_tangent
from rabbet.extend.transform import Tracer, typeof
from rabbet.tree import keystr

from rabbet_autodiff.derivative_rules import BackwardRule, ForwardRule
from rabbet_autodiff.primitives.checkpoint import rule_or_value
from rabbet_autodiff.rules_under_interpreters import is_float0

if TYPE_CHECKING:
    from rabbet.extend.primitive import ShapedArray
    from rabbet.typing import Value


class SymbolicZero:
    """A tangent or cotangent that is zero, as rules with ``symbolic_zeros=True`` see it.

    It has a type and no values, and is not an array; test for it with ``type(t) is SymbolicZero``.

    Example:
      >>> from rabbet.custom_derivatives import SymbolicZero, zero_from_primal
      >>> isinstance(zero_from_primal(1.0, symbolic_zeros=True), SymbolicZero)
      True
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    shape = property(lambda self: self.aval.shape, doc="The shape of the zeros.")
    dtype = property(lambda self: self.aval.dtype, doc="The dtype of the zeros.")
    ndim = property(lambda self: self.aval.ndim, doc="The number of dimensions.")

    def __eq__(self, other: Any) -> bool:
        return type(other) is SymbolicZero and self.aval == other.aval

    def __hash__(self) -> Any:
        return hash(self.aval)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"


@dataclass(frozen=True, eq=False)
class CustomVJPPrimal:
    """An argument leaf as forward rules with ``symbolic_zeros=True`` see it: its value, and whether it is
    differentiated.

    Example:
      >>> @rb.custom_vjp
      ... def f(x, y):
      ...     return x * y
      >>> def forward(x, y):
      ...     return x.value * y.value, (x.value, y.value, x.perturbed, y.perturbed)
      >>> def backward(residuals, ct):
      ...     x, y, of_x, of_y = residuals
      ...     return ct * y if of_x else None, ct * x if of_y else None
      >>> f.defvjp(forward, backward, symbolic_zeros=True)
      >>> float(rb.grad(f)(2.0, 3.0))
      3.0
    """

    value: Any
    perturbed: bool


def shown_zeros(leaves: list[Any]) -> list[Any]:
    """Tangents as rules see them, symbolic zeros as ``SymbolicZero``."""
    return [SymbolicZero(x.aval) if type(x) is Zero else x for x in leaves]


def taken_zeros(leaves: list[SymbolicZero | Value]) -> list[Zero | Value]:
    """Tangents as rules return them, ``SymbolicZero`` as symbolic zeros."""
    return [Zero(x.aval) if type(x) is SymbolicZero else x for x in leaves]


# ---------------------------------------------------------------------------------------- forward mode
def pushforward(call: Any, jvp: Any, symbolic: bool = False) -> ForwardRule:
    """The flat rule of ``jvp(*static, primals, tangents) -> (out, out_tangent)``."""
    name = f"the jvp rule of {describe_function(call.fun)}"

    def rule(primals: list[Value], tangents: list[Zero | Value]) -> tuple[list[Zero | Value], ...]:
        (primals, held), (tangents, of_held) = call.split(primals), call.split(tangents)
        if held:
            refuse_moving(call, [type(t) is not Zero and not is_float0(t) for t in of_held])
            tangents = tangents if symbolic else [instantiate(t) for t in tangents]
        tangents = [_as_weak_as(p, t) for p, t in zip(primals, tangents, strict=True)]
        result = jvp(
            *call.static_args(held),
            tree.unflatten(call.in_tree, primals),
            tree.unflatten(call.in_tree, shown_zeros(tangents)),
        )
        refuse_no_pair(result, f"{name} must return a pair (out, out_tangent)")
        outs, out_tangents = _same_structure(name, call, *result)
        outs = arrays(outs, f"{name} returned as output")
        out_tangents = arrays(taken_zeros(out_tangents), f"{name} returned as tangent")
        for o, t in zip(outs, out_tangents, strict=True):
            _check_tangent(name, o, t)
        return outs, out_tangents

    return ForwardRule(rule, symbolic or bool(call.held))


def _as_weak_as(primal: Value, tangent: Zero | Value) -> Zero | Value:
    """The tangent of a weak primal, such as a Python number, as weak: in the rule's products with arrays of
    another dtype it gives way like the primal does.
    """
    if type(tangent) is Zero or not typeof(primal).weak_type or is_float0(tangent):
        return tangent
    return with_weak_type(tangent) if typeof(tangent).dtype == typeof(primal).dtype else tangent


def refuse_moving(call: Any, moving: list[bool]) -> None:
    """Raise for a static argument that is being differentiated; ``moving`` says it of what they hold."""
    if any(moving):
        names = ", ".join([parameter_name(call.fun, i) for i in call.held])
        raise TypeError(
            f"{describe_function(call.fun)} is being differentiated by {names}, which it has among its "
            "nondiff_argnums or nondiff_argnames\n  to fix: make it an argument with a derivative, or give "
            "rb.lax.stop_gradient of it"
        )


def _same_structure(
    name: str, call: Any, out: Any, out_tangent: Any
) -> tuple[list[SymbolicZero | Value], ...]:
    tangents, tangent_tree = tree.flatten(out_tangent)
    out_tree = tree.structure(out)
    if tangent_tree != out_tree:
        raise TypeError(f"{name}: the tangent has the structure {tangent_tree}, the output {out_tree}")
    return call.result(out, name), tangents


def _check_tangent(name: str, out: Value, t: Zero | Value) -> None:
    wanted = tangent_aval(typeof(out))
    if (typeof(t).shape, typeof(t).dtype) != (wanted.shape, wanted.dtype):
        raise TypeError(
            f"{name}: an output of type {typeof(out).str_short()} needs a tangent of type "
            f"{wanted.str_short()}, got {typeof(t).str_short()}"
        )


def refuse_no_pair(result: tuple[Any, ...] | Value, what: str) -> None:
    """Raise an error that says ``what`` unless a rule returned a pair."""
    if not (isinstance(result, (tuple, list)) and len(result) == 2):
        raise TypeError(f"{what}, it returned {type(result).__name__}")


def arrays(leaves: list[Value], what: str) -> list[Value]:
    """The results of a rule as arrays (float0 stays NumPy's, symbolic zeros what they are)."""
    return convert_leaves(
        lambda x: x if type(x) is Zero or is_float0(x) else array_or_tracer(x),
        leaves,
        lambda i, x: f"{what} a value that is not an array: {describe_value(x)}",
    )


# ---------------------------------------------------------------------------------------- reverse mode
def pullback(
    call: Any, fwd: Any, bwd: Any, symbolic: bool = False, optimize_remat: bool = False, at_one: bool = False
) -> BackwardRule:
    """The flat rules of ``fwd(*args) -> (out, residuals)`` and ``bwd(*static, residuals, cotangent)``."""
    known = _Known(call, "the backward rule")
    rule = f"the forward rule of {describe_function(call.fun)}"
    residual_tree: Any = None  # until the forward rule has run
    static: dict[int, Any] = {}  # residuals that are Python's numbers stay what they are, for Python to use

    def forward(primals: list[Value], perturbed: tuple[bool, ...]) -> tuple[list[Value], ...]:
        nonlocal residual_tree, static
        known.avals = [typeof(x) for x in primals]
        _, held = call.split(primals)
        refuse_moving(call, call.split(perturbed)[1])
        leaves = list(map(CustomVJPPrimal, primals, perturbed)) if symbolic else primals
        result = fwd(*call.arguments([*call.split(leaves)[0], *held]))
        refuse_no_pair(result, f"{rule} must return a pair (output, residuals)")
        outs = call.result(result[0], rule)
        residuals, residual_tree = tree.flatten(result[1])
        static = {i: x for i, x in enumerate(residuals) if type(x) in (bool, int, float, complex)}
        residuals = [x for i, x in enumerate(residuals) if i not in static]
        residuals = [*arrays(residuals, f"{rule} returned as residual"), *held]
        return arrays(outs, f"{rule} returned as output"), residuals

    def backward(residuals: list[Value], cotangents: list[Any]) -> list[Value]:
        moving = iter(residuals)
        count = residual_tree.num_leaves
        leaves = [static[i] if i in static else next(moving) for i in range(count)]
        residuals = tree.unflatten(residual_tree, leaves)
        shown = [array_or_tracer(x) if isinstance(x, np.generic) else x for x in shown_zeros(cotangents)]
        cotangent = tree.unflatten(call.out_tree, shown)
        return known.cotangents(bwd(*call.static_args(moving), residuals, cotangent))

    def forward_or_value(primals: list[Value], perturbed: tuple[bool, ...]) -> tuple[list[Value], ...]:
        if not any(type(x) is Tracer for x in primals):
            return forward(primals, perturbed)
        return rule_or_value(lambda xs: forward(list(xs), perturbed), call, primals, call.__name__)

    return BackwardRule(forward_or_value if optimize_remat else forward, backward, symbolic, at_one=at_one)


def pullback_by_closure(call: Any, rule: Callable[..., Any]) -> BackwardRule:
    """The flat rules of ``rule(*args) -> (out, pull)``, where ``pull(cotangent)`` returns the cotangents of
    the arguments. What ``pull`` closes over are the residuals: it is traced when the forward pass has run.
    """
    known = _Known(call, "the vjp rule")
    name = f"the vjp rule of {describe_function(call.fun)}"
    program: Any = None

    def forward(primals: list[Value], perturbed: tuple[bool, ...]) -> tuple[list[Value], ...]:
        nonlocal program
        known.avals = [typeof(x) for x in primals]
        refuse_moving(call, call.split(perturbed)[1])
        result = rule(*call.arguments(primals))
        refuse_no_pair(result, f"{name} must return a pair (output, pull)")
        if not callable(result[1]):
            raise TypeError(
                f"{name} must return a pair (output, pull), of which pull is a function from the cotangent "
                f"of the output to those of the arguments; it returned {describe_value(result[1])}"
            )
        outs = arrays(call.result(result[0], name), f"{name} returned as output")
        moving = [tangent_aval(typeof(o)) for o in outs]

        def pull(*given: Value) -> Any:
            each = iter(given)
            cts = [full_of_type(a, 0) if a.dtype == dtypes.float0 else next(each) for a in moving]
            # Zeros of integers are nothing that a program could return.
            found = known.cotangents(result[1](tree.unflatten(call.out_tree, cts)))
            return [x for x in found if not is_float0(x)]

        types = [a for a in moving if a.dtype != dtypes.float0]
        program, residuals = stage(named_like(pull, result[1]), types, call.__name__)
        return outs, [array_or_tracer(x) for x in residuals]

    def backward(residuals: list[Value], cotangents: list[Value]) -> list[Value]:
        given = [ct for ct in cotangents if not is_float0(ct)]
        found = iter(evaluate(program, given, list(residuals)))
        zeros_or = [zero_tangent(a) for a in known.avals]
        return [full_of_type(z.aval, 0) if z.aval.dtype == dtypes.float0 else next(found) for z in zeros_or]

    return BackwardRule(forward, backward)


class _Known:
    """What is known of a call when cotangents come back: the types of its arguments."""

    def __init__(self, call: Any, what: Any) -> None:
        self.call = call
        self.avals: Any = None
        self.rule = f"{what} of {describe_function(call.fun)}"

    def cotangents(self, result: Any) -> Any:
        """A backward rule's result as flat cotangents, checked against the arguments; None becomes zeros."""
        call, rule = self.call, self.rule
        arguments = call.in_tree.children()
        if not isinstance(result, (tuple, list)) or len(result) != len(arguments):
            entries = f"{len(result)} entries" if isinstance(result, (tuple, list)) else type(result).__name__
            raise TypeError(
                f"{rule} must return a tuple with {len(arguments)} cotangents, one per differentiable "
                f"argument, it returned {entries}"
            )
        positions = [i for i in range(len(call.args)) if i not in call.static]
        out = []
        for position, entry, structure in zip(positions, result, arguments, strict=True):
            name = parameter_name(call.fun, position)
            parts = [None] * structure.num_leaves
            if entry is not None:
                parts = _spread(entry, structure, f"{rule}, argument {name}")
            for path, part in zip(tree.leaf_paths(structure), parts, strict=True):
                what = f"{rule} returned as cotangent of argument {name}{keystr(path)}"
                out.append(_cotangent(part, self.avals[len(out)], what))
        return [*out, *[instantiate(zero_tangent(aval)) for aval in self.avals[len(out) :]]]


def _spread(entry: Value | dict[Any, Any], structure: Any, what: str) -> Any:
    leaves, found = tree.flatten(entry)
    if found == structure:
        return leaves
    try:
        places = tree.unflatten(structure, list(range(structure.num_leaves)))
        return tree.broadcast_prefix(entry, places, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise TypeError(f"{what}: the cotangent must have the structure of the argument. {error}") from None


def _cotangent(ct: Any, aval: ShapedArray, what: str) -> Value:
    wanted = tangent_aval(aval)
    if ct is None or type(ct) is SymbolicZero or wanted.dtype == dtypes.float0:
        return instantiate(zero_tangent(aval))
    (ct,) = arrays([ct], what)
    have = typeof(ct)
    if have.shape != wanted.shape or is_float0(ct):
        raise ArgumentError(
            f"{what} an array of type {have.str_short()}; the argument has the type {aval.str_short()}"
        )
    if have.dtype.kind == "c" and wanted.dtype.kind != "c":
        raise TypeError(
            f"{what} an array of type {have.str_short()}; the argument has the type {aval.str_short()}, so "
            "the imaginary part would be lost\n  to fix: return the real part, as x.real or rnp.real(x)"
        )
    return ct if have.dtype == wanted.dtype else ct.astype(wanted.dtype)
