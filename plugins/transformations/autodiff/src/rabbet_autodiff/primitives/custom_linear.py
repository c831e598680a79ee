"""The primitive ``custom_linear``: a linear function with a transpose of its own.

It is the derivative of a function that brings a rule for reverse mode, and what ``linear_call`` binds. Its
operands are known values (residuals) and then what it is linear in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet.errors import ForwardModeError
from rabbet.extend.bodies import PLAIN, is_tracer_of, put_together, take_apart
from rabbet.extend.passes import stage
from rabbet.extend.primitive import Dual, Linear, Primitive, instantiate
from rabbet.extend.transform import Role, Tracer, payload_of, typeof

from rabbet_autodiff.rules_under_interpreters import UnderWithZeros

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op, ShapedArray, Zero
    from rabbet.extend.rules import Site
    from rabbet.extend.transform import Interpreter
    from rabbet.typing import Value


def custom_linear_aval(
    *avals: ShapedArray,
    forward: Callable[..., Any] | None,
    backward: Callable[..., Any],
    residuals: int,
    moving: tuple[bool, ...],
    out_avals: tuple[ShapedArray, ...],
    symbolic: bool,
    name: str,
) -> tuple[ShapedArray, ...]:
    return out_avals


custom_linear = Primitive(
    "custom_linear",
    custom_linear_aval,
    kinds=("shapeless",),
    multiple_results=True,
    doc="a linear function that brings its transpose, such as the derivative of a custom_vjp function",
)
"""Parameters: ``forward(residuals, linear) -> outs``, None where only the transpose is known;
``backward(residuals, cotangents)`` returns a cotangent for every entry of ``moving``, of which the true ones
are the linear operands; ``symbolic``: whether it takes ``Zero`` for zero cotangents.
"""


@custom_linear.rule("transpose")
def transpose_custom_linear(
    op: Op, cts: tuple[Zero | Value, ...], *operands: Linear | Value
) -> tuple[Value | None, ...]:
    n, moving = op.params["residuals"], op.params["moving"]
    if op.params["forward"] is not None and all(moving) and all(type(x) is Linear for x in operands[n:]):
        return (None,) * n + tuple(turned_around(op, cts, operands))
    given = list(cts) if op.params["symbolic"] else [instantiate(ct) for ct in cts]
    results = op.params["backward"](list(operands[:n]), given)
    kept = [r for r, m in zip(results, moving, strict=True) if m]
    return (None,) * n + tuple(
        [r if type(x) is Linear else None for r, x in zip(kept, operands[n:], strict=True)]
    )


def turned_around(op: Op, cts: tuple[Value, ...], operands: tuple[Linear | Value, ...]) -> list[Value]:
    """The transpose, whose own transpose is the function again."""
    n, params = op.params["residuals"], dict(op.params)
    params["forward"], params["backward"] = params["backward"], params["forward"]
    params["out_avals"] = tuple([x.aval for x in operands[n:]])
    params["moving"] = (True,) * len(cts)
    return custom_linear(*operands[:n], *[instantiate(ct) for ct in cts], **params)


def forward_of(op: Site | Op) -> Callable[..., Any]:
    """The function itself; an error where only its transpose is known."""
    if op.params["forward"] is None:
        raise forward_mode_error(op.params["name"])
    return op.params["forward"]


@custom_linear.rule("lower")
def lower_custom_linear(op: Site, *names: str) -> list[str]:
    n, forward = op.params["residuals"], forward_of(op)
    name = op.params["name"]
    jaxpr, captured = stage(lambda *args: forward(list(args[:n]), list(args[n:])), op.in_avals, name)
    if any(type(c) is Tracer for c in captured):
        raise TypeError(
            f"a rule of {name!r} closes over a value that is being transformed; make it an argument"
        )
    return op.inline(jaxpr, [*[op.constant(np.asarray(c), typeof(c)) for c in captured], *names])


@custom_linear.rule("body")
def body_custom_linear(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    n, forward = op.params["residuals"], forward_of(op)
    if interpreter.plays(Role.FORWARD) and not any(is_tracer_of(x, interpreter) for x in args[:n]):
        duals = [payload_of(interpreter, x) for x in args[n:]]
        outs = op(*args[:n], *[d.primal for d in duals])
        tangents = op(*args[:n], *[instantiate(d.tangent) for d in duals])
        return [interpreter.wrap(Dual(o, t)) for o, t in zip(outs, tangents, strict=True)]
    if interpreter.threads:
        interpreter.at_this_level(forward, list(args[:n]), list(args[n:]))  # what it does to the state
        state = interpreter.state
        outs = carried(op, interpreter, args)
        interpreter.state = state
        return outs
    if interpreter.carries:
        return carried(op, interpreter, args)
    return interpreter.at_this_level(forward, list(args[:n]), list(args[n:]))


def carried(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    """The function and its transpose, both under an interpreter such as vmap."""
    n, params = op.params["residuals"], dict(op.params)
    leaves, structures = take_apart(interpreter, args)
    forward, backward = params["forward"], params["backward"]
    run = UnderWithZeros(interpreter, lambda *xs: (forward(list(xs[:n]), list(xs[n:])),), structures)
    avals = stage(lambda *flat: run(flat)[0], [typeof(x) for x in leaves], params["name"]).jaxpr.out_avals
    structure = run.structure
    places = iter(structures[n:])
    given_back = [next(places) if m else PLAIN for m in params["moving"]]

    def transposed(residuals: list[Value], cotangents: list[Value]) -> Any:
        inner = UnderWithZeros(
            run.interpreter, lambda *xs: (list(backward(list(xs[:n]), list(xs[n:]))),),
            (*structures[:n], *[structure] * len(cotangents)),
        )  # fmt: skip
        return inner.given_back([*residuals, *cotangents], given_back)

    params["forward"] = lambda residuals, linear: run([*residuals, *linear])[0]
    params["backward"], params["out_avals"] = transposed, avals
    outs = custom_linear(*leaves, **params)
    return put_together(interpreter, (structure,) * len(outs), outs)


def forward_mode_error(name: str) -> Exception:
    """What to say where forward mode meets a function with a reverse rule only."""
    return ForwardModeError(
        f"{name!r} has a rule for reverse mode only (custom_vjp), so its forward-mode derivative is not "
        "known\n  reached by jvp, jacfwd, hessian or linearize; rb.grad, rb.vjp and rb.jacrev work\n  to "
        "fix: give it a jvp rule, as with rb.custom_jvp"
    )
