"""Where along an axis the extreme is: argmax, argmin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.primitives import barrier, checks, few_bits, logic, shape, zeros
from rabbet.primitives.attributes import int_array
from rabbet.primitives.checks import REALS
from rabbet.primitives.no_tangent import no_tangent
from rabbet.primitives.reducing import extreme, spread_back
from rabbet.primitives.reductions import reduce_max, reduce_min
from rabbet.rules.primitive import Primitive
from rabbet.rules.tables import Decomposed
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import DType, Value


def in_pairs(greatest: bool) -> Callable[..., Any]:
    """The lowering rule of one pass over pairs of an element and its place: each element is read once, so
    that it is right also where the compiler computes the operand twice and a barrier is of no use.
    """
    beyond = logic.gt if greatest else logic.lt

    def better(value: Any, place: Any, other: Any, other_place: Any) -> Any:
        """Of two elements and their places the one that counts, and its place."""
        first, same = beyond(value, other), logic.eq(value, other)
        if dtypes.kind(typeof(value).dtype) == "f":
            nan, other_nan = logic.ne(value, value), logic.ne(other, other)
            first = logic.bitwise_or(first, nan)
            same = logic.bitwise_or(same, logic.bitwise_and(nan, other_nan))
        earlier = logic.select_n(logic.lt(place, other_place), other_place, place)
        return [
            logic.select_n(first, other, value),
            logic.select_n(same, logic.select_n(first, other_place, place), earlier),
        ]

    def lower_in_pairs(op: Site, x: Any) -> Any:
        (aval,), axes = op.in_avals, op["axes"]
        if few_bits.less_than_a_byte(aval.dtype):  # XLA lays such numbers and their places out differently
            return few_bits.in_wider(op, [x])[0]
        value = aval.update(shape=(), weak_type=False)
        place = op.out.update(shape=())
        places = aval.update(dtype=op.out.dtype, weak_type=False)

        def of_places(x: Any) -> Any:
            return [shape.iota(dtype=places.dtype, shape=typeof(x).shape, dimension=axes[0])]

        (indices,) = op.write(of_places, [aval.bare], [x])
        worst, zero = op.constant(extreme(aval.dtype, not greatest), value), op.constant(0, place)
        program = stage(better, [value, place, value, place], op.primitive.name).jaxpr
        given = f"{aval.mlir}, {places.mlir}, {value.mlir}, {place.mlir}"
        types = f": ({given}) -> ({op.out.update(dtype=aval.dtype).mlir}, {op.out.mlir})"
        head = f'"stablehlo.reduce"({x}, {indices}, {worst}, {zero}) <{{dimensions = {int_array(axes)}}}>'
        return op.emit_regions(head, [(program, [])], types, 2, closed=True)[1]

    return lower_in_pairs


def arg_extreme(name: str, greatest: bool, doc: str) -> Primitive:
    """Make ``argmax`` or ``argmin``: the index of the first extreme element, or of the first NaN."""

    def abstract(x: ShapedArray, axes: tuple[int, ...], index_dtype: DType) -> ShapedArray:
        checks.accept(name, REALS + "b", x)
        checks.axes_valid(name, axes, x.ndim)
        if len(axes) != 1:
            raise TypeError(f"{name} takes one axis, got {axes}")
        if dtypes.kind(index_dtype) not in "iu":
            raise TypeError(f"{name}: index_dtype must be an integer dtype, got {index_dtype}")
        if x.shape[axes[0]] == 0:
            raise ValueError(f"{name}: axis {axes[0]} of {x.str_short()} is empty")
        return x.update(
            shape=tuple([s for i, s in enumerate(x.shape) if i not in axes]),
            dtype=index_dtype,
            weak_type=False,
        )

    primitive = Primitive(name, abstract, kinds=("reduction", "shapeless"), doc=doc)
    primitive.rule("jvp")(no_tangent)
    reduce = reduce_max if greatest else reduce_min

    @primitive.decompose
    def arg_extreme_by_extreme(op: Op, x: Value) -> Value:
        """Two passes, each a plain reduction: as fast as one that carries pairs, and much less to compile.

        The operand is kept apart as in the derivative of an extreme: where it is rounded in two ways, no
        place has the extreme.
        """
        aval = typeof(x)
        x = barrier.keep_apart(x) if dtypes.kind(aval.dtype) == "f" else x
        out = reduce(x, axes=op.params["axes"])
        here = logic.eq(x, spread_back(op, out, aval))
        if dtypes.kind(aval.dtype) == "f":
            here = logic.bitwise_or(here, logic.ne(x, x))
        index = aval.update(dtype=op.params["index_dtype"], weak_type=False)
        indices = shape.iota(dtype=index.dtype, shape=aval.shape, dimension=op.params["axes"][0])
        nowhere = zeros.full_of_type(index, dtypes.iinfo(index.dtype).max)
        return reduce_min(logic.select_n(here, nowhere, indices), axes=op.params["axes"])

    primitive.rule("lower")(in_pairs(greatest))
    # Also in small loops, where pairs take 0.5 of the time for an operand that is there, and 4 times as much
    # for one that is drawn in the loop (scans of 16 elements beside each other).
    primitive.rule("lower:cpu")(Decomposed(arg_extreme_by_extreme))
    return primitive


argmax = arg_extreme("argmax", True, "the index of the first maximum along an axis")
argmin = arg_extreme("argmin", False, "the index of the first minimum along an axis")

__all__ = ["argmax", "argmin"]
