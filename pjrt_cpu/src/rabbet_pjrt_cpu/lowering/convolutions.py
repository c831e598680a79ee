"""Convolutions that XLA's CPU kernels are slow at, written as what the CPU is fast at.

Six forms, chosen by shape. The thresholds were measured on two machines, with jaxlib 0.10 and 0.12; the
figures are the time taken, as a share of that of the convolution:

| form | chosen for | forward |
|---|---|---|
| shifted products, each channel for itself | a group per feature (depthwise) | 0.02 to 0.05 |
| one sum for each place of the kernel | the gradient of those by the kernel, small | 0.1 to 0.45 |
| all sums in one loop over blocks of rows | the same from 32,768 results on | 0.1 to 0.7 of the sums' |
| shifted products | at most 4 features in, 32 out, 75 products a result, stride 1 | 0.1 to 0.6 |
| a product of matrices | kernels of one place, stride 1, features last | 0.4 to 0.7 |
| a product for each example | the same, features after examples, at least 128 places | 0.2 to 0.6 |

With more features or larger kernels the convolution is faster (1.8 at 8 features, 3.6 at 7x7x3 to 32).
Results differ from the convolution's by the order of the sums alone.

A depthwise kernel of 7x7 is summed in three parts, in 0.55 to 0.95 of the time of one loop over all places
(images of 7x7 to 56x56, both layouts, both versions); at 5x5 and below parts gain nothing.

The loop over blocks reads each number from memory once instead of at every place. Beside the sums one after
another, on 2 busy cores of a Zen 4 with AVX-512, float32, alternately in one process; the time by the clock
and of the processor as shares of theirs (examples, image, features, kernel):

| shape | 0.10, features last | 0.10, first | 0.12, last | 0.12, first |
|---|---|---|---|---|
| 8, 56x56, 64, 3x3 | 0.45, 0.32 | 0.44, 0.41 | 0.25, 0.21 | 0.25, 0.28 |
| 32, 14x14, 64, 3x3 | 0.72, 0.36 | 0.57, 0.38 | 0.37, 0.25 | 0.41, 0.27 |
| 8, 28x28, 128, 5x5 | 0.32, 0.23 | 0.26, 0.28 | 0.17, 0.18 | 0.17, 0.24 |
| 16, 14x14, 256, 3x3 | 0.46, 0.30 | 0.54, 0.45 | 0.34, 0.24 | 0.26, 0.29 |
| 4, 56x56, 96, 7x7 | 0.22, 0.20 | 0.30, 0.24 | 0.16, 0.16 | 0.10, 0.16 |
| 8, 7x7, 512, 3x3 | 0.51, 0.41 | 0.85, 0.60 | 0.37, 0.25 | 0.76, 0.63 |
| 8, 56x56, 64, 3x3 by strides of 2 | 0.47, 0.47 | 0.59, 0.72 | 0.29, 0.29 | 0.40, 0.45 |
| 8, 7x7, 64, 3x3: below the threshold | | 1.13, 1.18 | | 0.81, 0.77 |
"""

import functools
import math

import numpy as np
from rabbet import lax
from rabbet.extend.native import compiler_has
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import lower

MOST_AT_ONCE, PART = 36, 17  # places of a depthwise kernel for one loop; with more, so many for each
MOST_PLACES = 64  # of a depthwise kernel: each is a product in one fused loop
LEAST_PLACES = 128  # of an image, for products example by example
LEAST_SUMMED = 1 << 15  # numbers of a cotangent, for sums block by block
MOST_IN_ROW = 4096  # numbers that are added up at a time there, where rows are shorter than that
MOST_FEATURES_IN, MOST_FEATURES_OUT, MOST_PRODUCTS = 4, 32, 75
SLICES_APART = not compiler_has("slices in loops")
WIDE = {"float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64"}


