"""The geometry of windows that slide over arrays: what reductions over windows and convolutions share.

Along one dimension an operand of ``n`` elements is first spread by its dilation, then padded (or, with
negative padding, cut). A window of ``w`` elements, spread by its own dilation, moves over that in strides.
Everything here is static: sizes in, sizes out.
"""

from itertools import product
from math import prod
from typing import NamedTuple

from rabbet.errors import ShapeError
from rabbet.extend.primitive import pad
from rabbet.extend.primitive import slice as slice_
from rabbet.extend.rules import int_array
from rabbet.extend.transform import typeof

# Windows of up to this many places are written out, one slice per place; larger ones become a loop.
MOST_PLACES = 64

# Kinds of dtypes that primitives over windows take.
REALS = "iuf"
NUMBERS = "iufc"


class Window(NamedTuple):
    """Windows over every dimension of an array; each field has an entry per dimension, ``padding`` pairs."""

    sizes: tuple
    strides: tuple
    padding: tuple
    base_dilation: tuple
    dilation: tuple

    @property
    def dilated(self):
        """Whether operand or window is spread."""
        return any(d != 1 for d in (*self.base_dilation, *self.dilation))

    @property
    def places(self):
        """How many elements a window covers."""
        return prod(self.sizes)

    def with_batch(self, axis):
        """The same windows over an array with one more dimension at ``axis``, of size 1 along it."""
        one = (1, 1, (0, 0), 1, 1)
        return Window(*[(*f[:axis], new, *f[axis:]) for f, new in zip(self, one, strict=True)])


def spread(n, dilation):
    """The extent of ``n`` elements with ``dilation - 1`` places between each two."""
    return (n - 1) * dilation + 1 if n else 0


def out_size(n, size, stride, padding, base_dilation, dilation):
    """How many places a window has along a dimension of ``n`` elements."""
    room = spread(n, base_dilation) + sum(padding) - spread(size, dilation)
    return room // stride + 1 if room >= 0 else 0


def out_shape(sizes, window):
    """The shape of an array with one element per place of the window."""
    return tuple([out_size(n, *per_dim) for n, per_dim in zip(sizes, zip(*window, strict=True), strict=True)])


def back_padding(n, out, size, stride, padding, base_dilation, dilation):
    """The padding with which windows over the results reach back to the operand's ``n`` elements.

    Result ``o`` reads the operand's element ``i`` at window place ``k`` where ``o * stride + k * dilation -
    low == i * base_dilation``. Read the other way: over results spread by ``stride``, a window that is
    turned around moves in strides of ``base_dilation``, and starts so far outside.
    """
    low = (size - 1) * dilation - padding[0]
    high = (n - 1) * base_dilation + (size - 1) * dilation - low - (out - 1) * stride
    return low, high


def padded(x, fill, window):
    """``x`` spread by the base dilation and padded with the scalar ``fill``."""
    config = tuple(
        [(lo, hi, b - 1) for (lo, hi), b in zip(window.padding, window.base_dilation, strict=True)]
    )
    if all(triple == (0, 0, 0) for triple in config):
        return x
    return pad(x, fill, padding_config=config)


def offsets(window):
    """The places of a window in row-major order, as distances from its first."""
    return product(*[range(0, w * d, d) for w, d in zip(window.sizes, window.dilation, strict=True)])


def patch(x, offset, window, out):
    """What stands at one place of every window: a strided slice of the padded ``x``, of the shape ``out``."""
    limits = tuple([o + (n - 1) * s + 1 for o, n, s in zip(offset, out, window.strides, strict=True)])
    strides = None if all(s == 1 for s in window.strides) else window.strides
    return slice_(x, start_indices=offset, limit_indices=limits, strides=strides)


def patches(x, fill, window):
    """What stands at each place of the windows, as a list of arrays of the result's shape, which is not
    empty.
    """
    out = out_shape(typeof(x).shape, window)
    x = padded(x, fill, window)
    return [patch(x, offset, window, out) for offset in offsets(window)]


def place_padding(offset, whole, out, window):
    """The padding that puts results back at one place of every window: the reverse of ``patch``.

    Args:
      whole: the sizes of the padded operand.
      out: the sizes of the results.
    """
    return tuple([
        (o, size - o - spread(n, s), s - 1)
        for o, size, n, s in zip(offset, whole, out, window.strides, strict=True)
    ])  # fmt: skip


def unpadded(x, fill, window):
    """What is left of an array like the padded operand when padding and dilation are taken away."""
    if any(lo or hi for lo, hi in window.padding):
        # Where the operand was cut, something comes back.
        x = pad(x, fill, padding_config=tuple([(-lo, -hi, 0) for lo, hi in window.padding]))
    if all(b == 1 for b in window.base_dilation):
        return x
    sizes = typeof(x).shape
    return slice_(x, start_indices=(0,) * len(sizes), limit_indices=sizes, strides=window.base_dilation)


def attributes(window):
    """The attributes of StableHLO's ``reduce_window``, as text."""
    padding = [list(pair) for pair in window.padding]
    pads = f"dense<{padding}> : tensor<{len(padding)}x2xi64>" if padding else "dense<> : tensor<0x2xi64>"
    return (
        f"base_dilations = {int_array(window.base_dilation)}, padding = {pads}, "
        f"window_dilations = {int_array(window.dilation)}, window_dimensions = {int_array(window.sizes)}, "
        f"window_strides = {int_array(window.strides)}"
    )


def check(name, aval, window):
    """Refuse windows that do not fit an array, with the reason."""
    shown = f"{name} of {aval.str_short()}"
    names = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")
    for what, values in zip(names, window, strict=True):
        if len(values) != aval.ndim:
            raise ShapeError(
                f"{shown}: {what} {values} is of length {len(values)}; give one per dimension, {aval.ndim}"
            )
        if what != "padding" and any(v < 1 for v in values):
            raise ShapeError(f"{shown}: {what} {values} must be positive")
    sizes = [
        spread(n, b) + sum(p)
        for n, p, b in zip(aval.shape, window.padding, window.base_dilation, strict=True)
    ]
    if any(size < 0 for size in sizes):
        raise ShapeError(f"{shown}: padding {window.padding} cuts off more than there is")
