"""Small arrays that a traced function captured or made: they are written into the program that is compiled. A
call then has fewer arguments, and the compiler computes with their values. Larger ones stay operands.

Scalars are written where they were made while tracing, as ``jnp.asarray(2.0)`` makes one: nobody but the
program holds them. One that the user holds, such as a learning rate, of which the next program may capture
another, stays outside: both programs are then one for the compiler.
"""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet import Array, config, dtypes
from rabbet.extend.passes import ClosedJaxpr, Equation, Jaxpr, Literal, Var, consts_as_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import Value

# A list of captured values, and the argument of getrefcount.
OURS = 2
# What is written as an array: the tables of an integrator, a kernel, an image's mean; no weights.
MOST_BYTES = 512

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


def written(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, Jaxpr, Sequence[np.ndarray]]:
    """The program with literals in place of what is written into it; the same as passes get it, with the
    arrays to be written as its ``constvars``, and other captured ones as leading inputs; and these arrays.
    """
    jaxpr = closed.jaxpr
    outputs = {id(v) for v in jaxpr.outvars}
    numbers: dict[Var, Literal] = {}
    arrays: dict[Var, Literal] = {}
    kept = []
    for v, x in zip(jaxpr.constvars, closed.consts, strict=True):
        if id(v) in outputs:
            kept.append((v, x))
        elif _made_inside.get(id(x)) is x:
            number = np.asarray(x)[()]
            numbers[v] = Literal(number.item() if v.aval.weak_type else number, v.aval)
        elif is_small_array(x):
            arrays[v] = Literal(np.array(x), v.aval)
        else:
            kept.append((v, x))
    if not numbers and not arrays:
        return closed, consts_as_inputs(closed), ()
    remaining = [v for v, _ in kept]
    given = [*remaining, *jaxpr.invars]
    body = Jaxpr(
        given, jaxpr.outvars, with_literals(jaxpr, numbers), list(arrays), jaxpr.effects, jaxpr.name
    )
    equations = with_literals(jaxpr, {**numbers, **arrays}) if arrays else body.equations
    whole = Jaxpr(jaxpr.invars, jaxpr.outvars, equations, remaining, jaxpr.effects, jaxpr.name)
    return ClosedJaxpr(whole, [x for _, x in kept]), body, [c.value for c in arrays.values()]


def with_literals(jaxpr: Jaxpr, literals: dict[Var, Literal]) -> list[Equation]:
    """The equations of a program with literals in place of variables."""
    return [
        Equation(e.op, [literals.get(x, x) if type(x) is Var else x for x in e.inputs], e.outputs, e.where)
        for e in jaxpr.equations
    ]


def is_small_array(x: Any) -> bool:
    """Whether the values of this array, whoever holds it, are written into the program: it is small, has
    axes, lies on no device in particular, and can be read without a transfer that somebody watches.
    """
    is_ours: Any = type(x) is Array  # by another name: the type that users see has no ``spec``
    if not is_ours or not x.aval.shape or x.committed or x.spec.layout is not None:
        return False
    if x.aval.is_stored or x.aval.dtype.kind not in "biufc" or not 0 < x.nbytes <= MOST_BYTES:
        return False
    if config.transfer_guard_device_to_host not in (None, "allow"):
        return False
    return not x.raw.is_deleted()


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
