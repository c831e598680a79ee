"""Repeated blocks of a program become one function that is called several times.

What: a network written as a Python loop is one long list of equations, in which each layer stands again,
forward, backward and in the optimizer. Stretches with the same operators and types at a fixed distance are
found, cut where the fewest values cross, and become calls of one function that XLA:CPU keeps by itself
(``inlineable = "false"``). Numbers that differ from block to block become arguments; blocks within blocks are
found in the function.

Why: XLA fuses within one layer at most, and a reader of the module sees each layer once.

Measured (benchmarks/gpt_step.py, 12 layers, jaxlib 0.10.2, alternating in one process, processor time): of
4,973 equations 149 are left, in 30 ms; but XLA copies a function for each of its calls before it makes
machine code, so that compiling takes as long as without (3.27 s against 3.24 s), and what the backward pass
reads of the forward pass has to be kept in memory where functions end: the step takes 5 to 9% longer. So it
is off by default; ``enable_passes="outline"`` switches it on. The largest fused computation shrinks from 36
to 31 instructions.
"""

from typing import Any

from rabbet.extend.passes import Equation, Jaxpr, Var, bodies_of, effects_of
from rabbet.extend.primitive import Primitive

from rabbet_passes.repeated_sequences import repeats

SHORTEST = 12
FEWEST = 3
APART = '{mhlo.frontend_attributes = {inlineable = "false"}}'

outlined = Primitive(
    "outlined", lambda *avals, jaxpr: jaxpr.out_avals, kinds=("body",), multiple_results=True,
    doc="a call of a function that the compiler keeps by itself",
)  # fmt: skip


@outlined.rule("lower")
def lower_outlined(op, *names):
    return op.inline(op["jaxpr"], names)


@outlined.rule("lower:cpu")
def lower_outlined_on_cpu(op, *names):
    return op.call(op["jaxpr"], names, op["jaxpr"].name, attributes=APART)


def outline(jaxpr, context):
    """``jaxpr`` with its repeated blocks as functions; itself if there are none."""
    return outlined_blocks(jaxpr, "block")


def outlined_blocks(jaxpr, name):
    equations = jaxpr.equations
    if len(equations) < SHORTEST * FEWEST:
        return jaxpr
    keys = [key_of(eqn) for eqn in equations]
    found = repeats(keys, SHORTEST, FEWEST)
    if not found:
        return jaxpr
    uses = uses_of(jaxpr)
    groups = {}
    for one in found:
        for group in groups_of(equations, one, uses):
            groups[group[0]] = group
    if not groups:
        return jaxpr
    result = []
    i = n = 0
    while i < len(equations):
        if i in groups:
            start, period, count = groups[i]
            result += calls(equations, start, period, count, uses, f"{name}_{n}")
            n += 1
            i = start + period * count
        else:
            result.append(equations[i])
            i += 1
    return Jaxpr(jaxpr.invars, jaxpr.outvars, result, jaxpr.constvars, jaxpr.effects, jaxpr.name)


# ------------------------------------------------------------------------------------------ what is equal
def key_of(eqn):
    """What two equations share that do the same to values of the same types; None: not to be moved."""
    op = eqn.op
    if op.primitive.special:
        if effects_of(op):
            return None
        op = op_key(op)
    return (op, *[v.aval for v in eqn.inputs])


def op_key(op):
    """A key of an operator with bodies, equal for equal bodies."""
    bodies = dict(bodies_of(op))
    params = tuple([(k, v) for k, v in op.params.items() if k not in bodies and f"{k}[0]" not in bodies])
    key = (
        op.primitive,
        params,
        tuple([body.once("outline", lambda b=body: body_key(b)) for body in bodies.values()]),
    )
    try:
        hash(key)
    except TypeError:
        return op
    return key


def body_key(jaxpr):
    """Equal for programs that are the same but for the names of their variables."""
    numbers = {v: i for i, v in enumerate((*jaxpr.constvars, *jaxpr.invars))}

    def atom(v):
        return numbers[v] if type(v) is Var else literal_key(v)

    lines = []
    for eqn in jaxpr.equations:
        op = op_key(eqn.op) if eqn.op.primitive.special else eqn.op
        lines.append((op, *[atom(v) for v in eqn.inputs]))
        for v in eqn.outputs:
            numbers[v] = len(numbers)
    return (jaxpr.in_avals, tuple(lines), tuple([atom(v) for v in jaxpr.outvars]))


def literal_key(v):
    """Equal for literals that are the same number to the last bit."""
    return (type(v.value), repr(v.value), v.aval)


