"""Small transformations and primitives to try the kernel on: what a plugin author might write first."""

from typing import Any, NamedTuple

import numpy as np
from rabbet import lax, tree
from rabbet.extend.functions import array_or_tracer, to_array
from rabbet.extend.transform import Interpreter, RuleTable, run, typeof
from rabbet.testing.toys import Box, Differentiate, Enclose, Slope, boxes, enclose, jit, slope

__all__ = ["Box", "Differentiate", "Enclose", "Slope", "boxes", "enclose", "jit", "slope"]

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
