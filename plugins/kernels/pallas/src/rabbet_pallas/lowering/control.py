"""Branches and loops in the dialect ``scf``; states stay where they are."""

from rabbet.extend.passes import Literal
from rabbet.extend.rules import counted

from rabbet_pallas.lowering.kernel_function import Rules, is_state

RULES = Rules()


@RULES.of("cond")
def branch(walker, equation, index, *operands):
    branches = equation.op.params["branches"]
    integer = str(equation.inputs[0].aval.dtype) != "bool"
    return choose(walker, equation, index, operands, list(branches), integer, 0)


def choose(walker, equation, index, operands, branches, integer, first):
    """One of the branches, by tests one after the other."""
    if len(branches) == 1:
        return walker.program(branches[0], operands)
    if not integer:
        no, yes = branches
        return one_of_two(
            walker,
            equation,
            index,
            lambda: walker.program(yes, operands),
            lambda: walker.program(no, operands),
        )
    # an index beyond the branches is the last
    test = walker.emit(f"arith.cmpi sle, {index}, {walker.i32(first)} : i32")
    rest = lambda: choose(walker, equation, index, operands, branches[1:], integer, first + 1)
    return one_of_two(walker, equation, test, lambda: walker.program(branches[0], operands), rest)


def one_of_two(walker, equation, test, yes, no):
    """``scf.if`` with what two functions write; a list of the results."""
    with walker.apart() as then:
        first = yes()
    with walker.apart() as otherwise:
        second = no()
    carried = [i for i, x in enumerate(first) if not is_state(x)]
    if any(is_state(a) and a is not b for a, b in zip(first, second, strict=True)):
        walker.refuse("branches that end with different references", "the same in each")
    types = ", ".join([walker.type(equation.outputs[i].aval) for i in carried])
    names, head = results(walker, len(carried))
    walker.line(f"{head}scf.if {test}{f' -> ({types})' if carried else ''} {{")
    walker.lines += then
    yields(walker, [first[i] for i in carried], types)
    walker.line("} else {")
    walker.lines += otherwise
    yields(walker, [second[i] for i in carried], types)
    walker.line("}")
    given = iter(names)
    return [x if is_state(x) else next(given) for x in first]


def results(walker, n):
    """Names for the results of an operation, and the text before it."""
    if not n:
        return [], ""
    base = walker.fresh()
    return [base] if n == 1 else [f"{base}#{i}" for i in range(n)], f"{base}{f':{n}' if n > 1 else ''} = "


def yields(walker, names, types):
    if names:
        walker.line(f"  scf.yield {', '.join(names)} : {types}")


@RULES.of("scan")
def scan(walker, equation, *operands):
    params = equation.op.params
    body, consts, carry = params["jaxpr"], params["consts"], params["carry"]
    if len(operands) > consts + carry or len(equation.outputs) > carry:
        walker.refuse(
            "lax.scan over arrays",
            "lax.fori_loop, which reads from references and writes to them at its index",
        )
    length, held, init = params["length"], list(operands[:consts]), list(operands[consts:])
    if params["unroll"] >= length:
        for _ in range(length):
            init = walker.program(body, [*held, *init])
        return init
    counters = {k: equation.inputs[consts + k] for k in range(carry) if counts(body, consts + k, k)}

    def once(i, carried):
        given = [
            index_plus(walker, i, counters[k], init[k]) if k in counters else x for k, x in enumerate(carried)
        ]
        return walker.program(body, [*held, *given])

    outs = loop(walker, equation, walker.i32(0), walker.i32(length), walker.i32(1), init, once, set(counters))
    for k, variable in counters.items():
        if type(variable) is Literal:
            outs[k] = walker.i32(int(variable.value) + length)
        else:
            outs[k] = walker.emit(f"arith.addi {init[k]}, {walker.i32(length)} : i32")
    return outs


def counts(body, place, k):
    """Whether a carried i32 is what counts the rounds: one more in each."""
    counter = body.invars[place]
    if str(counter.aval.dtype) != "int32" or counter.aval.shape:
        return False
    for step in body.equations:
        if body.outvars[k] in step.outputs:
            plus = step.op.primitive.name == "add" and step.inputs[0] is counter
            return plus and type(step.inputs[1]) is Literal and int(step.inputs[1].value) == 1
    return False


def index_plus(walker, i, variable, first):
    if type(variable) is Literal and int(variable.value) == 0:
        return i
    return walker.emit(f"arith.addi {i}, {first} : i32")


