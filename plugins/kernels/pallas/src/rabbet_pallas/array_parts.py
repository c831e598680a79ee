"""Parts of arrays, read and replaced by operations of the core: what ``load`` and ``store`` mean.

A part that reaches beyond the array is moved back into it, as slices of the core do. Under a mask it is not:
elements that the mask leaves out may lie outside, and all others are where they say.
"""

import numpy as np
from rabbet import lax
from rabbet.extend.transform import typeof

from rabbet_pallas.reference_parts import At, Bitcast, Gather, Range, Reshape, Transpose


def starts_of(index, operands):
    """The starts (for a ``Gather`` the array) of each dimension, from the static ones and the operands."""
    given = iter(operands)
    return [next(given) if isinstance(d, Gather) or d.start is None else d.start for d in index.dims]


def size_of(dim):
    """How many elements of a dimension a box around the part has."""
    return 1 if isinstance(dim, At) else (dim.size - 1) * dim.step + 1 if dim.size else 0


def take(value, steps, operands):
    """The part of ``value`` that the steps lead to."""
    for step in steps:
        value, operands = take_step(value, step, operands[: step.operands]), operands[step.operands :]
    return value


def take_step(value, step, operands):
    if isinstance(step, Bitcast):
        return bitcast(value, step.dtype)
    if isinstance(step, Reshape):
        return lax.reshape(value, step.shape)
    if isinstance(step, Transpose):
        return lax.transpose(value, step.permutation)
    if step.gathers:
        return value[advanced(step, operands)]
    box, starts = [size_of(d) for d in step.dims], starts_of(step, operands)
    if all(isinstance(s, int) for s in starts):
        ends = [s + n for s, n in zip(starts, box, strict=True)]
        out = lax.slice(value, starts, ends, [getattr(d, "step", 1) for d in step.dims])
    else:
        out = thinned(lax.dynamic_slice(value, starts, box), step)
    return lax.reshape(out, step.type_of(typeof(value)).shape)


def thinned(box, index):
    """Every ``step``-th element of a box."""
    steps = [getattr(d, "step", 1) for d in index.dims]
    if all(s == 1 for s in steps):
        return box
    return lax.slice(box, [0] * len(steps), typeof(box).shape, steps)


def advanced(index, operands):
    """The index of NumPy for a part with arrays of indices."""
    made = []
    for dim, start in zip(index.dims, starts_of(index, operands), strict=True):
        if isinstance(dim, Range) and isinstance(start, int):
            made.append(slice(start, start + size_of(dim), dim.step))
        elif isinstance(dim, Range):
            raise TypeError(
                "a reference cannot be indexed by arrays of integers and ds with a computed start at once\n"
                "  to fix: write the range as an array of indices too"
            )
        else:
            made.append(start)
    return tuple(made)


def put(value, new, steps, operands):
    """``value`` with the part that the steps lead to replaced by ``new``."""
    if not steps:
        return lax.reshape(new, typeof(value).shape)
    step, rest = steps[0], steps[1:]
    own, others = operands[: step.operands], operands[step.operands :]
    if rest:
        new = put(take_step(value, step, own), new, rest, others)
    return put_step(value, new, step, own)


def put_step(value, new, step, operands):
    if isinstance(step, Bitcast):
        return bitcast(new, typeof(value).dtype)
    if isinstance(step, Reshape):
        return lax.reshape(new, typeof(value).shape)
    if isinstance(step, Transpose):
        return lax.transpose(new, tuple(np.argsort(step.permutation).tolist()))
    if step.is_all_of(typeof(value).shape):
        return new
    if step.gathers:
        return value.at[advanced(step, operands)].set(new)
    starts = starts_of(step, operands)
    if any(isinstance(d, Range) and d.step != 1 for d in step.dims):
        old = lax.dynamic_slice(value, starts, [size_of(d) for d in step.dims])
        places = tuple([slice(None, None, getattr(d, "step", 1)) for d in step.dims])
        box = old.at[places].set(lax.reshape(new, sizes_of(step)))
    else:
        box = lax.reshape(new, sizes_of(step))
    return lax.dynamic_update_slice(value, box, starts)


def sizes_of(index):
    """The sizes of a part with the dimensions that disappear as 1."""
    return tuple([getattr(d, "size", 1) for d in index.dims])


def bitcast(value, dtype):
    """``value`` with its bits seen as ``dtype``, along the last dimension but one."""
    aval = typeof(value)
    out = Bitcast(dtype).type_of(aval)
    if out.shape == aval.shape:
        return lax.bitcast_convert_type(value, dtype)
    along = max(0, aval.ndim - 2)
    ratio = max(aval.itemsize, out.itemsize) // min(aval.itemsize, out.itemsize)
    order = [
        *range(along + 1),
        *range(along + 2, aval.ndim + 1),
        along + 1,
    ]  # the parts of an element go last
    if out.itemsize < aval.itemsize:
        parts = lax.bitcast_convert_type(value, dtype)
        back = tuple(np.argsort(order).tolist())
        return lax.reshape(lax.transpose(parts, back), out.shape)
    split = (*aval.shape[:along], aval.shape[along] // ratio, ratio, *aval.shape[along + 1 :])
    return lax.bitcast_convert_type(lax.transpose(lax.reshape(value, split), order), dtype)


__all__ = ["bitcast", "put", "size_of", "starts_of", "take"]
