"""Where along an axis the extreme is: argmax, argmin."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.errors import DTypeError, ShapeError
from rabbet.primitives import barrier, checks, inlining, logic, shape, zeros
from rabbet.primitives.argmax_lowering import in_order, lower_in_pairs
from rabbet.primitives.basic_reductions import spread_back
from rabbet.primitives.checks import REALS
from rabbet.primitives.no_tangent import no_tangent
from rabbet.primitives.reductions import reduce_max, reduce_min
from rabbet.program.dimensions import exceeds
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import DType, Value

# Operands of fewer elements are reduced in two passes, which are quicker to compile.
FEW = 2**15


def arg_extreme(name: str, greatest: bool, doc: str) -> Primitive:
    """Make ``argmax`` or ``argmin``: the index of the first extreme element, or of the first NaN."""

    def abstract(x: ShapedArray, axes: tuple[int, ...], index_dtype: DType) -> ShapedArray:
        checks.accept(name, REALS + "b", x)
        checks.axes_valid(name, axes, x.ndim)
        if len(axes) != 1:
            raise ShapeError(f"{name} takes one axis, got {axes}")
        if dtypes.kind(index_dtype) not in "iu":
            raise DTypeError(f"{name}: index_dtype must be an integer dtype, got {index_dtype}")
        if exceeds(x.shape[axes[0]] - 1, dtypes.iinfo(index_dtype).max):
            raise DTypeError(
                f"{name}: {index_dtype} cannot hold positions up to {x.shape[axes[0]] - 1}; take a wider "
                "index_dtype"
            )
        if x.shape[axes[0]] == 0:
            raise ShapeError(f"{name}: axis {axes[0]} of {x.str_short()} is empty")
        return x.update(
            shape=tuple([s for i, s in enumerate(x.shape) if i not in axes]),
            dtype=index_dtype,
            weak_type=False,
        )

    primitive = Primitive(
        name, abstract, kinds=("reduction", "shapeless"), doc=doc,
        parameters={"axes": "tuple of one int: the dimension along which the place is looked for"},
    )  # fmt: skip
    primitive.rule("jvp")(no_tangent)
    reduce = reduce_max if greatest else reduce_min

    @primitive.decompose
    def arg_extreme_by_extreme(op: Op, x: Value) -> Value:
        """Two passes, each a plain reduction: as fast as one that carries pairs, and much less to compile.

        The operand is kept apart as in the derivative of an extreme: where it is rounded in two ways, no
        place has the extreme.
        """
        x = in_order(x, greatest)
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

    @primitive.rule("lower")
    def lower_extreme(op: Site, x: str) -> Any:
        return lower_in_pairs(op, x, greatest, by_levels=False)

    # Few elements: also in small loops, where pairs take 0.5 of the time for an operand that is there, and 4
    # times as much for one that is drawn in the loop (scans of 16 elements beside each other).
    @primitive.rule("lower:cpu")
    def lower_extreme_on_cpu(op: Site, x: str) -> Any:
        (aval,) = op.in_avals
        if aval.is_symbolic or aval.size < FEW:
            return inlining.inline(op, functools.partial(arg_extreme_by_extreme, op), [x])
        return lower_in_pairs(op, x, greatest, by_levels=True)

    return primitive


argmax = arg_extreme("argmax", True, "the index of the first maximum along an axis")
argmin = arg_extreme("argmin", False, "the index of the first minimum along an axis")

__all__ = ["argmax", "argmin"]
