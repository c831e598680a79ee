"""Larger blocks for the CPU, where one operation on a large block is faster than many on small ones.

A dimension of the grid goes away where it moves along a dimension of blocks in which the kernel treats all
elements alike: elementwise operations, sums along other dimensions, products. The kernel stays the same, on
blocks that are as large as the array there.
"""

import dataclasses

import numpy as np
from rabbet.extend.passes import Equation, Jaxpr, Literal, Var
from rabbet.extend.primitive import ShapedArray

from rabbet_pallas.block_specs import Blocked, Squeezed
from rabbet_pallas.dimensions import Alike
from rabbet_pallas.grids import depends_on

OTHERWISE = -1
SHAPES = {"broadcast_in_dim": "shape", "iota": "shape", "reshape": "new_sizes"}


def widened(call):
    """A call with as few dimensions in its grid as can be."""
    for d in reversed(range(len(call.grid))):
        call = along(call, d) or call
    return call


def along(call, d):
    """The call without dimension ``d`` of its grid; None where that cannot be."""
    n, kernel = call.grid[d], call.kernel
    apart = not call.scratch or call.semantics[d] == "parallel"
    if not n or not apart or kernel.effects or uses(kernel, kernel.invars[d]):
        return None
    blocks = [*call.ins, *call.outs]
    places = [moves(b, d, n) for b in blocks]
    if OTHERWISE in places or None in places[len(call.ins) :]:
        return None
    first = len(call.grid) + call.computed + len(call.prefetch)
    states = kernel.invars[first : first + len(blocks)]
    seeds = {(v, axis_of(b, m)) for v, b, m in zip(states, blocks, places, strict=True) if m is not None}
    alike = Alike(kernel)
    wide = alike.classes(seeds)
    own = {(v, i) for v in kernel.invars[: first + len(blocks)] for i in range(v.aval.ndim)}
    if wide is None or any(alike.find(x) in wide for x in own - seeds):
        return None
    scaled = Scaled(alike, wide, n)
    made = scaled.program(kernel, d)
    if max([v.aval.size for e in made.equations for v in e.outputs], default=0) > largest(call):
        return None
    ins_outs = [
        without_id(b if m is None else whole(b, m, n), d) for b, m in zip(blocks, places, strict=True)
    ]
    room = zip(call.scratch, kernel.invars[first + len(blocks) :], strict=True)
    return dataclasses.replace(
        call,
        grid=(*call.grid[:d], *call.grid[d + 1 :]),
        semantics=(*call.semantics[:d], *call.semantics[d + 1 :]),
        ins=tuple(ins_outs[: len(call.ins)]),
        outs=tuple(ins_outs[len(call.ins) :]),
        scratch=tuple([dataclasses.replace(s, state=scaled(v).aval) for s, v in room]),
        kernel=made,
    )


def largest(call):
    """The size of the largest operand or result: nothing in the kernel may become larger."""
    return max([a.size for a in (*call.operands, *[b.array for b in call.outs])])


def uses(program, variable):
    """Whether a program reads an input."""
    return any(variable is v for e in program.equations for v in e.inputs) or variable in program.outvars


def moves(block, d, n):
    """Which dimension of an array goes through its blocks, all of them, as dimension ``d`` of the grid does;
    None where the block stays the same, ``OTHERWISE`` where it is otherwise.
    """
    index = block.index
    if not depends_on(index, [d]):
        return None
    found = [m for m, v in enumerate(index.outvars) if v is index.invars[d]]
    if len(found) != 1 or any(uses_id(index, v, d) for m, v in enumerate(index.outvars) if m != found[0]):
        return OTHERWISE
    dim = block.dims[found[0]]
    others = all(isinstance(x, (Blocked, Squeezed)) for x in block.dims)
    fits = isinstance(dim, Blocked) and n * dim.block_size == block.array.shape[found[0]]
    return found[0] if others and fits else OTHERWISE


def uses_id(index, variable, d):
    """Whether an output of an index map depends on id ``d``."""
    return depends_on(Jaxpr(index.invars, [variable], index.equations, [], index.effects, index.name), [d])


def axis_of(block, m):
    """Where dimension ``m`` of an array stands in the state of its block."""
    return sum(not isinstance(dim, Squeezed) for dim in block.dims[:m])


def whole(block, m, n):
    """A block that is as large as its array along a dimension."""
    index = block.index
    outvars = list(index.outvars)
    outvars[m] = Literal(np.int32(0), ShapedArray((), "int32"))
    index = Jaxpr(index.invars, outvars, index.equations, [], index.effects, index.name)
    dims = (*block.dims[:m], Blocked(n * block.dims[m].block_size), *block.dims[m + 1 :])
    return dataclasses.replace(block, dims=dims, index=index)


def without_id(block, d):
    """A block whose index map is not given id ``d``, on which it does not depend."""
    index = block.index
    zero = {index.invars[d]: Literal(np.int32(0), index.invars[d].aval)}
    put = lambda v: zero.get(v, v) if type(v) is Var else v
    equations = [Equation(e.op, [put(v) for v in e.inputs], e.outputs, e.where) for e in index.equations]
    invars = [v for i, v in enumerate(index.invars) if i != d]
    return dataclasses.replace(
        block, index=Jaxpr(invars, [put(v) for v in index.outvars], equations, [], index.effects, index.name)
    )


class Scaled:
    """Variables of a program with some dimensions ``n`` times as large."""

    def __init__(self, alike, wide, n):
        self.alike, self.wide, self.n, self.made = alike, wide, n, {}

    def shape(self, v):
        sizes = enumerate(v.aval.shape)
        return tuple([s * self.n if self.alike.find((v, i)) in self.wide else s for i, s in sizes])

    def __call__(self, v):
        if type(v) is not Var:
            return v
        if v not in self.made:
            self.made[v] = Var(v.aval.update(shape=self.shape(v)))
        return self.made[v]

    def equation(self, eqn):
        params, name = dict(eqn.params), eqn.primitive.name
        if name in SHAPES:
            params[SHAPES[name]] = self.shape(eqn.outputs[0])
        op = eqn.primitive.op(**params)
        return Equation(op, [self(v) for v in eqn.inputs], [self(v) for v in eqn.outputs], eqn.where)

    def program(self, jaxpr, d):
        """The program, without its input ``d``."""
        equations = [self.equation(e) for e in jaxpr.equations]
        invars = [self(v) for i, v in enumerate(jaxpr.invars) if i != d]
        return Jaxpr(invars, [self(v) for v in jaxpr.outvars], equations, [], jaxpr.effects, jaxpr.name)


__all__ = ["widened"]
