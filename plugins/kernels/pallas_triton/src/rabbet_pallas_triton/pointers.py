"""References as pointers: where the elements of a part lie, and which of them are in the array."""

import dataclasses
import math

from rabbet.experimental.pallas.targets import At, Bitcast, Gather, Index, Transpose
from rabbet.extend.primitive import ShapedArray

I32 = ShapedArray((), "int32")


@dataclasses.dataclass(frozen=True)
class Dim:
    """A dimension of a view: its size, how far its elements lie apart, how many of the array's indices one
    step takes, and the name of how many indices are left in the array from its start on (None: enough).
    """

    size: int
    stride: int
    unit: int = 1
    left: str | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A state: a pointer to its first element, and its dimensions.

    Args:
      pointer: the name of a pointer.
      dtype: of the elements.
      dims: a ``Dim`` each.
      wide: whether offsets need 64 bits.
      tests: names of i1 that must hold for anything of it to be in the array.
    """

    pointer: str
    dtype: object
    dims: tuple[Dim, ...]
    wide: bool = False
    tests: tuple[str, ...] = ()

    @property
    def shape(self):
        return tuple([d.size for d in self.dims])


def stored(walker, dtype):
    """The type of an element in memory: of truth values a byte."""
    return "i8" if str(dtype) == "bool" else walker.element(dtype)


def moved(walker, pointer, view, start, stride):
    """A pointer further on by ``start * stride`` elements; ``start`` a number or the name of an i32."""
    if isinstance(start, int):
        if start * stride == 0:
            return pointer
        typed = "i64" if view.wide else "i32"
        far = walker.emit(f"arith.constant {start * stride} : {typed}")
    else:
        far, typed = scaled(walker, start, stride, view.wide)
    return walker.emit(f"tt.addptr {pointer}, {far} : !tt.ptr<{stored(walker, view.dtype)}>, {typed}")


def scaled(walker, number, stride, wide):
    """An i32 scalar times a stride, and the type of the product."""
    typed = "i64" if wide else "i32"
    if wide:
        number = walker.emit(f"arith.extsi {number} : i32 to i64")
    if stride == 1:
        return number, typed
    by = walker.emit(f"arith.constant {stride} : {typed}")
    return walker.emit(f"arith.muli {number}, {by} : {typed}"), typed


def block(walker, argument, spec, at):
    """The view of a block of an operand or result; ``at`` are the places that its index map gives."""
    array = spec.array
    strides = [math.prod(array.shape[d + 1 :]) for d in range(array.ndim)]
    view = View(argument, array.dtype, (), wide=array.size >= 2**31)
    pointer, dims = argument, []
    for dim, size, full, stride, place in zip(spec.dims, spec.sizes, array.shape, strides, at, strict=True):
        kind = type(dim).__name__
        start = place
        if kind == "Blocked" and size != 1:
            start = walker.emit(f"arith.muli {place}, {walker.i32(size)} : i32")
        if not (kind == "Blocked" and size == full):
            pointer = moved(walker, pointer, view, start, stride)
        if kind == "Squeezed":
            continue
        within = kind == "Blocked" and full % size == 0
        left = None if within else walker.emit(f"arith.subi {walker.i32(full)}, {start} : i32")
        dims.append(Dim(size, stride, 1, left))
    return dataclasses.replace(view, pointer=pointer, dims=tuple(dims))


def whole(walker, argument, array):
    """The view of a whole array."""
    strides = [math.prod(array.shape[d + 1 :]) for d in range(array.ndim)]
    dims = [Dim(n, s) for n, s in zip(array.shape, strides, strict=True)]
    return View(argument, array.dtype, tuple(dims), wide=array.size >= 2**31)


def element_test(walker, start, left):
    """Whether one index is in the array."""
    start = walker.i32(start) if isinstance(start, int) else start
    return walker.emit(f"arith.cmpi slt, {start}, {left} : i32")


def through(walker, view, place, operands):
    """Go through a place: pointers to its elements and the test of which are in the array.

    Returns:
      (name of the pointers, their shape, name of an i1 of that shape or None)
    """
    operands = list(operands)
    for number, step in enumerate(place.steps):
        own, operands = operands[: step.operands], operands[step.operands :]
        if isinstance(step, Index) and step.gathers:
            if number + 1 != len(place.steps):
                walker.refuse(
                    "a part at arrays of indices that is indexed again", "one index with all of them"
                )
            return gathered(walker, view, step, own)
        view = narrowed(walker, view, step, own)
    return spread_out(walker, view)


def narrowed(walker, view, step, operands):
    """The view that one step without arrays of indices leads to."""
    if isinstance(step, Transpose):
        return dataclasses.replace(view, dims=tuple([view.dims[d] for d in step.permutation]))
    if isinstance(step, Bitcast):
        if ShapedArray((), step.dtype).itemsize != ShapedArray((), view.dtype).itemsize:
            walker.refuse("a reference seen as elements of another width", "convert the value that is read")
        before, after = stored(walker, view.dtype), stored(walker, step.dtype)
        pointer = view.pointer
        if before != after:
            pointer = walker.emit(f"tt.bitcast {pointer} : !tt.ptr<{before}> -> !tt.ptr<{after}>")
        return dataclasses.replace(view, pointer=pointer, dtype=step.dtype)
    if not isinstance(step, Index):
        walker.refuse("a reference seen in another shape", "reshape the value that is read or written")
    given, dims, tests, pointer = iter(operands), [], list(view.tests), view.pointer
    for dim, entry in zip(view.dims, step.dims, strict=True):
        start = next(given) if entry.start is None else entry.start
        pointer = moved(walker, pointer, view, start, dim.stride)
        if isinstance(entry, At):
            if dim.left is not None:
                tests.append(element_test(walker, times(walker, start, dim.unit), dim.left))
            continue
        left = dim.left
        if left is not None and start != 0:
            start = times(walker, start, dim.unit)
            start = walker.i32(start) if isinstance(start, int) else start
            left = walker.emit(f"arith.subi {left}, {start} : i32")
        dims.append(Dim(entry.size, dim.stride * entry.step, dim.unit * entry.step, left))
    return dataclasses.replace(view, pointer=pointer, dims=tuple(dims), tests=tuple(tests))


def times(walker, number, unit):
    if isinstance(number, int) or unit == 1:
        return number * unit if isinstance(number, int) else number
    return walker.emit(f"arith.muli {number}, {walker.i32(unit)} : i32")


def spread_out(walker, view):
    """Pointers to all elements of a view."""
    axes = [(along(walker, d.size, k, len(view.dims)), d) for k, d in enumerate(view.dims)]
    return joined(walker, view, view.pointer, view.shape, axes, view.tests)


def along(walker, size, axis, ndim):
    """(the numbers 0, 1, ... along one of several dimensions, its shape)."""
    name = walker.emit(
        f"tt.make_range {{end = {size} : i32, start = 0 : i32}} : {walker.shaped((size,), 'i32')}"
    )
    return placed(walker, name, (size,), [axis], ndim)


def placed(walker, name, shape, axes, ndim):
    """(an array with dimensions of size 1 put between its own, which go to ``axes``; its shape)."""
    current = list(shape)
    for d in range(ndim):
        if d not in axes:
            new = [*current[:d], 1, *current[d:]]
            types = f"{walker.shaped(current, 'i32')} -> {walker.shaped(new, 'i32')}"
            name = walker.emit(f"tt.expand_dims {name} {{axis = {d} : i32}} : {types}")
            current = new
    return name, tuple(current)


def joined(walker, view, pointer, shape, axes, tests):
    """Pointers from one, from indices along axes; and the test of which are in the array."""
    offsets, mask = None, None
    typed = "i64" if view.wide else "i32"
    for (name, small), dim in axes:
        if dim.left is not None:
            bound = splat(walker, dim.left, "i32", small)
            reach = product(walker, name, dim.unit, small, "i32")
            test = walker.emit(f"arith.cmpi slt, {reach}, {bound} : {walker.shaped(small, 'i32')}")
            mask = both(walker, mask, broadcast(walker, test, "i1", small, shape), shape)
        if view.wide:
            name = walker.emit(
                f"arith.extsi {name} : {walker.shaped(small, 'i32')} to {walker.shaped(small, 'i64')}"
            )
        far = broadcast(walker, product(walker, name, dim.stride, small, typed), typed, small, shape)
        offsets = (
            far
            if offsets is None
            else walker.emit(f"arith.addi {offsets}, {far} : {walker.shaped(shape, typed)}")
        )
    for test in tests:
        mask = both(walker, mask, splat(walker, test, "i1", shape), shape)
    if shape and offsets is not None:
        element = f"!tt.ptr<{stored(walker, view.dtype)}>"
        pointer = walker.emit(f"tt.splat {pointer} : {element} -> {walker.shaped(shape, element)}")
        pointer = walker.emit(
            f"tt.addptr {pointer}, {offsets} : {walker.shaped(shape, element)}, {walker.shaped(shape, typed)}"
        )
    return pointer, shape, mask


def product(walker, name, by, shape, typed):
    if by == 1:
        return name
    value = walker.emit(
        f"arith.constant dense<{by}> : {walker.shaped(shape, typed)}"
        if shape
        else f"arith.constant {by} : {typed}"
    )
    return walker.emit(f"arith.muli {name}, {value} : {walker.shaped(shape, typed)}")


def splat(walker, name, element, shape):
    return (
        name if not shape else walker.emit(f"tt.splat {name} : {element} -> {walker.shaped(shape, element)}")
    )


def broadcast(walker, name, element, old, new):
    if tuple(old) == tuple(new):
        return name
    if not old:
        return splat(walker, name, element, new)
    return walker.emit(
        f"tt.broadcast {name} : {walker.shaped(old, element)} -> {walker.shaped(new, element)}"
    )


def both(walker, mask, other, shape):
    """Two tests at once; the first may be None."""
    if mask is None or other is None:
        return other if mask is None else mask
    return walker.emit(f"arith.andi {mask}, {other} : {walker.shaped(shape, 'i1')}")


def gathered(walker, view, step, operands):
    """Pointers to the elements at arrays of indices."""
    given, pointer, tests, axes = iter(operands), view.pointer, list(view.tests), []
    ranges = [d.size for d in step.dims if not isinstance(d, (At, Gather))]
    shape = (*ranges[: step.at], *step.shape, *ranges[step.at :])
    places = list(range(step.at, step.at + len(step.shape)))
    nth = 0
    for dim, entry in zip(view.dims, step.dims, strict=True):
        if isinstance(entry, Gather):
            axes.append((placed(walker, next(given), step.shape, places, len(shape)), dim))
            continue
        start = next(given) if entry.start is None else entry.start
        pointer = moved(walker, pointer, view, start, dim.stride)
        if isinstance(entry, At):
            if dim.left is not None:
                tests.append(element_test(walker, times(walker, start, dim.unit), dim.left))
            continue
        axis = nth if nth < step.at else nth + len(step.shape)
        nth += 1
        left = dim.left
        if left is not None and start != 0:
            begin = times(walker, start, dim.unit)
            begin = walker.i32(begin) if isinstance(begin, int) else begin
            left = walker.emit(f"arith.subi {left}, {begin} : i32")
        inner = Dim(entry.size, dim.stride * entry.step, dim.unit * entry.step, left)
        axes.append((along(walker, entry.size, axis, len(shape)), inner))
    return joined(walker, view, pointer, shape, axes, tests)


__all__ = ["View", "block", "both", "stored", "through", "whole"]
