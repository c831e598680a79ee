"""Which rule wrote what the compiler refuses: found by writing each operation of the program by itself.

This is asked only when a program could not be compiled, so that lowering keeps no account of who wrote what.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import dtypes
from rabbet.lowering import module as lowering_module
from rabbet.lowering.custom_calls import targets
from rabbet.lowering.target import Target
from rabbet.messages import function_names, source_positions
from rabbet.program.avals import ShapedArray
from rabbet.program.jaxpr import Equation, Jaxpr, Var, bodies_of
from rabbet.rules.tables import Decomposed
from rabbet.runtime.platforms import backends

if TYPE_CHECKING:
    from rabbet.runtime.compilation.program import Lowering

# What the reader of a module's text says, with a position: -:12:6: error: ..., or error: "-":12:6: ...
REFUSED_TEXT = re.compile(r"\d+:\d+: error: |error: \"[^\"\n]*\":\d+:\d+: ")
NO_FUNCTION = re.compile(r"No FFI handler registered for (\S+)")
PROBLEM = re.compile(r'error: (?:"-":(\d+):\d+: |(?:loc\()?"[^"\n]*"(?:\([^\n]*?\))?(?::\d+:\d+)?\)?: )?(.*)')

# A module that any dtype should do for.
ANY_OPERATION = """func.func @main(%a: {0}) -> {1} {{
  %0 = stablehlo.reshape %a : ({0}) -> {1}
  return %0 : {1}
}}"""


class Refused(NamedTuple):
    """An operation, the rule that wrote it (or in words the dtype that no rule can write), what is wrong with
    that, the line, and where the user's line is.
    """

    equation: Equation
    rule: object
    problem: str
    written: str
    where: object

    def __str__(self) -> str:
        primitive, rule = self.equation.op.primitive, self.rule
        if type(rule) is str:
            return f"none; the compiler does not know {rule}: {self.problem}"
        if type(rule) is Decomposed:
            rule, what = rule.parts, f"the decomposition of primitive {primitive.name!r}"
        else:
            what = f"the 'lower' rule for primitive {primitive.name!r}"
        package = source_positions.owner(getattr(rule, "__module__", None) or "")
        said = f"{self.problem}, in {self.written}" if self.written else self.problem
        return f"{what}{package} ({function_names.address(rule)}) wrote the refused text: {said}"


def refused(lowering: Lowering, message: str) -> Refused | None:
    """The ``Refused`` operation of a program that the compiler refused with ``message``; None where it has
    nothing against the text, or where no operation by itself is refused.
    """
    if REFUSED_TEXT.search(message):
        problem_of = text_problem
    else:
        missing = NO_FUNCTION.search(message)
        if missing is None:
            return None
        problem_of = lambda text: unknown_call(text, missing[1])
    try:
        return Search(lowering.platform, problem_of).among(lowering.jaxpr, None)
    except Exception:  # something else fails beside it: what the compiler said is told all the same
        return None


class Search:
    """Goes through a program and the programs within it, those furthest inside first."""

    def __init__(self, platform: Any, problem_of: Callable[..., Any]) -> None:
        self.platform, backend = backends.writing_for(platform)
        self.bridges = backend and backend.lowerings
        self.problem_of = problem_of
        self.target = Target(self.platform, self.bridges)
        self.rules = lowering_module.Module(self.target)
        self.seen = set()

    def among(self, jaxpr: Any, where: Any) -> Any:
        """The first operation that is refused by itself, or None."""
        for eqn in jaxpr.equations:
            key = eqn.op, *[v.aval for v in eqn.inputs]
            if key not in self.seen:
                self.seen.add(key)
                found = self.within(eqn, eqn.where or where) or self.alone(eqn, eqn.where or where)
                if found is not None:
                    return found
        return None

    def within(self, eqn: Equation, where: Any) -> Refused | None:
        """The same for the programs that an operation carries, and for what it is decomposed into."""
        for _, body in bodies_of(eqn.op):
            found = self.among(body, where)
            if found is not None:
                return found
        rule = self.rule(eqn)
        if type(rule) is not Decomposed:
            return None
        return self.among(lowering_module.decomposed(eqn, rule.parts).jaxpr, where)

    def rule(self, eqn: Equation) -> Decomposed | Callable[..., Any]:
        """The rule that writes an operation."""
        return self.rules.rule(eqn.op.primitive)

    def alone(self, eqn: Equation, where: Any) -> Refused | None:
        """``Refused`` if a program of this one operation is refused."""
        inputs = list(dict.fromkeys([v for v in eqn.inputs if type(v) is Var]))
        program = Jaxpr(inputs, list(eqn.outputs), [eqn])
        try:
            written = lowering_module.lower_program(program, self.target)
        except Exception:  # it cannot stand by itself, as what communicates within a map
            return None
        found = self.problem_of(written.text)
        if found is None:
            return None
        problem, line = found
        return Refused(eqn, self.unknown_dtype(eqn) or self.rule(eqn), problem, line, where)

    def unknown_dtype(self, eqn: Equation) -> Any:
        """A dtype of its operands and results that no operation takes, in words; None if there is none."""
        for dtype in dict.fromkeys([v.aval.physical.dtype for v in (*eqn.inputs, *eqn.outputs)]):
            scalar, one = ShapedArray((), dtype).mlir, ShapedArray((1,), dtype).mlir
            if parse_problem(ANY_OPERATION.format(scalar, one)) is not None:
                spec = dtypes.spec(dtype)
                return (
                    f"the dtype {spec.name!r}, whose DTypeSpec says mlir={spec.mlir!r} (None is for a format "
                    "of which arrays are stored only)"
                )
        return None


def text_problem(text: str) -> tuple[str, ...] | None:
    """What is wrong with a module's text, and the line, if it names one; None if nothing is."""
    said = parse_problem(text)
    if said is None:
        return None
    found = PROBLEM.search(said)
    if found is None:
        return said.splitlines()[0], ""
    line = text.splitlines()[int(found[1]) - 1] if found[1] else ""
    return found[2], f"{without_location(line)!r}" if line else ""


def parse_problem(text: str) -> str | None:
    """What MLIR says against a module's text, or None."""
    from rabbet.runtime.jaxlib import mlir_modules  # slow to import, and seldom needed

    return mlir_modules.problem(text)


def unknown_call(text: str, target: str) -> tuple[str, ...] | None:
    """The problem with a text that calls a native function that is not registered."""
    if target not in targets(text):
        return None
    from rabbet.runtime.jaxlib.waiting_functions import REFUSED  # few programs call any

    if target in REFUSED:
        return f"the function {target!r} could not be registered: {REFUSED[target]}", ""
    return f"the function {target!r} is not registered; register_ffi_target does that, before the call", ""


def without_location(line: str) -> str:
    """A line of a module without its position."""
    return re.sub(r" loc\(#l\d+\)$", "", line.strip())


__all__ = ["refused"]
