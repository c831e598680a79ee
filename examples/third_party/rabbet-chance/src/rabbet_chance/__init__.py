"""Random choices as operations, and two interpreters that give them a meaning: `seeded` and `log_density`."""

import math

import rabbet as rb
from rabbet import lax, typeof
from rabbet.extend.functions import folded
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import Interpreter, RuleTable, payload_of, run

# Where nobody handles a choice, nothing is known of it but its type: compiling it is an error.
choice_p = Primitive(
    "chance_normal", lambda loc, scale, *, name: loc, kinds=("elementwise", "distinct"),
    operands=("loc", "scale"), doc="a number drawn from a normal distribution",
)  # fmt: skip
seen_p = Primitive(
    "chance_observe", lambda x, loc, scale, *, name: x, kinds=("elementwise", "distinct"),
    operands=("x", "loc", "scale"), doc="x, said to be drawn from a normal distribution",
)  # fmt: skip


@choice_p.rule("evaluate")
@choice_p.rule("lower")
def unhandled(op, *args):
    choice = f"chance.normal({op['name']!r}, ...)"
    raise RuntimeError(f"nobody says what {choice} is; use chance.seeded or chance.log_density")


@seen_p.decompose  # where nobody asks for the density it changes nothing
def as_it_is(op, x, loc, scale):
    return x


handled = RuleTable("chance", doc="(op, *values) -> value")


@handled.otherwise(before_decompositions=True)
def others(op, *values):
    return op(*values)


class Handler(Interpreter):
    """An interpreter whose payloads are the values themselves; subclasses say what a choice is."""

    table = handled
    threads = carries = True

    def __init__(self, state):
        self.state = state

    def key(self):
        return type(self)

    def lift(self, value):
        return value

    def type_of(self, value):
        return typeof(value)

    def wrap(self, value):
        return value

    def process(self, op, args):
        values = [payload_of(self, x) for x in args]  # arguments may be tracers of this level
        if op.primitive is choice_p:
            value, self.state = self.at_parent(self.chosen, op["name"], *values)
            return value
        if op.primitive is seen_p:
            self.state = self.at_parent(self.seen, *values)
            return values[0]
        return super().process(op, args)

    def seen(self, x, loc, scale):
        return self.state


class Seeded(Handler):
    """Choices are drawn; the state is a key."""

    def chosen(self, name, loc, scale):
        following, key = rb.random.split(self.state)
        noise = rb.random.normal(key, typeof(loc).shape, typeof(loc).dtype)
        return lax.add(loc, lax.mul(noise, scale)), following


class Density(Handler):
    """Choices are given; the state is their density so far, their values, and how often each name came."""

    def chosen(self, name, loc, scale):
        total, values, rounds = self.state
        if name not in values:
            raise KeyError(f"no value for chance.normal({name!r}, ...), only for {sorted(values)}")
        value = values[name]
        if typeof(value).ndim > typeof(loc).ndim:  # in a loop: one value for each round
            value = lax.dynamic_index_in_dim(value, rounds[name], keepdims=False)
        value = rb.numpy.broadcast_to(value, typeof(loc).shape).astype(typeof(loc).dtype)
        total = lax.add(total, log_normal(value, loc, scale))
        return value, (total, values, {**rounds, name: lax.add(rounds[name], 1)})

    def seen(self, x, loc, scale):
        total, *rest = self.state
        return (lax.add(total, log_normal(x, loc, scale)), *rest)


def log_normal(x, loc, scale):
    """The logarithm of the density of independent normal numbers."""
    far = lax.div(lax.sub(x, loc), scale)
    each = lax.sub(lax.mul(-0.5, lax.mul(far, far)), lax.add(lax.log(scale), 0.5 * math.log(2 * math.pi)))
    return lax.reduce_sum(each, axes=tuple(range(typeof(each).ndim)))


def spread(*operands):
    """Floats of one shape."""
    arrays = [rb.numpy.asarray(x, "float32") for x in operands]
    return rb.numpy.broadcast_arrays(*arrays)


@folded
def normal(name, loc, scale):
    """A choice: numbers from a normal distribution, of the shape that `loc` and `scale` have together."""
    return choice_p(*spread(loc, scale), name=name)


@folded
def observe(name, x, loc, scale):
    """Say that `x` was drawn from a normal distribution; returns `x`, as float32."""
    return seen_p(*spread(x, loc, scale), name=name)


def seeded(fun):
    """`seeded(fun)(key, *args)` is `fun(*args)` with its choices drawn."""
    return folded(lambda key, *args: run(Seeded(key), fun, args))


def log_density(fun):
    """`log_density(fun)(values, *args)` is `(density, fun(*args))`, with choices from the dict `values`."""

    def with_density(values, *args):
        values = {name: rb.numpy.asarray(value) for name, value in values.items()}
        handler = Density((rb.numpy.float32(0), values, dict.fromkeys(values, rb.numpy.int32(0))))
        out = run(handler, fun, args)
        return handler.state[0], out

    return folded(with_density)


__all__ = ["log_density", "normal", "observe", "seeded"]