def conv_general_dilated(op, x, w):
    """The rule for ``conv_general_dilated`` on the CPU: the best form for these shapes."""
    form = form_of(op.params, op.in_avals[0], op.in_avals[1], op.out)
    if form is None:
        return lower.lookup(op.primitive)(op, x, w)

    def parts(x, w):
        wide = WIDE[x.dtype.name]
        out = form(op.params, op.out, lax.convert_element_type(x, wide), lax.convert_element_type(w, wide))
        return [lax.convert_element_type(out, op.out.dtype)]

    (name,) = op.write(parts, [ShapedArray(a.shape, a.dtype) for a in op.in_avals], [x, w])
    return name


def form_of(params, x, w, out):
    """The function that writes this convolution, or None where XLA's own is best."""
    lhs, rhs, result = params["dimension_numbers"]
    if x.dtype.name not in WIDE or out.dtype.name not in WIDE or not (x.size and w.size and out.size):
        return None
    features, examples = x.shape[lhs[1]], x.shape[lhs[0]]
    made, taken = w.shape[rhs[0]], w.shape[rhs[1]]
    places = math.prod([w.shape[d] for d in rhs[2:]])
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    if len(lhs) == 2:
        return None
    if groups > 1:
        depthwise = groups == features == made and places <= MOST_PLACES
        return each_channel if depthwise else None
    if batch_groups > 1:
        one_each = batch_groups == examples == made
        few = math.prod([out.shape[d] for d in result[2:]]) <= MOST_PLACES
        return each_place if one_each and few else None
    dense = all(s == 1 for s in (*params["window_strides"], *params["lhs_dilation"]))
    if not dense:
        return None
    if places == 1 and lhs == result and not any(map(any, params["padding"])):
        if lhs[1] == x.ndim - 1:
            return one_place
        if lhs[:2] == (0, 1) and math.prod(x.shape[2:]) >= LEAST_PLACES:
            return one_place_each
    few = features <= MOST_FEATURES_IN and made <= MOST_FEATURES_OUT and places * taken <= MOST_PRODUCTS
    return shifted_products if few else None


def padded(params, x):
    """``x`` with the padding and the dilation of its spatial dimensions."""
    lhs = params["dimension_numbers"].lhs_spec
    config = [(0, 0, 0)] * x.ndim
    for d, (low, high), dilation in zip(lhs[2:], params["padding"], params["lhs_dilation"], strict=True):
        config[d] = low, high, dilation - 1
    return lax.pad(x, x.dtype.type(0), config) if any(map(any, config)) else x


def windows(params, sizes):
    """The places of a kernel of these sizes, row by row."""
    for flat in range(math.prod(sizes)):
        place = []
        for n in reversed(sizes):
            flat, i = divmod(flat, n)
            place.insert(0, i)
        yield tuple(place)


def seen_from(x, spec, starts, counts, strides):
    """The elements of the spatial dimensions of ``x`` from ``starts``, ``counts`` of them by ``strides``."""
    low, high, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
    for d, start, count, stride in zip(spec[2:], starts, counts, strides, strict=True):
        low[d], high[d], step[d] = start, start + (count - 1) * stride + 1, stride
    return lax.slice(x, low, high, step)


def spatial(shape, spec):
    return [shape[d] for d in spec[2:]]


def total(terms):
    return functools.reduce(lax.add, terms)


def spread(w, at, like):
    """The vector ``w`` along dimension ``at`` of the shape ``like``."""
    return lax.broadcast_in_dim(w, like, (at,))


def each_channel(params, out, x, w):
    """Depthwise: at each place of the kernel, the array moved by it, times one number a channel.

    Kernels of many places are summed in parts. XLA would make one loop of the parts, and pad anew for each
    place, so barriers stand between.
    """
    lhs, rhs, result = params["dimension_numbers"]
    x = padded(params, x)
    w = lax.transpose(w, (*rhs[2:], rhs[0], rhs[1]))
    counts, sizes = spatial(out.shape, result), w.shape[:-2]
    places = list(windows(params, sizes))
    part = len(places)
    if part > MOST_AT_ONCE:
        x, part = lax.optimization_barrier(x), PART

    def term(place):
        starts = [i * d for i, d in zip(place, params["rhs_dilation"], strict=True)]
        seen = seen_from(x, lhs, starts, counts, params["window_strides"])
        return seen * spread(w[(*place, slice(None), 0)], lhs[1], seen.shape)

    sums = total(map(term, places[:part]))
    for start in range(part, len(places), part):
        sums = lax.optimization_barrier(sums) + total(map(term, places[start : start + part]))
    return rearranged(sums, lhs, result)


