"""Two small transformations to try rules on, intervals and derivatives by hand, and calls by core alone."""

from functools import reduce, wraps
from typing import Any, NamedTuple

from rabbet import lax
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.passes import consts_as_inputs, stage
from rabbet.extend.primitive import call_op
from rabbet.extend.transform import Interpreter, RuleTable, run, typeof


def jit(fn):
    """A function called as one unit, by core alone: arrays in, one array or a list of them out."""

    def call(*args: Any) -> Any:
        arrays = [array_or_tracer(a) for a in args]
        single = False

        @wraps(fn)
        def flat(*inner):
            nonlocal single
            out = fn(*inner)
            single = not isinstance(out, (tuple, list))
            return [out] if single else list(out)

        name = getattr(fn, "__name__", "f")
        closed = stage(flat, [typeof(a) for a in arrays], name)
        outs = call_op(consts_as_inputs(closed), name)(*closed.consts, *arrays)
        return outs[0] if single else outs

    return call


# ---------------------------------------------------------------------------------------------- intervals
class Box(NamedTuple):
    """Numbers between ``lo`` and ``hi``."""

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
    """``fn`` on pairs of bounds; its results are boxes."""
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
