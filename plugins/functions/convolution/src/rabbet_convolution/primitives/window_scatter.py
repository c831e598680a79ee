"""Writing where any comparison chooses an element of each window: ``select_and_scatter``.

The general form of ``select_and_scatter_add``, with StableHLO's meaning: ``select`` compares the element
chosen so far with the next one of its window (true keeps it), and ``scatter`` combines what stands at the
chosen place with the source's element for that window.
"""

from math import prod
from typing import Any

import numpy as np
from rabbet import lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.passes import at_each_place
from rabbet.extend.primitive import Primitive, ShapedArray, broadcast_in_dim, full_of_type, pad
from rabbet.extend.transform import typeof

from rabbet_convolution.primitives import windows
from rabbet_convolution.primitives.computations import check_computation

BOOL = np.dtype(bool)


def select_and_scatter_aval(x, source, init, select, scatter, window):
    name = "select_and_scatter"
    windows.check(name, x, window)
    out = windows.out_shape(x.shape, window)
    if source.shape != out or source.dtype != x.dtype or init.dtype != x.dtype or init.shape:
        raise DTypeError(
            f"{name} of {x.str_short()}: the source must have the shape {out} and the operand's dtype, the "
            f"initial value too, as a scalar; got {source.str_short()} and {init.str_short()}"
        )
    check_computation(name, scatter, [x], [init])
    (chosen,) = select.out_avals
    if chosen.dtype != BOOL or chosen.shape:
        raise ShapeError(f"{name}: the selection must return a boolean scalar, got {chosen.str_short()}")
    return x.update(weak_type=False)


select_and_scatter = Primitive(
    "select_and_scatter", select_and_scatter_aval, kinds=("body",),
    doc="a source's elements combined at the places that a comparison chooses in each window of an array",
)  # fmt: skip


@select_and_scatter.rule("runs")
def runs_of_select_and_scatter(op, x, source, init):
    """One comparison less than a window has elements, and one sum, for each element of the source."""
    return {"select": source.size * (prod(op.params["window"].sizes) - 1), "scatter": source.size}


@select_and_scatter.decompose
def select_and_scatter_by_places(op, x, source, init):
    window, select, scatter = op.params["window"], op.params["select"], op.params["scatter"]
    aval, given = typeof(x), typeof(source)
    if not given.size:
        return full_of_type(aval.strong(), 0) if not aval.size else _filled(init, aval.shape)
    place = _chosen(select, x, init, window)
    whole = typeof(windows.padded(x, init, window)).shape
    total = _filled(init, whole)
    for i, offset in enumerate(windows.offsets(window)):
        config = windows.place_padding(offset, whole, given.shape, window)
        here = lax.eq(place, full_of_type(typeof(place), i))
        mask = pad(here, np.False_, padding_config=config)
        news = pad(source, init, padding_config=config)
        (combined,) = at_each_place(scatter, [total, news])
        total = lax.select_n(mask, total, combined)
    return windows.unpadded(total, init, window)


def _filled(value, sizes):
    return broadcast_in_dim(value, shape=sizes, broadcast_dimensions=())


def _chosen(select, x, init, window):
    """For each window the number of the place whose element is chosen; -1 where all is padding."""
    everywhere = full_of_type(ShapedArray(typeof(x).shape, BOOL), True)
    inside = windows.patches(everywhere, np.False_, window)
    place: Any = None
    best: Any = None
    for i, (part, real) in enumerate(zip(windows.patches(x, init, window), inside, strict=True)):
        number = full_of_type(ShapedArray(typeof(part).shape, np.dtype("int32")), i)
        nowhere = full_of_type(typeof(number), -1)
        if best is None:
            best, place = part, lax.select_n(real, nowhere, number)
            continue
        (keeps,) = at_each_place(select, [best, part])
        # The first element that is no padding is chosen without being compared.
        better = lax.bitwise_or(lax.bitwise_not(keeps), lax.eq(place, nowhere))
        taken = lax.bitwise_and(real, better)
        best, place = lax.select_n(taken, best, part), lax.select_n(taken, place, number)
    return place


__all__ = ["select_and_scatter"]