def uses_of(jaxpr):
    """For each variable the indices of the equations that read it; outputs are read at the end."""
    uses = {}
    for i, eqn in enumerate(jaxpr.equations):
        for v in eqn.inputs:
            if type(v) is Var:
                uses.setdefault(v, []).append(i)
    for v in jaxpr.outvars:
        if type(v) is Var:
            uses.setdefault(v, []).append(len(jaxpr.equations))
    return uses


# ---------------------------------------------------------------------------------------- where to cut
def groups_of(equations, repeat, uses):
    """(start, period, count) of the blocks of a repeat that are wired alike, cut where the least crosses."""
    start, period, count, slack = repeat
    # Where the blocks begin is free; each possible cut is judged within the second block.
    cut = cheapest_cut(equations, start + period, period, uses) - period
    count = (start + period * count + slack - cut) // period
    groups = []
    first, signature = cut, None
    for k in range(count + 1):
        here = cut + k * period
        now = wiring(equations[here : here + period]) if k < count else None
        if signature is not None and now != signature:
            if here - first >= FEWEST * period:
                groups.append((first, period, (here - first) // period))
            first = here
        signature = now
    return groups


def cheapest_cut(equations, start, period, uses):
    """The index in ``start .. start + period`` at which the fewest bytes are handed from before to after.

    Values that live longer than a block are the same wherever it begins.
    """
    weight = [0] * (period + 1)
    for i in range(start - period, start + period):
        for v in equations[i].outputs:
            near = [u for u in uses.get(v, ()) if u <= i + period]
            if near:
                size = v.aval.size
                lo, hi = max(i + 1, start), min(near[-1], start + period - 1)
                if lo <= hi:
                    weight[lo - start] += size
                    weight[hi - start + 1] -= size
    best, total = None, 0
    for k in range(period):
        total += weight[k]
        if best is None or total < best:
            best, at = total, start + k
    return at


def wiring(block):
    """Which inputs of a block's equations are its own values, and which outer values are the same."""
    own, outer = {}, {}
    lines = []
    for eqn in block:
        for v in eqn.inputs:
            if type(v) is Var:
                lines.append(own[v] if v in own else -1 - outer.setdefault(v, len(outer)))
        for v in eqn.outputs:
            own[v] = len(own)
    return lines


# ----------------------------------------------------------------------------------- writing the function
def calls(equations, start, period, count, uses, name):
    """The equations that call one function ``count`` times in the place of the blocks."""
    blocks = [equations[start + k * period : start + (k + 1) * period] for k in range(count)]
    end = start
    needed = set()
    for block in blocks:
        end += period
        place = 0
        for eqn in block:
            for v in eqn.outputs:
                if uses.get(v, (0,))[-1] >= end:
                    needed.add(place)
                place += 1
    varying = varying_literals(blocks)
    body = function_of(blocks[0], sorted(needed), varying, name)
    op = outlined.op(jaxpr=body)
    result = []
    for block in blocks:
        outputs = [v for eqn in block for v in eqn.outputs]
        outs = [outputs[i] for i in sorted(needed)]
        result.append(Equation(op, arguments(block, varying), outs, block[0].where))
    return result


def varying_literals(blocks):
    """The places of literals (counted through a block) that are not the same number in every block."""
    rows = [[literal_key(v) for eqn in block for v in eqn.inputs if type(v) is not Var] for block in blocks]
    return {i for i, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1}


def arguments(block, varying):
    """What a block reads from outside, in the order of first use: variables once, varying literals each."""
    own: set[Any] = set()
    given: dict[Any, Any] = {}
    literals = 0
    for eqn in block:
        for v in eqn.inputs:
            if type(v) is not Var:
                if literals in varying:
                    given[literals] = v
                literals += 1
            elif v not in own:
                given[v] = v
        own.update(eqn.outputs)
    return list(given.values())


def function_of(block, needed, varying, name):
    """A program of one block: its arguments as ``arguments`` lists them, its results those ``needed``."""
    new, literals = {}, 0
    invars, equations, outputs = [], [], []

    def parameter(aval):
        invars.append(Var(aval))
        return invars[-1]

    for eqn in block:
        inputs = []
        for v in eqn.inputs:
            if type(v) is not Var:
                inputs.append(parameter(v.aval) if literals in varying else v)
                literals += 1
                continue
            if v not in new:
                new[v] = parameter(v.aval)
            inputs.append(new[v])
        outs = [Var(v.aval) for v in eqn.outputs]
        new.update(zip(eqn.outputs, outs, strict=True))
        outputs += outs
        equations.append(Equation(eqn.op, inputs, outs, eqn.where))
    body = Jaxpr(invars, [outputs[i] for i in needed], equations, (), None, name)
    return outlined_blocks(body, name)
