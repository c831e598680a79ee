"""What a function costs, counted in its program: ``estimate_cost``."""

import math

from rabbet import tree
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.passes import bodies_of, stage
from rabbet.extend.primitive import ShapedArray

from rabbet_pallas.block_specs import CostEstimate
from rabbet_pallas.calls import Call

TRANSCENDENTAL = frozenset(
    "exp exp2 expm1 log log1p sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh tanh logistic "
    "sqrt rsqrt cbrt pow erf erfc erf_inv lgamma digamma".split()
)
FREE = frozenset(
    "select_n convert_element_type stop_gradient copy eq ne lt le gt ge is_finite multiple_of".split()
)


@folded
def estimate_cost(fun, *args, **kwargs):
    """What a function is said to cost: the operations of its program counted, and its operands and results.

    Args:
      fun: a function of arrays.
      args, kwargs: trees of arrays, or of types such as ``rb.ShapeDtypeStruct(shape, dtype)``; what has no
        shape is given as it is.

    Returns:
      a ``CostEstimate``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> x = rb.ShapeDtypeStruct((8, 8), "float32")
      >>> pl.estimate_cost(lambda x: rnp.exp(x @ x), x).flops
      1024
    """
    leaves, structure = tree.flatten((args, kwargs))
    arrays = [i for i, x in enumerate(leaves) if hasattr(x, "shape")]
    avals = [ShapedArray(tuple(leaves[i].shape), leaves[i].dtype) for i in arrays]

    def flat(*xs):
        given = list(leaves)
        for i, x in zip(arrays, xs, strict=True):
            given[i] = x
        args, kwargs = tree.unflatten(structure, given)
        return [array_or_tracer(x) for x in tree.leaves(fun(*args, **kwargs))]

    program = stage(flat, avals, getattr(fun, "__name__", "f")).jaxpr
    flops, transcendentals = counts(program)
    moved = sum(a.nbytes for a in [*avals, *program.out_avals])
    return CostEstimate(flops=flops, transcendentals=transcendentals, bytes_accessed=moved)


def counts(program):
    """(flops, transcendentals) of a program."""
    flops = transcendentals = 0
    for eqn in program.equations:
        own, special = counts_of(eqn)
        flops, transcendentals = flops + own, transcendentals + special
    return flops, transcendentals


def counts_of(eqn):
    name, params = eqn.primitive.name, eqn.params
    call = params.get("call")
    if isinstance(call, Call):
        if call.cost is not None:
            return call.cost.flops, call.cost.transcendentals
        flops, special = counts(call.kernel)
        programs = math.prod([n or 1 for n in call.grid])
        return flops * programs, special * programs
    inner = [counts(body) for _, body in bodies_of(eqn.op)]
    if inner:
        times = params.get("length", 1) if name == "scan" else 1
        if name == "cond":
            return max(f for f, _ in inner), max(t for _, t in inner)
        return times * sum(f for f, _ in inner), times * sum(t for _, t in inner)
    size = sum(v.aval.size for v in eqn.outputs)
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        return 2 * size * math.prod([eqn.inputs[0].aval.shape[d] for d in contracted]), 0
    if name in TRANSCENDENTAL:
        return 0, size
    if "reduction" in eqn.primitive.kinds:
        return eqn.inputs[0].aval.size, 0
    return (size, 0) if "elementwise" in eqn.primitive.kinds and name not in FREE else (0, 0)


__all__ = ["estimate_cost"]
