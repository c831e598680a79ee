"""Convolution: ``conv_general_dilated``, bilinear, with strides, padding, dilation and groups.

Dimensions are named by three tuples, ``(batch, feature, spatial...)`` for operand and result and ``(output
feature, input feature, spatial...)`` for the kernel. Both of its transposes are convolutions again, which
differ in what dimension plays which part, so no array needs to be moved for them.
"""

from math import prod
from typing import NamedTuple

from rabbet import dtypes
from rabbet.errors import ShapeError
from rabbet.extend.cost import Cost
from rabbet.extend.primitive import (
    Batched,
    Linear,
    Primitive,
    ShapedArray,
    accept,
    dot_general,
    elementwise_aval,
    full_of_type,
    move_axis,
    reshape,
    rev,
)  # fmt: skip
from rabbet.extend.rules import batch_size, int_list, to_dtype
from rabbet.extend.transform import typeof

from rabbet_convolution.primitives import windows
from rabbet_convolution.primitives.windows import NUMBERS


class ConvDimensionNumbers(NamedTuple):
    """Which dimension of a convolution is what.

    lhs_spec, out_spec: ``(batch, feature, spatial...)``; rhs_spec: ``(output feature, input feature,
    spatial...)``.

    Example:
      >>> lax.conv_dimension_numbers((1, 3, 8), (3, 3, 3), None).lhs_spec
      (0, 1, 2)
    """

    lhs_spec: tuple
    rhs_spec: tuple
    out_spec: tuple


def conv_aval(
    x, w, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count,
    batch_group_count, precision=None, preferred_element_type=None,
):  # fmt: skip
    accept("conv_general_dilated", NUMBERS + "b", x, w)
    elementwise_aval("conv_general_dilated", x.update(shape=()), w.update(shape=()))  # one dtype
    shown = f"conv_general_dilated of {x.str_short()} with the kernel {w.str_short()}"
    check_ranks(shown, x, w, dimension_numbers)
    numbers = dimension_numbers
    per_dim = {
        "window_strides": window_strides, "padding": padding, "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
    }  # fmt: skip
    for what, values in per_dim.items():
        if len(values) != x.ndim - 2:
            raise ShapeError(
                f"{shown}: {what} {values} is of length {len(values)}; give one per spatial dimension, "
                f"{x.ndim - 2}"
            )
        if what != "padding" and any(v < 1 for v in values):
            raise ShapeError(f"{shown}: {what} {values} must be positive")
    check_groups(shown, x, w, numbers, feature_group_count, batch_group_count)
    sizes = [0] * x.ndim
    sizes[numbers.out_spec[0]] = x.shape[numbers.lhs_spec[0]] // batch_group_count
    sizes[numbers.out_spec[1]] = w.shape[numbers.rhs_spec[0]]
    for o, n, k, *per in zip(
        numbers.out_spec[2:], spatial(x, numbers.lhs_spec), spatial(w, numbers.rhs_spec),
        window_strides, padding, lhs_dilation, rhs_dilation, strict=True,
    ):  # fmt: skip
        if windows.spread(n, per[2]) + sum(per[1]) < 0:
            raise ShapeError(f"{shown}: padding {padding} cuts off more than there is")
        sizes[o] = windows.out_size(n, k, *per)
    dtype = x.dtype if preferred_element_type is None else preferred_element_type
    weak = x.weak_type and w.weak_type
    return ShapedArray(tuple(sizes), dtype, weak)


def check_ranks(shown, x, w, numbers):
    """Refuse operands of different ranks, and dimension numbers that are not permutations of theirs."""
    if x.ndim != w.ndim or x.ndim < 2:
        raise ShapeError(
            f"{shown}: both must have one rank, two more than there are spatial dimensions, but they have "
            f"{x.ndim} and {w.ndim}"
        )
    for name, spec in zip(numbers._fields, numbers, strict=True):
        if sorted(spec) != list(range(x.ndim)):
            raise ShapeError(
                f"{shown}: {name} {tuple(spec)} of dimension_numbers must name each of the dimensions 0 to "
                f"{x.ndim - 1} once"
            )


