"""Reductions over axes: prod, max, min, argmax, argmin. Those by sum, and, or, xor are in ``reducing.py``."""

from math import prod

from rabbet import dtypes
from rabbet.primitives import (
    barrier,
    checks,
    convert,
    elementwise,
    extremes,
    logic,
    shape,
    zeros,
)
from rabbet.primitives.checks import NUMBERS, REALS
from rabbet.primitives.no_tangent import no_tangent
from rabbet.primitives.reducing import (
    extreme,
    outside,
    reduce_and,
    reduce_or,
    reduce_sum,
    reduce_xor,
    reduction,
    spread_back,
)  # fmt: skip
from rabbet.rules.payloads import Dual
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

reduce_prod = reduction(
    "reduce_prod", "stablehlo.multiply", NUMBERS, lambda dtype: 1, "the product over axes"
)
reduce_max = reduction(
    "reduce_max", "stablehlo.maximum", NUMBERS + "b", lambda t: extreme(t, False), "the maximum over axes",
    kinds=("increasing",), of_complex=extremes.max,
)  # fmt: skip
reduce_min = reduction(
    "reduce_min", "stablehlo.minimum", NUMBERS + "b", lambda t: extreme(t, True), "the minimum over axes",
    kinds=("increasing",), of_complex=extremes.min,
)  # fmt: skip




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
    """Halves are multiplied until one element is left, ``d(a b) = a db + b da``: exact where some are zero,
    and in a logarithmic number of steps, over the reduced axes flattened to one.
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

    def part(v, start, stop):
        low, high = (0,) * last + (start,), (*kept, stop)
        return shape.slice(v, start_indices=low, limit_indices=high, strides=None)

    while n > 1:
        half = n // 2
        a, b = part(values, 0, half), part(values, half, 2 * half)
        da, db = part(tangents, 0, half), part(tangents, half, 2 * half)
        product = elementwise.mul(a, b)
        moved = elementwise.add(elementwise.mul(da, b), elementwise.mul(db, a))
        if n % 2:
            product = shape.concatenate(product, part(values, n - 1, n), dimension=last)
            moved = shape.concatenate(moved, part(tangents, n - 1, n), dimension=last)
        values, tangents, n = product, moved, half + n % 2
    return Dual(out, shape.reshape(tangents, new_sizes=kept))


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
    primitive.rule("jvp")(no_tangent)

    @primitive.decompose
    def arg_extreme_by_extreme(op, x):
        """Two passes, each a plain reduction: as fast as one that carries pairs, and much less to compile.

        The operand is kept apart as in the derivative of an extreme: where it is rounded in two ways, no
        place has the extreme.
        """
        aval = typeof(x)
        x = barrier.keep_apart(x) if dtypes.kind(aval.dtype) == "f" else x
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

__all__ = [
    "argmax", "argmin", "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum",
    "reduce_xor",
]  # fmt: skip
