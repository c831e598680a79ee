"""Running reductions along an axis: cumsum, cumprod, cummax, cummin, cumlogsumexp.

They are lowered to one ``reduce_window`` whose window reaches back to the first element. XLA knows that
shape and makes a blocked scan of it. Measured on a CPU for a million numbers, sums run as fast as NumPy's
loop, and it compiles in a third of the time of a logarithmic scan written out. ``cumlogsumexp``, whose step
is expensive, goes by rows where the axis is long.

The derivatives of products are linear recurrences, and those are scans written out: no window can carry two
numbers from element to element.
"""

import numpy as np
from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.cost import Cost
from rabbet.extend.passes import stage
from rabbet.extend.primitive import (
    Batched,
    Dual,
    Primitive,
    accept,
    add,
    bitwise_or,
    broadcast_in_dim,
    eq,
    exp,
    full_of_type,
    imag,
    iota,
    log1p,
    lt,
    mul,
    ne,
    neg,
    pad,
    real,
    reshape,
    rev,
    scan,
    select_n,
    sub,
    transpose,
)  # fmt: skip
from rabbet.extend.rules import emit_pairs, extreme, inline, int_array, take_along, to_dtype
from rabbet.extend.transform import typeof

from rabbet_algorithms.associative import scan_arrays

# Kinds of dtypes that are numbers, and those among them that are not whole.
NUMBERS, INEXACT = "iufc", "fc"
# How long the rows are into which a long axis is cut.
ROW = 256


def cumulative(name, accepts, doc, *, kinds=()):
    """Make a primitive with the parameters ``axis`` and ``reverse`` (True: running from the last element)."""

    def abstract(x, axis, reverse=False):
        accept(name, accepts, x)
        if not 0 <= axis < x.ndim:
            raise ShapeError(f"{name}: axis {axis} is out of range for {x.str_short()}")
        return x

    primitive = Primitive(name, abstract, kinds=kinds, doc=doc)

    @primitive.rule("cost")
    def one_step_each(op, x):
        slow = 2.0 * x.size if primitive.name == "cumlogsumexp" else 0.0
        return Cost(float(x.size), 2.0 * x.nbytes, slow)

    @primitive.rule("explicit")
    def as_operand(op, x):
        if x.entries[op.params["axis"]] is not None:
            raise ValueError(f"it goes along dimension {op.params['axis']}, which is cut")
        return x.entries

    @primitive.rule("batch")
    def batch_cumulative(op, x):
        axis = op.params["axis"]
        return Batched(
            op.primitive(x.value, axis=axis + (axis >= x.axis), reverse=op.params["reverse"]), x.axis
        )

    return primitive


def windowed(primitive, step, start, *, rounded=True, costly=False):
    """Lower ``primitive`` as a window that grows.

    Args:
      primitive: made by ``cumulative``.
      step: combines two elements, or arrays of them.
      start: dtype -> the neutral element of the step.
      rounded: whether its results are, so that in few bits a long sum would stand still.
      costly: whether a step takes so long that a long axis goes by rows.
    """

    @primitive.rule("lower")
    def lower_cumulative(op, x):
        aval, axis = op.out, op["axis"]
        if not aval.size:
            return x
        if rounded and dtypes.kind(aval.dtype) == "f" and dtypes.itemsize_bits(aval.dtype) < 32:
            return inline(op, lambda x: in_single(primitive, op.params, x), [x])
        if costly and aval.shape[axis] > 2 * ROW:
            return inline(op, lambda x: by_rows(primitive, op.params, step, start, x), [x])
        scalar = aval.update(shape=())
        init = op.constant(start(aval.dtype), scalar)
        n = aval.shape[axis]
        ones = [1] * aval.ndim
        window = [n if d == axis else 1 for d in range(aval.ndim)]
        reach = [0, n - 1] if op["reverse"] else [n - 1, 0]
        padding = [reach if d == axis else [0, 0] for d in range(aval.ndim)]
        head = (
            f'"stablehlo.reduce_window"({x}, {init}) <{{base_dilations = {int_array(ones)}, '
            f"padding = dense<{padding}> : tensor<{aval.ndim}x2xi64>, window_dilations = {int_array(ones)}, "
            f"window_dimensions = {int_array(window)}, window_strides = {int_array(ones)}}}>"
        )
        return emit_pairs(op, head, step, f": ({aval.mlir}, {scalar.mlir}) -> {aval.mlir}")