def check_groups(shown, x, w, numbers, feature_groups, batch_groups):
    """Refuse sizes that groups do not divide, or that do not belong together."""
    if feature_groups < 1 or batch_groups < 1 or (feature_groups > 1 and batch_groups > 1):
        raise ShapeError(
            f"{shown}: feature_group_count {feature_groups} and batch_group_count {batch_groups} must be "
            "positive, and one of them 1"
        )
    batch, features = x.shape[numbers.lhs_spec[0]], x.shape[numbers.lhs_spec[1]]
    made, taken = w.shape[numbers.rhs_spec[0]], w.shape[numbers.rhs_spec[1]]
    if features != taken * feature_groups:
        raise ShapeError(
            f"{shown}: the operand has {features} features (dimension {numbers.lhs_spec[1]}), the kernel "
            f"takes {taken} (dimension {numbers.rhs_spec[1]}) in each of {feature_groups} feature groups; "
            f"{features} should be {taken * feature_groups}. Are the dimension numbers right? They are "
            f"{tuple(numbers)}"
        )
    for groups, name in ((feature_groups, "feature_group_count"), (batch_groups, "batch_group_count")):
        if made % groups:
            raise ShapeError(
                f"{shown}: the kernel makes {made} features (dimension {numbers.rhs_spec[0]}), which "
                f"{name} {groups} does not divide"
            )
    if batch % batch_groups:
        raise ShapeError(
            f"{shown}: the operand has {batch} examples (dimension {numbers.lhs_spec[0]}), which "
            f"batch_group_count {batch_groups} does not divide"
        )


def spatial(aval, spec):
    """The sizes of the spatial dimensions."""
    return [aval.shape[d] for d in spec[2:]]


conv_general_dilated = Primitive(
    "conv_general_dilated", conv_aval, kinds=("bilinear", "shapeless"),
    doc="products of a kernel with windows of an array, summed over each window and the input features",
)  # fmt: skip


@conv_general_dilated.rule("cost")
def conv_cost(op, x, w):
    """A multiplication and an addition for each element of the kernel that an element of the result reads."""
    (out,) = op.outs((x, w))
    features = w.shape[op.params["dimension_numbers"].rhs_spec[0]]
    flops = 2.0 * out.size * w.size / features if features else 0.0
    return Cost(flops, float(x.nbytes + w.nbytes + out.nbytes))


@conv_general_dilated.rule("explicit")
def conv_entries(op, x, w):
    """The batch as that of the array; the rest is whole. Where the kernel's output features are cut, the
    caller says how the result lies.
    """
    lhs_spec, rhs_spec, out_spec = op.params["dimension_numbers"]
    spatial_entries = [x.entries[d] for d in lhs_spec[2:]] + [w.entries[d] for d in rhs_spec[2:]]
    if any(e is not None for e in spatial_entries):
        raise ValueError("a spatial dimension is cut")
    if x.entries[lhs_spec[1]] is not None or w.entries[rhs_spec[1]] is not None:
        raise ValueError("it sums over the input's features, which are cut")
    if w.entries[rhs_spec[0]] is not None:
        raise ValueError("the kernel's output features are cut")
    batch = x.entries[lhs_spec[0]]
    if batch is not None and op.params["batch_group_count"] > 1:
        raise ValueError("the groups of a batch are cut")
    entries = [None] * len(out_spec)
    entries[out_spec[0]] = batch
    return tuple(entries)


# ----------------------------------------------------------------------------------------------- lowering
@conv_general_dilated.rule("lower")
def lower_conv(op, x, w):
    if not op.out.size:
        return op.constant(0, op.out)
    numbers = op["dimension_numbers"]
    letters = [_letters(spec, "bf") for spec in (numbers.lhs_spec, numbers.out_spec)]
    kernel = _letters(numbers.rhs_spec, "oi")
    pads = ", ".join([f"[{lo}, {hi}]" for lo, hi in op["padding"]])
    precision = op.params.get("precision")
    pair = ["DEFAULT"] * 2 if type(precision) is not tuple else [p.name for p in precision]
    exact = ", ".join([f"#stablehlo<precision {p}>" for p in pair])
    a, b = op.in_avals
    # The compiler cuts up convolutions with groups wrongly.
    grouped = op["feature_group_count"] > 1 or op["batch_group_count"] > 1
    x, w = (op.whole(x, a), op.whole(w, b)) if grouped else (x, w)
    out = op.emit(
        f"stablehlo.convolution({x}, {w}) dim_numbers = {letters[0]}x{kernel}->{letters[1]}, window = "
        f"{{stride = {int_list(op['window_strides'])}, pad = [{pads}], "
        f"lhs_dilate = {int_list(op['lhs_dilation'])}, rhs_dilate = {int_list(op['rhs_dilation'])}}} "
        f"{{batch_group_count = {op['batch_group_count']} : i64, "
        f"feature_group_count = {op['feature_group_count']} : i64, precision_config = [{exact}]}} : "
        f"({a.mlir}, {b.mlir}) -> {op.out.mlir}"
    )
    return op.whole(out, op.out) if grouped else out


def _letters(spec, names):
    """Dimension numbers as StableHLO writes them: ``[b, 0, 1, f]``."""
    shown = [""] * len(spec)
    for i, d in enumerate(spec):
        shown[d] = names[i] if i < 2 else str(i - 2)
    return f"[{', '.join(shown)}]"


