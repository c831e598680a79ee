"""The primitive ``scan``: a program run over the slices of arrays, carrying values from one step to the next
and stacking the others. It is lowered as a ``while`` and differentiated in its own right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, tree
from rabbet.primitives import convert, dynamic, elementwise, logic, shape, zeros
from rabbet.primitives.loops import as_carried, settled, while_
from rabbet.primitives.memory_spaces import lies_in_memory
from rabbet.primitives.transposition import transpose_program
from rabbet.program.avals import ShapedArray
from rabbet.program.body_operands import Feeds
from rabbet.program.jaxpr import consts_as_inputs, evaluate
from rabbet.program.sharded_types import memory_of
from rabbet.rules.payloads import Linear
from rabbet.rules.primitive import Primitive
from rabbet.rules.tables import RuleTable
from rabbet.trace import bodies, payload_parts
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.lowering.operation import Site
    from rabbet.program.jaxpr import Jaxpr
    from rabbet.rules.operator import Op
    from rabbet.trace.interpreter import Interpreter
    from rabbet.typing import Value

INDEX = dtypes.canonicalize("int32")


def scan_aval(
    *avals: ShapedArray, jaxpr: Jaxpr, length: int, reverse: bool, consts: int, carry: int, unroll: int = 1
) -> tuple[ShapedArray, ...]:
    carried = avals[consts : consts + carry]
    as_carried(jaxpr.out_avals[:carry], carried, "scan")
    for i, x in enumerate(avals[consts + carry :]):
        if not x.shape or x.shape[0] != length:
            raise TypeError(f"scan over {length} steps: input {i} has the type {x.str_short()}")
    stacked = [a.update(shape=(length, *a.shape)) for a in jaxpr.out_avals[carry:]]
    return (*carried, *stacked)


scan = Primitive(
    "scan", scan_aval, kinds=("body",), multiple_results=True,
    doc="a program run over slices, carrying values on and stacking others",
    parameters={
        "jaxpr": "Jaxpr: a round; from constants, carried values and slices to carried values and slices",
        "length": "int: how many rounds",
        "reverse": "bool: whether it begins with the last slice",
        "consts": "int: how many operands come first, which every round sees",
        "carry": "int: how many operands follow, which rounds hand on; the others are sliced",
        "unroll": "int: how many rounds are written out behind one another",
    },
)  # fmt: skip


@scan.rule("feeds")
def feeds_scan(op: Op) -> Feeds:
    first = op.params["consts"]
    places = {"jaxpr": range(len(op.params["jaxpr"].invars))}
    return Feeds(places, {j: first + j for j in range(op.params["carry"])})


@scan.rule("runs")
def runs_of_scan(op: Op, *types: ShapedArray) -> dict[str, float]:
    return {"jaxpr": op.params["length"]}


def parts_of_scan(op: Site | Op, values: tuple[Linear | Value, ...]) -> Any:
    """Operands by use: constants, initial carries, scanned arrays."""
    n, m = op.params["consts"], op.params["carry"]
    return list(values[:n]), list(values[n : n + m]), list(values[n + m :])


def element(x: Value, i: Value) -> Value:
    """``x[i]`` along the first dimension, for a traced ``i`` in range."""
    aval = typeof(x)
    starts = (i, *[0] * (aval.ndim - 1))
    box = dynamic.dynamic_slice(zeros.hidden(x), *starts, slice_sizes=(1, *aval.shape[1:]))
    return zeros.fitted(shape.squeeze(box, dimensions=(0,)), aval.without(0))


def put_element(stack: Value, value: Value, i: Value) -> Value:
    """``stack`` with ``value`` in the place ``i`` of its first dimension."""
    box = shape.expand_dims(value, dimensions=(0,))
    return dynamic.dynamic_update_slice(stack, box, i, *[0] * typeof(value).ndim)


@scan.rule("steps")
def steps_of_scan(op: Op, args: Any, run: Any) -> None:
    jaxpr, length, reverse = op.params["jaxpr"], op.params["length"], op.params["reverse"]
    consts, carry, xs = parts_of_scan(op, args)
    for i in reversed(range(length)) if reverse else range(length):
        carry = run(jaxpr, [*consts, *carry, *[element(x, i) for x in xs]])[: len(carry)]


@scan.rule("captures")
def captures_scan(args: Any, params: Any, captured: Any) -> Any:
    consts = captured["jaxpr"]
    return [*consts, *args], {**params, "consts": params["consts"] + len(consts)}


@scan.rule("lower")
def lower_scan(op: Site, *names: str) -> list[str]:
    """As a ``while`` over a counter: slices are read from the inputs, results written into arrays of their
    own.
    """
    closed = stage(lambda *args: scan_by_while(op, args), op.in_avals, "scan")
    return op.inline(closed.jaxpr, names)


def _unwritten(aval: ShapedArray, memory: Any) -> Value:
    """Zeros to write a stack of results into; of float0 too, which ``zeros.full`` knows as NumPy's only."""
    if memory is not None:
        return lies_in_memory(_unwritten(aval, None), memory=memory)
    if aval.dtype != dtypes.float0:
        return zeros.full_of_type(aval, 0)
    stored = zeros.full_of_type(aval.physical, 0)
    return convert.convert_element_type(stored, new_dtype=dtypes.float0, weak_type=False)


