"""The primitive ``inspect_sharding``: a function is told how a value within a program lies.

In a program over several devices the compiler decides that, and tells it while it compiles. On one device
there is nothing to decide, and the function is called when the program gets there.
"""

import numpy as np
from rabbet import lax, tree
from rabbet.extend.dtype import lowers_stored
from rabbet.extend.passes import stage
from rabbet.extend.primitive import Effect, Primitive, write_python_call
from rabbet.extend.sharding import TiledSharding
from rabbet.extend.transform import Tracer

EFFECT = Effect("debug", False, observes=True)

inspect_sharding = Primitive(
    "inspect_sharding", lambda aval, callback: (), multiple_results=True, effects=lambda **params: [EFFECT],
    doc="a function that is told how a value lies over devices",
)  # fmt: skip


class Told:
    """The user's function as a parameter of the primitive."""

    # An operator with such a parameter is not kept with its primitive: that would keep the user's closures.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, function):
        self.function = function

    def of(self, arrays):
        """Tell it of an array that is there."""
        self.function(arrays[0].sharding)
        return []


@inspect_sharding.rule("evaluate")
def evaluate_inspection(op, x):
    return op.params["callback"].of([x])


@inspect_sharding.rule("lower")
def lower_inspection(op, name):
    callback, (aval,) = op["callback"], op.in_avals
    if not op.is_cut_up or op.like is None:
        return write_python_call(op, callback.of, [name], EFFECT)
    target, attributes = op.partitioner(Inspected(callback.function, aval, op.like))
    # Without a side effect nothing would keep a call whose result nobody reads.
    text = f"stablehlo.custom_call {target}({name}) {{has_side_effect = true, {attributes}}} "
    op.emit(f"{text}: ({aval.mlir}) -> tensor<i1>")
    return []


inspect_sharding.rule("extended")(lowers_stored)


@inspect_sharding.rule("jvp")
def jvp_inspection(op, dual):
    return op(dual.primal)


@inspect_sharding.rule("batch")
def batch_inspection(op, operand):
    """How the examples lie together."""
    return op(operand.value)


@inspect_sharding.rule("body")
def body_inspection(op, interpreter, args):
    (x,) = args
    if type(x) is Tracer and x.interpreter is interpreter:
        x = interpreter.observed(x.payload)
    for leaf in tree.leaves(x):
        op(leaf)
    return []


class Inspected:
    """What the compiler asks of the call: see ``Site.partitioner``. The answer is that all may stay."""

    def __init__(self, function, aval, like):
        self.function, self.aval, self.like = function, aval, like

    def __call__(self, ins, outs):
        ((counts, parts),) = ins
        tiles = counts[: self.aval.ndim], parts[:, : self.aval.ndim]
        sharding = self.like.like(*tiles)
        self.function(TiledSharding(self.like.group, *tiles) if sharding is None else sharding)
        sizes = [n // count for n, count in zip(self.aval.physical.shape, counts, strict=True)]
        part = self.aval.physical.update(shape=tuple(sizes), spread=None)
        nothing = stage(lambda x: [lax.full((), False)], [part], "inspect_sharding").jaxpr
        return nothing, None, ins, [((), np.zeros((len(parts), 0), int))]


__all__ = ["Told", "inspect_sharding"]