# ------------------------------------------------------------------------------------------ transposition
@conv_general_dilated.rule("transpose")
def transpose_conv(op, ct, x, w):
    if type(x) is Linear:
        return _checked(op, ct, x.aval, w, cotangent_of_lhs), None
    return None, _checked(op, ct, w.aval, x, cotangent_of_rhs)


def _checked(op, ct, aval, other, cotangent):
    """A cotangent in the dtype of its operand; nothing is convolved where something is empty."""
    if not aval.size or not typeof(other).size or not typeof(ct).size:
        return full_of_type(aval.strong(), 0)
    dtype = dtypes.promote_types(typeof(ct).dtype, typeof(other).dtype)
    out = cotangent(op.params, to_dtype(ct, dtype), aval, to_dtype(other, dtype))
    return to_dtype(out, aval.dtype)


def cotangent_of_lhs(params, ct, aval, w):
    """The convolution of ``ct``, spread by the strides, with the kernel turned around."""
    numbers = params["dimension_numbers"]
    lhs_spec, rhs_spec, out_spec = numbers
    padding = [
        windows.back_padding(n, o, k, s, p, b, d)
        for n, o, k, s, p, b, d in zip(
            spatial(aval, lhs_spec), spatial(typeof(ct), out_spec), spatial(typeof(w), rhs_spec),
            params["window_strides"], params["padding"], params["lhs_dilation"], params["rhs_dilation"],
            strict=True,
        )
    ]  # fmt: skip
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    w = rev(w, dimensions=tuple(rhs_spec[2:])) if len(rhs_spec) > 2 else w
    # The kernel's output features are taken in now; of each group only its own.
    w = regrouped(w, rhs_spec[0], rhs_spec[1], groups * batch_groups)
    out = conv_general_dilated(
        ct, w, window_strides=params["lhs_dilation"], padding=tuple(padding),
        lhs_dilation=params["window_strides"], rhs_dilation=params["rhs_dilation"],
        dimension_numbers=ConvDimensionNumbers(
            out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec
        ),
        feature_group_count=groups * batch_groups, batch_group_count=1,
        precision=params.get("precision"), preferred_element_type=None,
    )  # fmt: skip
    return regrouped(out, lhs_spec[1], lhs_spec[0], batch_groups)


def cotangent_of_rhs(params, ct, aval, x):
    """The convolution of ``x`` with ``ct`` as the kernel; examples and features change parts."""
    numbers = params["dimension_numbers"]
    lhs_spec, rhs_spec, out_spec = numbers
    alone = params["feature_group_count"] == params["batch_group_count"] == 1
    if alone and all(n == 1 for n in spatial(aval, rhs_spec)):
        return cotangent_of_points(params, ct, aval, x)
    padding = [
        (lo, (k - 1) * d + (o - 1) * s - lo - (n - 1) * b)
        for n, o, k, s, (lo, _), b, d in zip(
            spatial(typeof(x), lhs_spec), spatial(typeof(ct), out_spec), spatial(aval, rhs_spec),
            params["window_strides"], params["padding"], params["lhs_dilation"], params["rhs_dilation"],
            strict=True,
        )
    ]  # fmt: skip
    return conv_general_dilated(
        x, ct, window_strides=params["rhs_dilation"], padding=tuple(padding),
        lhs_dilation=params["lhs_dilation"], rhs_dilation=params["window_strides"],
        dimension_numbers=ConvDimensionNumbers(
            (lhs_spec[1], lhs_spec[0], *lhs_spec[2:]), (out_spec[1], out_spec[0], *out_spec[2:]),
            (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]),
        ),
        feature_group_count=params["batch_group_count"], batch_group_count=params["feature_group_count"],
        precision=turned(params.get("precision")), preferred_element_type=None,
    )  # fmt: skip


def cotangent_of_points(params, ct, aval, x):
    """``cotangent_of_rhs`` for a kernel of one place: a product of matrices, summed over examples and places.

    Measured on a CPU it takes a quarter of the time of the convolution, whose window would be the image.
    """
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]

    def for_spatial(values, other):
        placed = [other] * aval.ndim
        for d, value in zip(lhs_spec[2:], values, strict=True):
            placed[d] = value
        return tuple(placed)

    ones = (1,) * aval.ndim
    window = windows.Window(
        ones, for_spatial(params["window_strides"], 1), for_spatial(params["padding"], (0, 0)),
        for_spatial(params["lhs_dilation"], 1), ones,
    )  # fmt: skip
    zero = full_of_type(typeof(x).update(shape=(), weak_type=False), 0)
    (seen,) = windows.patches(x, zero, window)
    summed = (lhs_spec[0], *lhs_spec[2:]), (out_spec[0], *out_spec[2:])
    precision = params.get("precision")
    if rhs_spec[0] < rhs_spec[1]:
        out = flat_product(ct, seen, *summed[::-1], turned(precision))
    else:
        out = flat_product(seen, ct, *summed, precision)
    return reshape(out, new_sizes=aval.shape)


