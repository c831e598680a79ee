"""From a Python function to a program: run it once on tracers that record each operation as an equation.

Every operation is recorded, also one whose operands are all known: what a function computes is what the
program computes. Arrays that the function captured become inputs of the program; bare numbers stand in it
as literals.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.config import config
from rabbet.dtypes.array_protocol import array_of
from rabbet.messages import function_names, source_positions
from rabbet.program import python_scalars
from rabbet.program.checking import check
from rabbet.program.context import context
from rabbet.program.effects import NONE
from rabbet.program.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, effects_of
from rabbet.trace import cells, leak_check
from rabbet.trace.interpreter import Interpreter, typeof
from rabbet.trace.leaks import leaked
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.trace.cells import Touched
    from rabbet.typing import Value

PYTHON = frozenset(python_scalars.PYTHON_SCALARS)


class Stage(Interpreter):
    """Records operations. Its payload is the variable (or literal) of the program under construction."""

    __slots__ = ("inputs", "equations", "captured", "effects", "cells", "values")
    stages = True

    def __init__(self, takes_cells: bool = False) -> None:
        self.inputs: list[Var] = []
        self.equations = []
        self.captured = {}
        self.effects = NONE
        self.cells: Any = {} if takes_cells else None
        # Who computes values while they are recorded: ``values(atom)`` and ``values.shown(atom)``.
        self.values: Any = None

    def concrete(self, payload: Any) -> Any:
        """The value of a variable, where it can be computed already; else None."""
        return None if self.values is None else self.values(payload)

    def shown(self, payload: Any) -> Any:
        """What ``repr`` shows of it then, or None."""
        return None if self.values is None else self.values.shown(payload)

    def process(self, op: Op, args: Any) -> Any:
        """Append one equation; its outputs are typed by the operator's shape rule."""
        inputs, avals = [], []
        loose = False
        for a in args:
            if type(a) is Tracer and a.interpreter is self:
                v = a.payload
            elif type(a) in PYTHON:
                loose = True
                inputs.append(a)
                continue
            else:
                v = self.constant(a)
            inputs.append(v)
            avals.append(v.aval)
        if loose:
            avals = python_scalars.operand_avals(op, args, typeof)
            for i, v in enumerate(inputs):
                if type(v) in PYTHON:
                    inputs[i] = Literal(v, avals[i])
        where = context.where or source_positions.caller()
        out = op.out(tuple(avals))
        primitive = op.primitive
        if primitive.special:
            self.effects |= effects_of(op)
        if primitive.multiple_results:
            outputs = [Var(a) for a in out]
            self.equations.append(Equation(op, inputs, outputs, where))
            return [Tracer(self, v, v.aval, where) for v in outputs]
        v = Var(out)
        self.equations.append(Equation(op, inputs, [v], where))
        return Tracer(self, v, out, where)

    def constant(self, x: Value) -> Literal | Var:
        """The atom of a value that is not this interpreter's tracer: a literal for a scalar, else a captured
        input.
        """
        if isinstance(x, (np.generic, *python_scalars.PYTHON_SCALARS)):
            return Literal(x, typeof(x))
        if isinstance(x, np.ndarray) and x.ndim == 0 and x.dtype != dtypes.float0:
            return Literal(x[()], typeof(x))
        if type(x) is not Tracer and hasattr(x, "__jax_array__"):  # its array may be another later
            return self.atom(array_of(x))
        return self.capture(x)

    def capture(self, x: Value) -> Var:
        """The variable of a captured array; the same object is captured once."""
        held = self.captured.get(id(x))
        if held is None:
            if type(x) is Tracer and not x.interpreter.alive:
                raise leaked(x)
            held = self.captured[id(x)] = (Var(typeof(x)), x)
        return held[0]

    def touch(self, cell: Any) -> Touched:
        """What is known here of a cell from outside, whose content becomes an input."""
        if self.cells is None:
            raise cells.refused(cell, self)
        known = self.cells.get(id(cell))
        if known is None:
            variable = Var(cell.type)
            known = cells.Touched(cell, variable, Tracer(self, variable, cell.type, context.where))
            self.cells[id(cell)] = known
        return known

    def given(self, cell: Any, content: Value) -> None:
        """Take a cell's content from among the inputs that there are already."""
        self.cells[id(cell)] = cells.Touched(cell, None, content)

    def atom(self, x: Value) -> Literal | Var:
        """The variable or literal that a returned value became."""
        if type(x) is Tracer and x.interpreter is self:
            return x.payload
        return self.constant(x)

    def lift(self, value: Any) -> Any:
        return self.atom(value)

    def type_of(self, payload: Any) -> ShapedArray:
        return payload.aval

    def describe(self) -> str:
        return f"the trace of {function_names.describe_function(self.fn)}"


def stage(fn: Callable[..., Any], avals: Sequence[ShapedArray], name: Any = None, touched: Any = None) -> Any:
    """Trace ``fn`` on arrays of the given types.

    Args:
      fn: takes ``len(avals)`` arrays and returns a list of arrays.
      avals: a sequence of ``ShapedArray``.
      name: the program's name, by default the function's.
      touched: a list, for who can hand in the contents of cells (``rabbet.extend.cells``): it gets what the
        function used of those from outside, a ``Touched`` each. Their contents are inputs behind the others,
        and what is left in those that are written to are outputs behind the others. Without it, such a cell
        is refused.

    Returns:
      a ``ClosedJaxpr``.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> stage(lambda x: [lax.sin(x) * 2.0], [rb.typeof(np.ones(3, np.float32))]).jaxpr
      { lambda ; a:f32[3]. let
          b:f32[3] = sin a
          c:f32[3] = mul b 2.0:f32[]
        in (c,) }
    """
    stager = Stage(touched is not None)
    invars = stager.inputs = [Var(a) for a in avals]
    ctx = context
    previous, where = ctx.interpreter, ctx.where
    stager.parent, stager.fn, stager.alive, stager.thread = None, fn, True, get_ident()
    before = leak_check.holders(stager)
    ctx.interpreter, ctx.where = stager, where if ctx.is_lowering else None
    try:
        outs = fn(*[Tracer(stager, v, v.aval, where) for v in invars])
        outvars = [stager.atom(x) for x in outs]
        if stager.cells:
            touched += [t for t in stager.cells.values() if t.input is not None]
            invars = [*invars, *[t.input for t in touched]]
            outvars += [stager.atom(t.content) for t in touched if t.written]
            for t in stager.cells.values():
                t.finish()
    finally:
        ctx.interpreter, ctx.where = previous, where
        stager.alive = False
    if before is not None:
        outs = None
        leak_check.check(stager, (), Tracer, before)
    held = list(stager.captured.values())
    jaxpr = Jaxpr(
        invars,
        outvars,
        stager.equations,
        [v for v, _ in held],
        stager.effects,
        name or getattr(fn, "__name__", "f"),
    )
    closed = ClosedJaxpr(jaxpr, [x for _, x in held])
    return check(closed) if config.enable_checks else closed
