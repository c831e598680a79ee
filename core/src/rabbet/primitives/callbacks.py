"""The primitives ``pure_callback``, ``io_callback`` and ``debug_callback``: Python called by a program.

Called on arrays they call Python directly, by their ``evaluate`` rule; compiled, the program calls it
through the runtime. Both ways the results are checked before anybody reads their bytes.
"""

from rabbet import tree
from rabbet.errors import MissingRule
from rabbet.lowering.extended import EXTENDED, as_it_is
from rabbet.lowering.host_callbacks import write_python_call
from rabbet.primitives import batching, loops, shape, zeros
from rabbet.program.avals import ShapedArray
from rabbet.program.context import Context, context
from rabbet.program.effects import Effect
from rabbet.rules.payloads import Batched
from rabbet.rules.primitive import Primitive
from rabbet.rules.tables import refusing
from rabbet.trace.interpreter import Tracer, typeof
from rabbet.trace.staging import stage

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
    "debug_callback", lambda *avals, callback, ordered: (), multiple_results=True, effects=debug_effect,
    doc="a Python function called on values, without results",
)  # fmt: skip


def evaluate_callback(op, *arrays):
    return op.params["callback"].call(arrays, op.params.get("out_avals", ()))


def lower_callback(op, *names):
    if op.platform != "cpu":
        raise MissingRule(
            f"{op.primitive.name!r} calls {op['callback']} while a program runs, which is supported on the "
            f"platform 'cpu' only, not on {op.platform!r}\n  to fix: compute this part on the CPU, "
            "outside the program that is compiled for the other device"
        )
    callback, out_avals = op["callback"], tuple(op.out_avals)
    (effect,) = op.primitive.effects_of(op.params) or (None,)
    return write_python_call(op, lambda arrays: callback.call(arrays, out_avals), names, effect)


for _primitive in (pure_callback, io_callback, debug_callback):
    _primitive.rule("evaluate")(evaluate_callback)
    _primitive.rule("lower")(lower_callback)
    _primitive.rule(EXTENDED)(as_it_is)
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
        raise MissingRule(
            f"vmap of pure_callback: {op.params['callback']} was not said to be mappable\n  to fix: give "
            f"pure_callback a vmap_method: {', '.join(map(repr, VMAP_METHODS))}"
        )
    if method == "sequential":
        return one_by_one(op, operands)
    if method == "sequential_unrolled":
        return unrolled(op, operands)
    size = batching.size_of(*operands)
    out_avals = tuple([a.update(shape=(size, *a.shape)) for a in op.params["out_avals"]])
    outs = pure_callback(
        *[_arranged(b, method, size) for b in operands], **{**op.params, "out_avals": out_avals}
    )
    return [Batched(out, 0) for out in outs]


def _arranged(b, method, size):
    """An operand as a function over whole batches gets it."""
    if b.axis is not None or method == "broadcast_all":
        return batching.at(b, 0, size)
    return shape.expand_dims(b.value, dimensions=(0,)) if method == "expand_dims" else b.value


@io_callback.rule("batch")
def batch_io(op, *operands):
    if op.params["ordered"]:
        raise MissingRule(
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
    if _is_evaluated():
        return unrolled(op, operands)
    constants = [b.value for b in operands if b.axis is None]
    mapped = [batching.move_axis(b.value, b.axis, 0) for b in operands if b.axis is not None]
    slices = [ShapedArray(a.shape[1:], a.dtype, a.weak_type) for a in map(typeof, mapped)]

    def step(*flat):
        held, moving = iter(flat[: len(constants)]), iter(flat[len(constants) :])
        return op(*[next(held) if b.axis is None else next(moving) for b in operands])

    body = stage(step, [*[typeof(c) for c in constants], *slices], op.primitive.name).jaxpr
    outs = loops.scan(
        *constants, *mapped, jaxpr=body, length=batching.size_of(*operands), reverse=False,
        consts=len(constants), carry=0,
    )  # fmt: skip
    return [Batched(out, 0) for out in outs]


def unrolled(op, operands):
    """One call per example, each an operation of its own."""
    size = batching.size_of(*operands)
    mapped = [b if b.axis is None else batching.move_axis(b.value, b.axis, 0) for b in operands]
    if not size:
        avals = [a.update(shape=(0, *a.shape)) for a in op.params.get("out_avals", ())]
        return [Batched(zeros.full_of_type(a, 0), 0) for a in avals]
    calls = [
        op(*[x.value if type(x) is Batched else loops.element(x, i) for x in mapped]) for i in range(size)
    ]
    stacks = [[shape.expand_dims(x, dimensions=(0,)) for x in outs] for outs in zip(*calls, strict=True)]
    return [Batched(shape.concatenate(*parts, dimension=0), 0) for parts in stacks]


def _is_evaluated():
    """Whether the operations of this level are executed at once at the bottom, not recorded."""
    interpreter = context.interpreter
    while interpreter.parent is not None:
        interpreter = interpreter.parent
    return interpreter is Context.interpreter


__all__ = ["VMAP_METHODS", "debug_callback", "io_callback", "pure_callback"]