def shifted_products(params, out, x, w):
    """At each place of the kernel and for each feature taken in, the array moved by it, times a row."""
    lhs, rhs, result = params["dimension_numbers"]
    x = padded(params, x)
    w = lax.transpose(w, (*rhs[2:], rhs[1], rhs[0]))
    counts, sizes = spatial(out.shape, result), w.shape[:-2]
    kept = [d for d in range(x.ndim) if d != lhs[1]]
    kept.sort(key=lambda d: result[lhs.index(d)])
    there = [result[lhs.index(d)] for d in kept]  # where they stand in the result, increasing
    terms = []
    for place in windows(params, sizes):
        starts = [i * d for i, d in zip(place, params["rhs_dilation"], strict=True)]
        part = seen_from(x, lhs, starts, counts, params["window_strides"])
        for feature in range(x.shape[lhs[1]]):
            one = lax.slice_in_dim(part, feature, feature + 1, axis=lhs[1])
            one = lax.reshape(lax.transpose(one, (lhs[1], *kept)), [part.shape[d] for d in kept])
            one = lax.broadcast_in_dim(one, out.shape, there)
            terms.append(one * spread(w[(*place, feature)], result[1], out.shape))
    return total(terms)


def each_place(params, out, x, w):
    """The gradient of a depthwise convolution by its kernel: a sum over examples and places for each number.

    The kernel of this convolution is the cotangent; a group of the batch is one channel.
    """
    lhs, rhs, result = params["dimension_numbers"]
    x = padded(params, x)
    w = rearranged(w, (rhs[0], rhs[1], *rhs[2:]), lhs)  # as x is laid out: channel, example, space
    sizes = spatial(out.shape, result)
    sums = blocks_summed if w.size >= LEAST_SUMMED else each_summed
    stacked = sums(params, x, w, list(windows(params, sizes)))
    stacked = lax.reshape(stacked, (*sizes, stacked.shape[1], 1))  # (spatial..., channel, 1)
    # The result has one example, and a feature for each channel.
    return rearranged(stacked, (len(sizes) + 1, len(sizes), *range(len(sizes))), result)


def each_summed(params, x, w, places):
    """For each place of the kernel the sums of the channels: ``(places, channels)``."""
    lhs = params["dimension_numbers"].lhs_spec
    sums = []
    for place in places:
        starts = [i * s for i, s in zip(place, params["window_strides"], strict=True)]
        part = seen_from(x, lhs, starts, spatial(w.shape, lhs), params["rhs_dilation"])
        sums.append(lax.reduce_sum(part * w, axes=[d for d in range(x.ndim) if d != lhs[0]]))
    return lax.concatenate([lax.expand_dims(s, (0,)) for s in sums], 0)


