"""From a kernel's program to the text of a function: values are names, states what a writer makes them."""

import contextlib

import numpy as np
from rabbet.extend.passes import Literal, consts_as_inputs, stage
from rabbet.extend.transform import typeof

from rabbet_pallas.lowering import conversions, mlir_types
from rabbet_pallas.targets import Refused


class Rules(dict):
    """How primitives are written, by their names: ``rule(walker, equation, *operands)`` returns the name of
    the result, or a list for several. The decorator ``@rules.of("add", "sub")`` adds rules.
    """

    def of(self, *names):
        """Decorator: the function writes the primitives of these names."""

        def add(rule):
            self.update(dict.fromkeys(names, rule))
            return rule

        return add


class Walker:
    """Writes programs as lines of text.

    Args:
      rules: a ``Rules``.
      container: what arrays are called in types, "tensor" or "vector".
      located: whether operations say from which line of the user's they are.

    A value is the name of an SSA value. A state (what ``load`` and ``store`` work on) is any object that is
    no text: loops and branches do not carry it.
    """

    def __init__(self, rules, container, located=False):
        self.rules, self.container, self.located = rules, container, located
        self.lines, self.count, self.depth, self.where = [], 0, 2, None

    # text

    def fresh(self):
        """A name that is new."""
        self.count += 1
        return f"%{self.count}"

    def line(self, text):
        """Write an operation without results, or one whose names are in the text."""
        self.lines.append("  " * self.depth + text)

    def emit(self, text):
        """Write an operation with one result; its name."""
        name = self.fresh()
        self.line(f"{name} = {text}{self.location()}")
        return name

    def location(self):
        """The user's line as MLIR has it, with a space before it; nothing where it is not known."""
        return mlir_types.location(self.where) if self.located else ""

    @contextlib.contextmanager
    def apart(self):
        """What is written in the ``with`` block is collected in the list that it gives, one level deeper."""
        before, self.lines, self.depth = self.lines, [], self.depth + 1
        try:
            yield self.lines
        finally:
            self.lines, self.depth = before, self.depth - 1

    # types and numbers

    def element(self, dtype):
        """The type of an element, as MLIR has it."""
        name = mlir_types.ELEMENTS.get(str(dtype))
        if name is None:
            self.refuse(f"values of the dtype {dtype}", f"one of {', '.join(mlir_types.ELEMENTS)}")
        return name

    def type(self, aval, shape=None):
        """The type of a value, or of one with its dtype and another shape."""
        return self.shaped(aval.shape if shape is None else shape, self.element(aval.dtype))

    def shaped(self, shape, element):
        """The type of an array of elements; the element's itself for no dimensions."""
        shape = tuple(shape)
        if not shape:
            return element
        self.check_shape(shape)
        return f"{self.container}<{'x'.join(map(str, shape))}x{element}>"

    def check_shape(self, shape):
        """Refuse what the target cannot have."""

    def constant(self, value, aval, shape=None):
        """A number, in each element of an array where the type or ``shape`` has dimensions."""
        written, typed = mlir_types.written(np.asarray(value), str(aval.dtype)), self.type(aval, shape)
        if "<" in typed:
            return self.emit(f"arith.constant dense<{written}> : {typed}")
        return self.emit(f"arith.constant {written}" + ("" if typed == "i1" else f" : {typed}"))

    def i32(self, value):
        """A number as i32."""
        return self.emit(f"arith.constant {int(value)} : i32")

    def spread(self, name, aval, shape):
        """A value in a shape: as it is, or a number in each element."""
        if aval.shape == tuple(shape):
            return name
        return self.splat(name, aval, shape)

    def splat(self, name, aval, shape):
        """A number in each element of an array."""
        raise NotImplementedError

    def converted(self, name, aval, dtype):
        """A value in another dtype."""
        return conversions.converted(self, name, aval, dtype)

    # programs

    def program(self, jaxpr, args):
        """Write a program without captured arrays; its results."""
        env = dict(zip(jaxpr.invars, args, strict=True))
        value = lambda v: self.constant(v.value, v.aval) if type(v) is Literal else env[v]
        for equation in jaxpr.equations:
            self.where = equation.where or self.where
            outs = self.equation(equation, [value(v) for v in equation.inputs])
            env.update(zip(equation.outputs, outs, strict=True))
        return [value(v) for v in jaxpr.outvars]

    def equation(self, equation, operands):
        """Write an equation; a list of its results."""
        primitive = equation.op.primitive
        rule = self.rules.get(primitive.name)
        if rule is not None:
            outs = rule(self, equation, *operands)
            return list(outs) if isinstance(outs, (list, tuple)) else [outs]
        parts = primitive.decomposition
        if primitive.is_call or (parts is None and "jaxpr" in equation.op.params):
            return self.program(equation.op.params["jaxpr"], operands)
        if parts is None:
            self.refuse(
                f"the operation {primitive.name}", "compute it outside the kernel, or of other operations"
            )
        return self.inline(lambda *xs: parts(equation.op, *xs), [v.aval for v in equation.inputs], operands)

    def inline(self, function, avals, operands):
        """Write what a function of arrays computes; a list of its results."""

        def several(*xs):
            outs = function(*xs)
            return list(outs) if isinstance(outs, (list, tuple)) else [outs]

        closed, where = stage(several, avals), self.where
        if any(typeof(c).shape for c in closed.consts):
            self.refuse("a captured array", "give it to the kernel as one more operand")
        consts = [self.constant(np.asarray(c)[()], typeof(c)) for c in closed.consts]
        outs = self.program(consts_as_inputs(closed), [*consts, *operands])
        self.where = where
        return outs

    def refuse(self, what, fix):
        """Raise ``Refused`` for what stands at the equation that is being written."""
        raise Refused(what, fix, self.where)


def is_state(value):
    """Whether a value of a walk is a state."""
    return not isinstance(value, str)


__all__ = ["Rules", "Walker", "is_state"]