@RULES.of("while")
def repeat(walker, equation, *operands):
    params = equation.op.params
    found = counted(equation.op)
    consts, held = params["cond_consts"], params["body_consts"]
    before, init = list(operands[consts : consts + held]), list(operands[consts + held :])
    body = params["body_jaxpr"]
    if found is None or str(equation.outputs[found.counter].aval.dtype) != "int32":
        return general(walker, equation, operands)
    bound = found.bound
    stop = walker.constant(bound.value, bound.aval) if type(bound) is Literal else operands[bound]
    # Besides the counter, what is the same after each round needs not be carried.
    stays = {k for k in range(len(init)) if body.outvars[k] is body.invars[held + k]}

    def once(i, carried):
        given = [i if k == found.counter else init[k] if k in stays else x for k, x in enumerate(carried)]
        return walker.program(body, [*before, *given])

    first, step = init[found.counter], walker.i32(found.step)
    outs = loop(walker, equation, first, stop, step, init, once, {found.counter, *stays})
    # The counter after the loop: the first value that is not less than the bound.
    outs[found.counter] = after(walker, first, stop, found.step)
    return outs


def after(walker, first, stop, step):
    """What a counter is after its loop."""
    apart = walker.emit(f"arith.subi {stop}, {first} : i32")
    up = walker.emit(f"arith.addi {apart}, {walker.i32(step - 1)} : i32")
    rounds = up if step == 1 else walker.emit(f"arith.divsi {up}, {walker.i32(step)} : i32")
    rounds = walker.emit(f"arith.maxsi {rounds}, {walker.i32(0)} : i32")
    far = walker.emit(f"arith.muli {rounds}, {walker.i32(step)} : i32")
    return walker.emit(f"arith.addi {first}, {far} : i32")


def loop(walker, equation, start, stop, step, init, once, fixed):
    """``scf.for`` around what ``once(index, carried)`` writes; its results, ``fixed`` ones as they were."""
    carried = [k for k, x in enumerate(init) if not is_state(x) and k not in fixed]
    types = [walker.type(equation.outputs[k].aval) for k in carried]
    names, head = results(walker, len(carried))
    index, inner = walker.fresh(), [walker.fresh() for _ in carried]
    places = dict(zip(carried, inner, strict=True))
    with walker.apart() as lines:
        outs = once(index, [places.get(k, x) for k, x in enumerate(init)])
    pairs = ", ".join([f"{n} = {init[k]}" for n, k in zip(inner, carried, strict=True)])
    args = f" iter_args({pairs}) -> ({', '.join(types)})" if carried else ""
    walker.line(f"{head}scf.for {index} = {start} to {stop} step {step}{args} : i32 {{")
    walker.lines += lines
    yields(walker, [outs[k] for k in carried], ", ".join(types))
    walker.line("}")
    found = dict(zip(carried, names, strict=True))
    return [found.get(k, x) for k, x in enumerate(init)]


def general(walker, equation, operands):
    """A ``while`` that does not count."""
    params = equation.op.params
    consts, held = params["cond_consts"], params["body_consts"]
    tests, before, init = operands[:consts], operands[consts : consts + held], list(operands[consts + held :])
    carried = [k for k, x in enumerate(init) if not is_state(x)]
    types = ", ".join([walker.type(equation.outputs[k].aval) for k in carried])
    names, head = results(walker, len(carried))
    one, other = [walker.fresh() for _ in carried], [walker.fresh() for _ in carried]
    replaced = lambda names: [dict(zip(carried, names, strict=True)).get(k, x) for k, x in enumerate(init)]
    with walker.apart() as condition:
        (test,) = walker.program(params["cond_jaxpr"], [*tests, *replaced(one)])
    with walker.apart() as body:
        outs = walker.program(params["body_jaxpr"], [*before, *replaced(other)])
    pairs = ", ".join([f"{n} = {init[k]}" for n, k in zip(one, carried, strict=True)])
    walker.line(f"{head}scf.while ({pairs}) : ({types}) -> ({types}) {{")
    walker.lines += condition
    walker.line(
        f"  scf.condition({test}) {', '.join(one)} : {types}" if carried else f"  scf.condition({test})"
    )
    walker.line("} do {")
    heads = ", ".join(
        [f"{n}: {walker.type(equation.outputs[k].aval)}" for n, k in zip(other, carried, strict=True)]
    )
    walker.line(f"^bb0({heads}):")
    walker.lines += body
    walker.line(
        f"  scf.yield {', '.join([outs[k] for k in carried])} : {types}" if carried else "  scf.yield"
    )
    walker.line("}")
    return replaced(names)


__all__ = ["RULES", "loop", "one_of_two"]
