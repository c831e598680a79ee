"""The primitives ``pure_callback``, ``io_callback`` and ``debug_callback``: Python called by a program.

Called on arrays they call Python directly, by their ``evaluate`` rule; compiled, the program calls it
through the runtime. Both ways the results are checked before anybody reads their bytes.
"""

from rabbet import lax, tree
from rabbet.errors import RefusedError
from rabbet.extend.dtype import lowers_stored
from rabbet.extend.functions import is_evaluating
from rabbet.extend.primitive import (
    Batched,
    Effect,
    Primitive,
    full_of_type,
    move_axis,
    new_axis,
    write_python_call,
)
from rabbet.extend.transform import Tracer, refusing, typeof

VMAP_METHODS = (
    "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized",
)  # fmt: skip


# ------------------------------------------------------------------------------------ the three primitives
def callback_avals(*avals, callback, out_avals, **params):
    return out_avals


def io_effect(ordered=False, **params):
    return [Effect("io", ordered)]


def debug_effect(ordered=False, **params):
    return [Effect("debug", ordered, observes=True)]


pure_callback = Primitive(
    "pure_callback", callback_avals, multiple_results=True, doc="what a pure Python function returns"
)
io_callback = Primitive(
    "io_callback", callback_avals, multiple_results=True, effects=io_effect,
    doc="what a Python function returns that also does something",
)  # fmt: skip
debug_callback = Primitive(
    "debug_callback", lambda *avals, callback, ordered, partitioned=False: (), multiple_results=True,
    effects=debug_effect,
    doc="a Python function called on values, without results",
)  # fmt: skip


def evaluate_callback(op, *arrays):
    return op.params["callback"].call(arrays, op.params.get("out_avals", ()))


def lower_callback(op, *names):
    callback, out_avals = op["callback"], tuple(op.out_avals)
    (effect,) = op.primitive.effects_of(op.params) or (None,)
    function = lambda arrays: callback.call(arrays, out_avals)
    return write_python_call(
        op, function, names, effect, callback.device, partitioned=op.params.get("partitioned", False)
    )


def uncut(op, *operands):
    """Of axes of type ``Explicit``: the function gets whole arrays, and what it returns is whole."""
    return [(None,) * aval.ndim for aval in op.params.get("out_avals", ())]


for _primitive in (pure_callback, io_callback, debug_callback):
    _primitive.rule("evaluate")(evaluate_callback)
    _primitive.rule("lower")(lower_callback)
    _primitive.rule("extended")(lowers_stored)
    _primitive.rule("explicit")(uncut)
    _primitive.rule("transpose")(refusing("a Python function cannot be transposed"))

for _primitive in (pure_callback, io_callback):
    _primitive.rule("jvp")(
        refusing(
            "the derivative of a Python function is not known\n  to fix: wrap the call in a function with "
            "a derivative of its own, by rb.custom_jvp or rb.custom_vjp, or stop the tangent with "
            "lax.stop_gradient on the arguments"
        )
    )


@debug_callback.rule("jvp")
def jvp_debug(op, *duals):
    return op(*[d.primal for d in duals])


@debug_callback.rule("body")
def body_debug(op, interpreter, args):
    """Whatever the interpreter: show what it says that its payloads show."""
    observed = [
        interpreter.observed(a.payload) if type(a) is Tracer and a.interpreter is interpreter else a
        for a in args
    ]
    structures = [tree.structure(x) for x in observed]
    params = {**op.params, "callback": op.params["callback"].on_trees(structures)}
    return debug_callback(*tree.leaves(observed), **params)


# ----------------------------------------------------------------------------------------------- batching
@pure_callback.rule("batch")
def batch_pure(op, *operands):
    method = op.params["vmap_method"]
    if method is None:
        raise RefusedError(
            f"vmap of pure_callback: {op.params['callback']} was not said to be mappable\n  to fix: give "
            f"pure_callback a vmap_method: {', '.join(map(repr, VMAP_METHODS))}"
        )
    if method == "sequential":
        return one_by_one(op, operands)
    if method == "sequential_unrolled":
        return unrolled(op, operands)
    size = size_of(operands)
    out_avals = tuple([a.update(shape=(size, *a.shape)) for a in op.params["out_avals"]])
    outs = pure_callback(
        *[_arranged(b, method, size) for b in operands], **{**op.params, "out_avals": out_avals}
    )
    return [Batched(out, 0) for out in outs]


def _arranged(b, method, size):
    """An operand as a function over whole batches gets it."""
    if b.axis is not None or method == "broadcast_all":
        return new_axis(b.value, 0, size) if b.axis is None else move_axis(b.value, b.axis, 0)
    return lax.expand_dims(b.value, (0,)) if method == "expand_dims" else b.value


@io_callback.rule("batch")
def batch_io(op, *operands):
    if op.params["ordered"]:
        raise RefusedError(
            f"vmap of io_callback: the calls of {op.params['callback']} are ordered, and the examples of "
            "a batch have no order\n  to fix: ordered=False, or a loop (lax.map) instead of vmap"
        )
    return one_by_one(op, operands)


@debug_callback.rule("batch")
def batch_debug(op, *operands):
    return one_by_one(op, operands)


def one_by_one(op, operands):
    """One call per example, in their order: a loop in Python where operations are executed at once, else a
    ``scan``.
    """
    if is_evaluating(beneath=True):
        return unrolled(op, operands)
    mapped = [move_axis(b.value, b.axis, 0) for b in operands if b.axis is not None]

    def step(carry, slices):
        moving = iter(slices)
        return carry, op(*[b.value if b.axis is None else next(moving) for b in operands])

    _, outs = lax.scan(step, (), mapped, length=size_of(operands))
    return [Batched(out, 0) for out in outs]


def unrolled(op, operands):
    """One call per example, each an operation of its own."""
    size = size_of(operands)
    mapped = [b if b.axis is None else move_axis(b.value, b.axis, 0) for b in operands]
    if not size:
        avals = [a.update(shape=(0, *a.shape)) for a in op.params.get("out_avals", ())]
        return [Batched(full_of_type(a, 0), 0) for a in avals]
    calls = [
        op(*[x.value if type(x) is Batched else lax.index_in_dim(x, i, keepdims=False) for x in mapped])
        for i in range(size)
    ]
    return [Batched(lax.stack(outs), 0) for outs in zip(*calls, strict=True)]


def size_of(operands):
    """The size of the batch dimension."""
    return next(typeof(b.value).shape[b.axis] for b in operands if b.axis is not None)


__all__ = ["VMAP_METHODS", "debug_callback", "io_callback", "pure_callback"]
