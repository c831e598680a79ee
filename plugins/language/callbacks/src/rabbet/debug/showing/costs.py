"""What each line of the user's costs: counted equation by equation, before anything is fused."""

import math
from dataclasses import dataclass
from typing import Any

from rabbet import dtypes
from rabbet.extend.backend import lower_program
from rabbet.extend.cost import cost_of
from rabbet.extend.native import text_cost
from rabbet.extend.passes import Jaxpr, Literal, Var, bodies_of

NOTHING = (0.0, 0.0, 0.0)
COUNTED = ("flops", "transcendentals", "bytes accessed")


@dataclass
class Cost:
    """What the equations of a line cost.

    Attributes:
      equations: how many there are in the program, each once however often it runs.
      flops, transcendentals: operations.
      accessed: bytes read and written.
      made: bytes of results.
      uncounted: equations of which nobody knows what they cost: those with effects.
      endless: whether some stand in a ``while`` loop, and were counted for one turn.
    """

    equations: int = 0
    flops: float = 0.0
    transcendentals: float = 0.0
    accessed: float = 0.0
    made: float = 0.0
    uncounted: int = 0
    endless: bool = False


@dataclass
class Peak:
    """The most bytes that values of a program hold at once, its inputs included, and where."""

    size: int = 0
    place: tuple[str, int] | None = None


class Counter:
    """Goes through a program. ``lines`` has a ``Cost`` by ``(file, line)``; None is for equations without."""

    def __init__(self, platform: str):
        self.platform = platform
        self.lines: dict[Any, Cost] = {}
        self.known: dict[str, tuple[float, ...]] = {}

    def count(self, program: Jaxpr, times: int = 1, endless: bool = False) -> None:
        """Add what a program costs that runs ``times`` times."""
        for eqn in program.equations:
            cost = self.lines.setdefault(place_of(eqn), Cost())
            cost.equations += 1
            bodies = [body for _, body in bodies_of(eqn.op)]
            if bodies and runs_bodies(eqn.primitive):
                inner = times * eqn.params["length"] if eqn.primitive.name == "scan" else times
                for body in bodies:
                    self.count(body, inner, endless or eqn.primitive.name == "while")
                continue
            cost.endless |= endless
            cost.made += times * sum(size_of(v.aval) for v in eqn.outputs)
            if eqn.effects and "cost" not in eqn.primitive.rules:
                cost.uncounted += 1
                continue
            flops, transcendentals, accessed = self.of_one(eqn)
            cost.flops += times * flops
            cost.transcendentals += times * transcendentals
            cost.accessed += times * accessed

    def of_one(self, eqn: Any) -> tuple[float, ...]:
        """What one equation costs, found once for its operation and types."""
        inputs = list(dict.fromkeys(v for v in eqn.inputs if type(v) is Var))
        alone = Jaxpr(inputs, eqn.outputs, [eqn])
        key = repr(alone)
        if key not in self.known:
            self.known[key] = self.by_rule(alone) if "cost" in eqn.primitive.rules else self.by_text(alone)
        return self.known[key]

    def by_rule(self, program: Jaxpr) -> tuple[float, ...]:
        """What the rules ``cost`` of primitives and kinds say."""
        found = cost_of(program)
        return found.flops, found.transcendentals, found.bytes

    def by_text(self, program: Jaxpr) -> tuple[float, ...]:
        """What XLA says, which knows all but calls of native functions."""
        text = lower_program(program, self.platform, keep_unused=True).module.key_text
        if "stablehlo.custom_call" in text:
            return self.by_rule(program)
        found = text_cost(text) or {}
        return tuple([found.get(name, 0.0) for name in COUNTED])


def peak_of(program: Jaxpr) -> Peak:
    """The most bytes held at once if equations run in order and each value goes after its last use."""
    arguments = [*program.constvars, *program.invars]
    held = sum(size_of(v.aval) for v in arguments)
    peak = Peak(held)
    last = {}
    for i, eqn in enumerate(program.equations):
        last.update({v: i for v in (*eqn.inputs, *eqn.outputs) if type(v) is Var})
    last.update({v: -1 for v in (*arguments, *program.outvars) if type(v) is not Literal})  # never
    for i, eqn in enumerate(program.equations):
        inside = 0
        for _, body in bodies_of(eqn.op) if runs_bodies(eqn.primitive) else ():
            ins = sum(size_of(v.aval) for v in (*body.constvars, *body.invars))
            inner = peak_of(body)
            if inner.size - ins > inside:
                inside = inner.size - ins
                if held + inside > peak.size:
                    peak = Peak(held + inside, inner.place or place_of(eqn))
        held += sum(size_of(v.aval) for v in eqn.outputs)
        if held > peak.size:
            peak = Peak(held, place_of(eqn))
        gone = {v for v in (*eqn.inputs, *eqn.outputs) if type(v) is Var and last[v] == i}
        held -= sum(size_of(v.aval) for v in gone)
    return peak


def runs_bodies(primitive: Any) -> bool:
    """Whether a primitive runs the programs that it carries as they are, once or several times: a call, a
    branch or a loop, and no reduction.
    """
    return primitive.is_call or "steps" in primitive.rules


def place_of(eqn: Any) -> tuple[str, int] | None:
    """The user's ``(file, line)``."""
    position = eqn.source_info
    return None if position is None else (position.file, position.line)


def size_of(aval: Any) -> int:
    """The bytes of an array's values."""
    if aval.dtype == dtypes.float0:
        return 0
    return math.prod(aval.physical.shape) * aval.physical.dtype.itemsize


__all__ = ["Cost", "Counter", "Peak", "peak_of", "place_of", "size_of"]
