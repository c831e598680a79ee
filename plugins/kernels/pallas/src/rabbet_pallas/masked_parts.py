"""Parts of arrays under a mask: elements that it leaves out are not touched, and may lie outside."""

from rabbet import lax
from rabbet.extend.transform import typeof

from rabbet_pallas import array_parts
from rabbet_pallas.reference_parts import At, Gather, Index, Range

COMBINE = {
    "add": lax.add, "max": lax.max, "min": lax.min, "and": lax.bitwise_and, "or": lax.bitwise_or,
    "xor": lax.bitwise_xor, "xchg": lambda old, new: new,
}  # fmt: skip


def inside(shape, index, operands):
    """Where a box around the part begins so that it lies within the array, its sizes there, and how far
    the part lies from there, for each dimension.
    """
    starts, sizes, moved = [], [], []
    for n, dim, start in zip(shape, index.dims, array_parts.starts_of(index, operands), strict=True):
        size = min(n, array_parts.size_of(dim))
        if isinstance(start, int):
            at = min(max(start, 0), n - size)
        else:
            at = lax.clamp(0, start, n - size)
        starts.append(at)
        sizes.append(size)
        moved.append(start - at)
    return starts, sizes, moved


def is_fixed(moved, sizes, index):
    """Whether the part surely lies within the array."""
    within = zip(moved, sizes, index.dims, strict=True)
    return all(isinstance(m, int) and m == 0 and n == array_parts.size_of(d) for m, n, d in within)


def take(value, steps, operands, mask, other):
    """The part of ``value`` that the steps lead to; ``other``, or zero, where the mask is False."""
    if not steps:
        found = value
    else:
        *before, step = steps
        used = len(operands) - step.operands
        value = array_parts.take(value, before, operands[:used])
        found = take_step(value, step, operands[used:], mask)
    other = lax.full(typeof(found).shape, 0, typeof(found).dtype) if other is None else other
    return lax.select(mask, found, other)


def take_step(value, step, operands, mask):
    if not isinstance(step, Index):
        return array_parts.take(value, (step,), operands)
    if step.gathers:
        return value.at[ranges_as_arrays(step, operands)].get(mode="clip")
    shape = typeof(value).shape
    starts, sizes, moved = inside(shape, step, operands)
    if is_fixed(moved, sizes, step):
        return array_parts.take(value, (step,), operands)
    box = lax.dynamic_slice(value, starts, sizes)
    # The part may begin before the box, by up to its size, and end behind it: room on both sides.
    room = [array_parts.size_of(d) for d in step.dims]
    wide = lax.pad(box, lax.full((), 0, typeof(box).dtype), [(n, n, 0) for n in room])
    at = [lax.clamp(0, m + n, n + s) for m, n, s in zip(moved, room, sizes, strict=True)]
    found = array_parts.thinned(lax.dynamic_slice(wide, at, room), step)
    return lax.reshape(found, step.type_of(typeof(value)).shape)


def put(value, new, steps, operands, mask):
    """``value`` with the part that the steps lead to replaced by ``new`` where the mask is True."""
    if len(steps) > 1:
        first, rest = steps[0], steps[1:]
        own, others = operands[: first.operands], operands[first.operands :]
        inner = put(array_parts.take(value, (first,), own), new, rest, others, mask)
        return array_parts.put(value, inner, (first,), own)
    if not steps:
        return lax.select(mask, new, value)
    (step,) = steps
    if not isinstance(step, Index):
        old = array_parts.take(value, steps, operands)
        return array_parts.put(value, lax.select(mask, new, old), steps, operands)
    if step.gathers:
        return scattered(value, new, step, operands, mask, "set")
    starts, sizes, moved = inside(typeof(value).shape, step, operands)
    if is_fixed(moved, sizes, step):
        old = array_parts.take(value, steps, operands)
        return array_parts.put(value, lax.select(mask, new, old), steps, operands)
    old = lax.dynamic_slice(value, starts, sizes)
    new, mask = [in_the_box(x, step, sizes, moved) for x in (new, mask)]
    return lax.dynamic_update_slice(value, lax.select(mask, new, old), starts)


def in_the_box(part, step, sizes, moved):
    """A part laid over a box in the array: False or zero where it does not cover that."""
    part = lax.reshape(part, array_parts.sizes_of(step))
    zero = lax.full((), 0, typeof(part).dtype)
    apart = [getattr(d, "step", 1) - 1 for d in step.dims]
    wide = lax.pad(part, zero, [(s, s, a) for s, a in zip(sizes, apart, strict=True)])
    room = [array_parts.size_of(d) for d in step.dims]
    at = [lax.clamp(0, s - m, s + n) for m, n, s in zip(moved, room, sizes, strict=True)]
    return lax.dynamic_slice(wide, at, sizes)


def ranges_as_arrays(index, operands):
    """The index of NumPy for a part with arrays of indices, in which ranges are arrays too."""
    ranges = [d for d in index.dims if isinstance(d, Range)]
    out = [*[d.size for d in ranges[: index.at]], *index.shape, *[d.size for d in ranges[index.at :]]]
    made, nth = [], 0
    for dim, start in zip(index.dims, array_parts.starts_of(index, operands), strict=True):
        if isinstance(dim, At):
            made.append(start)
            continue
        if isinstance(dim, Gather):
            shape = [*[1] * index.at, *index.shape, *[1] * (len(ranges) - index.at)]
            made.append(lax.reshape(start, shape))
            continue
        along = nth if nth < index.at else nth + len(index.shape)
        nth += 1
        places = lax.add(lax.mul(lax.iota("int32", dim.size), dim.step), start)
        made.append(lax.reshape(places, [dim.size if d == along else 1 for d in range(len(out))]))
    return tuple(made)


def scattered(value, new, index, operands, mask, how):
    """The elements at arrays of indices replaced, or combined, where the mask is True (None: everywhere)."""
    places = list(ranges_as_arrays(index, operands))
    if mask is not None:
        first = next(i for i, d in enumerate(index.dims) if not isinstance(d, At))
        out = typeof(mask).shape
        beyond = lax.full(out, typeof(value).shape[first], "int32")
        whole = lax.broadcast_in_dim(places[first], out, tuple(range(len(out))))
        places[first] = lax.select(mask, whole, beyond)
    return getattr(value.at[tuple(places)], how)(new, mode="drop")


def combine(state, value, place, operands, mask, kind):
    """A state with the part at a place combined with ``value``; elements that several indices name are
    combined with each of their values, for sums and extremes.
    """
    step = place.steps[-1] if place.steps else None
    if len(place.steps) == 1 and isinstance(step, Index) and step.gathers and kind in ("add", "max", "min"):
        return scattered(state, value, step, operands, mask, kind)
    if mask is None:
        new = COMBINE[kind](array_parts.take(state, place.steps, operands), value)
        return array_parts.put(state, new, place.steps, operands)
    new = COMBINE[kind](take(state, place.steps, operands, mask, None), value)
    return put(state, new, place.steps, operands, mask)


__all__ = ["combine", "put", "take"]
