"""Programs with symbolic dimensions as StableHLO of dynamic shapes.

The sizes are the first arguments of ``main``, and calls are written in place, so every operation finds them
as ``%arg0``, ``%arg1`` and so on. Operations whose text has their shape as an attribute are written with the
dynamic form that takes it as an operand; what only has types is written as ever, with ``?`` in them.
"""

from typing import Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.export.symbolic.expressions import Dimension, is_whole
from rabbet.export.symbolic.values import dimension_as_value
from rabbet.extend import primitive as primitives
from rabbet.extend.passes import evaluate
from rabbet.extend.primitive import ShapedArray, full_of_type
from rabbet.extend.transform import RuleSet

I32 = ShapedArray((), "int32")
rules = RuleSet("lower")

REASON = (
    "it has no form with symbolic dimensions ({}); export it for a fixed size, or with the symbolic "
    "dimensions elsewhere"
)


class Symbolic:
    """What ``lower_program`` is given: the sizes' places among the arguments of ``main``."""

    rules: Any = None

    def __init__(self, names):
        self.arguments = {name: f"%arg{i}" for i, name in enumerate(names)}

    def size(self, op, dimension):
        """Write a dimension; return the name of the i32."""
        emitter = Emitter(lambda text: op.emit(text), lambda n: op.constant(np.int32(n), I32))
        sizes = {name: emitter.value(argument) for name, argument in self.arguments.items()}
        return dimension.evaluate(sizes, emitter.operation).name

    def lacks(self, op):
        """Why an operation cannot be written, or None."""
        shapes = [a for a in (*op.in_avals, *op.out_avals) if a.is_symbolic]
        primitive = op.primitive
        if not shapes or "elementwise" in primitive.kinds:
            return None
        if "shapeless" in primitive.kinds and not has_symbols(list(op.params.values())):
            return None
        if self.rules.find(primitive, op.platform) is not None:
            return None
        return REASON.format(", ".join(dict.fromkeys(a.str_short() for a in shapes)))


def has_symbols(x):
    """Whether there is a symbolic dimension among numbers, in tuples of tuples."""
    return any(map(has_symbols, x)) if isinstance(x, (tuple, list)) else isinstance(x, Dimension)


class Emitter:
    """Integer arithmetic as StableHLO on i32 without dimensions: ``emit`` writes an operation, ``constant`` a
    number; both return a name.
    """

    def __init__(self, emit, constant):
        self.emit, self.constant = emit, constant

    def value(self, name):
        """The number of a name."""
        return Value(self, name)

    def lifted(self, x):
        """A number, of an int too."""
        return x if isinstance(x, Value) else Value(self, self.constant(int(x)))

    def binary(self, name, x, y):
        """An operation of two numbers."""
        x, y = self.lifted(x), self.lifted(y)
        return Value(self, self.emit(f"stablehlo.{name} {x.name}, {y.name} : tensor<i32>"))

    def compare(self, sign, x, y):
        """The name of a truth value."""
        x, y = self.lifted(x), self.lifted(y)
        types = "(tensor<i32>, tensor<i32>) -> tensor<i1>"
        return self.emit(f"stablehlo.compare {sign}, {x.name}, {y.name}, SIGNED : {types}")

    def operation(self, name, x, y):
        """``floordiv``, ``mod``, ``max`` or ``min``."""
        if name in ("max", "min"):
            return self.binary(f"{name}imum", x, y)
        rest = self.binary("remainder", x, y)
        below = f"{self.compare('LT', rest, 0)}, {self.compare('LT', y, 0)}"
        apart = self.emit(f"stablehlo.compare NE, {below}, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>")
        moved = self.emit(f"stablehlo.and {apart}, {self.compare('NE', rest, 0)} : tensor<i1>")
        other = self.binary("add", rest, y)
        rest = Value(
            self, self.emit(f"stablehlo.select {moved}, {other.name}, {rest.name} : tensor<i1>, tensor<i32>")
        )
        return rest if name == "mod" else self.binary("divide", self.binary("subtract", x, rest), y)


class Value:
    """The name of an i32, with arithmetic that writes."""

    def __init__(self, emitter, name):
        self.emitter, self.name = emitter, name

    def __add__(self, other):
        return self.emitter.binary("add", self, other)

    __radd__ = __add__

    def __mul__(self, other):
        return self.emitter.binary("multiply", self, other)

    __rmul__ = __mul__


# Operations that take their shape as an operand --------------------------------------------------


def ints(numbers):
    """Numbers as a list in MLIR."""
    return f"[{', '.join(map(str, numbers))}]"


def array(numbers):
    """Numbers as an attribute of 64-bit integers."""
    return f"array<i64{': ' if numbers else ''}{', '.join(map(str, numbers))}>"


