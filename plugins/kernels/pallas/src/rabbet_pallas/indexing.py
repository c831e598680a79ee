"""From what users write in ``ref[...]`` to an ``Index`` and its operands."""

import operator

import numpy as np
from rabbet import Array, lax
from rabbet.extend.transform import typeof

from rabbet_pallas.reference_parts import At, Gather, Index, Range


class Slice:
    """``size`` places from ``start`` on, every ``stride``-th; made by ``ds``.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.Slice(2, 3).size, pl.Slice.from_slice(slice(1, None, 2), 6)
      (3, ds(1, 3, stride=2))
    """

    __slots__ = ("start", "size", "stride")

    def __init__(self, start, size, stride=1):
        self.start, self.size, self.stride = start, size, stride

    is_dynamic_start = property(lambda self: not is_static(self.start), doc="Whether the start is computed.")
    is_dynamic_size = property(lambda self: not is_static(self.size), doc="Whether the size is computed.")

    @classmethod
    def from_slice(cls, given, size):
        """The same places as a Python slice of a dimension of some size."""
        start, stop, step = given.indices(size)
        return cls(start, max(0, -(-(stop - start) // step)), step)

    def __eq__(self, other):
        mine = (self.start, self.size, self.stride)
        return isinstance(other, Slice) and mine == (other.start, other.size, other.stride)

    def __hash__(self):
        return hash((self.start, self.size, self.stride))

    def __repr__(self):
        return f"ds({self.start}, {self.size}{'' if self.stride == 1 else f', stride={self.stride}'})"


def ds(start, size=None, stride=None):
    """``size`` places of a dimension from ``start`` on, for indices of references.

    Args:
      start: an integer, computed or not; with ``start`` alone, that is the size and the start is 0.
      size: how many.
      stride: the distance from one to the next.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> pl.ds(4, 8), pl.ds(8)
      (ds(4, 8), ds(0, 8))
    """
    if start is None:
        return slice(None, size, stride)
    if size is None:
        start, size = 0, start
    return Slice(start, size, 1 if stride is None else stride)


def is_static(x):
    """Whether an integer is known while a kernel is traced."""
    return isinstance(x, (int, np.integer)) or (type(x) is Array and x.ndim == 0)


def index_of(shape, given):
    """The ``Index`` and its operands for what was written between the brackets of ``ref[...]``."""
    entries = filled(shape, given if isinstance(given, tuple) else (given,))
    arrays = [x for x in entries if is_array(x) and typeof(x).ndim]
    common = np.broadcast_shapes(*[typeof(x).shape for x in arrays])
    dims, operands = [], []
    for nth, (size, entry) in enumerate(zip(shape, entries, strict=True)):
        dim, operand = along(size, entry, common, f"dimension {nth} of a reference of shape {tuple(shape)}")
        dims.append(dim)
        operands += operand
    if not arrays:
        return Index(tuple(dims)), operands
    return Index(tuple(dims), common, place_of_arrays(dims)), operands


def place_of_arrays(dims):
    """Where NumPy puts the dimensions of arrays of indices: where they stand if they stand together, single
    indices included, else in front.
    """
    taken = [i for i, d in enumerate(dims) if not isinstance(d, Range)]
    together = taken == list(range(taken[0], taken[-1] + 1))
    return sum(isinstance(d, Range) for d in dims[: taken[0]]) if together else 0


def filled(shape, entries):
    """One entry for each dimension."""
    dots = [i for i, e in enumerate(entries) if e is ...]
    missing = len(shape) - len(entries) + len(dots)
    if len(dots) > 1 or missing < 0 or any(e is None for e in entries):
        raise IndexError(
            f"a reference of shape {tuple(shape)} cannot be indexed by {entries!r:.80}\n  to fix: one index "
            "for each dimension, at most one '...', and no None; change the shape of what is read"
        )
    at = dots[0] if dots else len(entries)
    return (*entries[:at], *[slice(None)] * missing, *entries[at + len(dots) :])


def is_array(x):
    return hasattr(x, "dtype") and hasattr(x, "shape")


def along(size, entry, common, where):
    """What an entry says of a dimension, and its operands."""
    if isinstance(entry, slice):
        return from_slice(size, entry, where), []
    if isinstance(entry, Slice):
        return from_ds(entry, where)
    if is_static(entry):
        at = operator.index(entry)
        if not -size <= at < size:
            raise IndexError(f"index {at} is out of range for {where}")
        return At(at % size), []
    if is_array(entry) or isinstance(entry, (list, range)):
        return from_array(entry, common, where)
    raise TypeError(
        f"{where} cannot be indexed by {type(entry).__name__} {entry!r:.40}\n"
        "  to fix: an integer, a slice, ds(start, size), or an array of integers"
    )


def from_slice(size, entry, where):
    parts = (entry.start, entry.stop, entry.step)
    if not all(p is None or is_static(p) for p in parts):
        raise TypeError(
            f"{where} is indexed by a slice whose ends are computed\n"
            "  to fix: ds(start, size), whose size is known"
        )
    start, stop, step = [None if p is None else operator.index(p) for p in parts]
    if (step or 1) < 1:
        raise ValueError(f"{where} is indexed by a slice with step {step}\n  to fix: a positive step")
    start, step = (start or 0) + (size if (start or 0) < 0 else 0), step or 1
    stop = size if stop is None else stop + (size if stop < 0 else 0)
    return Range(start, max(0, -(-(stop - start) // step)), step)


def refuse_beyond(index, shape):
    """Refuse known parts that reach beyond a reference, where no mask says what counts."""
    entries = index if isinstance(index, tuple) else (index,)
    before = next((i for i, e in enumerate(entries) if e is Ellipsis), len(entries))
    after = len(entries) - before - 1
    behind = enumerate(entries[before + 1 :], len(shape) - after)
    for d, entry in (*enumerate(entries[:before]), *behind):
        known = isinstance(entry, Slice) and all(map(is_static, (entry.start, entry.size, entry.stride)))
        if not known:
            continue
        start, size = operator.index(entry.start), operator.index(entry.size)
        last = start + (size - 1) * operator.index(entry.stride)
        if size > 0 and d < len(shape) and not (0 <= start < shape[d] and 0 <= last < shape[d]):
            raise IndexError(
                f"{entry!r} goes from {start} to {last}, out of range for dimension {d} of a reference of "
                f"shape {tuple(shape)}\n"
                f"  to fix: places from 0 to {shape[d] - 1}; or load(ref.at[...], mask=...)"
            )


def from_ds(entry, where):
    if not is_static(entry.size) or not is_static(entry.stride):
        raise TypeError(
            f"{where} is indexed by ds with a computed size or stride\n"
            "  to fix: the size of the largest part, and a mask for what is beyond"
        )
    size, stride = operator.index(entry.size), operator.index(entry.stride)
    if is_static(entry.start):
        return Range(operator.index(entry.start), size, stride), []
    return Range(None, size, stride), [as_index(entry.start, where)]


def from_array(entry, common, where):
    if not is_array(entry):
        entry = np.asarray(entry)
    if typeof(entry).ndim == 0:
        return At(None), [as_index(entry, where)]
    whole = as_index(entry, where)
    shape = typeof(whole).shape
    if shape != common:
        along = tuple(range(len(common) - len(shape), len(common)))
        whole = lax.broadcast_in_dim(whole, common, along)
    return Gather(), [whole]


def as_index(x, where):
    """A computed index as i32."""
    dtype = typeof(x).dtype
    if dtype.kind not in "iu":
        raise TypeError(
            f"{where} is indexed by an array of {dtype}\n  to fix: integers; for a mask, load(mask=...)"
        )
    return x if dtype == "int32" and not typeof(x).weak_type else lax.convert_element_type(x, "int32")


def joined(first, first_operands, then, then_operands):
    """One ``Index`` for one behind another, with its operands; None where one has arrays of indices."""
    if first.gathers or then.gathers:
        return None
    given, later = iter(first_operands), iter(then_operands)
    inner = iter(then.dims)
    dims, operands = [], []
    for dim in first.dims:
        start = next(given) if dim.start is None else dim.start
        if isinstance(dim, Range):
            within = next(inner)
            offset = next(later) if within.start is None else within.start
            start = plus(start, times(offset, dim.step))
            known = start if isinstance(start, int) else None
            step = dim.step * getattr(within, "step", 1)
            dim = At(known) if isinstance(within, At) else Range(known, within.size, step)
        if dim.start is None:
            operands.append(start)
        dims.append(dim)
    return Index(tuple(dims)), operands


def plus(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return a if isinstance(b, int) and b == 0 else b if isinstance(a, int) and a == 0 else lax.add(a, b)


def times(a, n):
    return a * n if isinstance(a, int) else a if n == 1 else lax.mul(a, n)


__all__ = ["Slice", "ds", "index_of", "is_static", "joined"]
