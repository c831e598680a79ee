"""Writing where any comparison chooses an element of each window: ``select_and_scatter``.

The general form of ``select_and_scatter_add``, with StableHLO's meaning: ``select`` compares the element
chosen so far with the next one of its window (true keeps it), and ``scatter`` combines what stands at the
chosen place with the source's element for that window.
"""

import numpy as np

from rabbet.primitives import logic, monoids, shape, windows, zeros
from rabbet.program.avals import ShapedArray
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof


def select_and_scatter_aval(x, source, init, select, scatter, window):
    name = "select_and_scatter"
    windows.check(name, x, window)
    out = windows.out_shape(x.shape, window)
    if source.shape != out or source.dtype != x.dtype or init.dtype != x.dtype or init.shape:
        raise TypeError(
            f"{name} of {x.str_short()}: the source must have the shape {out} and the operand's dtype, the "
            f"initial value too, as a scalar; got {source.str_short()} and {init.str_short()}"
        )
    monoids.check_computation(name, scatter, [x], [init])
    (chosen,) = select.out_avals
    if chosen.dtype != logic.BOOL or chosen.shape:
        raise TypeError(f"{name}: the selection must return a boolean scalar, got {chosen.str_short()}")
    return x.update(weak_type=False)


select_and_scatter = Primitive(
    "select_and_scatter", select_and_scatter_aval, kinds=("body",),
    doc="a source's elements combined at the places that a comparison chooses in each window of an array",
)  # fmt: skip


@select_and_scatter.decompose
def select_and_scatter_by_places(op, x, source, init):
    window, select, scatter = op.params["window"], op.params["select"], op.params["scatter"]
    aval, given = typeof(x), typeof(source)
    if not given.size:
        return zeros.full_of_type(aval.strong(), 0) if not aval.size else _filled(init, aval.shape)
    place = _chosen(select, x, init, window)
    whole = typeof(windows.padded(x, init, window)).shape
    total = _filled(init, whole)
    for i, offset in enumerate(windows.offsets(window)):
        config = windows.place_padding(offset, whole, given.shape, window)
        here = logic.eq(place, zeros.full_of_type(typeof(place), i))
        mask = shape.pad(here, np.False_, padding_config=config)
        news = shape.pad(source, init, padding_config=config)
        (combined,) = monoids.on_arrays(scatter, [total, news])
        total = logic.select_n(mask, total, combined)
    return windows.unpadded(total, init, window)


def _filled(value, sizes):
    return shape.broadcast_in_dim(value, shape=sizes, broadcast_dimensions=())


def _chosen(select, x, init, window):
    """For each window the number of the place whose element is chosen; -1 where all is padding."""
    everywhere = zeros.full_of_type(ShapedArray(typeof(x).shape, logic.BOOL), True)
    inside = windows.patches(everywhere, np.False_, window)
    place = best = None
    for i, (part, real) in enumerate(zip(windows.patches(x, init, window), inside, strict=True)):
        number = zeros.full_of_type(ShapedArray(typeof(part).shape, np.dtype("int32")), i)
        nowhere = zeros.full_of_type(typeof(number), -1)
        if best is None:
            best, place = part, logic.select_n(real, nowhere, number)
            continue
        (keeps,) = monoids.on_arrays(select, [best, part])
        # The first element that is no padding is chosen without being compared.
        better = logic.bitwise_or(logic.bitwise_not(keeps), logic.eq(place, nowhere))
        taken = logic.bitwise_and(real, better)
        best, place = logic.select_n(taken, best, part), logic.select_n(taken, place, number)
    return place


__all__ = ["select_and_scatter"]
