"""A sum of cotangents that a product reads is computed once, and its operands are given up.

What: where a ``keep_apart`` (reverse mode puts it on a sum of cotangents) is read by a product or a
convolution and by something else as well, it becomes an ``optimization_barrier``. All others stay nothing on
GPUs.

Why: a product's kernel needs the sum in memory. XLA fuses the addition into every other reader too, so that
the operands of the sum stay until the last of them, each as large as the sum. A decoder's residual stream has
such a sum for each part of a layer.

Measured, compiled for eight H100 with jaxlib 0.12 (`tests/parity/layouts.py`): a device's temporary memory,
and the bytes that kernels read and write as `rabbet plan` counts them, as a share of those without this pass.

| program | temporary memory | bytes of kernels |
|---|---|---|
| decoder_data | 0.92 | 1.004 |
| decoder_fsdp | 0.89 | 1.006 |
| decoder_tensor | 0.83 | 0.990 |
| decoder_2x2x2 | 0.96 | 1.014 |
| vision | 0.99 | 1.004 |

No GPU was there to time it.
"""

from rabbet.extend.passes import Equation, Jaxpr, Pass, Var
from rabbet.extend.primitive import keep_apart, optimization_barrier

PRODUCTS = ("dot_general", "conv_general_dilated")
SAME_NUMBERS = ("reshape", "transpose", "squeeze", "convert_element_type", "sharding_constraint")


def kept_sums(jaxpr, context=None):
    """``jaxpr`` with barriers on such sums; itself where there is none."""
    sums = [eqn for eqn in jaxpr.equations if eqn.op.primitive is keep_apart]
    if not sums:
        return jaxpr
    readers = {}
    for eqn in jaxpr.equations:
        for v in eqn.inputs:
            if type(v) is Var:
                readers.setdefault(v, []).append(eqn)
    kept = {eqn for eqn in sums if by_product_and_more(eqn.outputs[0], readers, jaxpr.outvars)}
    if not kept:
        return jaxpr
    barrier = optimization_barrier.op()
    equations = [
        Equation(barrier, eqn.inputs, eqn.outputs, eqn.where) if eqn in kept else eqn
        for eqn in jaxpr.equations
    ]
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def by_product_and_more(v, readers, outvars):
    """Whether a product reads ``v``, or what it becomes by another shape, and something else reads it too."""
    found = list(readers_of(v, readers, outvars))
    return len(found) > 1 and not set(PRODUCTS).isdisjoint(found)


def readers_of(v, readers, outvars):
    """The names of the primitives that read ``v`` or its numbers by another shape; None for the caller."""
    yield from [None for out in outvars if out is v]
    for eqn in readers.get(v, ()):
        if eqn.op.primitive.name in SAME_NUMBERS:
            yield from readers_of(eqn.outputs[0], readers, outvars)
        else:
            yield eqn.op.primitive.name


PASS = Pass(
    "sums-kept", kept_sums, platforms=("cuda",), after=("dead-code", "cse", "fold", "outline"),
    doc="compute a sum of cotangents that a product reads once, and give up its operands",
)  # fmt: skip
