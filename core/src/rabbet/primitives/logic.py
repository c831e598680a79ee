"""Comparison, logic, selection: eq, lt, and, or, not, select_n, shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.errors import DTypeError, ShapeError
from rabbet.lowering.extended_dtypes import EXTENDED
from rabbet.primitives import batching, checks, elementwise, zeros
from rabbet.primitives.basic_reductions import gather_in, reduce_and
from rabbet.primitives.checks import ANY, BITS, FLOATS, NUMBERS
from rabbet.primitives.layout import broadcast_in_dim
from rabbet.primitives.no_tangent import no_tangent
from rabbet.program import python_scalars
from rabbet.rules.payloads import Batched, Dual, Linear, Zero, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    import numpy as np

    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import Value

BOOL = dtypes.canonicalize("bool")  # by name: no setting is read while this is imported


def comparison(name: str, direction: str, accepts: str, doc: str) -> Primitive:
    """Make a comparison primitive: two arrays of one dtype to booleans."""

    def abstract(x: ShapedArray, y: ShapedArray) -> ShapedArray:
        checks.accept(name, accepts, x, y)
        out = checks.elementwise_aval(name, x, y)
        return out.update(dtype=BOOL, weak_type=False)

    primitive = Primitive(name, abstract, kinds=("elementwise",), operands=("x", "y"), doc=doc)

    @primitive.rule("lower")
    def lower_comparison(op: Site, x: str, y: str) -> str:
        a, b = op.in_avals
        wide = (a if a.shape == op.out.shape else b).physical
        x, y = op.broadcast_operand(x, a, op.out.shape), op.broadcast_operand(y, b, op.out.shape)
        return op.emit(
            f"stablehlo.compare {direction}, {x}, {y} : ({wide.mlir}, {wide.mlir}) -> {op.out.mlir}"
        )

    primitive.rule("jvp")(no_tangent)
    return primitive


eq = comparison("eq", "EQ", NUMBERS + "bV", "x == y")
ne = comparison("ne", "NE", NUMBERS + "bV", "x != y")
lt = comparison("lt", "LT", checks.REALS + "b", "x < y")
le = comparison("le", "LE", checks.REALS + "b", "x <= y")
gt = comparison("gt", "GT", checks.REALS + "b", "x > y")
ge = comparison("ge", "GE", checks.REALS + "b", "x >= y")


@eq.rule(EXTENDED)
def eq_of_keys(op: Any, x: Any, y: Any) -> Any:
    """Keys are equal where all of the words that store them are."""
    words: Any = eq(*_one_rank(x, y))
    return reduce_and(words, axes=(words.ndim - 1,))


@ne.rule(EXTENDED)
def ne_of_keys(op: Op, x: Any, y: Any) -> Any:
    return bitwise_not(eq_of_keys(op, x, y))


def _one_rank(x: Any, y: Any) -> Any:
    """Stored keys of one shape: a single key beside an array of them is repeated."""
    full = x.shape if x.ndim >= y.ndim else y.shape
    last = (len(full) - 1,)
    return [
        a if a.shape == full else broadcast_in_dim(a, shape=full, broadcast_dimensions=last) for a in (x, y)
    ]


bitwise_and = elementwise.binary("and", "stablehlo.and", BITS, doc="bitwise, or logical on booleans")
bitwise_or = elementwise.binary("or", "stablehlo.or", BITS, doc="bitwise, or logical on booleans")
bitwise_xor = elementwise.binary("xor", "stablehlo.xor", BITS, doc="bitwise, or logical on booleans")
bitwise_not = elementwise.unary("not", "stablehlo.not", BITS, doc="bitwise, or logical on booleans")
for _bits in (bitwise_and, bitwise_or, bitwise_xor, bitwise_not):  # programs show them as "and", "or", ...
    _bits.__name__ = _bits.__qualname__ = f"bitwise_{_bits.name}"
shift_left = elementwise.binary("shift_left", "stablehlo.shift_left", checks.INTEGERS, doc="x << y")
shift_right_arithmetic = elementwise.binary(
    "shift_right_arithmetic",
    "stablehlo.shift_right_arithmetic",
    checks.INTEGERS,
    doc="x >> y, copies of the sign coming in",
)
shift_right_logical = elementwise.binary(
    "shift_right_logical", "stablehlo.shift_right_logical", checks.INTEGERS, doc="x >> y, zeros coming in"
)
population_count = elementwise.unary("population_count", None, checks.INTEGERS, doc="the number of set bits")
clz = elementwise.unary("clz", None, checks.INTEGERS, doc="the number of leading zero bits")


@population_count.rule("lower")
def lower_population_count(op: Site, x: Any) -> Any:
    return _count_bits(op, x, "stablehlo.popcnt", 0)


@clz.rule("lower")
def lower_clz(op: Site, x: Any) -> Any:
    return _count_bits(op, x, "stablehlo.count_leading_zeros", 8)


def _count_bits(op: Site, x: Any, hlo: Any, bits_in_all: Any) -> Any:
    """Count bits; of less than a byte in a byte, whose other bits are made zero and are not counted."""
    bits = dtypes.itemsize_bits(op.out.dtype)
    if bits >= 8:
        return op.emit(f"{hlo} {x} : {op.out.mlir}")
    byte = op.out.update(dtype="uint8")
    x = op.emit(f"stablehlo.convert {x} : ({op.out.mlir}) -> {byte.mlir}")
    mask, others = op.constant(2**bits - 1, byte), op.constant(bits_in_all and bits_in_all - bits, byte)
    x = op.emit(f"{hlo} {op.emit(f'stablehlo.and {x}, {mask} : {byte.mlir}')} : {byte.mlir}")
    x = op.emit(f"stablehlo.subtract {x}, {others} : {byte.mlir}")
    return op.emit(f"stablehlo.convert {x} : ({byte.mlir}) -> {op.out.mlir}")


def is_finite_aval(x: Any) -> Any:
    checks.accept("is_finite", FLOATS, x)
    return x.update(dtype=BOOL, weak_type=False)


is_finite = Primitive(
    "is_finite", is_finite_aval, kinds=("elementwise",), operands=("x",), doc="neither infinite nor NaN"
)
is_finite.rule("jvp")(no_tangent)


@is_finite.rule("lower")
def lower_is_finite(op: Site, x: Any) -> Any:
    return op.emit(f"stablehlo.is_finite {x} : ({op.in_avals[0].mlir}) -> {op.out.mlir}")


# ----------------------------------------------------------------------------------------------- select_n
def select_n_aval(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ShapeError("select_n needs at least one case")
    checks.accept("select_n cases", ANY, *cases)
    if which.dtype != BOOL and which.kind not in "iu":
        raise DTypeError(f"select_n chooses by a boolean or integer array, got {which.str_short()}")
    if which.dtype == BOOL and len(cases) > 2:
        raise ShapeError(
            f"select_n with a boolean selector takes at most 2 cases, got {len(cases)}; use an int32 selector"
        )
    out = checks.elementwise_aval("select_n", *cases)
    if which.shape and out.shape and which.shape != out.shape:
        raise ShapeError(
            f"select_n: the selector {which.str_short()} must be a scalar or have the shape of the cases, "
            f"{out.str_short()}"
        )
    return out if out.shape or not which.shape else out.update(shape=which.shape)


select_n = Primitive(
    "select_n", select_n_aval, kinds=("elementwise", "finite_slope", "indexed"), adopt=1,
    operands=("which", "*cases"), indices=slice(0, 1),
    doc="cases[which], elementwise; a boolean selector takes the second case where it is true",
)  # fmt: skip


@select_n.rule("lower")
def lower_select_n(op: Site, which: str, *cases: str) -> str:
    shape = op.out.shape
    selector, *avals = op.in_avals
    full = [op.broadcast_operand(c, a, shape) for c, a in zip(cases, avals, strict=True)]
    if len(full) == 1:
        return full[0]
    if selector.dtype == BOOL:
        return _select(op, which, selector, full[1], full[0])
    out = full[-1]
    flag = selector.update(dtype=BOOL, weak_type=False)
    for i in reversed(range(len(full) - 1)):
        limit = op.constant(i + 1, selector)
        below = op.emit(
            f"stablehlo.compare LT, {which}, {limit} : ({selector.mlir}, {selector.mlir}) -> {flag.mlir}"
        )
        out = _select(op, below, flag, full[i], out)
    return out


def _select(op: Site, predicate: str, aval: ShapedArray, if_true: str, if_false: str) -> str:
    return op.emit(f"stablehlo.select {predicate}, {if_true}, {if_false} : {aval.mlir}, {op.out.mlir}")


@select_n.rule("jvp")
def jvp_select_n(op: Op, which: Dual, *cases: Dual) -> Dual:
    out = op(which.primal, *[c.primal for c in cases])
    if all(type(c.tangent) is Zero for c in cases):
        return Dual(out, zero_tangent(typeof(out)))
    aval = typeof(out).strong()
    # A number among the cases has the dtype of the arrays beside it, and its tangent too.
    tangents = [
        zeros.full_of_type(aval, 0) if type(c.tangent) is Zero else zeros.spread(c.tangent, aval.shape)
        for c in cases
    ]
    return Dual(out, op(which.primal, *tangents))


@select_n.rule("transpose")
def transpose_select_n(
    op: Op, ct: Value, which: Value, *cases: Linear | np.generic
) -> tuple[Value | None, ...]:
    zero = zeros.full_of_type(typeof(ct), 0)

    def of_case(i: int, case: Linear | np.generic) -> Value | None:
        if type(case) is not Linear:
            return None
        parts = [ct if i == j else zero for j in range(len(cases))]
        return gather_in(op(which, *parts), case.aval)

    return None, *[of_case(i, case) for i, case in enumerate(cases)]


@select_n.rule("batch")
def batch_select_n(op: Any, which: Any, *cases: Batched) -> Batched:
    cases = _typed(op, which, cases)
    ranks = [typeof(b.value).ndim - (b.axis is not None) for b in (which, *cases)]
    if which.axis is None and ranks[0] == 0:
        axes = {b.axis for b in cases}
        if len(axes) == 1:
            return Batched(op(which.value, *[c.value for c in cases]), axes.pop())
        size = batching.batch_size(*cases)
        return Batched(op(which.value, *[batching.at_axis(c, 0, size) for c in cases]), 0)
    full = max(ranks)
    size = batching.batch_size(which, *cases)
    shape = next(_logical_shape(b) for b, r in zip((which, *cases), ranks, strict=True) if r == full)
    values = [_spread_batched(b, r, full, size, shape) for b, r in zip((which, *cases), ranks, strict=True)]
    return Batched(op(*values), 0)


def _typed(op: Op, which: Batched, cases: tuple[Batched, ...]) -> Any:
    """The cases, numbers of Python in the dtype of the arrays beside them, which a batch of them needs."""
    values = [b.value for b in (which, *cases)]
    if not any(python_scalars.is_python_scalar(x) for x in values[1:]):
        return cases
    avals = python_scalars.operand_avals(op, values, typeof)[1:]

    def typed(b: Batched, aval: ShapedArray) -> Batched:
        if not python_scalars.is_python_scalar(b.value):
            return b
        return Batched(python_scalars.as_operand(b.value, aval), None)

    return [typed(b, aval) for b, aval in zip(cases, avals, strict=True)]


def _logical_shape(b: Batched) -> tuple[int, ...]:
    shape = typeof(b.value).shape
    return shape if b.axis is None else shape[: b.axis] + shape[b.axis + 1 :]


def _spread_batched(b: Batched, rank: int, full: int, size: int, shape: tuple[int, ...]) -> Value:
    """The value, batch dimension in front; a batched scalar beside arrays is spread to their shape, and one
    that is the same for all stays one.
    """
    if b.axis is None and rank == 0:
        return b.value
    value = batching.at_axis(b, 0, size)
    if rank == full:
        return value
    return broadcast_in_dim(value, shape=(size, *shape), broadcast_dimensions=(0,))
