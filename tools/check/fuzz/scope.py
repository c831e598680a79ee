"""Lines of a program as they are written: who is in scope, and what is drawn."""

import contextlib
import math

from fuzz.values import NARROW, WIDE, Value, is_exact

LARGEST = 40.0  # floats beyond this are brought back, so that nothing overflows


class Program:
    """What all scopes of a program share: the lines, the choices, the dtypes."""

    def __init__(self, rng, wide, half, rows=()):
        self.rng, self.wide, self.rows = rng, wide, rows
        self.dtypes = {**(WIDE if wide else NARROW), "h": half}
        self.lines = []
        self.names = 0
        self.budget = 30  # statements, in all functions together

    def fresh(self, letter):
        self.names += 1
        return f"{letter}{self.names}"


class Scope:
    """The inside of one function.

    Args:
      program: the ``Program``.
      values: what may be used here.
      indent: columns.
      depth: functions around this one.
      smooth: whether this is differentiated in reverse, which a ``while_loop`` on floats is not.
    """

    def __init__(self, program, values=(), indent=1, depth=0, smooth=False):
        self.program, self.values = program, list(values)
        self.indent, self.depth, self.smooth = indent, depth, smooth

    # What is drawn
    def pick(self, options):
        return self.program.rng.choice(list(options))

    def chance(self, percent):
        return self.program.rng.randrange(100) < percent

    def number(self, low, high):
        return self.program.rng.randint(low, high)

    # What there is
    def dtype(self, kind):
        return self.program.dtypes[kind]

    def exact(self, value):
        return is_exact(value, self.dtype(value.kind))

    def some(self, kinds=None, where=None):
        """A value of one of these kinds, or None; late ones are likelier."""
        found = [v for v in self.values if (kinds is None or v.kind in kinds) and (where is None or where(v))]
        if not found:
            return None
        last = len(found) - 1
        return found[last - min(self.number(0, last), self.number(0, last))]

    # What is written
    def write(self, line):
        self.program.lines.append("    " * self.indent + line)

    def add(self, text, shape, kind, size=math.inf, places=None):
        """Write ``name = text`` and have the value at hand; floats are kept small."""
        value = Value(self.program.fresh("v"), tuple(shape), kind, size, places)
        if kind in "fc" and not self.exact(value):
            value = value.but(places=None)
            if size > LARGEST:
                text, value = f"lax.{'sin' if kind == 'f' else 'tanh'}({text})", value.but(size=1.0)
        self.write(f"{value.text} = {text}")
        self.values.append(value)
        return value

    def like(self, value, text, shape=None, **changes):
        """The same numbers in another order or shape."""
        shape = value.shape if shape is None else shape
        return self.add(text, shape, changes.get("kind", value.kind), value.size, value.places)

    @contextlib.contextmanager
    def function(self, parameters, decorator=None, smooth=None):
        """``with scope.function(values) as (name, inner)``: write a function, its body in the block."""
        name = self.program.fresh("g")
        named = [p.but(text=self.program.fresh("p")) for p in parameters]
        if decorator:
            self.write(f"@{decorator}")
        self.write(f"def {name}({', '.join(p.text for p in named)}):")
        smooth = self.smooth if smooth is None else smooth
        inner = Scope(self.program, [*self.values, *named], self.indent + 1, self.depth + 1, smooth)
        inner.parameters = named
        yield name, inner

    def returned(self, *values):
        """Write ``return`` of these."""
        texts = [v.text for v in values]
        self.write(f"return {texts[0] if len(texts) == 1 else ', '.join(texts)}")

    # What is wanted
    def of(self, shape, kind):
        """A value of this shape and kind: one that there is, or one made of those that there are."""
        there = self.some(kind, lambda v: v.shape == shape)
        if there is not None and not self.chance(10):
            return there
        return self.made(shape, kind)

    def made(self, shape, kind):
        source = self.some(kind)
        if source is None:
            return self.constant(shape, kind)
        if source.shape == shape:
            return source
        reducer = "fnp.any" if kind == "b" else "fnp.sum"
        text = source.text
        if source.rank:
            text = f"{reducer}({text})"
            if kind == "u":
                text = f"{text}.astype('uint8')"
            elif kind == "h":
                return self.constant(shape, kind)
        size = source.size * max(source.elements, 1)
        if shape:
            text = f"fnp.broadcast_to({text}, {shape})"
        return self.add(text, shape, kind, size, source.places)

    def constant(self, shape, kind):
        number = {"f": "0.75", "i": "3", "b": "True", "u": "2", "c": "0.5 + 1j", "h": "0.5"}[kind]
        return self.add(f"fnp.full({shape}, {number}, '{self.dtype(kind)}')", shape, kind, 4.0, 2)
