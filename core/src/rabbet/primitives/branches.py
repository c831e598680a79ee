"""The primitive ``cond``: one of several programs, chosen by an index.

An interpreter goes through all branches; where it represents their results differently, both are brought to
one representation (see ``bodies``). An index that the interpreter has touched goes to its ``predicate``
hook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.lowering.known_values import Known
from rabbet.lowering.regions import Region, types_of
from rabbet.primitives import transposition, zeros
from rabbet.program.body_operands import Feeds
from rabbet.program.jaxpr import consts_as_inputs, evaluate
from rabbet.rules.payloads import Linear, Zero
from rabbet.rules.primitive import Primitive
from rabbet.trace import bodies, payload_parts
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    import numpy as np

    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.program.jaxpr import ClosedJaxpr, Jaxpr
    from rabbet.rules.operator import Op
    from rabbet.trace.interpreter import Interpreter
    from rabbet.typing import Value


def cond_aval(
    index: ShapedArray, *operands: ShapedArray, branches: tuple[Jaxpr, ...]
) -> tuple[ShapedArray, ...]:
    if index.shape or (index.dtype.name != "int32" and (index.dtype.name != "bool" or len(branches) != 2)):
        raise TypeError(
            f"cond chooses by an int32 scalar, or by a boolean among two, got {index.str_short()} and "
            f"{len(branches)} branches"
        )
    for branch in branches:
        wanted = [(a.shape, a.dtype) for a in branch.in_avals]
        if wanted != [(a.shape, a.dtype) for a in operands]:
            raise TypeError(f"cond: a branch takes {branch.in_avals}, the operands are {operands}")
    return branches[0].out_avals


cond = Primitive(
    "cond",
    cond_aval,
    kinds=("body", "shapeless"),
    multiple_results=True,
    decider=0,
    doc="the branch number index, clamped to those there are; a boolean takes the second one if true",
    parameters={"branches": "tuple of Jaxpr: programs of equal types, one of which runs; False is the first"},
)


@cond.rule("feeds")
def feeds_cond(op: Op) -> Feeds:
    branches = op.params["branches"]
    return Feeds({f"branches[{i}]": range(1, 1 + len(b.invars)) for i, b in enumerate(branches)})


@cond.rule("lower")
def lower_cond(op: Site, index: Known | str, *operands: str) -> list[str]:
    branches = op["branches"]
    if type(index) is Known:
        return op.inline(branches[int(index.value)], operands)
    if op.in_avals[0].kind == "b":
        index = op.emit(f"stablehlo.convert {index} : (tensor<i1>) -> tensor<i32>")
    threaded = op.ordered_effects
    types = types_of(op.out_avals, threaded)
    regions = [Region(branch, list(operands), gives=threaded) for branch in branches]
    n = len(op.out_avals) + len(threaded)
    outs = op.emit_regions(f'"stablehlo.case"({index})', regions, f": (tensor<i32>) -> ({types})", n)
    return op.take_tokens(threaded, outs)


@cond.rule("steps")
def steps_of_cond(op: Op, args: Any, run: Any) -> None:
    branches = op.params["branches"]
    run(branches[min(max(int(args[0]), 0), len(branches) - 1)], args[1:])


@cond.rule("body")
def body_cond(op: Any, interpreter: Interpreter, args: Any) -> Any:
    index = args[0]
    leaves, (chosen, *structures) = payload_parts.take_apart(interpreter, bodies.entering(interpreter, args))
    if interpreter.threads and interpreter.carries:  # payloads are the values themselves
        index = leaves[0]
    elif chosen is not payload_parts.PLAIN:
        return interpreter.at_this_level(interpreter.predicate, op, args)
    structures = tuple(structures)
    avals = [typeof(x) for x in leaves[1:]]
    branches = op.params["branches"]
    outs = None
    for branch in branches:
        _, found, _ = bodies.interpret(interpreter, branch, structures, avals)
        outs = found if outs is None else payload_parts.join_structures(interpreter, outs, found)
    made = [bodies.interpret(interpreter, branch, structures, avals, outputs=outs) for branch in branches]
    consts = [c for _, _, captured in made for c in captured]
    widened = share_consts([body for body, _, _ in made], [len(captured) for _, _, captured in made])
    results = cond(index, *consts, *leaves[1:], branches=tuple(widened))
    return payload_parts.put_together(interpreter, outs, results)


def share_consts(programs: list[Jaxpr], counts: list[int]) -> Any:
    """Programs that capture different arrays, as programs that take those of all and then the operands.

    Example:
      >>> from rabbet.extend.bodies import share_consts
      >>> from rabbet.extend.passes import consts_as_inputs, stage
      >>> one, two = rb.device_put(np.float32(1)), rb.device_put(np.float32(2))
      >>> made = [stage(lambda x, c=c: [x + c], [rb.typeof(one)]) for c in (one, two)]
      >>> programs = share_consts([consts_as_inputs(c) for c in made], [len(c.consts) for c in made])
      >>> [len(program.invars) for program in programs]
      [3, 3]
    """
    if not any(counts):
        return programs
    out = []
    at = 0
    all_avals = [a for p, n in zip(programs, counts, strict=True) for a in p.in_avals[:n]]
    for p, n in zip(programs, counts, strict=True):

        def wide(*args: Value, p: Jaxpr = p, n: int = n, at: int = at) -> Any:
            return evaluate(p, [*args[at : at + n], *args[len(all_avals) :]])

        out.append(stage(wide, [*all_avals, *p.in_avals[n:]], p.name).jaxpr)
        at += n
    return out


@cond.rule("captures")
def captures_cond(args: Any, params: Any, captured: Any) -> Any:
    branches, consts = params["branches"], captured["branches"]
    shared = tuple(share_consts(list(branches), [len(c) for c in consts]))
    return [args[0], *[c for of_one in consts for c in of_one], *args[1:]], {**params, "branches": shared}


@cond.rule("transpose")
def transpose_cond(
    op: Op, cts: tuple[np.generic, ...], index: Value, *operands: Linear | Value
) -> tuple[Value | None, ...]:
    linear = tuple([type(x) is Linear for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    made = [fully_transposed(branch, linear, nonzero) for branch in op.params["branches"]]
    captured = [c for closed in made for c in closed.consts]
    branches = tuple(share_consts([consts_as_inputs(c) for c in made], [len(c.consts) for c in made]))
    known = [x for x in operands if type(x) is not Linear]
    given = [ct for ct in cts if type(ct) is not Zero]
    results = iter(cond(index, *captured, *known, *given, branches=branches))
    return None, *[next(results) if lin else None for lin in linear]


def fully_transposed(jaxpr: Jaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]) -> Any:
    """The transposed program, a ``ClosedJaxpr``, with a cotangent for every linear input, zeros where none
    arises; its constants are what derivative rules close over.

    Example:
      >>> from rabbet.extend.bodies import fully_transposed
      >>> from rabbet.extend.passes import evaluate, stage
      >>> program = stage(lambda x, y: [3.0 * x], [rb.typeof(np.float32(1))] * 2).jaxpr
      >>> backwards, _ = fully_transposed(program, (True, True), (True,))
      >>> [float(ct) for ct in evaluate(backwards, [np.float32(2)])]
      [6.0, 0.0]
    """

    def make() -> ClosedJaxpr:
        known = [v.aval for v, lin in zip(jaxpr.invars, linear, strict=True) if not lin]
        given = [v.aval.cotangent for v, nz in zip(jaxpr.outvars, nonzero, strict=True) if nz]
        targets = [v.aval.cotangent for v, lin in zip(jaxpr.invars, linear, strict=True) if lin]

        def flat(*args: Value) -> list[Value]:
            results = transposition.transpose_program(
                jaxpr, linear, args[: len(known)], nonzero, args[len(known) :]
            )
            return [
                zeros.full_of_type(a.strong(), 0) if r is None else r
                for r, a in zip(results, targets, strict=True)
            ]

        return stage(flat, known + given, f"transpose_{jaxpr.name}")

    key = "transposed whole", linear, nonzero
    return transposition.lasting(jaxpr, key, jaxpr.once(key, make))
