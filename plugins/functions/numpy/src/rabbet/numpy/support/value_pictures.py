"""A small picture of an array's values, for notebooks: a line for a row of numbers, else a map of cells."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

FEWEST = 16  # elements: fewer of them are read faster as numbers
CELLS, POINTS = 96, 240  # the most along a side of a map, and along a line
WIDTH, HEIGHT = 240, 48  # of a line
# From the smallest value to the largest; what is not finite stands apart. All can be seen on white and black.
DARK, LIGHT, APART = np.array([46, 62, 140]), np.array([250, 204, 110]), np.array([214, 56, 72])


def picture(values: np.ndarray) -> str:
    """HTML of the picture, or none where numbers say as much. Of many values evenly spaced ones are shown."""
    if values.size < FEWEST:
        return ""
    plane = values[(0,) * (values.ndim - 2)] if values.ndim > 2 else values
    if 0 in plane.shape or max(plane.shape) < 2:
        return ""
    if plane.ndim == 2 and min(plane.shape) > 1:
        shown = as_reals(plane[:: step(plane.shape[0], CELLS), :: step(plane.shape[1], CELLS)])
        drawn = cells(shown)
    else:
        flat = plane.reshape(-1)
        shown = as_reals(flat[:: step(flat.size, POINTS)])
        drawn = line(shown)
    return drawn.replace("TITLE", about(shown, plane.size, values.dtype.kind == "c"))


def step(count: int, most: int) -> int:
    """Which ones are shown of ``count``: every so many."""
    return -(-count // most)


def as_reals(values: np.ndarray) -> np.ndarray:
    """Values as floats; of complex ones, how large they are."""
    if values.dtype.kind == "c":
        with np.errstate(all="ignore"):
            return np.abs(values).astype(np.float64)
    return values.astype(np.float64)


def scaled(shown: np.ndarray) -> np.ndarray:
    """Values between 0 and 1; NaN for what is not finite."""
    finite = np.where(np.isfinite(shown), shown, np.nan)
    if np.isnan(finite).all():
        return finite
    low, high = np.nanmin(finite), np.nanmax(finite)
    if low == high:
        return np.where(np.isnan(finite), np.nan, 0.5)
    top = max(abs(low), abs(high))  # divided first: the range of the largest floats is not a float
    return (finite / top - low / top) / (high / top - low / top)


def about(shown: np.ndarray, of: int, is_complex: bool) -> str:
    """What the picture shows, in words: for those who do not see it, and for a pointer above it."""
    finite = shown[np.isfinite(shown)]
    which = f"{shown.size} of {of} values" if shown.size < of else f"{of} values"
    what = f"magnitudes of {which}" if is_complex else which
    span = f", from {finite.min():.4g} to {finite.max():.4g}" if finite.size else ""
    others = shown.size - finite.size
    return f"{what}{span}" + (f", {others} not finite" if others else "")


def line(shown: np.ndarray) -> str:
    """A line as SVG, in the colour of the text around it; broken where a value is not finite."""
    heights = scaled(shown)
    along = np.linspace(2, WIDTH - 2, len(heights))
    parts, pen = [], "M"
    for x, y in zip(along, heights, strict=True):
        if np.isnan(y):
            pen = "M"
            continue
        parts.append(f"{pen}{x:.1f} {HEIGHT - 3 - y * (HEIGHT - 6):.1f}")
        pen = "L"
    return (
        f'<div title="TITLE"><svg role="img" aria-label="TITLE" width="{WIDTH}" height="{HEIGHT}" '
        f'style="display:block;margin-top:0.4em"><path d="{"".join(parts)}" fill="none" '
        'stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/></svg></div>'
    )


def cells(shown: np.ndarray) -> str:
    """A map of cells as a PNG image within the HTML."""
    heights = scaled(shown)[..., None]
    colours = np.where(np.isnan(heights), APART, DARK + np.nan_to_num(heights) * (LIGHT - DARK))
    image = base64.b64encode(png(colours.round().astype(np.uint8))).decode()
    rows, columns = shown.shape
    side = max(1, WIDTH // max(rows, columns, 10))
    return (
        f'<img alt="TITLE" title="TITLE" width="{columns * side}" height="{rows * side}" '
        'style="display:block;margin-top:0.4em;image-rendering:pixelated" '
        f'src="data:image/png;base64,{image}"/>'
    )


def png(colours: np.ndarray) -> bytes:
    """An image of bytes (rows, columns, 3) as a PNG file."""
    rows, columns, _ = colours.shape
    lines = b"".join([b"\0" + row.tobytes() for row in colours])

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


__all__ = ["picture"]
