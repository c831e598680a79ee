"""``debug_nans`` and ``debug_infs``: where what a program computed is not finite, the program
runs again, operation by operation, to name the first one and its line.

A primitive that carries programs says by its rule ``"steps"`` which of them run, one after the other:
``(op, args, run)``, where ``run(jaxpr, args)`` is a list of outputs. A call is gone through as it is.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, tree
from rabbet.config import config
from rabbet.messages import second_looks
from rabbet.messages.source_positions import source_position
from rabbet.primitives.convert import stop_gradient
from rabbet.program.jaxpr import Var
from rabbet.runtime.arrays.array import Array
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.program.jaxpr import Equation, Jaxpr
    from rabbet.typing import Value


class _Search(threading.local):
    running = False


_search = _Search()


def check(name: Any, outs: Any) -> None:
    """Raise ``FloatingPointError`` for a NaN or infinity among arrays, where the settings ask for it."""
    for out in outs:
        if dtypes.kind(out.dtype) not in "fc":
            continue
        values = own_values(out)
        for wanted, test, what in (
            (config.debug_nans, np.isnan, "a NaN"),
            (config.debug_infs, np.isinf, "an infinity"),
        ):
            if wanted and any(test(value).any() for value in values):
                raise second_looks.found(f"{name!r} produced {what} in an array {out.aval.str_short()}")


def own_values(x: Array) -> list[np.ndarray]:
    """The values of an array: of one over several processes the parts that this one has, of sums that are
    not added up yet the addends, of a format that NumPy cannot read its numbers.
    """
    if x.is_fully_addressable and not x.sharding.addends:
        values = [np.asarray(x)]
    else:
        values = [np.asarray(shard.data) for shard in x.addressable_shards]
    if dtypes.has_own_format(x.dtype):
        values = [dtypes.host_cast(v, np.dtype("float64")) for v in values]
    return values


def check_results(values: Any) -> None:
    """Raise ``FloatingPointError`` for a NaN or infinity in a pytree of arrays and tracers, whose values are
    looked at as far as they are known: those of differentiation, not its tangents.
    """
    check("a function", arrays_in(values))


def arrays_in(values: Any) -> Any:
    """The arrays of a pytree, also those within tracers."""
    for x in tree.leaves(values):
        if type(x) is Tracer and not x.interpreter.stages:
            value = getattr(x.interpreter, "concrete", None)
            yield from arrays_in(x.payload if value is None else value(x.payload))
        elif type(x) is Array:
            yield x


def only_moves(jaxpr: Any) -> bool:
    """Whether a program copies elements and computes none: what is not finite was so before. Whether that is
    an argument, which was reported, or a constant, such as a bound that is none, it may be meant.
    """
    return all(
        "structural" in eqn.op.primitive.kinds or eqn.op.primitive is stop_gradient for eqn in jaxpr.equations
    )


def first_operation(name: str, jaxpr: Any, args: list[Value]) -> None:
    """Run a program again, operation by operation, and raise for the first whose result is not finite.

    Args:
      name: of the program, for the message.
      args: its inputs; where one was donated, nothing runs, nor where one is over several processes: the
        others may have found nothing, and would not take part.
    """
    if _search.running or jaxpr.effects or any(getattr(x, "is_deleted", bool)() for x in args):
        return
    if not all(getattr(x, "is_fully_addressable", True) for x in args):
        return
    if _is_one_operation(name, jaxpr):
        return
    _search.running = True
    try:
        _run(jaxpr, args, name)
    except _Found as found:
        raise second_looks.found(str(found)) from None
    finally:
        _search.running = False


def _is_one_operation(name: str, jaxpr: Jaxpr) -> bool:
    """Whether a program is an operation that somebody called by itself: the message has its name already."""
    if len(jaxpr.equations) != 1:
        return False
    primitive = jaxpr.equations[0].op.primitive
    return name == primitive.name and not primitive.is_call and "steps" not in primitive.rules


class _Found(FloatingPointError):
    """Has its line already."""


def _run(jaxpr: Jaxpr, args: list[Value], name: str) -> Any:
    env = dict(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.equations:
        inputs = [env[v] if type(v) is Var else v.value for v in eqn.inputs]
        outs = _outputs(eqn, inputs, name)
        env.update(zip(eqn.outputs, outs, strict=True))
    return [env[v] if type(v) is Var else v.value for v in jaxpr.outvars]


def _outputs(eqn: Equation, inputs: list[Value], name: str) -> list[Value]:
    op = eqn.op
    if op.primitive.is_call:
        return _run(op.params["jaxpr"], inputs, op.params.get("name", name))
    steps = op.primitive.rules.get("steps")
    if steps is not None:
        steps(op, inputs, lambda jaxpr, args: _run(jaxpr, args, name))
    try:
        out = op(*inputs)
    except _Found:
        raise
    except FloatingPointError as error:
        where = "" if eqn.where is None else f" at {source_position(eqn.where)}"
        raise _Found(f"{error}{where}, in {name!r}") from None
    return out if op.primitive.multiple_results else [out]


__all__ = ["check", "check_results", "first_operation", "only_moves"]
