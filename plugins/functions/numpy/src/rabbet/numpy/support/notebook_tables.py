"""Arrays as HTML, for notebooks: a line with type and device, and the values as tables."""

from __future__ import annotations

import itertools
import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes

if TYPE_CHECKING:
    from rabbet.typing import DType, Value

# What is shown of each: the first and the last ones of more than these.
ROWS, COLUMNS, TABLES = 10, 12, 3
DIGITS = 5  # behind the point
# What is brought here from other hardware, or from several devices, only to be looked at.
MOST_BYTES = 1 << 24
HEAD = "font-family:monospace;opacity:0.7;padding-bottom:0.3em"
CELL = "font-family:monospace;white-space:pre;text-align:right;padding:0 0.6em"
LABEL = "font-family:monospace;opacity:0.7"


def escape(text: Any) -> str:
    """``text`` as HTML shows it. Every first compilation loads this module, as a hook, and few
    need ``html``.
    """
    from html import escape

    return escape(text)


def notebook_table(array: Value, readable: bool) -> str:
    """Type and device of an ``Array``, and its values, if they are ``readable`` here; of a large one the
    first and last rows and columns, and a small picture. What is large and lies on other hardware, or in
    parts on several devices, is not read.
    """
    weak = ", weak type" if array.aval.weak_type else ""
    head = f"{array.aval.dtype.name}{list(array.shape)}{weak} on {place_of(array)}"
    if array.is_deleted():
        body = label("deleted")
    elif has_numbers(array.aval.dtype) and is_far(array) and array.nbytes > MOST_BYTES:
        body = label(f"{array.nbytes / 1e6:,.0f} MB, not read for this; x[:10] reads a part")
    elif not readable or not has_numbers(array.aval.dtype):
        body = f"<pre>{escape(repr(array))}</pre>"
    elif array.size == 0:
        body = label("no elements")
    else:
        from rabbet.numpy.support import value_pictures  # not at the top: few look, and all would load it

        values = np.asarray(array)
        body = tables(values) + value_pictures.picture(values)
    return f'<div style="overflow-x:auto"><div style="{HEAD}">{escape(head)}</div>{body}</div>'


def label(text: str) -> str:
    """A line in the colour of labels."""
    return f'<div style="{LABEL}">{escape(text)}</div>'


def place_of(array: Value) -> str:
    """The device of an array, or how it lies over several."""
    if array.is_deleted() or len(array.sharding.device_set) == 1:
        return str(array.device)
    spec = getattr(array.sharding, "spec", None)
    how = "" if spec is None else f", {spec}"
    return f"{len(array.sharding.device_set)} devices{how}"


def is_far(array: Value) -> bool:
    """Whether reading an array copies it: from other hardware than the CPU, or from several devices."""
    devices = array.sharding.device_set
    return len(devices) > 1 or next(iter(devices)).platform != "cpu"


def has_numbers(dtype: DType) -> bool:
    """Whether the elements of a dtype can be written as numbers."""
    return not isinstance(dtype, dtypes.ExtendedDType) and dtype != dtypes.float0


def tables(values: np.ndarray) -> str:
    """A table of the last two dimensions for each index of the dimensions before them."""
    if values.ndim <= 2:
        return table(values)
    outer = values.shape[:-2]
    shown = itertools.islice(np.ndindex(*outer), TABLES)
    parts = [
        f'<div style="{LABEL}">[{", ".join(map(str, index))}]</div>{table(values[index])}' for index in shown
    ]
    left = math.prod(outer) - len(parts)
    if left:
        parts.append(label(f"and {left} more of these"))
    return "".join(parts)


def table(values: np.ndarray) -> str:
    """A table of at most two dimensions."""
    values = values.reshape((1, -1)) if values.ndim < 2 else values
    rows, columns = ends(values.shape[0], ROWS), ends(values.shape[1], COLUMNS)
    known = [[i for i in some if i is not None] for some in (rows, columns)]
    texts = iter(numbers(values[np.ix_(*known)].ravel()))
    dots = f'<td style="{CELL}">\N{HORIZONTAL ELLIPSIS}</td>'
    lines = []
    for row in rows:
        cells = [
            dots if row is None or column is None else f'<td style="{CELL}">{escape(next(texts))}</td>'
            for column in columns
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<table style="border:none">{"".join(lines)}</table>'


def ends(count: int, most: int) -> list[int | None]:
    """The indices to show of ``count``, with None where some are left out."""
    half = most // 2
    if count <= most:
        return [*range(count)]
    return [*range(half), None, *range(count - half, count)]


def numbers(flat: np.ndarray) -> list[str]:
    """The elements of an array as texts, written alike, as NumPy writes them with few digits."""
    most = flat.size + 1
    text = np.array2string(
        flat, separator="|", max_line_width=sys.maxsize, threshold=most, precision=DIGITS
    )
    return text[1:-1].split("|")


__all__ = ["notebook_table"]
