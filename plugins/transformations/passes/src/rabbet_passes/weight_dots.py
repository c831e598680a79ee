"""Products with a weight as products of two matrices.

What: ``[B, T, D] x [D, E]`` becomes ``[B * T, D] x [D, E]`` between two reshapes, which cost nothing.

Why: XLA:CPU runs a product of matrices fastest. For gradients of weights, which contract several
dimensions, its backend does this by itself (the lowering of ``dot_general``): there it pays.

Measured (benchmarks/gpt_step.py, 12 layers, jaxlib 0.10.2, alternating in one process, processor time): in
the forward direction XLA flattens these products itself: the same number of fusions and products come out,
and compiling (3.24 s) and the step (86.6 against 86.8 ms) do not change. So it is off by default;
``enable_passes="weight-dots-2d"`` switches it on.
"""

import functools
from math import prod

from rabbet import lax
from rabbet.extend.passes import stage

from rabbet_passes.nested_programs import inlined, replaced, rewriting_bodies, word


def flatten_dots(jaxpr, context=None):
    """``jaxpr`` with the leading dimensions of products with a matrix made one."""
    equations = rewriting_bodies(jaxpr.equations, "weight-dots-2d", flatten_dots)
    result, changed = [], equations is not jaxpr.equations
    for eqn in equations:
        body = None
        if eqn.op.primitive.name == "dot_general":
            body = flattened(eqn.op, *[v.aval for v in eqn.inputs])
        if body is None:
            result.append(eqn)
        else:
            result += inlined(body, eqn)
            changed = True
    return replaced(jaxpr, result) if changed else jaxpr


@functools.lru_cache(maxsize=512)
def flattened(op, x, y):
    """The program of a product by matrices; None where it is one, or is not a product with a weight."""
    (contract, other), batch = op.params["dimension_numbers"]
    weight = x.ndim > 2 and y.ndim == 2 and contract == (x.ndim - 1,) and batch == ((), ())
    if word(op.primitive) != "dot_general" or not weight:
        return None
    rows = prod(x.shape[:-1])
    numbers = (((1,), other), ((), ()))
    shape = (*x.shape[:-1], y.shape[1 - other[0]])

    def by_matrices(x, y):
        product = op.primitive.op(**{**op.params, "dimension_numbers": numbers})
        return [lax.reshape(product(lax.reshape(x, (rows, x.shape[-1])), y), shape)]

    body = stage(by_matrices, (x, y), "dot_general").jaxpr
    return body if body.out_avals == op.outs((x, y)) else None