def scan_by_while(op: Site, args: tuple[Value, ...]) -> list[Value]:
    """The loop that ``scan`` means."""
    jaxpr, length, reverse = op.params["jaxpr"], op.params["length"], op.params["reverse"]
    consts, carry, xs = parts_of_scan(op, args)
    n = len(carry)
    stacks = [_unwritten(ShapedArray((length, *a.shape), a.dtype), memory_of(a)) for a in jaxpr.out_avals[n:]]
    if length == 0:
        return [*carry, *stacks]
    unroll = max(1, min(op.params.get("unroll", 1), length))
    while length % unroll:
        unroll -= 1
    counting = INDEX if length <= np.iinfo(INDEX).max else np.dtype("int64")
    state = [zeros.full_of_type(ShapedArray((), counting), 0), *carry, *stacks]
    held = [*consts, *xs]

    def step(*flat: Value) -> list[Value]:
        consts, xs, (i, *rest) = flat[: len(consts_of)], flat[len(consts_of) : len(held)], flat[len(held) :]
        carry, stacks = rest[:n], list(rest[n:])
        for _ in range(unroll):
            at = elementwise.sub(length - 1, i) if reverse else i
            outs = evaluate(jaxpr, [*consts, *carry, *[element(x, at) for x in xs]])
            carry = outs[:n]
            stacks = [put_element(s, y, at) for s, y in zip(stacks, outs[n:], strict=True)]
            i = elementwise.add(i, 1)
        return [i, *carry, *stacks]

    consts_of = consts
    avals = [typeof(x) for x in state]
    body = stage(step, [*[typeof(x) for x in held], *avals], "step").jaxpr
    test = stage(lambda i, *_: [logic.lt(i, length)], avals, "more").jaxpr
    outs = while_(*held, *state, cond_jaxpr=test, body_jaxpr=body, cond_consts=0, body_consts=len(held))
    return outs[1:]


@scan.rule("body")
def body_scan(op: Op, interpreter: Interpreter, args: tuple[Value, ...]) -> list[Value]:
    consts, carry, xs = parts_of_scan(op, args)
    carry = bodies.entering(interpreter, carry)
    jaxpr = op.params["jaxpr"]
    const_leaves, const_structures = payload_parts.take_apart(interpreter, consts)
    scanned, slice_structures = [], []
    for x in xs:
        if type(x) is Tracer and x.interpreter is interpreter:
            payload, one = interpreter.sliced(x.payload)
            leaves, _ = tree.flatten(payload)
            scanned += leaves
            slice_structures.append(tree.structure(one))
        else:
            scanned.append(x)
            slice_structures.append(payload_parts.PLAIN)
    slice_avals = [_slice_aval(typeof(x)) for x in scanned]
    const_avals = [typeof(x) for x in const_leaves]
    n = len(carry)
    state_at = n - 1 if interpreter.threads else None

    def interpreted(structures: Any, avals: Sequence[ShapedArray], outputs: Any = None) -> Any:
        return bodies.interpret(
            interpreter, jaxpr, (*const_structures, *structures, *slice_structures),
            [*const_avals, *avals, *slice_avals], outputs, state_at,
        )  # fmt: skip

    structures, leaves = bodies.widened(interpreter, carry, lambda *given: interpreted(*given)[1][:n])
    _, found, _ = interpreted(structures, [typeof(x) for x in leaves])
    leaves = settled(
        leaves, lambda avals: interpreted(structures, avals, (*structures, *found[n:]))[0].out_avals
    )
    avals = [typeof(x) for x in leaves]
    body, _, captured = interpreted(structures, avals, (*structures, *found[n:]))
    outs = scan(
        *captured, *const_leaves, *leaves, *scanned, jaxpr=body, consts=len(captured) + len(const_leaves),
        carry=len(leaves), **_kept(op),
    )  # fmt: skip
    stacks = tuple([s if s is payload_parts.PLAIN else _stacked(interpreter, s) for s in found[n:]])
    return payload_parts.put_together(interpreter, (*structures, *stacks), outs)


