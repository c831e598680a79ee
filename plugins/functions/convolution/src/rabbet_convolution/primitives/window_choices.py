"""Reading and writing where each window has its extreme: select_and_gather_add, select_and_scatter_add.

These are the two derivatives of maxima and minima over windows, linear in their first operand and each
other's transpose: one reads an array at the place of each window's first extreme, the other adds to those
places. A window of few places is written out, one slice per place, which compilers fuse; a larger one is a
single operation of StableHLO.
"""

from functools import reduce

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.primitive import (
    Batched,
    Dual,
    Linear,
    Primitive,
    Zero,
    accept,
    full_of_type,
    pad,
    zero_tangent,
)  # fmt: skip
from rabbet.extend.rules import at_front, extreme, int_array
from rabbet.extend.transform import typeof

from rabbet_convolution.primitives import windows
from rabbet_convolution.primitives.windows import REALS


def gather_aval(t, x, window, largest):
    accept("select_and_gather_add", REALS, x)
    windows.check("select_and_gather_add", x, window)
    if t.shape != x.shape:
        raise ShapeError(
            f"select_and_gather_add reads {t.str_short()} where {x.str_short()} has its extremes; both must "
            "have one shape"
        )
    return t.update(shape=windows.out_shape(x.shape, window), weak_type=False)


select_and_gather_add = Primitive(
    "select_and_gather_add", gather_aval, kinds=("shapeless",),
    doc="what stands in one array where each window of another has its first extreme",
)  # fmt: skip


def scatter_aval(source, x, window, largest):
    accept("select_and_scatter_add", REALS, x)
    windows.check("select_and_scatter_add", x, window)
    out = windows.out_shape(x.shape, window)
    if source.shape != out:
        raise ShapeError(
            f"select_and_scatter_add: the source has the type {source.str_short()}, the windows over "
            f"{x.str_short()} the places {out}"
        )
    return source.update(shape=x.shape, weak_type=False)


select_and_scatter_add = Primitive(
    "select_and_scatter_add", scatter_aval,
    doc="sums of a source's elements at the places where each window of an array has its first extreme",
)  # fmt: skip


@select_and_gather_add.rule("explicit")
@select_and_scatter_add.rule("explicit")
def choice_entries(op, x, y):
    """The array and what stands beside it, or the source, lie alike."""
    if any(None not in pair and pair[0] != pair[1] for pair in zip(x.entries, y.entries, strict=True)):
        raise ValueError("the arrays are cut differently")
    return tuple([a or b for a, b in zip(x.entries, y.entries, strict=True)])


# --------------------------------------------------------------------------------- by slices of all places
def choices(x, window, largest):
    """For each place of the windows, a mask of the windows whose first extreme (or NaN) is there."""
    aval = typeof(x)
    fill = full_of_type(aval.update(shape=(), weak_type=False), extreme(aval.dtype, not largest))
    parts = windows.patches(x, fill, window)
    best = reduce(lax.max if largest else lax.min, parts)
    masks, free = [], None
    for part in parts:
        here = lax.bitwise_or(lax.eq(part, best), lax.ne(part, part))
        masks.append(here if free is None else lax.bitwise_and(here, free))
        missed = lax.bitwise_not(here)
        free = missed if free is None else lax.bitwise_and(free, missed)
    return masks


def gathered(t, x, window, largest):
    """``select_and_gather_add`` by a selection per place; linear in ``t``."""
    aval = typeof(t)
    if 0 in windows.out_shape(aval.shape, window):
        return full_of_type(gather_aval(aval, typeof(x), window, largest), 0)
    zero = full_of_type(aval.update(shape=(), weak_type=False), 0)
    out = None
    parts = windows.patches(t, zero, window)
    for mask, part in zip(choices(x, window, largest), parts, strict=True):
        rest = full_of_type(typeof(part), 0) if out is None else out
        out = lax.select_n(mask, rest, part)
    return out


def scattered(source, x, window, largest):
    """``select_and_scatter_add`` by a sum over places: each is padded back to where it was cut out."""
    aval, given = typeof(x), typeof(source)
    out = scatter_aval(given, aval, window, largest)
    if not given.size or not out.size:
        return full_of_type(out, 0)
    zero = full_of_type(given.update(shape=(), weak_type=False), 0)
    nothing = full_of_type(given.strong(), 0)
    whole = [
        windows.spread(n, b) + sum(p)
        for n, p, b in zip(aval.shape, window.padding, window.base_dilation, strict=True)
    ]
    total = None
    for mask, offset in zip(choices(x, window, largest), windows.offsets(window), strict=True):
        config = windows.place_padding(offset, whole, given.shape, window)
        part = pad(lax.select_n(mask, nothing, source), zero, padding_config=config)
        total = part if total is None else lax.add(total, part)
    return windows.unpadded(total, zero, window)


