"""Rules that are told which interpreter asks: for those that need more than payloads, such as the name of the
batch dimension.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.program import python_scalars
from rabbet.program.context import context
from rabbet.rules import contracts, failures
from rabbet.rules.tables import Through
from rabbet.trace.interpreter import Tracer, typeof

if TYPE_CHECKING:
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Batched, Dual
    from rabbet.trace.interpreter import Interpreter
    from rabbet.typing import Value


def with_interpreter(rule: Callable[..., Any]) -> Through:
    """Decorator: a rule that takes the interpreter that asks, ``(op, interpreter, *payloads)``.

    What it may read of it is public: the ``size``, ``name`` and ``spmd_name`` of a map, the attributes of an
    interpreter of one's own. It runs on the level below, as all rules do, and returns what they return.

    Example:
      >>> from rabbet.extend.primitive import Batched, Primitive
      >>> from rabbet.extend.transform import with_interpreter
      >>> tell = Primitive("tell", lambda x: x)
      >>> _ = tell.decompose(lambda op, x: 1 * x)
      >>> @tell.rule("batch")
      ... @with_interpreter
      ... def tell_batched(op, interpreter, x):
      ...     print(interpreter.name, interpreter.size)
      ...     return Batched(tell(x.value), x.axis)
      >>> rb.vmap(lambda x: tell(x), axis_name="rows")(np.ones(3)).shape
      rows 3
      (3,)
    """

    @functools.wraps(rule)
    def informed(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value] | Value:
        payloads = payloads_of(interpreter, op, args)
        out = rule(op, interpreter, *payloads)
        return tracers_of(interpreter, op, rule, args, payloads, out)

    return Through(informed)


def payloads_of(interpreter: Interpreter, op: Op, args: tuple[Value, ...]) -> list[Batched | Dual]:
    """What the interpreter knows of each argument; values of other levels are lifted."""
    payloads = []
    for i, a in enumerate(args):
        if type(a) is Tracer and a.interpreter is interpreter:
            payloads.append(a.payload)
            continue
        if interpreter.lifts_typed and type(a) in python_scalars.PYTHON_SCALARS:
            a = python_scalars.as_operand(a, python_scalars.operand_avals(op, args, typeof)[i])
        payloads.append(interpreter.lift(a))
    return payloads


def tracers_of(
    interpreter: Interpreter,
    op: Op,
    rule: Callable[..., Any],
    args: tuple[Value, ...],
    payloads: list[Batched | Dual],
    out: Any,
) -> list[Value] | Value:
    """The interpreter's values for the payloads that a rule returned, which are checked as any rule's are."""
    table, primitive = interpreter.table, op.primitive
    if primitive.multiple_results:
        wanted = op.known_count(len(args))
        wanted = wanted or len(op.outs(tuple(python_scalars.operand_avals(op, args, typeof))))
        if type(out) not in (list, tuple) or len(out) != wanted:
            raise failures.miscounted(table, primitive, rule, out, wanted, context.where)
    if config.enable_checks and table.contract is not None:
        problem = table.contract(op, payloads, out)
        if problem is not None:
            what = f"the {table.name!r} rule for primitive {primitive.name!r}"
            raise contracts.broken(what, rule, problem)
    try:
        return [interpreter.wrap(p) for p in out] if primitive.multiple_results else interpreter.wrap(out)
    except Exception as error:
        found = failures.blamed(error, table, op, rule, payloads, out)
        if found is error:
            raise
        raise found from error
