"""The grammar of programs: a type checker that tests run after every transformation. It costs nothing in
production.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.errors import JaxprTypeError
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.program.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, bodies_of, effects_of


def check(program: Any) -> Any:
    """Check that ``program`` is well formed and well typed; return it.

    Every variable is defined once and before its use, every equation's outputs have the types that the
    shape rule of its operator gives for its inputs, and every body obeys the same.

    Args:
      program: a ``Jaxpr`` or a ``ClosedJaxpr``.

    Raises:
      JaxprTypeError: names the equation and what is wrong with it.

    Example:
      >>> from rabbet.extend.passes import Jaxpr, Var, check, stage
      >>> good = stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)])
      >>> check(good) is good
      True
      >>> check(Jaxpr([], [Var(rb.typeof(1.0))], []))
      Traceback (most recent call last):
          ...
      rabbet.errors.JaxprTypeError: an output reads Var:f32[] before it is defined
    """
    if isinstance(program, ClosedJaxpr):
        _check_consts(program)
        check(program.jaxpr)
        return program
    if type(program) is not Jaxpr:
        raise JaxprTypeError(f"a program is a Jaxpr or a ClosedJaxpr, got {type(program).__name__}")
    defined = set()
    for v in (*program.constvars, *program.invars):
        _define(v, defined, "an input")
    for i, eqn in enumerate(program.equations):
        _check_equation(i, eqn, defined, program.effects)
    for v in program.outvars:
        _check_use(v, defined, "an output")
    return program


def _check_consts(closed: ClosedJaxpr) -> None:
    if len(closed.consts) != len(closed.jaxpr.constvars):
        raise JaxprTypeError(
            f"the program captures {len(closed.jaxpr.constvars)} arrays, {len(closed.consts)} were given"
        )
    for v, const in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        # The type of an array of ours, of a tracer, or of a NumPy array.
        have = getattr(const, "aval", const)
        dtype = dtypes.narrow(have.dtype) if isinstance(const, np.ndarray) else getattr(have, "dtype", None)
        if (getattr(have, "shape", None), dtype) != (v.aval.shape, v.aval.dtype):
            raise JaxprTypeError(
                f"the captured array {const!r:.80} does not have the type {v.aval.str_short()}"
            )


def _define(v: Any, defined: set[Any], what: str) -> None:
    if type(v) is not Var or not isinstance(v.aval, ShapedArray):
        raise JaxprTypeError(f"{what} must be a typed variable, got {v!r}")
    if v in defined:
        raise JaxprTypeError(f"{v!r} is defined twice, the second time as {what}")
    defined.add(v)


def _check_use(v: Any, defined: set[Any], what: str) -> None:
    if type(v) is Literal:
        if not isinstance(v.aval, ShapedArray) or v.aval.shape or not _is_number(v.value):
            raise JaxprTypeError(f"{what} has a literal that is not a scalar: {v!r}")
    elif type(v) is not Var:
        raise JaxprTypeError(f"{what} reads {v!r}, which is neither a variable nor a literal")
    elif v not in defined:
        raise JaxprTypeError(f"{what} reads {v!r} before it is defined")


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return python_scalars.is_python_scalar(value) or isinstance(value, np.generic)


def _check_equation(i: Any, eqn: Any, defined: Any, effects: Any) -> None:
    what = f"equation {i}, {eqn.op}"
    for v in eqn.inputs:
        _check_use(v, defined, what)
    for name, body in bodies_of(eqn.op):
        if body.constvars:
            raise JaxprTypeError(
                f"{name} of {what} captures arrays; a body takes everything as inputs (open_consts)"
            )
        try:
            check(body)
        except JaxprTypeError as error:
            raise JaxprTypeError(f"in {name} of {what}: {error}") from None
    try:
        wanted = eqn.op.outs(tuple([v.aval for v in eqn.inputs]))
    except (TypeError, ValueError, LookupError) as error:
        ins = _types([v.aval for v in eqn.inputs])
        raise JaxprTypeError(f"{what}: its shape rule refuses {ins or 'no operands'}: {error}") from error
    got = tuple([v.aval for v in eqn.outputs])
    if wanted != got:
        raise JaxprTypeError(f"{what}: its shape rule gives {_types(wanted)}, its outputs are {_types(got)}")
    undeclared = sorted(effects_of(eqn.op) - effects)
    if undeclared:
        raise JaxprTypeError(
            f"{what} has the effect {undeclared[0].name!r}, which the program does not declare"
        )
    for v in eqn.outputs:
        _define(v, defined, f"an output of {what}")


def _types(avals: list[ShapedArray] | tuple[ShapedArray, ...]) -> str:
    return ", ".join(f"{a.str_short()}{' (weak)' if a.weak_type else ''}" for a in avals)
