"""The last dimension of a grid written out on the CPU, where programs along it work on one block in turn.

A kernel that sums up over its last dimension says in branches what its first and its last program do. Where
there are few of them, each gets a program of its own, in which its number is known: the branches are gone,
blocks are cut out where all but that number is known, and scratch that the first program fills need not be
carried from one block to the next. The order of operations stays.
"""

import dataclasses
import operator

import numpy as np
from rabbet import lax
from rabbet.extend.passes import Equation, Jaxpr, Literal, Var, bodies_of, evaluate, stage

from rabbet_pallas import merged_products
from rabbet_pallas.grids import depends_on
from rabbet_pallas.lowering.state_uses import uses_of

MOST_PROGRAMS, MOST_EQUATIONS = 8, 200  # more of either were not faster, and took longer to compile
MOST_TRIED = 64, 1000  # where their products may become one
KNOWN = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "add": operator.add, "sub": operator.sub, "mul": operator.mul, "max": max, "min": min,
}  # fmt: skip
LOGICAL = {"bitwise_and": operator.and_, "bitwise_or": operator.or_}


def peeled(call):
    """A call without the last dimension of its grid, and which of the old operands in blocks each new one is;
    ``(call, None)`` where that cannot be.
    """
    d, kernel = len(call.grid) - 1, call.kernel
    if d < 0 or call.aliases or kernel.effects or not worth(call):
        return call, None
    n = call.grid[d]
    order, ins, numbers = [], [], []
    for i, block in enumerate(call.ins):
        several = n if depends_on(block.index, [d]) else 1
        numbers.append([len(ins) + (k if several > 1 else 0) for k in range(n)])
        for k in range(several):
            index = specialised(block.index, {block.index.invars[d]: k})
            ins.append(dataclasses.replace(block, index=index))
            order.append(i)
    made, scratch = written_out(call, n, numbers, [b.state for b in ins])
    one = merged_products.merged(call, made, d + call.computed + len(call.prefetch), ins, numbers)
    if one is not None:
        made, ins, order = one
    if size(made) > MOST_EQUATIONS or (one is None and n > MOST_PROGRAMS):
        return call, None
    outs = [
        dataclasses.replace(b, index=specialised(b.index, {b.index.invars[d]: 0})) for b in call.outs
    ]
    call = dataclasses.replace(
        call, grid=call.grid[:d], semantics=call.semantics[:d], ins=tuple(ins), outs=tuple(outs),
        scratch=scratch, kernel=made,
    )  # fmt: skip
    return call, order


def worth(call):
    """Whether few programs ask for their number, and none changes which block a result is."""
    d, kernel = len(call.grid) - 1, call.kernel
    n, number = call.grid[d], call.kernel.invars[len(call.grid) - 1]
    programs, equations = MOST_TRIED if has_products(kernel) else (MOST_PROGRAMS, MOST_EQUATIONS)
    if not isinstance(n, int) or not 2 <= n <= programs:
        return False
    if any(depends_on(b.index, [d]) for b in call.outs) or n * size(kernel) > equations:
        return False
    return any(number is v for e in kernel.equations for v in e.inputs)


def has_products(program):
    """Whether there is a product in a program, or within it."""
    within = [body for e in program.equations for _, body in bodies_of(e.op)]
    return any(e.primitive.name == "dot_general" for e in program.equations) or any(map(has_products, within))


def size(program):
    """How many equations a program has, with those within."""
    return sum([1 + sum([size(body) for _, body in bodies_of(e.op)]) for e in program.equations])


def written_out(call, n, numbers, states):
    """The kernels of all programs one after the other, and the scratch that they leave to the next block."""
    kernel, rank = call.kernel, len(call.grid)
    first = rank + call.computed + len(call.prefetch)
    last = first + len(call.ins)
    programs = [specialised(kernel, {kernel.invars[rank - 1]: k}) for k in range(n)]
    before = [*kernel.invars[: rank - 1], *kernel.invars[rank:first]]
    after = kernel.invars[last:]

    def whole(*args):
        head, blocks = args[: len(before)], args[len(before) : len(before) + len(states)]
        rest = args[len(before) + len(states) :]
        for k, program in enumerate(programs):
            mine = [blocks[found[k]] for found in numbers]
            rest = evaluate(program, [*head, *mine, *rest])
        return list(rest)

    avals = [*[v.aval for v in before], *states, *[v.aval for v in after]]
    made = stage(whole, avals, kernel.name).jaxpr
    place = len(before) + len(states) + len(call.outs)
    own = [fills_first(made, v) for v in made.invars[place:]]
    kept = tuple([s for s, is_own in zip(call.scratch, own, strict=True) if not is_own])

    def without_own(*args):
        given = iter(args[place:])
        room = zip(call.scratch, own, strict=True)
        filled = [lax.full(s.state.shape, 0, s.state.dtype) if is_own else next(given) for s, is_own in room]
        found = evaluate(made, [*args[:place], *filled])
        left = zip(found[len(call.outs) :], own, strict=True)
        return [*found[: len(call.outs)], *[x for x, is_own in left if not is_own]]

    if not any(own):
        return made, kept
    avals = [*avals[:place], *[s.state for s in kept]]
    return stage(without_own, avals, kernel.name).jaxpr, kept


def fills_first(program, state):
    """Whether all of a state is written before it is read."""
    uses = uses_of(program, state)
    return bool(uses) and uses[0].name == "store" and uses[0].everything and not uses[0].guarded


def specialised(jaxpr, known):
    """A program without some of its inputs, whose numbers are known: what follows from them is computed."""
    env = {v: Literal(np.int32(k), v.aval) for v, k in known.items()}
    invars = [v for v in jaxpr.invars if v not in known]
    equations = []
    outvars = inlined(jaxpr, env, equations)
    return Jaxpr(invars, outvars, equations, [], jaxpr.effects, jaxpr.name)


def inlined(jaxpr, env, equations):
    """Append a program's equations with new variables; what its outputs are."""
    read = lambda v: env.get(v, v) if type(v) is Var else v
    for e in jaxpr.equations:
        inputs, name = [read(v) for v in e.inputs], e.op.primitive.name
        literal = [type(v) is Literal for v in inputs]
        if name == "cond" and literal[0]:
            branches = e.op.params["branches"]
            chosen = branches[min(max(int(inputs[0].value), 0), len(branches) - 1)]
            inner = dict(zip(chosen.invars, inputs[1:], strict=True))
            env.update(zip(e.outputs, inlined(chosen, inner, equations), strict=True))
            continue
        value = computed(name, e, inputs) if all(literal) and inputs else None
        if value is not None:
            env[e.outputs[0]] = Literal(value, e.outputs[0].aval)
            continue
        outputs = [Var(v.aval) for v in e.outputs]
        env.update(zip(e.outputs, outputs, strict=True))
        equations.append(Equation(e.op, inputs, outputs, e.where))
    return [read(v) for v in jaxpr.outvars]


def computed(name, equation, inputs):
    """What an operation on known integers is, or None."""
    if any(v.aval.shape or str(v.aval.dtype) not in ("int32", "bool") for v in (*inputs, *equation.outputs)):
        return None
    out = np.dtype(str(equation.outputs[0].aval.dtype)).type
    values = [int(v.value) for v in inputs]
    if name == "convert_element_type":
        return out(values[0])
    function = KNOWN.get(name) or (LOGICAL.get(name) if out is np.bool_ else None)
    found = function(*values) if function and len(values) == 2 else None
    return None if found is None or abs(found) >= 1 << 31 else out(found)


__all__ = ["peeled"]
