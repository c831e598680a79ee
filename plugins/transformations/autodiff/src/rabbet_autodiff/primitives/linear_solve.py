"""The primitive ``linear_solve``: x with A x = b, where A is a program and so is the way to solve.

Derivatives do not go through the solver: with A x = b, A dx = db - dA x, and the transpose solves with the
transposed map. So the solver may be a loop of unknown length.

Its parameters are programs that take the same ``consts`` arrays and then the leaves of one vector:
``matvec`` (A), ``solve``, and for reverse mode ``vecmat`` (A transposed) and ``transpose_solve``, or None.
The solvers may return further arrays behind the solution, which have no derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import lax, tree
from rabbet.errors import MissingRule
from rabbet.extend.bodies import (
    STATE,
    apply_derived_rule,
    interpret,
    is_tracer_of,
    put_together,
    share_consts,
    take_apart,
)
from rabbet.extend.passes import consts_as_inputs, evaluate, stage
from rabbet.extend.primitive import Dual, Linear, Primitive, Zero, instantiate, zero_tangent
from rabbet.extend.transform import Role, jvp, payload_of, run_traced, typeof

if TYPE_CHECKING:
    from rabbet.extend.passes import Jaxpr
    from rabbet.extend.primitive import Op, ShapedArray
    from rabbet.extend.rules import Site
    from rabbet.extend.transform import Interpreter
    from rabbet.typing import Value

PROGRAMS = ("matvec", "solve", "vecmat", "transpose_solve")


def linear_solve_aval(
    *avals: ShapedArray,
    matvec: Jaxpr,
    solve: Jaxpr,
    vecmat: Jaxpr | None,
    transpose_solve: Jaxpr | None,
    consts: int,
) -> Any:
    return solve.out_avals


linear_solve = Primitive(
    "linear_solve", linear_solve_aval, kinds=("body",), multiple_results=True,
    doc="the solution of a linear equation, by the programs of the map and of its solver",
)  # fmt: skip


@linear_solve.rule("runs")
def runs_of_linear_solve(op: Op, *types: ShapedArray) -> dict[str, float]:
    """The solver alone: the others are for derivatives."""
    return {"solve": 1}


@linear_solve.rule("lower")
def lower_linear_solve(op: Site, *names: str) -> list[str]:
    return op.inline(op["solve"], names)


@linear_solve.rule("transpose")
def transpose_linear_solve(
    op: Op, cts: tuple[Zero | Value, ...], *operands: Linear | Value
) -> tuple[Value | None, ...]:
    n = op.params["consts"]
    size = len(operands) - n
    if op.params["transpose_solve"] is None:
        raise MissingRule(
            "custom_linear_solve has no transpose_solve, which reverse-mode differentiation needs\n"
            "  to fix: give it one, transpose_solve=lambda vecmat, b: ..., or symmetric=True where the map is"
        )
    if any(type(x) is Linear for x in operands[:n]):
        raise TypeError("the solution of a linear equation is not linear in its matrix")
    given = [instantiate(ct) for ct in cts[:size]]
    params = op.params
    turned = linear_solve.op(
        matvec=params["vecmat"], solve=params["transpose_solve"], vecmat=params["matvec"],
        transpose_solve=params["solve"], consts=n,
    )  # fmt: skip
    return (None,) * n + tuple(turned(*operands[:n], *given)[:size])


@linear_solve.rule("body")
def body_linear_solve(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    """Forward mode, and what follows it, differentiates implicitly; an interpreter that carries rules takes
    all programs along; any other one goes through the solver.
    """
    if interpreter.plays(Role.FORWARD):
        return differentiated(op, interpreter, args)
    if interpreter.table.model is jvp:
        return apply_derived_rule(interpreter, op, args)
    if interpreter.threads and interpreter.carries:
        return carried_with_state(op, interpreter, args)
    if interpreter.carries:
        return carried(op, interpreter, args)
    return interpreter.at_this_level(evaluate, op.params["solve"], args)


def differentiated(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    """Solve for the values, then once more for the tangents."""
    n = op.params["consts"]
    size = len(args) - n
    duals = [payload_of(interpreter, x) if is_tracer_of(x, interpreter) else Dual(x, None) for x in args]
    values = [d.primal for d in duals]
    outs = op(*values)
    solution = outs[:size]
    moved = interpreter.at_this_level(evaluate, op.params["matvec"], [*args[:n], *solution])
    changes = [
        _difference(d.tangent, _tangent(interpreter, y), typeof(x))
        for d, y, x in zip(duals[n:], moved, solution, strict=True)
    ]
    if all(type(t) is Zero for t in changes):
        return outs
    tangents = op(*values[:n], *[instantiate(t) for t in changes])[:size]
    solution = [interpreter.wrap(Dual(x, t)) for x, t in zip(solution, tangents, strict=True)]
    return [*solution, *outs[size:]]


def _tangent(interpreter: Interpreter, x: Value) -> Value | None:
    """The tangent of a value of forward mode, or None where there is none."""
    return x.payload.tangent if is_tracer_of(x, interpreter) else None


def _difference(a: Value | None, b: Value | None, aval: ShapedArray) -> Value:
    """The tangent ``a - b``, either of which may be missing or a symbolic zero."""
    a = zero_tangent(aval) if a is None else a
    if b is None or type(b) is Zero:
        return a
    return lax.neg(b) if type(a) is Zero else lax.sub(a, b)


def carried(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    """The same equation on uniform payloads: every program is interpreted, vectors have one static part."""
    n = op.params["consts"]
    leaves, structures = take_apart(interpreter, args[:n])
    vectors = [interpreter.uniform(payload_of(interpreter, x)) for x in args[n:]]
    structure = tree.structure(vectors[0])
    vector_leaves = [leaf for payload in vectors for leaf in tree.leaves(payload)]
    avals = [typeof(x) for x in (*leaves, *vector_leaves)]

    def through(name: str, program: Jaxpr) -> tuple[Jaxpr | list[Any], ...]:
        outputs = (structure,) * len(program.outvars)
        inputs = (*structures, *[structure] * len(vectors))
        made, _, consts = interpret(interpreter, program, inputs, avals, outputs=outputs)
        return made, consts

    outs = remade(op, through, leaves, vector_leaves)
    return put_together(interpreter, (structure,) * len(outs), outs)


def carried_with_state(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    """The same equation under an interpreter that threads a state: it comes in as one of the ``consts`` and
    goes out behind the solution. The other programs serve derivatives, and leave no state.
    """
    n = op.params["consts"]
    leaves, structures = take_apart(interpreter, [*args, STATE])
    values, state, state_structure = leaves[: len(args)], leaves[len(args) :], structures[-1]
    avals = [typeof(x) for x in (*state, *values)]
    out_structures = None

    def through(name: str, program: Jaxpr) -> tuple[Jaxpr | list[Any], ...]:
        def run(*flat: Value) -> list[Value]:
            nonlocal out_structures
            inner = interpreter.fresh() if name == "solve" else interpreter.aside()
            if inner is None:
                return evaluate(program, flat[len(state) :])
            given = put_together(inner, (state_structure, *structures[:-1]), flat)
            outs = run_traced(inner, lambda: evaluate(program, given), [])
            if name == "solve":
                outs, out_structures = take_apart(inner, [*outs, STATE])
            return outs

        closed = stage(run, avals, program.name)
        return consts_as_inputs(closed), list(closed.consts)

    outs = remade(op, through, [*state, *values[:n]], values[n:])
    return put_together(interpreter, out_structures, outs)


def remade(op: Op, through: Callable[..., Any], consts: list[Value], vectors: list[Value]) -> list[Value]:
    """The results of the equation whose programs are ``through(name, program) -> (program, captured)``."""
    made, counts, captured = {}, [], []
    for name in PROGRAMS:
        made[name] = op.params[name]
        if made[name] is not None:
            made[name], more = through(name, made[name])
            counts.append(len(more))
            captured += more
    there = [name for name in PROGRAMS if made[name] is not None]
    made.update(zip(there, share_consts([made[name] for name in there], counts), strict=True))
    return linear_solve(*captured, *consts, *vectors, **made, consts=len(captured) + len(consts))


__all__ = ["linear_solve"]
