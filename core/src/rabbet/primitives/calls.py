"""The primitive ``jit``: a call of a program as one unit.

Any interpreter goes through its body (rule ``"body"``); lowering makes it a function of the module. Reverse
mode splits it into known and linear halves in its own package, and transposes the linear half by the rule
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.primitives import transposition
from rabbet.rules.payloads import Linear, Zero
from rabbet.rules.primitive import Primitive
from rabbet.trace import bodies

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.program.jaxpr import Jaxpr
    from rabbet.rules.operator import Op
    from rabbet.trace.interpreter import Interpreter
    from rabbet.typing import Value


def jit_aval(
    *avals: ShapedArray, jaxpr: Jaxpr, name: str, inline: Any = False
) -> tuple[ShapedArray, ...]:
    if len(avals) != len(jaxpr.invars):
        raise TypeError(f"jit of {name!r} takes {len(jaxpr.invars)} arrays, got {len(avals)}")
    for given, wanted in zip(avals, jaxpr.in_avals, strict=True):
        if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
            raise TypeError(f"jit of {name!r} was traced for {wanted.str_short()}, got {given.str_short()}")
    return jaxpr.out_avals


jit = Primitive(
    "jit", jit_aval, kinds=("body",), multiple_results=True, is_call=True, doc="a program called as one unit",
    parameters={
        "jaxpr": "Jaxpr: the program that is called",
        "name": "str: the function's",
        "inline": "bool: whether the program is written into the caller's, and not as a function",
    },
)


@jit.rule("captures")
def captures_jit(args: Any, params: Any, captured: Any) -> Any:
    return [*captured["jaxpr"], *args], params


def call_op(jaxpr: Jaxpr, name: str, inline: Any = False) -> Op:
    """The operator that calls ``jaxpr``; the same object each time, so that what was compiled for it is
    found again.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.primitive import call_op
      >>> program = stage(lambda x: [lax.mul(x, x)], [rb.typeof(1.0)]).jaxpr
      >>> call_op(program, "square")(3.0)
      [Array(9., dtype=float32, weak_type=True)]
    """
    return jaxpr.once(("jit", name, inline), lambda: jit.op(jaxpr=jaxpr, name=name, inline=inline))


@jit.rule("lower")
def lower_jit(op: Site, *names: str) -> list[str]:
    return op.call(op["jaxpr"], names, op["name"])


@jit.rule("body")
def body_jit(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    body, operands, finish = bodies.interpret_call(interpreter, op.params["jaxpr"], args)
    return finish(call_op(body, op.params["name"], op.params.get("inline", False))(*operands))


@jit.rule("transpose")
def transpose_jit(
    op: Op, cts: tuple[Zero | Value, ...], *operands: Linear | Value
) -> tuple[Value | None, ...]:
    linear = tuple([type(x) is Linear for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    body, produced, captured = transposition.transposed_program(op.params["jaxpr"], linear, nonzero)
    known = [x for x in operands if type(x) is not Linear]
    call = call_op(body, f"transpose_{op.params['name']}", op.params.get("inline", False))
    results = iter(call(*captured, *known, *[ct for ct in cts if type(ct) is not Zero]))
    kept = iter(produced)
    return tuple([next(results) if lin and next(kept) else None for lin in linear])