def ordinary(primitive):
    """The rule of core for a primitive."""
    from rabbet.extend.transform import lower

    return lower.lookup(primitive)


def symbolic(primitive, wanted=lambda op: op.out.is_symbolic):
    """Decorator: the rule of a primitive where ``wanted(op)``, which is core's otherwise."""

    def install(rule):
        @rules.primitive(primitive)
        def either(op, *names):
            return rule(op, *names) if wanted(op) else ordinary(primitive)(op, *names)

        return rule

    return install


@symbolic(primitives.broadcast_in_dim)
def broadcast_in_dim(op, x):
    sizes, kind = op.shape_operand(op.out.shape)
    dims = ints(op["broadcast_dimensions"])
    return op.emit(
        f"stablehlo.dynamic_broadcast_in_dim {x}, {sizes}, dims = {dims} : "
        f"({op.in_avals[0].mlir}, {kind}) -> {op.out.mlir}"
    )


def reshape(op, x):
    sizes, kind = op.shape_operand(op.out.shape)
    types = f"({op.in_avals[0].mlir}, {kind}) -> {op.out.mlir}"
    return op.emit(f"stablehlo.dynamic_reshape {x}, {sizes} : {types}")


def touches(op):
    """Whether an operand or the result has a symbolic dimension."""
    return op.out.is_symbolic or any(a.is_symbolic for a in op.in_avals)


for one in (primitives.reshape, primitives.squeeze, primitives.expand_dims):
    symbolic(one, touches)(reshape)


@symbolic(primitives.iota)
def iota(op):
    sizes, kind = op.shape_operand(op.out.shape)
    return op.emit(f"stablehlo.dynamic_iota {sizes}, dim = {op['dimension']} : ({kind}) -> {op.out.mlir}")


def whole(numbers):
    return all(is_whole(n) for n in numbers)


@symbolic(primitives.slice, lambda op: not whole((*op["start_indices"], *op["limit_indices"])))
def slice_(op, x):
    starts, limits = op["start_indices"], op["limit_indices"]
    strides = op.params.get("strides") or (1,) * len(starts)
    operands = [op.shape_operand(numbers) for numbers in (starts, limits, strides)]
    names = ", ".join([x, *[name for name, _ in operands]])
    types = ", ".join([op.in_avals[0].mlir, *[kind for _, kind in operands]])
    return op.emit(f"stablehlo.real_dynamic_slice {names} : ({types}) -> {op.out.mlir}")


@symbolic(primitives.dynamic_slice, lambda op: not whole(op["slice_sizes"]))
def dynamic_slice(op, x, *starts):
    """A gather of one box: its sizes may be an operand, its starts are clamped as those of a slice."""
    aval = op.in_avals[0]
    names = [
        name if given.dtype == I32.dtype
        else op.emit(f"stablehlo.convert {name} : ({given.mlir}) -> {I32.mlir}")
        for name, given in zip(starts, op.in_avals[1:], strict=True)
    ]
    sizes, kind = op.shape_operand(op["slice_sizes"])
    every = ints(range(aval.ndim))
    attribute = (
        f"#stablehlo.gather<offset_dims = {every}, start_index_map = {every}, index_vector_dim = 0>"
    )
    return op.emit(
        f'"stablehlo.dynamic_gather"({x}, {vector(op, names)}, {sizes}) <{{dimension_numbers = {attribute}, '
        f"indices_are_sorted = true}}> : ({aval.mlir}, tensor<{aval.ndim}xi32>, {kind}) -> {op.out.mlir}"
    )


def vector(op, names):
    """Numbers of names as a vector."""
    each = [op.emit(f"stablehlo.reshape {name} : (tensor<i32>) -> tensor<1xi32>") for name in names]
    types = ", ".join(["tensor<1xi32>"] * len(each))
    return op.emit(
        f"stablehlo.concatenate {', '.join(each)}, dim = 0 : ({types}) -> tensor<{len(each)}xi32>"
    )


@symbolic(primitives.pad, lambda op: not all(whole(three) for three in op["padding_config"]))
def pad(op, x, value):
    a, v = op.in_avals
    operands = [op.shape_operand(column) for column in zip(*op["padding_config"], strict=True)]
    names = ", ".join([x, value, *[name for name, _ in operands]])
    types = ", ".join([a.mlir, v.mlir, *[kind for _, kind in operands]])
    return op.emit(f"stablehlo.dynamic_pad {names} : ({types}) -> {op.out.mlir}")


def fills(op):
    """Whether a gather is written as one that clamps and a selection."""
    return "fill" in str(op["mode"]).lower()


