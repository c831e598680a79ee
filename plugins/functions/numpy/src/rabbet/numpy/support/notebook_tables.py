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
    first and last rows and columns.
    """
    weak = ", weak type" if array.aval.weak_type else ""
    head = f"{array.aval.dtype.name}{list(array.shape)}{weak} on {array.device}"
    if array.is_deleted():
        body = f'<div style="{LABEL}">deleted</div>'
    elif not readable or not has_numbers(array.aval.dtype):
        body = f"<pre>{escape(repr(array))}</pre>"
    elif array.size == 0:
        body = f'<div style="{LABEL}">no elements</div>'
    else:
        body = tables(np.asarray(array))
    return f'<div style="overflow-x:auto"><div style="{HEAD}">{escape(head)}</div>{body}</div>'


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
        parts.append(f'<div style="{LABEL}">and {left} more of these</div>')
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
    """The elements of an array as texts, written alike, as NumPy writes them."""
    text = np.array2string(flat, separator="|", max_line_width=sys.maxsize, threshold=flat.size + 1)
    return text[1:-1].split("|")


__all__ = ["notebook_table"]
