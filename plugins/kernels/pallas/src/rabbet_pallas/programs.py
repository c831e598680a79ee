"""Kernels and index maps as programs."""

import numpy as np
from rabbet import Array
from rabbet.extend.passes import Equation, Jaxpr, Literal, Var, stage
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas.memory import load
from rabbet_pallas.reference_parts import WHOLE


def split(args, grid):
    """What a program of a grid is given: its ids, the grid's sizes with the computed ones, and the rest."""
    n = len(grid)
    m = n + grid.count(None)
    computed = iter(args[n:m])
    return args[:n], [next(computed) if size is None else size for size in grid], args[m:]


def with_operands(function, avals, name, place):
    """The program of a function on states, in which what it captures are states of more operands.

    Args:
      place: before which of its inputs those stand.

    Returns:
      ``(program, what it captures)``.
    """
    closed = stage(function, avals, name)
    numbers, loads, states, values = {}, [], [], []
    for variable, x in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if not variable.aval.shape and type(x) in (Array, np.ndarray):
            numbers[variable] = Literal(np.asarray(x)[()], variable.aval)
            continue
        state = Var(ShapedArray(variable.aval.shape, variable.aval.dtype))
        loads.append(Equation(load.op(place=WHOLE), [state], [variable]))
        states.append(state)
        values.append(x)
    program = with_numbers(closed.jaxpr, numbers)
    if not states:
        return program, []
    invars = [*program.invars[:place], *states, *program.invars[place:]]
    equations = [*loads, *program.equations]
    return Jaxpr(invars, program.outvars, equations, [], program.effects, program.name), values


def closed_over_nothing(function, avals, name, what):
    """The program of a function that may capture numbers, and no arrays.

    Args:
      what: what the function is called in messages.

    Raises:
      ValueError: it captures arrays, or values that are computed outside.
    """
    closed = stage(function, avals, name)
    numbers = {}
    for variable, x in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if not variable.aval.shape and type(x) in (Array, np.ndarray):
            numbers[variable] = Literal(np.asarray(x)[()], variable.aval)
            continue
        raise ValueError(
            f"{what} uses {described(x)}, which is made outside of it\n"
            "  to fix: compute it from the indices, or from an operand that is prefetched"
        )
    return with_numbers(closed.jaxpr, numbers)


def described(x):
    """A captured value in a message."""
    kind = "an array" if type(x) in (Array, np.ndarray) else "a computed value"
    return f"{kind} of type {typeof(x).str_short()}"


def with_numbers(jaxpr, numbers):
    """A program with literals in the places of some captured variables."""
    put = lambda v: numbers.get(v, v) if type(v) is Var else v
    equations = [Equation(e.op, [put(v) for v in e.inputs], e.outputs, e.where) for e in jaxpr.equations]
    outvars = [put(v) for v in jaxpr.outvars]
    return Jaxpr(
        jaxpr.invars, outvars, equations if numbers else jaxpr.equations, [], jaxpr.effects, jaxpr.name
    )


__all__ = ["closed_over_nothing", "split", "with_operands"]
