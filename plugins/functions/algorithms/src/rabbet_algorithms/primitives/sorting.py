"""Sorting: ``sort`` of several arrays by the first of them, and ``top_k``.

The order is total: ``-0.0`` and ``0.0`` are equal (in an array that is sorted alone the first comes first),
NaN comes last, complex numbers go by real part and then by imaginary part, those with NaN last. XLA is asked
to compare integers only: a float's bits, read as an integer and with the lower ones flipped for negative
numbers, have the order of the floats. And it is asked to sort two arrays at most, key and positions, once per
key; other arrays are then read at those positions. On a CPU a million floats take a fifth of the time that
comparing floats with all their cases takes, and three arrays a fifth of sorting them together.
"""

from math import log2

import numpy as np
from rabbet import dtypes
from rabbet.errors import ShapeError
from rabbet.extend.cost import Cost
from rabbet.extend.passes import stage
from rabbet.extend.primitive import (
    Batched,
    Dual,
    Primitive,
    Zero,
    accept,
    bitcast_convert_type,
    bitwise_and,
    bitwise_xor,
    convert_element_type,
    eq,
    full_of_type,
    imag,
    iota,
    lt,
    move_axis,
    ne,
    real,
    select_n,
    zero_tangent,
)  # fmt: skip
from rabbet.extend.rules import at_axis, batch_size, in_wider, take_along, to_dtype
from rabbet.extend.shapes import exceeds
from rabbet.extend.transform import typeof

# Kinds of dtypes that have an order, and those among them that are real numbers.
ORDERED, REALS = "iufcb", "iufb"



def sort_aval(*operands, dimension, is_stable, num_keys):
    if not operands:
        raise ShapeError("sort needs at least one array")
    first = operands[0]
    for other in operands[1:]:
        if other.shape != first.shape:
            shown = ", ".join([a.str_short() for a in operands])
            raise ShapeError(f"sort: all arrays must have one shape, got {shown}")
    if not 0 <= dimension < first.ndim:
        raise ShapeError(f"sort: dimension {dimension} is out of range for {first.str_short()}")
    if not 1 <= num_keys <= len(operands):
        raise ShapeError(
            f"sort: num_keys must be from 1 to the number of arrays, {len(operands)}, got {num_keys}"
        )
    accept("sort keys", ORDERED, *operands[:num_keys])
    return operands


sort = Primitive(
    "sort",
    sort_aval,
    kinds=("finite_slope", "shapeless"),
    multiple_results=True,
    doc="arrays sorted along a dimension by the first num_keys of them",
)


@sort.rule("cost")
def sort_cost(op, *operands):
    """n log2(n) comparisons of n elements, and a pass over what is sorted."""
    n = max(operands[0].shape[op.params["dimension"]], 1)
    return Cost(operands[0].size * log2(n), 2.0 * sum([x.nbytes for x in operands]))


@sort.rule("explicit")
def as_operands(op, *operands):
    entries = joined_entries(operands)
    if entries[op.params["dimension"]] is not None:
        raise ValueError(f"it sorts along dimension {op.params['dimension']}, which is cut")
    return [entries] * len(operands)


def joined_entries(operands):
    """How arrays that are sorted together lie: where one is whole, such as the numbers 0 to n of ``argsort``,
    the others count.
    """
    said = [{e for e in entries if e is not None} for entries in zip(*[x.entries for x in operands])]
    if any(len(entries) > 1 for entries in said):
        raise ValueError("the arrays are cut differently")
    return tuple([entries.pop() if entries else None for entries in said])


@sort.rule("lower")
def lower_sort(op, *names):
    avals = op.in_avals
    if not avals[0].size:
        return names
    if op["num_keys"] == 1 and whole_bytes(avals[0]) and len(avals) <= 2:
        return _lower_integer_sort(op, names, avals)
    params = op.params
    return op.inline(
        stage(lambda *operands: sort_by_integers(operands, **params), avals, "sort").jaxpr, names
    )


def whole_bytes(aval):
    """Whether an array's elements are integers of at least a byte, which XLA sorts as they are."""
    return aval.kind in "iu" and dtypes.itemsize_bits(aval.dtype) >= 8