@symbolic(primitives.gather, lambda op: not whole(op["slice_sizes"]) and not fills(op))
def gather(op, x, indices):
    numbers, (a, b) = op["dimension_numbers"], op.in_avals
    sizes, kind = op.shape_operand(op["slice_sizes"])
    attribute = (
        f"#stablehlo.gather<offset_dims = {ints(numbers.offset_dims)}, "
        f"collapsed_slice_dims = {ints(numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {ints(numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {ints(numbers.start_indices_batching_dims)}, "
        f"start_index_map = {ints(numbers.start_index_map)}, index_vector_dim = {b.ndim - 1}>"
    )
    return op.emit(
        f'"stablehlo.dynamic_gather"({x}, {indices}, {sizes}) <{{dimension_numbers = {attribute}, '
        f"indices_are_sorted = false}}> : ({a.mlir}, {b.mlir}, {kind}) -> {op.out.mlir}"
    )


@symbolic(primitives.scan, lambda op: any(a.is_symbolic for a in (*op.in_avals, *op.out_avals)))
def scan(op, *names):
    """As a loop over a counter, up to a length that is a value."""
    jaxpr, length, reverse = op["jaxpr"], op["length"], op["reverse"]
    consts, carry = op["consts"], op["carry"]

    def parts(n, *args):
        held, first, xs = args[:consts], args[consts : consts + carry], args[consts + carry :]
        stacks = [full_of_type(ShapedArray((length, *a.shape), a.dtype), 0) for a in jaxpr.out_avals[carry:]]

        def step(state):
            i, carried, stacks = state
            at = n - 1 - i if reverse else i
            rows = [lax.dynamic_index_in_dim(x, at, keepdims=False) for x in xs]
            outs = evaluate(jaxpr, [*held, *carried, *rows])
            pairs = zip(stacks, outs[carry:], strict=True)
            put = [lax.dynamic_update_index_in_dim(s, y, at, 0) for s, y in pairs]
            return i + 1, list(outs[:carry]), put

        _, carried, stacks = lax.while_loop(lambda state: state[0] < n, step, (n * 0, list(first), stacks))
        return [*carried, *stacks]

    return op.write(parts, [I32, *op.in_avals], [op.size(length), *names])


COMBINED = {
    "cumsum": (lax.add, lambda dtype: 0),
    "cumprod": (lax.mul, lambda dtype: 1),
    "cummax": (lax.max, lambda dtype: smallest(dtype)),
    "cummin": (lax.min, lambda dtype: largest(dtype)),
}


def smallest(dtype):
    """What ``max`` leaves as it is."""
    return -np.inf if dtypes.issubdtype(dtype, dtypes.inexact) else dtypes.iinfo(dtype).min


def largest(dtype):
    """What ``min`` leaves as it is."""
    return np.inf if dtypes.issubdtype(dtype, dtypes.inexact) else dtypes.iinfo(dtype).max


def cumulative(op, x):
    """A cumulative operation along a symbolic dimension: each element takes in the one 1, 2, 4, ... before it
    until all are in.
    """
    axis, aval = op["axis"], op.in_avals[0]
    combine, start = COMBINED[op.primitive.name]
    none = start(aval.dtype)

    def parts(n, x):
        if op["reverse"]:
            x = lax.rev(x, (axis,))
        config = [(aval.shape[axis] if d == axis else 0, 0, 0) for d in range(aval.ndim)]

        def step(state):
            shift, x = state
            wide = lax.pad(x, lax.convert_element_type(none, aval.dtype), config)
            starts = [n - shift if d == axis else n * 0 for d in range(aval.ndim)]
            return shift * 2, combine(lax.dynamic_slice(wide, starts, aval.shape), x)

        out = lax.while_loop(lambda state: state[0] < n, step, (n * 0 + 1, x))[1]
        return [lax.rev(out, (axis,)) if op["reverse"] else out]

    return op.write(parts, [I32, aval], [op.size(aval.shape[axis]), x])[0]


class WithCumulative:
    """The rules, and those of cumulative operations, which are another package's."""

    def find(self, primitive, platform=None):
        """The rule of a primitive, or None."""
        if primitive.name not in COMBINED:
            return rules.find(primitive, platform)
        along = lambda op: isinstance(op.in_avals[0].shape[op["axis"]], Dimension)
        return lambda op, x: cumulative(op, x) if along(op) else ordinary(primitive)(op, x)


@rules.primitive(primitives.jit)
def call_in_place(op, *names):
    return op.inline(op["jaxpr"], names)


@rules.primitive(dimension_as_value)
def as_value(op):
    return op.size(op["dimension"])


Symbolic.rules = WithCumulative()

__all__ = ["Emitter", "Symbolic", "Value", "rules"]
