"""One pass over pairs of an element and its place: how ``argmax`` and ``argmin`` are written.

Each element is read once, so that the result is right also where the compiler computes the operand twice.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.primitives import barrier, convert, elementwise, few_bits, logic, shape, zeros
from rabbet.primitives.attributes import int_array
from rabbet.primitives.basic_reductions import extreme
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.typing import Value

CODES = np.dtype("uint8")

# XLA:CPU makes straight code of a reduction over at most so many elements, for several results at once; a
# longer one that carries pairs goes element by element, at a twentieth of the speed. Of an axis that is taken
# apart half as many are safe.
AT_ONCE = 16
OF_MORE = 8


# Operations that cost no more than reading what they make.
CHEAP = frozenset(
    "abs add broadcast_in_dim compare constant convert iota maximum minimum multiply negate reshape select "
    "slice subtract transpose".split()
)
MOST_CHEAP = 16


def is_cheap(op: Site, name: str) -> bool:
    """Whether a value is made of arguments by few operations that cost little, as far as this function's text
    shows: such a one is better made again than kept.
    """
    seen, names = 0, [name]
    while names:
        name = names.pop()
        if "#" in name:
            return False
        if (line := op.line_of(name)) is None:
            continue
        seen += 1
        if seen > MOST_CHEAP or line.split()[0].removeprefix("stablehlo.") not in CHEAP:
            return False
        names += re.findall(r"%[\w#]+", line)
    return True


@functools.cache
def levels(size: int) -> tuple[int, ...] | None:
    """Numbers of elements to reduce at once, one after the other, whose product is the size of an axis; None
    where there are none, or too small ones.
    """
    if size <= AT_ONCE:
        return (size,)
    for count in range(OF_MORE, 3, -1):
        if size % count == 0 and size // count >= 4 and (more := levels(size // count)):
            return (count, *more)
    return None


@functools.cache
def parts_of(size: int) -> tuple[tuple[int, int], ...]:
    """An axis cut so that each part has ``levels``: pairs of a start and an end."""
    parts, start = [], 0
    while start < size:
        whole = next(part for part in range(size - start, 0, -1) if levels(part))
        parts.append((start, start + whole))
        start += whole
    return tuple(parts)


class Pairs:
    """Writes reductions of pairs along the axis of ``op``."""

    def __init__(self, op: Site, greatest: bool, aval: ShapedArray) -> None:
        self.op, self.axis = op, op["axes"][0]
        self.beyond = logic.gt if greatest else logic.lt
        self.value, self.place = aval.bare.update(shape=(), weak_type=False), op.out.bare.update(shape=())
        self.inits = op.constant(extreme(aval.dtype, not greatest), self.value), op.constant(0, self.place)
        scalars = [self.value, self.place, self.value, self.place]
        self.program = stage(self.better, scalars, op.primitive.name).jaxpr

    def better(self, value: Any, place: Any, other: Any, other_place: Any) -> Any:
        """Of two elements and their places the one that counts, and its place."""
        first, same = self.beyond(value, other), logic.eq(value, other)
        if dtypes.kind(typeof(value).dtype) == "f":
            nan, other_nan = logic.ne(value, value), logic.ne(other, other)
            first = logic.bitwise_or(first, nan)
            same = logic.bitwise_or(same, logic.bitwise_and(nan, other_nan))
        earlier = logic.select_n(logic.lt(place, other_place), other_place, place)
        return [
            logic.select_n(first, other, value),
            logic.select_n(same, logic.select_n(first, other_place, place), earlier),
        ]

    def with_places(self, dims: tuple[int, ...], x: str) -> list[str]:
        """The operand of a shape, and where each element stands along the axis."""
        dtype = self.place.dtype
        places = lambda: [shape.iota(dtype=dtype, shape=dims, dimension=self.axis)]
        return [x, *self.op.write(places, [], [])]

    def types(self, dims: tuple[int, ...]) -> list[ShapedArray]:
        """Of values and places of a shape."""
        return [self.value.update(shape=dims), self.place.update(shape=dims)]

    def reduced(self, pair: list[str], dims: tuple[int, ...], axis: int) -> list[str]:
        """Of the pairs along an axis those that count."""
        ins = [a.mlir for a in (*self.types(dims), self.value, self.place)]
        outs = [a.mlir for a in self.types(dims[:axis] + dims[axis + 1 :])]
        head = f'"stablehlo.reduce"({", ".join([*pair, *self.inits])}) <{{dimensions = {int_array([axis])}}}>'
        types = f": ({', '.join(ins)}) -> ({', '.join(outs)})"
        return list(self.op.emit_regions(head, [(self.program, [])], types, 2, closed=True))

    def by_levels(self, pair: list[str], dims: tuple[int, ...]) -> list[str]:
        """The same along the axis of the operation, a few elements at once."""
        axis = self.axis
        for count in levels(dims[axis]) or ():
            apart = [dims[axis] // count, count]
            if axis == len(dims) - 1:  # beside each other in memory stays what is worked on together
                apart.reverse()
            split = (*dims[:axis], *apart, *dims[axis + 1 :])
            reshaped = lambda *xs, split=split: [shape.reshape(x, new_sizes=split) for x in xs]
            pair = self.op.write(reshaped, self.types(dims), pair)
            at = axis if axis == len(dims) - 1 else axis + 1
            pair, dims = self.reduced(pair, split, at), (*split[:at], *split[at + 1 :])
        dropped = dims[:axis] + dims[axis + 1 :]
        alone = lambda *xs: [shape.reshape(x, new_sizes=dropped) for x in xs]
        return self.op.write(alone, self.types(dims), pair)

    def of_parts(self, x: str, dims: tuple[int, ...]) -> str:
        """The places of the extremes along the axis, part by part."""
        pair, best = self.with_places(dims, x), None
        left = self.types(dims[: self.axis] + dims[self.axis + 1 :])
        for start, end in parts_of(dims[self.axis]):
            part = (*dims[: self.axis], end - start, *dims[self.axis + 1 :])
            starts = tuple([start if i == self.axis else 0 for i in range(len(dims))])
            limits = tuple([a + b for a, b in zip(starts, part, strict=True)])
            cut = lambda *xs, starts=starts, limits=limits: [
                shape.slice(x, start_indices=starts, limit_indices=limits, strides=None) for x in xs
            ]
            mine = pair if part == dims else self.op.write(cut, self.types(dims), pair)
            mine = self.by_levels(mine, part)
            best = mine if best is None else self.op.write(self.better, [*left, *left], [*best, *mine])
        assert best is not None
        return best[1]


def in_order(x: Value, greatest: bool) -> Value:
    """``x``; of a format without a zero its codes, which are in the order of the numbers, with NaN first: its
    smallest number is below the normal ones of the format in which the compiler calculates.
    """
    if dtypes.spec(typeof(x).dtype).zero:
        return x
    codes = convert.bitcast_convert_type(x, new_dtype=CODES)  # NaN is the largest, and 0 if 1 is added
    return codes if greatest else elementwise.add(codes, zeros.full_of_type(typeof(codes).strong(), 1))


def lower_in_pairs(op: Site, x: str, greatest: bool, *, by_levels: bool) -> Any:
    """Write ``argmax`` or ``argmin`` as one pass; ``by_levels``: a few elements at once."""
    (aval,) = op.in_avals
    if few_bits.less_than_a_byte(aval.dtype):  # XLA lays such numbers and their places out differently
        return few_bits.in_wider(op, [x])[0]
    if not dtypes.spec(aval.dtype).zero:
        (x,) = op.write(lambda x: [in_order(x, greatest)], [aval], [x])
        aval = aval.update(dtype=CODES)
    if by_levels:
        if aval.kind == "f" and aval.itemsize == 2:  # compared as float32 anyway
            wide = np.dtype("float32")
            (x,) = op.write(lambda x: [convert.to_dtype(x, wide)], [aval], [x])
            aval = aval.update(dtype=wide)
        if not is_cheap(op, x):  # then it is computed once, and in vectors
            (x,) = op.write(lambda x: [barrier.keep_apart(x)], [aval], [x])
        return Pairs(op, greatest, aval).of_parts(x, aval.shape)
    pairs = Pairs(op, greatest, aval)
    return pairs.reduced(pairs.with_places(aval.shape, x), aval.shape, op["axes"][0])[1]
