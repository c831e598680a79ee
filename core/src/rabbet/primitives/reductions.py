"""Reductions over axes: sum, prod, max, min, and, or, xor, argmax, argmin."""

from math import prod

import numpy as np

from rabbet import dtypes
from rabbet.primitives import (
    barrier,
    checks,
    complex_order,
    convert,
    cumulative,
    elementwise,
    logic,
    shape,
    zeros,
)
from rabbet.primitives.checks import BITS, NUMBERS, REALS
from rabbet.rules.payloads import Batched, Dual
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof


def extreme(dtype, largest):
    """The largest or smallest value of a dtype: an infinity for floats that have one, and for both parts of
    complex.
    """
    spec = dtypes.spec(dtype)
    return spec.highest if largest else spec.lowest


def reduction(name, hlo, accepts, start, doc, *, kinds=(), of_complex=None):
    """Make a reduction primitive with the parameter ``axes``.

    Args:
      name: the primitive's name.
      hlo: the StableHLO operation that combines two elements.
      accepts: the dtype kinds that it takes.
      start: ``dtype -> `` the value that it starts with.
      of_complex: what combines two complex elements, where that is not ``hlo``.
    """

    def abstract(x, axes):
        checks.accept(name, accepts, x)
        checks.axes_valid(name, axes, x.ndim)
        return x.update(shape=tuple([s for i, s in enumerate(x.shape) if i not in axes]))

    primitive = Primitive(name, abstract, kinds=("reduction", *kinds), doc=doc)

    @primitive.rule("lower")
    def lower_reduction(op, x):
        scalar = op.out.update(shape=())
        init = op.constant(start(op.out.dtype), scalar)
        if of_complex is not None and dtypes.kind(scalar.dtype) == "c":
            head = f'"stablehlo.reduce"({x}, {init}) <{{dimensions = {cumulative.array(op["axes"])}}}>'
            types = f": ({op.in_avals[0].mlir}, {scalar.mlir}) -> {op.out.mlir}"
            return complex_order.emit_pairs(op, head, of_complex, types)
        return op.emit(
            f"stablehlo.reduce({x} init: {init}) applies {hlo} across dimensions = "
            f"{shape.ints(op['axes'])} : ({op.in_avals[0].mlir}, {scalar.mlir}) -> {op.out.mlir}"
        )

    return primitive


def outside(op, aval):
    """The dimensions that a reduction keeps."""
    return tuple([d for d in range(aval.ndim) if d not in op.params["axes"]])


def spread_back(op, value, aval):
    """A reduced value repeated to the operand's shape."""
    return shape.broadcast_in_dim(value, shape=aval.shape, broadcast_dimensions=outside(op, aval))


reduce_sum = reduction(
    "reduce_sum",
    "stablehlo.add",
    NUMBERS,
    lambda dtype: 0,
    "the sum over axes",
    kinds=("increasing", "linear"),
)
reduce_prod = reduction(
    "reduce_prod", "stablehlo.multiply", NUMBERS, lambda dtype: 1, "the product over axes"
)
reduce_max = reduction(
    "reduce_max", "stablehlo.maximum", NUMBERS + "b", lambda t: extreme(t, False), "the maximum over axes",
    kinds=("increasing",), of_complex=elementwise.max,
)  # fmt: skip
reduce_min = reduction(
    "reduce_min", "stablehlo.minimum", NUMBERS + "b", lambda t: extreme(t, True), "the minimum over axes",
    kinds=("increasing",), of_complex=elementwise.min,
)  # fmt: skip
reduce_and = reduction(
    "reduce_and", "stablehlo.and", BITS, lambda t: ~np.zeros((), t), "bitwise and over axes"
)
reduce_or = reduction("reduce_or", "stablehlo.or", BITS, lambda t: 0, "bitwise or over axes")
reduce_xor = reduction("reduce_xor", "stablehlo.xor", BITS, lambda t: 0, "bitwise exclusive or over axes")

for _primitive in (reduce_and, reduce_or, reduce_xor):
    _primitive.rule("jvp")(zeros.no_tangent)


@reduce_sum.rule("jvp")
def jvp_reduce_sum(op, x):
    return Dual(op(x.primal), op(x.tangent))


@reduce_sum.rule("transpose")
def transpose_reduce_sum(op, ct, x):
    return (spread_back(op, ct, x.aval),)


