"""Products that a kernel sums up over the last dimension of its grid, as one product on the CPU.

``x[:, 0] @ y[0] + x[:, 1] @ y[1] + ...``, where the blocks are all there is of two arrays, is ``x @ y``: one
product reads its operands once and writes its result once. The order of sums is then the product's own, as it
is within each of the smaller ones. Sums in half precision are left as they are, because they round each time.
"""

import collections

from rabbet.extend.passes import Equation, Jaxpr, Var

from rabbet_pallas.memory import load
from rabbet_pallas.reference_parts import WHOLE
from rabbet_pallas.wider_blocks import OTHERWISE, axis_of, moves, whole, without_id

SUMMED = {"float32", "float64", "complex64", "complex128", "int32", "int64", "uint32", "uint64"}


class Products:
    """Sums of products in a program whose last grid dimension was written out.

    Args:
      call: the call with that dimension.
      program: what was made of its kernel; its inputs from ``first`` on are the states of blocks.
      first: a number.
      numbers: ``numbers[i][k]`` is which of those states the program ``k`` had of the call's block ``i``.
    """

    def __init__(self, call, program, first, numbers):
        self.call, self.d, self.n = call, len(call.grid) - 1, call.grid[-1]
        self.places = [moves(b, self.d, self.n) for b in call.ins]
        of = {program.invars[first + j]: (i, k) for i, ks in enumerate(numbers) for k, j in enumerate(ks)}
        self.source = {v: ik for v, ik in of.items() if self.places[ik[0]] not in (None, OTHERWISE)}
        self.program = tidied(program)
        self.made = {e.outputs[0]: e for e in self.program.equations}
        read = [v for e in self.program.equations for v in e.inputs if type(v) is Var]
        self.uses = collections.Counter([*read, *self.program.outvars])
        self.states = {}  # by number of a block: the block that is all of them, and its state

    def block(self, v):
        """Which block a value is, and of which program, if it is one of those that go along."""
        e = self.made.get(v) if type(v) is Var else None
        return self.source.get(e.inputs[0]) if e and e.primitive.name == "load" and is_whole(e) else None

    def product(self, v):
        """``(x, y, k, equation)`` of a product along the dimension that goes through the blocks, or None."""
        e = self.made.get(v) if type(v) is Var and self.uses[v] == 1 else None
        if e is None or e.primitive.name != "dot_general" or str(v.aval.dtype) not in SUMMED:
            return None
        found = [self.block(x) for x in e.inputs]
        if None in found or found[0][1] != found[1][1]:
            return None
        axes = [(axis_of(self.call.ins[i], self.places[i]),) for i, _ in found]
        if axes != [tuple(c) for c in e.params["dimension_numbers"][0]]:
            return None
        return found[0][0], found[1][0], found[0][1], e

    def equations(self):
        """The program's equations, with one product for each sum of all."""
        sums, equations = {}, []
        for e in self.program.equations:
            equations.append(e)
            if e.primitive.name != "add":
                continue
            for before, last in (e.inputs, e.inputs[::-1]):
                new = self.product(last)
                if new is None:
                    continue
                start, terms = self.sum_before(before, sums)
                if terms and not alike(terms[-1], new):
                    start, terms = before, []
                sums[e.outputs[0]] = start, [*terms, new]
                if [k for _, _, k, _ in (*terms, new)] == list(range(self.n)):
                    equations[-1:] = self.one(e, start, new)
                break
        return equations

    def sum_before(self, v, sums):
        """Where the sum that a value is begins, None for nothing, and its products."""
        if type(v) is Var and self.uses[v] == 1 and v in sums:
            return sums[v]
        begun = self.product(v)
        return (None, [begun]) if begun else (v, [])

    def one(self, e, start, like):
        """The equations of one product beside ``start``, which make what ``e`` makes."""
        x, y, _, product = like
        equations, operands = [], []
        for i, old in zip((x, y), product.inputs, strict=True):
            if i not in self.states:
                wide = without_id(whole(self.call.ins[i], self.places[i], self.n), self.d)
                self.states[i] = wide, Var(wide.state)
            wide, state = self.states[i]
            value = Var(old.aval.update(shape=wide.state.shape))
            equations.append(Equation(load.op(place=WHOLE), [state], [value], product.where))
            operands.append(value)
        if start is None:
            return [*equations, Equation(product.op, operands, e.outputs, product.where)]
        result = Var(product.outputs[0].aval)
        last = Equation(e.op, [start, result], e.outputs, e.where)
        return [*equations, Equation(product.op, operands, [result], product.where), last]


def merged(call, program, first, ins, numbers):
    """The program with each such sum as one product, and its blocks.

    Returns:
      the program, its blocks, and which block of the call's each is; None where there is no such sum.
    """
    products = Products(call, program, first, numbers)
    equations = products.equations()
    if not products.states:
        return None
    of = {j: i for i, ks in enumerate(numbers) for j in ks}
    new = [block for block, _ in products.states.values()]
    blocks, order = [*ins, *new], [*[of[j] for j in range(len(ins))], *products.states]
    end = first + len(ins)
    states = [*program.invars[first:end], *[v for _, v in products.states.values()]]
    short = tidied(Jaxpr(program.invars, products.program.outvars, equations, [], frozenset(), program.name))
    read = {v for e in short.equations for v in e.inputs if type(v) is Var} | set(short.outvars)
    keep = [j for j, v in enumerate(states) if v in read]
    invars = [*program.invars[:first], *[states[j] for j in keep], *program.invars[end:]]
    short = Jaxpr(invars, short.outvars, short.equations, [], program.effects, program.name)
    return short, [blocks[j] for j in keep], [order[j] for j in keep]


def alike(one, other):
    """Whether two products are of the same arrays, in the same way."""
    return one[:2] == other[:2] and one[3].params == other[3].params


def is_whole(equation):
    """Whether a load or store is of all of a reference."""
    return equation.params["place"] == WHOLE and not equation.params.get("masked", False)


def tidied(program):
    """A program in which what was stored is not read back, and without what nothing asks for.

    It has no effects.
    """
    env, holds, below, equations = {}, {}, {}, []
    read = lambda v: env.get(v, v) if type(v) is Var else v
    for e in program.equations:
        inputs, name = [read(v) for v in e.inputs], e.primitive.name
        if name in ("load", "store") and is_whole(e):
            if name == "load" and inputs[0] in holds:
                env[e.outputs[0]] = holds[inputs[0]]
                continue
            if name == "store":
                inputs[0] = below.get(inputs[0], inputs[0])  # all of it is replaced
                below[e.outputs[0]] = inputs[0]
                if same_type(inputs[1], e.outputs[0]):
                    holds[e.outputs[0]] = inputs[1]
        equations.append(Equation(e.op, inputs, e.outputs, e.where))
    outvars = [read(v) for v in program.outvars]
    needed, kept = {v for v in outvars if type(v) is Var}, []
    for e in reversed(equations):
        if any(v in needed for v in e.outputs):
            kept.append(e)
            needed.update([v for v in e.inputs if type(v) is Var])
    return Jaxpr(program.invars, outvars, kept[::-1], [], program.effects, program.name)


def same_type(v, w):
    return (v.aval.shape, v.aval.dtype) == (w.aval.shape, w.aval.dtype)


__all__ = ["merged"]