def in_single(primitive, params, x):
    """The running results of halves, computed in single precision and rounded once."""
    wide = to_dtype(x, np.dtype("float32"))
    return to_dtype(primitive(wide, **params), typeof(x).dtype)


def by_rows(primitive, params, step, start, x):
    """A long axis as the rows of a matrix: running results within all rows at once, one column after the
    other, and then combined with those of the rows before.

    A window takes some 16 steps per element, and one element at a time; this takes two, on vectors.
    """
    aval, axis = typeof(x), params["axis"]
    n = aval.shape[axis]
    order = (axis, *[d for d in range(aval.ndim) if d != axis])
    neutral = full_of_type(aval.update(shape=(), weak_type=False), start(aval.dtype))
    x = transpose(x, permutation=order)
    x = rev(x, dimensions=(0,)) if params["reverse"] else x
    rest = typeof(x).shape[1:]
    rows = -(-n // ROW)
    none = [(0, 0, 0)] * len(rest)
    x = pad(x, neutral, padding_config=((0, rows * ROW - n, 0), *none))
    x = reshape(x, new_sizes=(rows, ROW, *rest))
    across = (1, 0, *range(2, len(rest) + 2))
    first = full_of_type(typeof(x).update(shape=(rows, *rest), weak_type=False), start(aval.dtype))
    column = typeof(first)
    body = stage(lambda a, b: [step(a, b)] * 2, [column, column], primitive.name).jaxpr
    ends, within = scan(
        first, transpose(x, permutation=across), jaxpr=body, length=ROW, reverse=False, consts=0,
        carry=1, unroll=1,
    )  # fmt: skip
    ends = primitive(ends, axis=0, reverse=False)
    before = pad(ends, neutral, padding_config=((1, -1, 0), *none))
    every = tuple(range(1, len(rest) + 2))
    x = step(broadcast_in_dim(before, shape=typeof(within).shape, broadcast_dimensions=every), within)
    x = reshape(transpose(x, permutation=across), new_sizes=(rows * ROW, *rest))
    x = lax.slice(x, (0,) * aval.ndim, (n, *rest))
    x = rev(x, dimensions=(0,)) if params["reverse"] else x
    return transpose(x, permutation=tuple([order.index(d) for d in range(aval.ndim)]))


cumsum = cumulative(
    "cumsum", NUMBERS, "the sum of all elements up to each one", kinds=("increasing", "linear")
)
cumprod = cumulative("cumprod", NUMBERS, "the product of all elements up to each one")
cummax = cumulative(
    "cummax", NUMBERS, "the maximum of all elements up to each one", kinds=("increasing", "finite_slope")
)
cummin = cumulative(
    "cummin", NUMBERS, "the minimum of all elements up to each one", kinds=("increasing", "finite_slope")
)
cumlogsumexp = cumulative(
    "cumlogsumexp", INEXACT, "log(sum(exp(elements up to each one))), without overflow", kinds=("increasing",)
)


def log_add_exp(a, b):
    """``max(a, b) + log1p(exp(-|a - b|))``; the difference of two equal infinities counts as 0. Of complex
    numbers the one with the larger real part is taken out.
    """
    if typeof(a).kind == "c":
        return complex_log_add_exp(a, b)
    apart = sub(a, b)
    apart = select_n(ne(apart, apart), lax.abs(apart), full_of_type(typeof(apart), 0))
    return add(lax.max(a, b), log1p(exp(neg(apart))))


def complex_log_add_exp(a, b):
    """``log_add_exp`` of complex numbers."""
    x, y = real(a), real(b)
    behind = lt(x, y)
    larger, smaller = select_n(behind, a, b), select_n(behind, b, a)
    apart = sub(smaller, larger)
    none = full_of_type(typeof(x), 0)
    distance = select_n(eq(x, y), real(apart), none)
    apart = lax.complex(distance, imag(apart))
    return add(larger, log1p(exp(apart)))


def lowest(dtype):
    """Where a maximum begins."""
    return extreme(dtype, largest=False)


def log_of_zero(dtype):
    """Where ``cumlogsumexp`` begins: nothing added up yet."""
    return -np.inf if dtypes.kind(dtype) == "c" else lowest(dtype)


windowed(cumsum, add, lambda dtype: 0)
windowed(cumprod, mul, lambda dtype: 1)
windowed(cummax, lax.max, lowest, rounded=False)
windowed(cummin, lax.min, lambda dtype: extreme(dtype, largest=True), rounded=False)
windowed(cumlogsumexp, log_add_exp, log_of_zero, costly=True)


# -------------------------------------------------------------------------------------------- derivatives
@cumsum.rule("transpose")
def transpose_cumsum(op, ct, x):
    return (cumsum(ct, axis=op.params["axis"], reverse=not op.params["reverse"]),)


@cumprod.rule("jvp")
def jvp_cumprod(op, x):
    """``d out[i] = x[i] * d out[i-1] + out[i-1] * d x[i]``: no division, so zeros do no harm."""
    out = op(x.primal)
    one = full_of_type(typeof(out).update(shape=(), weak_type=False), 1)
    before = previous(op, out, one)
    return Dual(out, recurrence(x.primal, mul(x.tangent, before), **op.params))


@cumlogsumexp.rule("jvp")
def jvp_cumlogsumexp(op, x):
    """``d out[i] = exp(out[i-1] - out[i]) * d out[i-1] + exp(x[i] - out[i]) * d x[i]``: weights up to 1."""
    out = op(x.primal)
    scalar = typeof(out).update(shape=(), weak_type=False)
    nothing = full_of_type(scalar, log_of_zero(scalar.dtype))

    def weight(part):
        # Two equal infinities weigh 1; -inf for both means that there is nothing yet, and its weight does
        # not matter.
        apart = select_n(
            eq(part, out), sub(part, out), full_of_type(typeof(out).strong(), 0)
        )
        return exp(apart)

    kept, taken = weight(previous(op, out, nothing)), weight(x.primal)
    return Dual(out, recurrence(kept, mul(x.tangent, taken), **op.params))


def previous(op, out, start):
    """For each place the running result before it; ``start`` at the first one."""
    reach = (-1, 1, 0) if op.params["reverse"] else (1, -1, 0)
    config = [reach if d == op.params["axis"] else (0, 0, 0) for d in range(typeof(out).ndim)]
    return pad(out, start, padding_config=tuple(config))


def recurrence(factors, terms, axis, reverse):
    """``y`` with ``y[i] = factors[i] * y[i-1] + terms[i]`` along ``axis``; linear in ``terms``."""

    def step(left, right):
        (a, s), (b, t) = left, right
        return [mul(a, b), add(mul(s, b), t)]

    return scan_arrays(step, [factors, terms], axis, reverse)[1]


def jvp_cumulative_extreme(op, x):
    """Each output has the tangent of the element that it is: among equal ones the nearest, among NaNs too."""
    out = op(x.primal)
    axis, reverse = op.params["axis"], op.params["reverse"]
    here = bitwise_or(eq(x.primal, out), ne(x.primal, x.primal))
    indices = iota(dtype=np.dtype("int32"), shape=typeof(out).shape, dimension=axis)
    nowhere = full_of_type(typeof(indices), typeof(out).shape[axis] if reverse else -1)
    nearest = (cummin if reverse else cummax)(
        select_n(here, nowhere, indices), axis=axis, reverse=reverse
    )
    return Dual(out, take_along(x.tangent, nearest, axis))


cummax.rule("jvp")(jvp_cumulative_extreme)
cummin.rule("jvp")(jvp_cumulative_extreme)


__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]
