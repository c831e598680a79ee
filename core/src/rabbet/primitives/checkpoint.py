"""The primitives ``checkpoint``, a call whose intermediate values reverse mode computes again, and ``name``,
which gives a value a name for policies to speak of.

Any interpreter goes through the body. Reverse mode splits it in its own package: the half that runs forward
hands over what the policy allows, and the linear half, a ``checkpoint`` marked ``differentiated``, computes
the rest again. That half begins with a barrier (``prevent_cse``), or else the compiler would find out that it
computed all this before, and keep it.
"""

from rabbet import bodies
from rabbet.interpreter import typeof
from rabbet.payloads import Linear, Zero
from rabbet.primitive import Primitive
from rabbet.primitives import transposition


def checkpoint_aval(*avals, jaxpr, prevent_cse, policy, differentiated, name):
    return jaxpr.out_avals


checkpoint = Primitive(
    "checkpoint", checkpoint_aval, kinds=("body",), multiple_results=True,
    doc="a program whose intermediate values reverse mode computes again",
)  # fmt: skip


def checkpoint_of(jaxpr, params, differentiated=None):
    """The operator that calls ``jaxpr`` as a ``checkpoint`` of these parameters does; the same object each
    time.
    """
    if differentiated is None:
        differentiated = params["differentiated"]
    kept = {k: params[k] for k in ("prevent_cse", "policy", "name")}
    key = "checkpoint", differentiated, *kept.values()
    return jaxpr.once(key, lambda: checkpoint.op(jaxpr=jaxpr, differentiated=differentiated, **kept))


@checkpoint.rule("lower")
def lower_checkpoint(op, *names):
    if op["differentiated"] and op["prevent_cse"] and names:
        types = ", ".join([a.mlir for a in op.in_avals])
        text = f"stablehlo.optimization_barrier {', '.join(names)} : {types}"
        names = [op.emit(text)] if len(names) == 1 else op.emit_many(text, len(names))
    return op.inline(op["jaxpr"], names)


@checkpoint.rule("body")
def body_checkpoint(op, interpreter, args):
    leaves, structures = bodies.take_apart(interpreter, bodies.entering(interpreter, args))
    avals = [typeof(x) for x in leaves]
    body, out_structures, consts = bodies.interpret(interpreter, op.params["jaxpr"], structures, avals)
    outs = checkpoint_of(body, op.params)(*consts, *leaves)
    return bodies.put_together(interpreter, out_structures, outs)


@checkpoint.rule("transpose")
def transpose_checkpoint(op, cts, *operands):
    linear = tuple([type(x) is Linear for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    body, produced = transposition.transposed(op.params["jaxpr"], linear, nonzero)
    known = [x for x in operands if type(x) is not Linear]
    results = iter(checkpoint_of(body, op.params)(*known, *[ct for ct in cts if type(ct) is not Zero]))
    kept = iter(produced)
    return tuple([next(results) if lin and next(kept) else None for lin in linear])


# ------------------------------------------------------------------------------------------------ name
name = Primitive(
    "name", lambda x, name: x, kinds=("elementwise", "increasing", "linear", "structural"),
    doc="x, under a name that checkpoint policies may speak of",
)  # fmt: skip


@name.rule("lower")
def lower_name(op, x):
    return x


@name.rule("transpose")
def transpose_name(op, ct, x):
    return (ct,)
