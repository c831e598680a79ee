"""Running a function under an interpreter, on tracers that hold payloads."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.messages.tracebacks import fold_traceback
from rabbet.program.avals import ShapedArray
from rabbet.program.context import context
from rabbet.trace import leak_check, named_axes
from rabbet.trace.interpreter import refuse_no_type
from rabbet.trace.tracer import Tracer, is_tracer, payload_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rabbet.trace.interpreter import Interpreter


def run(interpreter: Interpreter, fn: Callable[..., Any], payloads: list[Any] | tuple[Any, ...]) -> Any:
    """Call ``fn`` on one tracer per payload with ``interpreter`` current; return its results as payloads.

    Args:
      interpreter: a new ``Interpreter``; it is finished when ``run`` returns, and its tracers with it.
      fn: takes one array per payload and returns a pytree of arrays.
      payloads: a sequence of payloads.

    Returns:
      what ``fn`` returned, each array replaced by its payload.

    Example:
      >>> from rabbet.extend.transform import Interpreter, RuleTable, run
      >>> rules = RuleTable("names", doc="(op, *texts) -> text")
      >>> @rules.otherwise
      ... def call(op, *texts):
      ...     return f"{op.primitive.name}({', '.join(texts)})"
      >>> class Names(Interpreter):
      ...     table = rules
      ...     def lift(self, value):
      ...         return str(value)
      ...     def type_of(self, text):
      ...         return rb.typeof(0.0)
      >>> run(Names(), lambda x, y: lax.sin(x) * y, ["x", "y"])
      'mul(sin(x), y)'
    """
    try:
        outs = run_traced(interpreter, fn, payloads)
    except Exception as error:  # whoever calls this may not fold
        fold_traceback(error)
        raise
    return tree.map(lambda x: payload_of(interpreter, x), outs, is_leaf=is_tracer)


def run_traced(
    interpreter: Interpreter, fn: Callable[..., Any], payloads: list[Any] | tuple[Any, ...]
) -> Any:
    """Like ``run``, but return what ``fn`` returned as it is: tracers of the (now finished) interpreter and
    plain values.

    Example:
      >>> from rabbet.extend.primitive import Dual
      >>> from rabbet.extend.transform import Interpreter, jvp, payload_of, run_traced
      >>> class Forward(Interpreter):
      ...     table = jvp
      ...     def lift(self, value):
      ...         return Dual(value, 0.0)
      ...     def type_of(self, dual):
      ...         return rb.typeof(dual.primal)
      >>> forward = Forward()
      >>> out = run_traced(forward, lambda x: {"squared": x * x}, [Dual(3.0, 1.0)])
      >>> float(payload_of(forward, out["squared"]).tangent)
      6.0
    """
    ctx = context
    parent = ctx.interpreter
    where = ctx.where
    around = ctx.axes
    interpreter.parent = parent
    interpreter.fn = fn
    interpreter.alive, interpreter.thread = True, get_ident()
    before = leak_check.holders(interpreter)
    tracers = [Tracer(interpreter, p, type_of(interpreter, p), where) for p in payloads]
    ctx.interpreter = interpreter
    ctx.where = None
    if interpreter.bound:
        ctx.axes = named_axes.with_more(around, interpreter.bound)
    try:
        outs = fn(*tracers)
    finally:
        ctx.interpreter = parent
        ctx.where = where
        ctx.axes = around
        interpreter.alive = False
        if before is not None:
            interpreter.fn = leak_check.by_name(fn)
    # Without payloads the tracers were made by others, who still hold them; so are those of an inner half.
    if before is not None and payloads and interpreter.outermost:
        del tracers
        leak_check.check(interpreter, outs, Tracer, before)
    return outs


def type_of(interpreter: Interpreter, payload: Any) -> ShapedArray:
    """The type that an interpreter says of a payload, looked at."""
    aval = interpreter.type_of(payload)
    if type(aval) is not ShapedArray:
        refuse_no_type(interpreter, aval)
    return aval


__all__ = ["run", "run_traced"]