def flat_product(x, y, lhs, rhs, precision):
    """Products of ``x`` and ``y`` summed over their dimensions ``lhs`` and ``rhs``, which are made one first
    where they lie side by side in both: a plain product of matrices is faster.
    """
    pairs = sorted(zip(lhs, rhs, strict=True))
    lhs, rhs = [p[0] for p in pairs], [p[1] for p in pairs]
    if all(dims == list(range(dims[0], dims[0] + len(dims))) for dims in (lhs, rhs)):
        x, y = merged(x, lhs[0], len(lhs)), merged(y, rhs[0], len(rhs))
        lhs, rhs = lhs[:1], rhs[:1]
    numbers = ((tuple(lhs), tuple(rhs)), ((), ()))
    return dot_general(x, y, dimension_numbers=numbers, precision=precision, preferred_element_type=None)


def turned(precision):
    """The precision of a product with its operands exchanged."""
    return precision[::-1] if type(precision) is tuple else precision


def regrouped(x, source, target, groups):
    """``x`` whose dimension ``source`` is made of ``groups`` parts, which become parts of ``target``."""
    if groups == 1:
        return x
    sizes = typeof(x).shape
    x = reshape(x, new_sizes=(*sizes[:source], groups, sizes[source] // groups, *sizes[source + 1 :]))
    return merged(move_axis(x, source, target), target)


def merged(x, d, count=2):
    """``x`` with ``count`` dimensions, from ``d`` on, made one."""
    sizes = typeof(x).shape
    return reshape(x, new_sizes=(*sizes[:d], prod(sizes[d : d + count]), *sizes[d + count :]))


# ----------------------------------------------------------------------------------------------- batching
@conv_general_dilated.rule("batch")
def batch_conv(op, x, w):
    """One convolution for all: more examples, more output features, or more groups."""
    params = op.params
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    size = batch_size(x, w)
    if not size:
        return _no_examples(op, x, w)
    if w.axis is None:
        value = within_groups(x, lhs_spec[0], batch_groups)
        return _split(conv_general_dilated(value, w.value, **params), out_spec[0], size)
    if x.axis is None:
        kernel = within_groups(w, rhs_spec[0], groups * batch_groups)
        out = conv_general_dilated(x.value, kernel, **params)
        return _split(out, out_spec[1], size, groups * batch_groups)
    kernel = within_groups(w, rhs_spec[0], 1)
    if batch_groups > 1:
        value, params = within_groups(x, lhs_spec[0], 1), {**params, "batch_group_count": size * batch_groups}
    else:
        value, params = within_groups(x, lhs_spec[1], 1), {**params, "feature_group_count": size * groups}
    return _split(conv_general_dilated(value, kernel, **params), out_spec[1], size)


def _no_examples(op, *operands):
    avals = [typeof(b.value) for b in operands]
    shapes = [
        a.shape if b.axis is None else (*a.shape[: b.axis], *a.shape[b.axis + 1 :])
        for a, b in zip(avals, operands, strict=True)
    ]
    out = op.out(tuple([a.update(shape=s) for a, s in zip(avals, shapes, strict=True)]))
    return Batched(full_of_type(out.update(shape=(0, *out.shape), weak_type=False), 0), 0)


def within_groups(b, d, groups):
    """The batch dimension as part of dimension ``d`` of the example: outermost in each of its groups."""
    sizes = list(typeof(b.value).shape)
    del sizes[b.axis]
    value = move_axis(b.value, b.axis, d)
    if groups == 1:
        return merged(value, d)
    size = typeof(value).shape[d]
    value = reshape(value, new_sizes=(*sizes[:d], size, groups, sizes[d] // groups, *sizes[d + 1 :]))
    return merged(merged(move_axis(value, d, d + 1), d), d)


def _split(out, d, size, groups=1):
    """The batched result whose batch dimension is part of dimension ``d``, outermost in each group."""
    sizes = typeof(out).shape
    if groups == 1:
        return Batched(reshape(out, new_sizes=(*sizes[:d], size, sizes[d] // size, *sizes[d + 1 :])), d)
    inner = sizes[d] // groups // size
    out = reshape(out, new_sizes=(*sizes[:d], groups, size, inner, *sizes[d + 1 :]))
    return Batched(merged(move_axis(out, d + 1, d), d + 1), d)


__all__ = ["ConvDimensionNumbers", "conv_general_dilated"]