def sort_by_integers(operands, *, dimension, is_stable, num_keys):
    """The same sort by sorts of one integer key, alone or with positions."""
    dtype = typeof(operands[0]).dtype
    if len(operands) == 1 and dtypes.kind(dtype) != "c":
        # Nothing moves along with the numbers, so they are made from the sorted integers.
        (key,) = sort(
            *ordered(operands[0], signed_zeros=True), dimension=dimension, is_stable=False, num_keys=1
        )
        return [unordered(key, dtype)]
    order = positions(operands[:num_keys], dimension, is_stable)
    return [take_along(x, order, dimension) for x in operands]


def positions(keys, dimension, is_stable=True):
    """Where the elements of a sorted array come from: int32 indices along ``dimension``.

    Several keys are sorted from the last to the first, each time keeping the order of equal elements.
    """
    parts = [part for key in keys for part in ordered(key)]
    order = iota(dtype=np.dtype("int32"), shape=typeof(parts[0]).shape, dimension=dimension)
    for i, key in enumerate(reversed(parts)):
        if i:
            key = take_along(key, order, dimension)
        _, order = sort(key, order, dimension=dimension, is_stable=is_stable or i > 0, num_keys=1)
    return order


def ordered(key, signed_zeros=False):
    """Integer arrays whose lexicographic order is the order of ``key``: one, or two for complex numbers.

    With ``signed_zeros``, -0.0 goes before 0.0.
    """
    dtype = typeof(key).dtype
    kind = dtypes.kind(dtype)
    if kind == "c":
        return parts_in_order(real(key), imag(key))
    if kind == "b":
        return [to_dtype(key, np.dtype("int8"))]
    if kind != "f":
        byte = np.dtype("int8" if kind == "i" else "uint8")
        return [key if whole_bytes(typeof(key)) else to_dtype(key, byte)]
    bits = dtypes.itemsize_bits(dtype)
    if bits < 16:
        return ordered(to_dtype(key, np.dtype("float32")), signed_zeros)
    aval = typeof(key).strong()
    key = positive_nan(key)
    if not signed_zeros:
        key = select_n(eq(key, full_of_type(aval, 0)), key, full_of_type(aval, 0))
    return [_flip_negative(bitcast_convert_type(key, new_dtype=np.dtype(f"int{bits}")))]


def parts_in_order(a, b):
    """The integers of a real and an imaginary part. A number whose imaginary part alone is NaN comes after
    all that have none, as in NumPy: its first integer is that behind infinity, its second one that of the
    other part.
    """
    (first,), (second,) = ordered(a), ordered(b)
    aval = typeof(first)
    behind = np.array(np.inf, typeof(a).dtype).view(aval.dtype) + 1
    unknown = bitwise_and(ne(b, b), eq(a, a))
    return [select_n(unknown, first, full_of_type(aval, behind)), select_n(unknown, second, first)]


def positive_nan(x):
    """``x``, each NaN in it without a sign."""
    return select_n(ne(x, x), x, full_of_type(typeof(x).strong(), np.nan))


def unordered(key, dtype):
    """The numbers that ``ordered`` made integers of."""
    whole = dtypes.kind(dtype) in "biu"
    if whole or dtypes.itemsize_bits(dtype) < 16:
        wide = key if whole else unordered(key, np.dtype("float32"))
        return convert_element_type(wide, new_dtype=dtype, weak_type=False)
    return bitcast_convert_type(_flip_negative(key), new_dtype=dtype)


def _flip_negative(bits):
    """Negative integers with all bits but the sign flipped; its own inverse."""
    dtype = typeof(bits).dtype
    flipped = bitwise_xor(bits, full_of_type(typeof(bits), np.iinfo(dtype).max))
    return select_n(lt(bits, full_of_type(typeof(bits), 0)), bits, flipped)


