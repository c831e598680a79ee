"""Scalars that a function made while it was traced, as ``jnp.asarray(2.0)`` makes one: they are written into
the program that is compiled, and the compiler computes with them. For other captured arrays see
``array_constants``.

They are told by this, that nobody but the program holds them.
"""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet import Array, dtypes
from rabbet.extend.passes import ClosedJaxpr, Equation, Jaxpr, Literal

if TYPE_CHECKING:
    from rabbet.typing import Value

# A list of captured values, and the argument of getrefcount.
OURS = 2

_made_inside = weakref.WeakValueDictionary()  # by id


def made_inside(consts: list[Value]) -> list[bool]:
    """Whether each captured value is such a scalar."""
    return [
        _made_inside.get(id(consts[i])) is consts[i]
        or (sys.getrefcount(consts[i]) <= OURS and is_plain_scalar(consts[i]))
        for i in range(len(consts))
    ]


def remember(consts: Any, inside: Any) -> None:
    """Keep in mind which captured arrays are such scalars: programs around will capture them too."""
    for x, is_inside in zip(consts, inside, strict=True):
        if is_inside:
            _made_inside[id(x)] = x


def with_scalars_written(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program with literals in place of such scalars."""
    if not any(id(x) in _made_inside for x in closed.consts):
        return closed
    jaxpr = closed.jaxpr
    outputs, written, kept = {id(v) for v in jaxpr.outvars}, {}, []
    for v, x in zip(jaxpr.constvars, closed.consts, strict=True):
        if _made_inside.get(id(x)) is x and id(v) not in outputs:
            number = np.asarray(x)[()]
            written[v] = Literal(number.item() if v.aval.weak_type else number, v.aval)
        else:
            kept.append((v, x))
    equations = [
        Equation(e.op, [x if type(x) is Literal else written.get(x, x) for x in e.inputs], e.outputs, e.where)
        for e in jaxpr.equations
    ]
    program = Jaxpr(jaxpr.invars, jaxpr.outvars, equations, [v for v, _ in kept], jaxpr.effects, jaxpr.name)
    return ClosedJaxpr(program, [x for _, x in kept])


def is_plain_scalar(x: Value) -> bool:
    """Whether a literal can stand for this array: of rank 0, on no device in particular, and of the type that
    a NumPy scalar has by itself, or a Python scalar if it is weak.
    """
    if type(x) is not Array or x.aval.shape or x.committed:
        return False
    dtype = x.aval.dtype
    if dtype.kind not in "biufc":
        return False
    if x.aval.weak_type:
        return dtypes.scalar_dtype(dtypes.scalar_type_of(dtype)) == dtype
    return dtypes.narrow(dtype) == dtype
