"""Which part of a shape an index names."""

import numpy as np

from rabbet.extend.transform import typeof


def is_everything(index):
    """Whether an index names the whole."""
    return index is None or index is ... or (type(index) is tuple and index in ((), (...,)))


def shape_at(shape, index):
    """The shape of the part that an index names in an array of a shape.

    Raises:
      ValueError: for a Python int that is out of bounds.
    """
    parts = index if type(index) is tuple else (index,)
    _check(shape, parts)
    concrete = tuple([_stand_in(part) for part in parts])
    try:
        return np.broadcast_to(np.int8(0), shape)[concrete].shape
    except IndexError as error:
        raise ValueError(f"the index {index!r:.60} does not fit a Ref of shape {shape}: {error}") from None


def _check(shape, parts):
    """Refuse Python ints out of bounds, as far as no array or ellipsis comes before them."""
    for dim, part in zip(shape, parts, strict=False):
        if part is ... or part is None or not isinstance(part, (int, np.integer, slice)):
            return
        if not isinstance(part, slice) and not isinstance(part, bool) and not -dim <= part < dim:
            raise ValueError(f"the index {part} is out of bounds for a dimension of {dim}")


def _stand_in(part):
    """What NumPy may look at for the shape: zeros for numbers, which may be known to the program alone."""
    if part is ... or part is None or isinstance(part, (bool, np.bool_)):
        return part
    if isinstance(part, slice):
        return part
    if isinstance(part, (list, tuple)):
        return np.asarray(part)  # numbers, or an error that says what is wrong
    aval = typeof(part)
    if aval.dtype.kind == "b":
        return np.asarray(part)
    if not aval.shape:
        return 0
    return np.zeros(aval.shape, np.int8)


__all__ = ["is_everything", "shape_at"]