def jvp_reduce_extreme(op, x):
    """The mean of the tangents at the places where the extreme is taken.

    The operand is kept apart: a compiler that computes it twice, once to reduce and once to compare, may
    round it in two ways, and then no place has the extreme.
    """
    aval = typeof(x.primal)
    primal = barrier.keep_apart(x.primal) if dtypes.kind(aval.dtype) in "fc" else x.primal
    out = op(primal)
    here = convert.to_dtype(logic.eq(primal, spread_back(op, out, aval)), aval.dtype)
    count = reduce_sum(here, axes=op.params["axes"])
    return Dual(
        out, elementwise.div(reduce_sum(elementwise.mul(x.tangent, here), axes=op.params["axes"]), count)
    )


reduce_max.rule("jvp")(jvp_reduce_extreme)
reduce_min.rule("jvp")(jvp_reduce_extreme)


@reduce_prod.rule("jvp")
def jvp_reduce_prod(op, x):
    """The sum over elements of the tangent times the product of all the others, exact where some are zero.

    The others' product comes from exclusive cumulative products from both ends, over the reduced axes
    flattened to one.
    """
    out = op(x.primal)
    aval = typeof(x.primal)
    axes = op.params["axes"]
    if not axes:
        return Dual(out, x.tangent)
    order = (*outside(op, aval), *axes)
    kept = typeof(out).shape

    n = prod(aval.shape[a] for a in axes)
    if n == 0:
        return Dual(out, zeros.full_of_type(typeof(out).strong(), 0))
    values = shape.reshape(shape.transpose(x.primal, permutation=order), new_sizes=(*kept, n))
    tangents = shape.reshape(shape.transpose(x.tangent, permutation=order), new_sizes=(*kept, n))
    last = len(kept)
    one = zeros.full_of_type(typeof(out).update(shape=(), weak_type=False), 1)

    def shifted(v, low, high):
        config = tuple([(low, high, 0) if d == last else (0, 0, 0) for d in range(last + 1)])
        return shape.pad(v, one, padding_config=config)

    before = shifted(cumulative.cumprod(values, axis=last, reverse=False), 1, -1)
    after = shifted(cumulative.cumprod(values, axis=last, reverse=True), -1, 1)
    others = elementwise.mul(before, after)
    return Dual(out, reduce_sum(elementwise.mul(tangents, others), axes=(last,)))


# ----------------------------------------------------------------------------------------- argmax, argmin
def arg_extreme(name, greatest, doc):
    """Make ``argmax`` or ``argmin``: the index of the first extreme element, or of the first NaN."""

    def abstract(x, axes, index_dtype):
        checks.accept(name, REALS + "b", x)
        checks.axes_valid(name, axes, x.ndim)
        if len(axes) != 1:
            raise TypeError(f"{name} takes one axis, got {axes}")
        if dtypes.kind(index_dtype) not in "iu":
            raise TypeError(f"{name}: index_dtype must be an integer dtype, got {index_dtype}")
        if x.shape[axes[0]] == 0:
            raise ValueError(f"{name}: axis {axes[0]} of {x.str_short()} is empty")
        return x.update(
            shape=tuple([s for i, s in enumerate(x.shape) if i not in axes]),
            dtype=index_dtype,
            weak_type=False,
        )

    primitive = Primitive(name, abstract, kinds=("reduction",), doc=doc)
    primitive.rule("jvp")(zeros.no_tangent)

    @primitive.decompose
    def arg_extreme_by_extreme(op, x):
        """Two passes, each a plain reduction: as fast as one that carries pairs, and much less to compile."""
        aval = typeof(x)
        out = (reduce_max if greatest else reduce_min)(x, axes=op.params["axes"])
        here = logic.eq(x, spread_back(op, out, aval))
        if dtypes.kind(aval.dtype) == "f":
            here = logic.bitwise_or(here, logic.ne(x, x))
        index = aval.update(dtype=op.params["index_dtype"], weak_type=False)
        indices = shape.iota(dtype=index.dtype, shape=aval.shape, dimension=op.params["axes"][0])
        nowhere = zeros.full_of_type(index, dtypes.iinfo(index.dtype).max)
        return reduce_min(logic.select_n(here, nowhere, indices), axes=op.params["axes"])

    return primitive


argmax = arg_extreme("argmax", True, "the index of the first maximum along an axis")
argmin = arg_extreme("argmin", False, "the index of the first minimum along an axis")


# ----------------------------------------------------------------------------------------------- batching
def batch_reduction(op, x):
    """The batch rule of the kind ``reduction``: the axes move up past the batch dimension."""
    axes = tuple([a + (a >= x.axis) for a in op.params["axes"]])
    params = {**op.params, "axes": axes}
    out_axis = x.axis - sum(a < x.axis for a in axes)
    return Batched(op.primitive(x.value, **params), out_axis)
