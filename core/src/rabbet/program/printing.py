"""Programs as text, in the field's usual form.

>>> rabbet.make_jaxpr(lambda u, v: (u + v) ** 2)(1, 2)
{ lambda ; a:i32[] b:i32[]. let
    c:i32[] = add a b
    d:i32[] = integer_pow[y=2] c
  in (d,) }
"""

from itertools import count

from rabbet import dtypes
from rabbet.program.effects import listed
from rabbet.program.jaxpr import Jaxpr, Literal
from rabbet.tree import PyTreeDef


def text_of(jaxpr):
    """The text of a program."""
    return "\n".join(_lines(jaxpr, _Names()))


class _Names:
    """Gives variables the names a, b, ..., z, ba, bb, ... in the order in which they are met."""

    def __init__(self):
        self._names = {}
        self._count = count()

    def __call__(self, v):
        if type(v) is Literal:
            return f"{_scalar(v.value, v.aval.dtype)}:{v.aval.str_short()}"
        if v not in self._names:
            self._names[v] = _letters(next(self._count))
        return self._names[v]

    def typed(self, v):
        return f"{self(v)}:{v.aval.str_short()}{'*' if v.aval.weak_type and type(v) is not Literal else ''}"


def _letters(n):
    digits = ""
    while True:
        n, digit = divmod(n, 26)
        digits = chr(ord("a") + digit) + digits
        if not n:
            return digits


def _scalar(value, dtype):
    value = value.item() if hasattr(value, "item") else value
    return str(float(value)) if type(value) is int and dtypes.kind(dtype) == "f" else str(value)


def _binders(variables, names):
    return " ".join(f"{names(v)}:{v.aval.str_short()}" for v in variables)


def _lines(jaxpr, names):
    consts, ins = _binders(jaxpr.constvars, names), _binders(jaxpr.invars, names)
    lines = [f"{{ lambda {consts}; {ins}. let" if consts else f"{{ lambda ; {ins}. let"]
    for eqn in jaxpr.equations:
        lines += ["    " + line for line in _equation(eqn, names)]
    outs = ", ".join(names(v) for v in jaxpr.outvars)
    effects = f" with effects {listed(jaxpr.effects)}" if jaxpr.effects else ""
    lines.append(f"  in ({outs}{',' if len(jaxpr.outvars) == 1 else ''}){effects} }}")
    return lines


def _equation(eqn, names):
    operands = " ".join(names(v) for v in eqn.inputs)
    params = {
        k: v
        for k, v in eqn.op.params.items()
        if v is not None and not callable(v) and type(v) is not PyTreeDef
    }
    nested = {k: v for k, v in params.items() if _has_body(v)}
    flat = " ".join(f"{k}={_param(v)}" for k, v in params.items() if k not in nested)
    bound = f"{_binders(eqn.outputs, names)} = " if eqn.outputs else ""
    head = f"{bound}{eqn.op.primitive.name}"
    if not nested:
        return [f"{head}{f'[{flat}]' if flat else ''} {operands}".rstrip()]
    lines = [f"{head}["]
    if flat:
        lines.append(f"  {flat}")
    for name, value in nested.items():
        for body in value if type(value) is tuple else (value,):
            first, *rest = _lines(body, names)
            lines += [f"  {name}={first}", *("  " + line for line in rest)]
    return [*lines, f"] {operands}".rstrip()]


def _has_body(value):
    return type(value) is Jaxpr or (type(value) is tuple and any(type(v) is Jaxpr for v in value))


def _param(value):
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else str(value)
