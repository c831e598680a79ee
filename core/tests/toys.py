"""Small transformations and primitives to try the kernel on: what a plugin author might write first."""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from rabbet import lax, tree
from rabbet.extend.functions import array_or_tracer, to_array
from rabbet.extend.passes import consts_as_inputs, stage
from rabbet.extend.primitive import call_op
from rabbet.extend.transform import Interpreter, RuleTable, run, typeof

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


def array(values, dtype=None):
    """An array of exactly ``dtype``."""
    host = np.asarray(values, dtype)
    return lax.full((), host[()], host.dtype) if host.ndim == 0 else put(host)


def put(host):
    """A NumPy array as an array of exactly its dtype."""
    return to_array(host, dtype=host.dtype)


def small(dtype):
    return put(np.asarray([3, 1, 2]).astype(dtype))


def jit(fn):
    """A function called as one unit, by core alone: arrays in, one array or a list of them out."""

    def call(*args):
        args = [array_or_tracer(a) for a in args]
        single = False

        def flat(*inner):
            nonlocal single
            out = fn(*inner)
            single = not isinstance(out, (tuple, list))
            return [out] if single else list(out)

        flat.__wrapped__ = fn
        name = getattr(fn, "__name__", "f")
        closed = stage(flat, [typeof(a) for a in args], name)
        outs = call_op(consts_as_inputs(closed), name)(*closed.consts, *args)
        return outs[0] if single else outs

    return call


# ---------------------------------------------------------------------------------------------- intervals
class Box(NamedTuple):
    lo: Any
    hi: Any


boxes = RuleTable("enclose", doc="(op, *boxes) -> Box")


@boxes.kind("increasing", "structural")
def increasing(op, *args):
    return Box(op(*(b.lo for b in args)), op(*(b.hi for b in args)))


@boxes.kind("decreasing")
def decreasing(op, *args):
    return Box(op(*(b.hi for b in args)), op(*(b.lo for b in args)))


@boxes.primitive(lax.sub)
def sub(op, x, y):
    return Box(op(x.lo, y.hi), op(x.hi, y.lo))


@boxes.primitive(lax.mul)
def mul(op, x, y):
    corners = [op(a, b) for a in x for b in y]
    return Box(reduce(lax.min, corners), reduce(lax.max, corners))


class Enclose(Interpreter):
    """Payload: a Box. A constant is a box of width zero."""

    table = boxes

    def lift(self, value):
        return Box(value, value)

    def type_of(self, box):
        return typeof(box.lo)


def enclose(fn):
    return lambda *args: run(Enclose(), fn, [Box(*b) for b in args])


# --------------------------------------------------------------------------- forward differences, by hand
class Slope(NamedTuple):
    """A value and its derivative; the derivative of what never depends on the input is the number 0.0."""

    value: Any
    rate: Any


slopes = RuleTable("slope", doc="(op, *slopes) -> Slope")


@slopes.kind("bilinear")
def product(op, x, y):
    return Slope(op(x.value, y.value), op(x.rate, y.value) + op(x.value, y.rate))


@slopes.kind("linear", "structural")
def linear(op, *args):
    return Slope(op(*(a.value for a in args)), op(*(a.rate for a in args)))


@slopes.primitive(lax.sin)
def sin(op, x):
    return Slope(op(x.value), lax.mul(lax.cos(x.value), x.rate))


@slopes.primitive(lax.cos)
def cos(op, x):
    return Slope(op(x.value), lax.neg(lax.mul(lax.sin(x.value), x.rate)))


class Differentiate(Interpreter):
    """Payload: a Slope."""

    table = slopes

    def lift(self, value):
        return Slope(value, lax.full_like(value, 0))

    def type_of(self, slope):
        return typeof(slope.value)


def slope(fn):
    """The derivative of a function of one number."""
    return lambda x: run(Differentiate(), fn, [Slope(array_or_tracer(x), 1.0)]).rate


# ---------------------------------------------------------------- numbers as integers with a static scale
class Fixed:
    """The number ``digits * 2**-scale``; the scale is static."""

    def __init__(self, digits, scale):
        self.digits, self.scale = digits, scale


tree.register_node(Fixed, lambda f: ((f.digits,), f.scale), lambda scale, children: Fixed(*children, scale))

fixed = RuleTable("fixed", doc="(op, *fixed) -> Fixed")


def at_scale(x, scale):
    return x.digits if x.scale == scale else lax.mul(x.digits, 2 ** (scale - x.scale))


@fixed.primitive(lax.add, lax.sub)
def add_fixed(op, x, y):
    scale = max(x.scale, y.scale)
    return Fixed(op(at_scale(x, scale), at_scale(y, scale)), scale)


@fixed.primitive(lax.mul)
def mul_fixed(op, x, y):
    return Fixed(op(x.digits, y.digits), x.scale + y.scale)


class FixedPoint(Interpreter):
    """Payload: a Fixed. The function sees integers."""

    table = fixed

    def lift(self, value):
        return Fixed(value, 0)

    def type_of(self, payload):
        return typeof(payload.digits)


# ------------------------------------------------------------------------------------ counting operations
class Counted(NamedTuple):
    value: Any


class Everything:
    """A table whose one rule serves every primitive: run it below, and note its name."""

    name = "count"

    def __init__(self, seen):
        self.seen = seen

    def lookup(self, primitive):
        def count(op, *args):
            self.seen.append(primitive.name)
            out = op(*[a.value for a in args])
            return [Counted(o) for o in out] if primitive.multiple_results else Counted(out)

        return count

    def explain(self, primitive):
        return None


class Count(Interpreter):
    """Payload: the value itself. ``seen`` lists the primitives that were reached."""

    def __init__(self):
        self.seen = []
        self.table = Everything(self.seen)

    def lift(self, value):
        return Counted(value)

    def type_of(self, payload):
        return typeof(payload.value)


def count(fn, *args):
    """The names of the primitives that ``fn`` binds on its arguments."""
    counter = Count()
    run(counter, fn, [Counted(array_or_tracer(a)) for a in args])
    return counter.seen
