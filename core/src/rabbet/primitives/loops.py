"""The primitives ``while`` and ``scan``.

``while`` repeats a program as long as another says so. ``scan`` runs a program over the slices of arrays,
carrying values from one step to the next and stacking the others; it is lowered as a ``while`` and
differentiated in its own right.
"""

import numpy as np

from rabbet import dtypes, tree
from rabbet.lowering import stopping
from rabbet.lowering.regions import Region, types_of
from rabbet.primitives import convert, dynamic, elementwise, logic, shape, zeros
from rabbet.primitives.transposition import transpose_program
from rabbet.program import effects
from rabbet.program.avals import ShapedArray
from rabbet.program.jaxpr import Jaxpr, Literal, consts_as_inputs, evaluate
from rabbet.rules.payloads import Linear
from rabbet.rules.primitive import Primitive
from rabbet.rules.tables import RuleTable
from rabbet.trace import bodies
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage
from rabbet.trace.tracer import Tracer

INDEX = dtypes.canonicalize("int32")


def as_carried(avals, wanted, what):
    """Refuse a body whose outputs do not have the types of what it carries."""
    for i, (a, b) in enumerate(zip(avals, wanted, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise TypeError(
                f"{what}: carried value {i} has the type {b.str_short()}, the body returns {a.str_short()}"
            )


# ----------------------------------------------------------------------------------------------- while
def while_aval(*avals, cond_jaxpr, body_jaxpr, cond_consts, body_consts):
    carry = avals[cond_consts + body_consts :]
    as_carried(body_jaxpr.out_avals, carry, "while")
    (test,) = cond_jaxpr.out_avals
    if test.shape or test.dtype != logic.BOOL:
        raise TypeError(f"while: the condition must be a boolean scalar, got {test.str_short()}")
    return tuple(carry)


def counts(op):
    """Whether a ``while`` is a loop over a counter, as ``fori_loop`` makes it: it goes on while one
    carried integer is less than a number that stays, and the body adds to it.
    """
    params = op.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    if len(condition.equations) != 1 or condition.equations[0].op.primitive is not logic.lt:
        return False
    test = condition.equations[0]
    constants = params["cond_consts"]
    carried, inner = condition.invars[constants:], body.invars[params["body_consts"] :]
    counted, bound = test.inputs
    if counted not in carried or condition.outvars != test.outputs:
        return False
    counter = carried.index(counted)
    if bound in carried:
        at = carried.index(bound)
        stays = body.outvars[at] is inner[at]
    else:
        stays = type(bound) is Literal or bound in condition.invars[:constants]
    if not stays or inner[counter].aval.kind not in "iu":
        return False
    for step in body.equations:
        if body.outvars[counter] in step.outputs:
            return (
                step.op.primitive is elementwise.add
                and step.inputs[0] is inner[counter]
                and type(step.inputs[1]) is Literal
                and step.inputs[1].value > 0
            )
    return False


while_ = Primitive(
    "while",
    while_aval,
    kinds=("body",),
    multiple_results=True,
    endless=lambda op: not counts(op),
    doc="a program repeated while a condition holds",
)


def parts_of_while(op, args):
    """The operands by use: constants of the condition, constants of the body, carried values."""
    m, n = op.params["cond_consts"], op.params["body_consts"]
    return list(args[:m]), list(args[m : m + n]), list(args[m + n :])


@while_.rule("captures")
def captures_while(args, params, captured):
    test, body = captured.get("cond_jaxpr", []), captured.get("body_jaxpr", [])
    m, n = params["cond_consts"], params["body_consts"]
    params = {**params, "cond_consts": m + len(test), "body_consts": n + len(body)}
    return [*test, *args[:m], *body, *args[m:]], params


@while_.rule("lower")
def lower_while(op, *names):
    if effects.ordered(op["cond_jaxpr"].effects):
        return op.write(lambda *args: carrying_decision(op, args), op.in_avals, names)
    test_consts, body_consts, carry = parts_of_while(op, names)
    threaded = op.ordered_effects
    types = types_of(op.out_avals, threaded)
    m, n = op["cond_consts"], op["body_consts"]
    stops = not counts(op) and stopping.changes(op["cond_jaxpr"], op["body_jaxpr"], m, n)
    regions = [
        Region(op["cond_jaxpr"], test_consts, takes=threaded, stops=stops),
        Region(op["body_jaxpr"], body_consts, takes=threaded, gives=threaded),
    ]
    carry = [*carry, *[op.token(e) for e in threaded]]
    head = f'"stablehlo.while"({", ".join(carry)})'
    outs = op.emit_regions(head, regions, f": ({types}) -> ({types})", len(carry))
    return op.take_tokens(threaded, outs)


def carrying_decision(op, args):
    """The same loop with its condition computed in the body and carried: where the condition has ordered
    effects, since the region of a condition cannot give a token back.
    """
    test_consts, body_consts, carry = parts_of_while(op, args)
    m, n = len(test_consts), len(test_consts) + len(body_consts)

    def step(*flat):
        held, carried = flat[:n], flat[n + 1 :]
        after = evaluate(op.params["body_jaxpr"], [*held[m:], *carried])
        return [*evaluate(op.params["cond_jaxpr"], [*held[:m], *after]), *after]

    first = evaluate(op.params["cond_jaxpr"], [*test_consts, *carry])
    avals = [typeof(x) for x in (*first, *carry)]
    body = stage(step, [*[typeof(x) for x in args[:n]], *avals], "step").jaxpr
    test = stage(lambda more, *_: [more], avals, "more").jaxpr
    outs = while_(*args[:n], *first, *carry, cond_jaxpr=test, body_jaxpr=body, cond_consts=0, body_consts=n)
    return outs[1:]


def deciding(test):
    """A condition without the outputs that only hand the state on."""
    return Jaxpr(test.invars, test.outvars[:1], test.equations, name=test.name)


@while_.rule("steps")
def steps_of_while(op, args, run):
    test_consts, body_consts, carry = parts_of_while(op, args)
    while run(op.params["cond_jaxpr"], [*test_consts, *carry])[0]:
        carry = run(op.params["body_jaxpr"], [*body_consts, *carry])


def settled(leaves, outputs_of):
    """Carried values in types that cover what the body returns for them, as far as types speak of devices.

    Args:
      leaves: the first values.
      outputs_of: from their types to those of the body's outputs, of which the first are carried.
    """
    while True:
        outs = outputs_of([typeof(x) for x in leaves])
        if all(out.spread is None for out in outs):
            return leaves
        covering = [
            zeros.fitted(x, typeof(x).update(spread=zeros.joined(typeof(x).spread, out.spread)))
            for x, out in zip(leaves, outs, strict=False)
        ]
        if all(typeof(a).spread is typeof(b).spread for a, b in zip(leaves, covering, strict=True)):
            return leaves
        leaves = covering


@while_.rule("body")
def body_while(op, interpreter, args):
    if interpreter.threads and op.params["cond_jaxpr"].equations:
        return interpreter.at_this_level(carrying_decision, op, args)
    test_args, body_args, carry = parts_of_while(op, args)
    carry = bodies.entering(interpreter, carry)
    test, body = op.params["cond_jaxpr"], op.params["body_jaxpr"]
    test_leaves, test_structures = bodies.take_apart(interpreter, test_args)
    body_leaves, body_structures = bodies.take_apart(interpreter, body_args)
    body_avals = [typeof(x) for x in body_leaves]

    def outputs_for(structures, avals):
        return bodies.interpret(interpreter, body, (*body_structures, *structures), [*body_avals, *avals])[1]

    structures, leaves = bodies.widened(interpreter, carry, outputs_for)
    leaves = settled(
        leaves,
        lambda avals: bodies.interpret(
            interpreter, body, (*body_structures, *structures), [*body_avals, *avals], outputs=structures
        )[0].out_avals,
    )
    avals = [typeof(x) for x in leaves]
    test_made, (decided, *_), test_captured = bodies.interpret(
        interpreter, test, (*test_structures, *structures), [*[typeof(x) for x in test_leaves], *avals]
    )
    if interpreter.threads:
        test_made = deciding(test_made)
    if decided is not bodies.PLAIN:
        return interpreter.at_this_level(interpreter.predicate, op, args)
    made, _, captured = bodies.interpret(
        interpreter, body, (*body_structures, *structures), [*body_avals, *avals], outputs=structures
    )
    outs = while_(
        *test_captured, *test_leaves, *captured, *body_leaves, *leaves, cond_jaxpr=test_made, body_jaxpr=made,
        cond_consts=len(test_captured) + len(test_leaves), body_consts=len(captured) + len(body_leaves),
    )  # fmt: skip
    return bodies.put_together(interpreter, structures, outs)


# ------------------------------------------------------------------------------------------------ scan
def scan_aval(*avals, jaxpr, length, reverse, consts, carry, unroll=1):
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
)  # fmt: skip


def parts_of_scan(op, values):
    """Operands by use: constants, initial carries, scanned arrays."""
    n, m = op.params["consts"], op.params["carry"]
    return list(values[:n]), list(values[n : n + m]), list(values[n + m :])


def element(x, i):
    """``x[i]`` along the first dimension, for a traced ``i`` in range."""
    aval = typeof(x)
    starts = (i, *[0] * (aval.ndim - 1))
    box = dynamic.dynamic_slice(zeros.hidden(x), *starts, slice_sizes=(1, *aval.shape[1:]))
    return zeros.fitted(shape.squeeze(box, dimensions=(0,)), aval.without(0))


def put_element(stack, value, i):
    """``stack`` with ``value`` in the place ``i`` of its first dimension."""
    box = shape.expand_dims(value, dimensions=(0,))
    return dynamic.dynamic_update_slice(stack, box, i, *[0] * typeof(value).ndim)


@scan.rule("steps")
def steps_of_scan(op, args, run):
    jaxpr, length, reverse = op.params["jaxpr"], op.params["length"], op.params["reverse"]
    consts, carry, xs = parts_of_scan(op, args)
    for i in reversed(range(length)) if reverse else range(length):
        carry = run(jaxpr, [*consts, *carry, *[element(x, i) for x in xs]])[: len(carry)]


@scan.rule("captures")
def captures_scan(args, params, captured):
    consts = captured["jaxpr"]
    return [*consts, *args], {**params, "consts": params["consts"] + len(consts)}


@scan.rule("lower")
def lower_scan(op, *names):
    """As a ``while`` over a counter: slices are read from the inputs, results written into arrays of their
    own.
    """
    closed = stage(lambda *args: scan_by_while(op, args), op.in_avals, "scan")
    return op.inline(closed.jaxpr, names)


def _unwritten(aval):
    """Zeros to write a stack of results into; of float0 too, which ``zeros.full`` knows as NumPy's only."""
    if aval.dtype != dtypes.float0:
        return zeros.full_of_type(aval, 0)
    stored = zeros.full_of_type(aval.physical, 0)
    return convert.convert_element_type(stored, new_dtype=dtypes.float0, weak_type=False)


def scan_by_while(op, args):
    """The loop that ``scan`` means."""
    jaxpr, length, reverse = op.params["jaxpr"], op.params["length"], op.params["reverse"]
    consts, carry, xs = parts_of_scan(op, args)
    n = len(carry)
    stacks = [_unwritten(ShapedArray((length, *a.shape), a.dtype)) for a in jaxpr.out_avals[n:]]
    if length == 0:
        return [*carry, *stacks]
    unroll = max(1, min(op.params.get("unroll", 1), length))
    while length % unroll:
        unroll -= 1
    counting = INDEX if length <= np.iinfo(INDEX).max else np.dtype("int64")
    state = [zeros.full_of_type(ShapedArray((), counting), 0), *carry, *stacks]
    held = [*consts, *xs]

    def step(*flat):
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
def body_scan(op, interpreter, args):
    consts, carry, xs = parts_of_scan(op, args)
    carry = bodies.entering(interpreter, carry)
    jaxpr = op.params["jaxpr"]
    const_leaves, const_structures = bodies.take_apart(interpreter, consts)
    scanned, slice_structures = [], []
    for x in xs:
        if type(x) is Tracer and x.interpreter is interpreter:
            payload, one = interpreter.sliced(x.payload)
            leaves, _ = tree.flatten(payload)
            scanned += leaves
            slice_structures.append(tree.structure(one))
        else:
            scanned.append(x)
            slice_structures.append(bodies.PLAIN)
    slice_avals = [_slice_aval(typeof(x)) for x in scanned]
    const_avals = [typeof(x) for x in const_leaves]
    n = len(carry)
    state_at = n - 1 if interpreter.threads else None

    def interpreted(structures, avals, outputs=None):
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
    stacks = tuple([s if s is bodies.PLAIN else _stacked(interpreter, s) for s in found[n:]])
    return bodies.put_together(interpreter, (*structures, *stacks), outs)


def _kept(op):
    return {name: op.params[name] for name in ("length", "reverse", "unroll") if name in op.params}


def _slice_aval(aval):
    return aval.without(0)


def _stacked(interpreter, structure):
    return tree.structure(interpreter.stacked(bodies.skeleton(structure)))


backward_scan = RuleTable(
    "backward_scan",
    doc="""(op, sums, *inputs) -> the outputs of the scan ``op`` of a backward pass, asked for when a scan is
    transposed. The first ``sums`` values that it carries are gradients of constants, which only grow: a rule
    may compute what they grow by in another way.
    """,
)


@scan.rule("transpose")
def transpose_scan(op, cts, *operands):
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
    sums = [zeros.full_of_type(c.aval.strong(), 0) for c in consts if type(c) is Linear]
    slices = [v.aval.strong() for v, lin in zip(jaxpr.invars, flags, strict=True) if lin]

    def back(*flat):
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


def _backwards(op, sums, inputs):
    """The scan of a backward pass, as a rule of a package has it, or as it is."""
    found = backward_scan.explain(scan)
    return op(*inputs) if found is None or found.source != "bridge" else found.rule(op, sums, *inputs)