def _kept(op: Op) -> Any:
    return {name: op.params[name] for name in ("length", "reverse", "unroll") if name in op.params}


def _slice_aval(aval: ShapedArray) -> Any:
    return aval.without(0)


def _stacked(interpreter: Interpreter, structure: Any) -> Any:
    return tree.structure(interpreter.stacked(payload_parts.skeleton(structure)))


backward_scan = RuleTable(
    "backward_scan",
    doc="""(op, sums, *inputs) -> the outputs of the scan ``op`` of a backward pass, asked for when a scan is
    transposed. The first ``sums`` values that it carries are gradients of constants, which only grow: a rule
    may compute what they grow by in another way.
    """,
)


@scan.rule("transpose")
def transpose_scan(op: Op, cts: Any, *operands: Linear | Value) -> tuple[Value | None, ...]:
    """The scan run backwards: cotangents of the carries are carried, those of linear constants are added
    up, those of scanned inputs are stacked.
    """
    jaxpr = op.params["jaxpr"]
    consts, carry, xs = parts_of_scan(op, operands)
    n = len(carry)
    cts = [zeros.instantiate(ct) for ct in cts]
    linear_consts = [type(c) is Linear for c in consts]
    linear_xs = [type(x) is Linear for x in xs]
    flags = (*linear_consts, *[True] * n, *linear_xs)
    known_consts = [c for c in consts if type(c) is not Linear]
    known_xs = [x for x in xs if type(x) is not Linear]
    sums = [zeros.full_of_type(c.aval.cotangent.strong(), 0) for c in consts if type(c) is Linear]
    slices = [v.aval.cotangent.strong() for v, lin in zip(jaxpr.invars, flags, strict=True) if lin]

    def back(*flat: Value) -> list[Value]:
        a, b = len(known_consts), len(known_consts) + len(sums)
        held, totals, carried, rest = flat[:a], flat[a:b], flat[b : b + n], flat[b + n :]
        stacked, known = rest[len(known_xs) :], rest[: len(known_xs)]
        results = transpose_program(
            jaxpr, flags, [*held, *known], (True,) * len(jaxpr.outvars), [*carried, *stacked]
        )
        results = [zeros.full_of_type(t, 0) if r is None else r for r, t in zip(results, slices, strict=True)]
        m = len(sums)
        grown = [elementwise.add(t, r) for t, r in zip(totals, results[:m], strict=True)]
        return [*grown, *results[m : m + n], *results[m + n :]]

    inputs = [*known_consts, *sums, *cts[:n], *known_xs, *cts[n:]]
    first = len(known_consts) + len(sums) + n
    avals = [typeof(x) if i < first else _slice_aval(typeof(x)) for i, x in enumerate(inputs)]
    closed = stage(back, avals, f"transpose_{jaxpr.name}")
    params = _kept(op)
    params["reverse"] = not params["reverse"]
    held, m = len(closed.consts) + len(known_consts), len(sums)
    backward = scan.op(jaxpr=consts_as_inputs(closed), consts=held, carry=m + n, **params)
    outs = _backwards(backward, m, [*closed.consts, *inputs])
    const_cts, carry_cts, x_cts = iter(outs[:m]), outs[m : m + n], iter(outs[m + n :])
    return (
        *[next(const_cts) if lin else None for lin in linear_consts],
        *[ct if type(x) is Linear else None for ct, x in zip(carry_cts, carry, strict=True)],
        *[next(x_cts) if lin else None for lin in linear_xs],
    )


def _backwards(op: Any, sums: Any, inputs: Any) -> list[Value]:
    """The scan of a backward pass, as a rule of a package has it, or as it is."""
    found = backward_scan.explain(scan)
    return op(*inputs) if found is None or found.source != "bridge" else found.rule(op, sums, *inputs)