# ----------------------------------------------------------------------------------------------- lowering
@select_and_gather_add.rule("lower")
def lower_gather(op, t, x):
    window, largest = op["window"], op["largest"]
    a, b = op.in_avals
    if window.places <= windows.MOST_PLACES or not op.out.size:
        return op.write(lambda t, x: [gathered(t, x, window, largest)], [a, b], [t, x])[0]
    t, x = op.whole(t, a), op.whole(x, b)  # the compiler cuts up such windows wrongly
    moved, seen = a.update(shape=()), b.update(shape=())
    zero = op.constant(0, moved)
    worst = op.constant(extreme(b.dtype, not largest), seen)
    m, s = moved.mlir, seen.mlir
    values = b.update(shape=op.out.shape).mlir
    kind = "SIGNED" if b.kind == "i" else "UNSIGNED" if b.kind == "u" else "FLOAT"
    return op.emit_many(
        f'"stablehlo.reduce_window"({x}, {t}, {worst}, {zero}) <{{{windows.attributes(window)}}}> ({{\n'
        f"  ^bb0(%a: {s}, %at: {m}, %b: {s}, %bt: {m}):\n"
        f"    %first = stablehlo.compare {'GE' if largest else 'LE'}, %a, %b, {kind} : ({s}, {s}) -> "
        "tensor<i1>\n"
        f"    %v = stablehlo.select %first, %a, %b : tensor<i1>, {s}\n"
        f"    %t = stablehlo.select %first, %at, %bt : tensor<i1>, {m}\n"
        f"    stablehlo.return %v, %t : {s}, {m}\n"
        f"  }}) : ({b.mlir}, {a.mlir}, {s}, {m}) -> ({values}, {op.out.mlir})",
        2,
    )[1]


@select_and_scatter_add.rule("lower")
def lower_scatter(op, source, x):
    window, largest = op["window"], op["largest"]
    a, b = op.in_avals
    # The one operation of StableHLO knows no dilation, and both its arrays have one dtype.
    if window.places <= windows.MOST_PLACES or window.dilated or a.dtype != b.dtype or not op.out.size:
        return op.write(lambda s, x: [scattered(s, x, window, largest)], [a, b], [source, x])[0]
    source, x = op.whole(source, a), op.whole(x, b)  # the compiler cuts up such windows wrongly
    scalar = a.update(shape=())
    t = scalar.mlir
    zero = op.constant(0, scalar)
    pads = [list(pair) for pair in window.padding]
    return op.emit(
        f'"stablehlo.select_and_scatter"({x}, {source}, {zero}) <{{'
        f"padding = dense<{pads}> : tensor<{len(pads)}x2xi64>, "
        f"window_dimensions = {int_array(window.sizes)}, "
        f"window_strides = {int_array(window.strides)}}}> ({{\n"
        f"  ^bb0(%a: {t}, %b: {t}):\n"
        f"    %c = stablehlo.compare {'GE' if largest else 'LE'}, %a, %b, FLOAT : ({t}, {t}) -> tensor<i1>\n"
        "    stablehlo.return %c : tensor<i1>\n"
        f"  }}, {{\n  ^bb0(%a: {t}, %b: {t}):\n    %c = stablehlo.add %a, %b : {t}\n"
        f"    stablehlo.return %c : {t}\n"
        f"  }}) : ({b.mlir}, {a.mlir}, {t}) -> {op.out.mlir}"
    )


# -------------------------------------------------------------------------------- derivatives and batching
def jvp_of_first(op, first, x):
    """Linear in the first operand; where the extremes are does not change with the second."""
    out = op(first.primal, x.primal)
    if type(first.tangent) is Zero:
        return Dual(out, zero_tangent(typeof(out)))
    return Dual(out, op(first.tangent, x.primal))


@select_and_gather_add.rule("transpose")
def transpose_gather(op, ct, t, x):
    return (select_and_scatter_add(ct, x, **op.params) if type(t) is Linear else None), None


@select_and_scatter_add.rule("transpose")
def transpose_scatter(op, ct, source, x):
    return (select_and_gather_add(ct, x, **op.params) if type(source) is Linear else None), None


def batch_both(op, first, x):
    """One more dimension, along which the windows have size 1."""
    params = {**op.params, "window": op.params["window"].with_batch(0)}
    return Batched(op.primitive(*at_front(first, x), **params), 0)


for _primitive in (select_and_gather_add, select_and_scatter_add):
    _primitive.rule("jvp")(jvp_of_first)
    _primitive.rule("batch")(batch_both)

__all__ = ["select_and_gather_add", "select_and_scatter_add"]
