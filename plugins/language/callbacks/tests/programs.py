"""Compiled functions, by core alone."""

from rabbet import tree
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.passes import consts_as_inputs, stage
from rabbet.extend.primitive import call_op
from rabbet.extend.transform import typeof


def jit(f):
    """A compiled function, by core alone."""

    def call(*args):
        treedef = None

        def flat(*inner):
            nonlocal treedef
            outs, treedef = tree.flatten(f(*inner))
            return outs

        closed = stage(flat, [typeof(a) for a in args])
        operands = [*closed.consts, *[array_or_tracer(a) for a in args]]
        return tree.unflatten(treedef, call_op(consts_as_inputs(closed), "f")(*operands))

    return call