def blocks_summed(params, x, w, places):
    """The same, in a loop over blocks of rows that stay in the processor's cache for all places.

    A block has ``rows * run`` places along the first dimension of space. What lies ``run`` places apart is
    added up in one fused loop, onto what earlier blocks gave: one sum for each place in ``run`` and in the
    other dimensions of space. These are added up at the end.
    """
    lhs = params["dimension_numbers"].lhs_spec
    along, examples, channels = lhs[2], lhs[1], lhs[0]
    steps, moves = params["rhs_dilation"], params["window_strides"]
    rows, run = block(w.shape[along], w.size // (w.shape[along] * w.shape[examples]))
    x, w = whole_blocks(x, w, along, rows * run, steps[0])
    blocks = w.shape[along] // (rows * run)
    taken, given = list(x.shape), list(w.shape)
    taken[examples] = given[examples] = 1
    given[along] = rows * run
    reach = max(place[0] for place in places) * moves[0]
    taken[along] = (rows * run - 1) * steps[0] + 1 + reach
    kept = given.copy()
    kept[along] = run
    zero = np.int32(0)

    def body(i, sums):
        example, at = lax.div(i, np.int32(blocks)), lax.rem(i, np.int32(blocks)) * np.int32(rows * run)
        start = lambda place: [
            example if d == examples else place if d == along else zero for d in range(x.ndim)
        ]
        a = lax.dynamic_slice(x, start(at * np.int32(steps[0])), taken)
        b = lax.dynamic_slice(w, start(at), given)
        if SLICES_APART:
            a, b = lax.optimization_barrier((a, b))
        return tuple([lax.add(s, total(terms(a, b, place))) for s, place in zip(sums, places, strict=True)])

    def terms(a, b, place):
        starts = [i * move for i, move in zip(place, moves, strict=True)]
        for row in range(rows):
            first = [starts[0] + row * run * steps[0], *starts[1:]]
            part = seen_from(a, lhs, first, spatial(kept, lhs), steps)
            yield part * lax.slice_in_dim(b, row * run, (row + 1) * run, axis=along)

    start = tuple([lax.full(kept, 0, x.dtype)] * len(places))
    # Numbers of 32 bits, also where 64 are the default.
    sums = lax.fori_loop(zero, np.int32(w.shape[examples] * blocks), body, start)
    stacked = lax.concatenate([lax.expand_dims(s, (0,)) for s in sums], 0)
    return lax.reduce_sum(stacked, axes=[d + 1 for d in range(x.ndim) if d != channels])


def block(size, rest):
    """How many rows of a block are added up, and how many places along the dimension each of them has.

    Args:
      size: of the dimension that is divided.
      rest: how many numbers an example has at each of its places.
    """
    rows = next((n for n in (8, 7, 6, 5, 4, 16, 15, 14, 13, 12, 11, 10, 9) if size % n == 0), 8)
    count = -(-size // rows)
    run = max(n for n in range(1, count + 1) if count % n == 0 and (n == 1 or n * rest <= MOST_IN_ROW))
    return rows, run


def whole_blocks(x, w, along, size, step):
    """``x`` and ``w`` with zeros at the end of ``along``, so that ``w`` has a multiple of ``size`` there."""
    more = -w.shape[along] % size
    if not more:
        return x, w
    ends = [(0, 0, 0)] * x.ndim
    ends[along] = 0, more * step, 0
    x = lax.pad(x, x.dtype.type(0), ends)
    ends[along] = 0, more, 0
    return x, lax.pad(w, w.dtype.type(0), ends)


def one_place(params, out, x, w):
    """A kernel of one place: a product of matrices over the features."""
    lhs, rhs, _ = params["dimension_numbers"]
    w = lax.reshape(lax.transpose(w, (rhs[1], rhs[0], *rhs[2:])), (w.shape[rhs[1]], w.shape[rhs[0]]))
    return lax.dot_general(x, w, (((lhs[1],), (0,)), ((), ())))


def one_place_each(params, out, x, w):
    """The same where features come before places: a product for each example."""
    rhs = params["dimension_numbers"].rhs_spec
    w = lax.reshape(lax.transpose(w, (rhs[0], rhs[1], *rhs[2:])), (w.shape[rhs[0]], w.shape[rhs[1]]))
    w = lax.broadcast_in_dim(w, (x.shape[0], *w.shape), (1, 2))
    return lax.dot_general(w, x, (((2,), (1,)), ((0,), (0,))))


def rearranged(x, source, target):
    """``x`` with dimension ``source[i]`` moved to ``target[i]``, for each i."""
    order = [0] * x.ndim
    for s, t in zip(source, target, strict=True):
        order[t] = s
    return x if order == list(range(x.ndim)) else lax.transpose(x, order)