def _lower_integer_sort(op, names, avals):
    scalars = [a.physical.update(shape=()).mlir for a in avals]
    arguments = ", ".join([f"%a{i}: {t}, %b{i}: {t}" for i, t in enumerate(scalars)])
    types = ", ".join([a.mlir for a in avals])
    key, sign = scalars[0], "SIGNED" if avals[0].kind == "i" else "UNSIGNED"
    stable = "true" if op["is_stable"] else "false"
    attributes = f"dimension = {op['dimension']} : i64, is_stable = {stable}"
    text = (
        f'"stablehlo.sort"({", ".join(names)}) <{{{attributes}}}> ({{\n  ^bb0({arguments}):\n'
        f"    %less = stablehlo.compare LT, %a0, %b0, {sign} : ({key}, {key}) -> tensor<i1>\n"
        f"    stablehlo.return %less : tensor<i1>\n  }}) : ({types}) -> ({types})"
    )
    return [op.emit(text)] if len(names) == 1 else op.emit_many(text, len(names))


@sort.rule("batch")
def batch_sort(op, *operands):
    axis = next(b.axis for b in operands if b.axis is not None)
    size = batch_size(*operands)
    dimension = op.params["dimension"]
    params = {**op.params, "dimension": dimension + (dimension >= axis)}
    outs = sort(*[at_axis(b, axis, size) for b in operands], **params)
    return [Batched(out, axis) for out in outs]


@sort.rule("jvp")
def jvp_sort(op, *operands):
    """Tangents move with their numbers: a column of indices is sorted along, and tells from where."""
    dimension = op.params["dimension"]
    aval = typeof(operands[0].primal)
    indices = iota(dtype=np.dtype("int32"), shape=aval.shape, dimension=dimension)
    *outs, sources = op(*[d.primal for d in operands], indices)
    return [
        Dual(
            out,
            zero_tangent(typeof(out))
            if type(d.tangent) is Zero
            else take_along(d.tangent, sources, dimension),
        )
        for out, d in zip(outs, operands, strict=True)
    ]


# -------------------------------------------------------------------------------------------------- top_k
def top_k_aval(x, k):
    accept("top_k", REALS, x)
    if not x.ndim:
        raise ShapeError(f"top_k needs an array with at least one dimension, got {x.str_short()}")
    if not 0 <= k <= x.shape[-1]:
        raise ShapeError(
            f"top_k: k must be from 0 to the size of the last dimension of {x.str_short()}, got {k}"
        )
    if exceeds(x.shape[-1], 2**31):
        raise ShapeError(f"top_k: positions are int32, and {x.str_short()} has more; use numpy.argsort")
    shape_out = (*x.shape[:-1], k)
    return x.update(shape=shape_out), x.update(shape=shape_out, dtype=np.dtype("int32"), weak_type=False)


top_k = Primitive(
    "top_k",
    top_k_aval,
    kinds=("shapeless",),
    multiple_results=True,
    doc="the k largest elements along the last dimension, and where they are",
)


@top_k.rule("cost")
def top_k_cost(op, x):
    """A heap of k elements, which each element may enter."""
    return Cost(x.size * log2(op.params["k"] + 1), float(x.nbytes + sum([t.nbytes for t in op.outs((x,))])))


@top_k.rule("explicit")
def along_last(op, x):
    if x.entries[-1] is not None:
        raise ValueError("it goes along the last dimension, which is cut")
    return [x.entries, x.entries]


@top_k.rule("lower")
def lower_top_k(op, x):
    """XLA goes by the bits: a NaN with a minus, as some processors make of 0 / 0 and as the formats without a
    negative zero have it, would be smaller than all numbers. So each NaN is written without one.
    """
    values, indices = op.out_avals
    bits = dtypes.itemsize_bits(values.dtype)
    if bits < 8 or (values.kind == "f" and bits < 16):
        return in_wider(op, [x])
    if values.kind == "f":
        x = op.write(lambda x: [positive_nan(x)], [op.in_avals[0].strong()], [x])[0]
    return op.emit_many(
        f"chlo.top_k({x}, k = {op['k']}) : {op.in_avals[0].mlir} -> ({values.mlir}, {indices.mlir})", 2
    )


@top_k.rule("batch")
def batch_top_k(op, x):
    values, indices = op(move_axis(x.value, x.axis, 0))
    return [Batched(values, 0), Batched(indices, 0)]


@top_k.rule("jvp")
def jvp_top_k(op, x):
    values, indices = op(x.primal)
    tangent = take_along(x.tangent, indices, typeof(values).ndim - 1)
    return [Dual(values, tangent), Dual(indices, zero_tangent(typeof(indices)))]


__all__ = ["sort", "top_k"]
