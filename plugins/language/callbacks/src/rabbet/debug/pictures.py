"""Pictures, in text, of how arrays lie over devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rabbet import Array
from rabbet.extend.transform import is_tracer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import Value


def visualize_sharding(
    shape: Sequence[int],
    sharding: Any,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    **others: Any,
) -> None:
    """Print how arrays of a shape lie over devices: a box for each part, with the devices that hold it.

    Args:
      shape: of one or two dimensions.
      sharding: a ``Sharding``.
      use_color: has no effect, the picture is text.
      scale: a factor on the size of the boxes.
      min_width, max_width: of a box, and of the whole, in characters.

    Raises:
      ValueError: for a shape of no dimensions, or more than two.

    Example:
      >>> x = rb.device_put(np.ones(4, np.float32))
      >>> rb.debug.visualize_sharding(x.shape, x.sharding)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    print(picture(tuple(shape), sharding, scale, min_width, max_width))


def visualize_array_sharding(arr: Value, **options: Any) -> None:
    """``visualize_sharding`` of an array; ``options`` are those.

    Raises:
      TypeError: for a traced array, of which it is not known how it will lie.

    Example:
      >>> rb.debug.visualize_array_sharding(rb.device_put(np.ones(4, np.float32)))
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    if is_tracer(arr) or not isinstance(arr, Array):
        raise TypeError(
            f"visualize_array_sharding takes an array with values, got {type(arr).__name__}; of a compiled "
            "function, Compiled.output_shardings tells how results lie"
        )
    visualize_sharding(arr.shape, arr.sharding, **options)


def picture(shape, sharding, scale, min_width, max_width):
    """The boxes, in as many rows and columns as the dimensions have parts."""
    if len(shape) not in (1, 2):
        raise ValueError(f"visualize_sharding draws arrays of one or two dimensions, got the shape {shape}")
    counts, parts = sharding.tiles(len(shape))
    rows, columns = counts if len(counts) == 2 else (1, counts[0])
    held = [[[] for _ in range(columns)] for _ in range(rows)]
    for device, place in zip(sharding.device_order, parts.tolist(), strict=True):
        row, column = place if len(place) == 2 else (0, place[0])
        held[row][column].append(device)
    texts = [[named(devices) for devices in row] for row in held]
    longest = max(len(text) for row in texts for text in row)
    # A whole of ten lines, as wide as its shape is beside its height: a letter is 2.5 times as high as wide.
    height = HEIGHT * scale if len(shape) == 2 else 2
    whole = 2.5 * HEIGHT * scale * shape[1] / max(shape[0], 1) if len(shape) == 2 else 0
    most = max(3, (max_width - 1) // columns - 1)
    width = min(max(longest, int(whole / columns) - 2, int(min_width) - 2), most)
    lines = max(int(height / rows) - 1, 1)
    edge = lambda left, middle, right: left + middle.join(["\u2500" * width] * columns) + right
    blank = "\u2502" + "\u2502".join([" " * width] * columns) + "\u2502"
    drawn = []
    for row in texts:
        drawn.append(edge("\u251c", "\u253c", "\u2524") if drawn else edge("\u250c", "\u252c", "\u2510"))
        above = (lines - 1) // 2
        written = "\u2502" + "\u2502".join([centred(text[:width], width) for text in row]) + "\u2502"
        drawn += [*[blank] * above, written, *[blank] * (lines - 1 - above)]
    return "\n".join([*drawn, edge("\u2514", "\u2534", "\u2518")])


HEIGHT = 10


def centred(text, width):
    """A text in the middle of so many characters; of an odd rest the larger part is on the right."""
    left = (width - len(text)) // 2
    return " " * left + text + " " * (width - len(text) - left)


def named(devices):
    """The devices of a box: ``CPU 0,2``."""
    return f"{devices[0].platform.upper()} {','.join(map(str, np.sort([d.id for d in devices])))}"


__all__ = ["visualize_array_sharding", "visualize_sharding"]
