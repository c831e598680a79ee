"""Which inputs of a program anything reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rabbet.program.jaxpr import Equation, Jaxpr, Var


def inputs_read(jaxpr: Jaxpr) -> tuple[bool, ...]:
    """For each input of a program whether it is a result, or an operation reads it; a call reads what its
    program reads.
    """
    return jaxpr.once("inputs read", lambda: _found(jaxpr))


def _found(jaxpr: Jaxpr) -> tuple[bool, ...]:
    read = set(jaxpr.outvars).union(*[_read_by(eqn) for eqn in jaxpr.equations])
    return tuple([v in read for v in jaxpr.invars])


def _read_by(eqn: Equation) -> list[Var]:
    body = eqn.op.params.get("jaxpr") if eqn.primitive.is_call else None
    if body is None or len(body.invars) != len(eqn.inputs):
        return list(eqn.inputs)
    return [v for v, wanted in zip(eqn.inputs, inputs_read(body), strict=True) if wanted]


__all__ = ["inputs_read"]
