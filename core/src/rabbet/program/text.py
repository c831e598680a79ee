"""The text of programs, in JAX's usual form."""

from __future__ import annotations

import inspect
from itertools import count
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.messages import source_positions
from rabbet.program.effects import effect_names
from rabbet.tree import PyTreeDef

if TYPE_CHECKING:
    from rabbet.messages.source_positions import Position
    from rabbet.program.jaxpr import Jaxpr, Literal, Var
    from rabbet.typing import DType


def text_of(jaxpr: Jaxpr, all_parameters: bool = False) -> str:
    """The text of a program; with ``all_parameters`` also those that are None, functions or structures."""
    return "\n".join([line for line, _ in _lines(jaxpr, _Names(all_parameters))])


def program_lines(jaxpr: Any) -> list[tuple[Position | str | None, ...]]:
    """The lines of a program's text, each with the user's line that it comes from, a ``Position``, or None.

    Example:
      >>> from rabbet.extend.passes import program_lines, stage
      >>> program = stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)]).jaxpr
      >>> [line.strip() for line, position in program_lines(program) if position is not None]
      ['b:f32[] = sin a']
    """
    position = source_positions.source_position
    return [(line, None if at is None else position(at)) for line, at in _lines(jaxpr, _Names())]


class _Names:
    """Gives variables the names a, b, ..., z, ba, bb, ... in the order in which they are met."""

    def __init__(self, all_parameters: bool = False) -> None:
        self.all_parameters = all_parameters
        self._names = {}
        self._count = count()

    def __call__(self, v: Any) -> str:
        if is_literal(v):
            return f"{_scalar(v.value, v.aval.dtype)}:{v.aval.str_short()}"
        if v not in self._names:
            self._names[v] = _letters(next(self._count))
        return self._names[v]

    def typed(self, v: Any) -> Any:
        return f"{self(v)}:{v.aval.str_short()}{'*' if v.aval.weak_type and not is_literal(v) else ''}"


def _letters(n: int) -> str:
    digits = ""
    while True:
        n, digit = divmod(n, 26)
        digits = chr(ord("a") + digit) + digits
        if not n:
            return digits


def _scalar(value: Any, dtype: DType) -> str:
    value = value.item() if hasattr(value, "item") else value
    return str(float(value)) if type(value) is int and dtypes.kind(dtype) == "f" else str(value)


def _binders(variables: list[Var], names: Any) -> str:
    return " ".join(f"{names(v)}:{v.aval.str_short()}" for v in variables)


def _lines(jaxpr: Any, names: Any) -> Any:
    consts, ins = _binders(jaxpr.constvars, names), _binders(jaxpr.invars, names)
    lines = [(f"{{ lambda {consts}; {ins}. let" if consts else f"{{ lambda ; {ins}. let", None)]
    for eqn in jaxpr.equations:
        lines += [("    " + line, at) for line, at in _equation(eqn, names)]
    outs = ", ".join(names(v) for v in jaxpr.outvars)
    effects = f" with effects {effect_names(jaxpr.effects)}" if jaxpr.effects else ""
    lines.append((f"  in ({outs}{',' if len(jaxpr.outvars) == 1 else ''}){effects} }}", None))
    return lines


def _equation(eqn: Any, names: Any) -> Any:
    operands = " ".join(names(v) for v in eqn.inputs)
    given = eqn.op.params if not names.all_parameters else {**_defaults(eqn.op.primitive), **eqn.op.params}
    params = {
        k: v
        for k, v in given.items()
        if names.all_parameters or (v is not None and not callable(v) and type(v) is not PyTreeDef)
    }
    nested = {k: v for k, v in params.items() if _has_body(v)}
    flat = " ".join(f"{k}={_param(v)}" for k, v in params.items() if k not in nested or _encloses(v))
    bound = f"{_binders(eqn.outputs, names)} = " if eqn.outputs else ""
    head = f"{bound}{eqn.op.primitive.name}"
    if not nested:
        return [(f"{head}{f'[{flat}]' if flat else ''} {operands}".rstrip(), eqn.where)]
    lines = [(f"{head}[", eqn.where)]
    if flat:
        lines.append((f"  {flat}", eqn.where))
    for name, value in nested.items():
        for shown, body in _bodies(name, value):
            (first, _), *rest = _lines(body, names)
            lines += [(f"  {shown}={first}", eqn.where), *[("  " + line, at) for line, at in rest]]
    return [*lines, (f"] {operands}".rstrip(), eqn.where)]


def _defaults(primitive: Any) -> dict[str, Any]:
    """The parameters that a primitive has where it is not told them, as its shape rule says."""
    found = inspect.signature(primitive.abstract).parameters.values()
    return {p.name: p.default for p in found if p.default is not p.empty}


def is_literal(v: Literal | Var) -> bool:
    """Whether an input of an equation is a number that stands in the program, not a variable."""
    return hasattr(v, "value")


def _has_body(value: Any) -> bool:
    is_program = lambda x: hasattr(x, "equations")
    return is_program(value) or (type(value) is tuple and any(map(is_program, value))) or _encloses(value)


def _encloses(value: Any) -> bool:
    """Whether a parameter is an ``Enclosing``, which this module cannot import."""
    return callable(getattr(value, "programs", None))


def _bodies(name: Any, value: Any) -> list[tuple[Jaxpr | str, ...]]:
    """The programs of a parameter, each with what it is called."""
    if _encloses(value):
        return [(f"{name}.{inner}", body) for inner, body in value.programs()]
    return [(name, body) for body in (value if type(value) is tuple else (value,))]


def _param(value: Any) -> str:
    name = None if _encloses(value) else getattr(value, "name", None)
    return name if isinstance(name, str) else str(value)


__all__ = ["program_lines", "text_of"]
