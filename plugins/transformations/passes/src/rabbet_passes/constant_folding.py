"""Tiny things known when a program is compiled: numbers, and operations that undo each other.

What: arithmetic of two numbers becomes its result; ``x * 1``, ``x / 1``, ``x - 0`` and ``x + (-0.0)`` become
``x``, and integers' ``x + 0`` too (never ``x + 0.0``, which turns -0.0 into 0.0, nor ``x * 0``, which loses
NaN); two negations, transposes, reshapes and a conversion there and back cancel. Every rewrite gives the same
bits.

Why: for programs written by programs, and for what reads them: ``lowered.as_text()`` is shorter.

Measured (benchmarks/gpt_step.py, 12 layers, jaxlib 0.10.2, alternating in one process, processor time): 4,973
equations become 4,922, and neither compiling nor the step changes; XLA does the same. So it is off by
default; ``enable_passes="fold"`` switches it on.
"""

import numpy as np
from rabbet import dtypes
from rabbet.extend.passes import Equation, Literal, Var

from rabbet_passes.nested_programs import replaced, rewriting_bodies, word

# Arithmetic that IEEE 754 rounds in one way only, so that NumPy's result is the compiler's.
EXACT = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "sqrt": np.sqrt,
}  # fmt: skip
DTYPES = frozenset(["float32", "float64", "int32", "int64"])
LOSSLESS = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 float32 float64".split())


class KnownValues:
    """A program being rewritten: what each value equals, and which equation made it."""

    def __init__(self):
        self.same = {}
        self.maker = {}

    def read(self, v):
        """What stands for ``v`` by now."""
        return self.same.get(v, v) if type(v) is Var else v

    def made_by(self, v, name):
        """The equation that made ``v`` if it is one of the primitive ``name``, else None."""
        eqn = self.maker.get(v) if type(v) is Var else None
        return eqn if eqn is not None and word(eqn.op.primitive) == name else None


def fold(jaxpr, context=None):
    """``jaxpr`` with what is known computed; itself if nothing is."""
    equations = rewriting_bodies(jaxpr.equations, "fold", fold)
    program = KnownValues()
    result, changed = [], equations is not jaxpr.equations
    for eqn in equations:
        if program.same:
            inputs = [program.read(v) for v in eqn.inputs]
            if inputs != eqn.inputs:
                eqn = Equation(eqn.op, inputs, eqn.outputs, eqn.where)
        simplify = RULES.get(eqn.op.primitive.name)
        if simplify is not None and word(eqn.op.primitive):
            found = simplify(program, eqn)
            if type(found) is Equation:
                eqn, changed = found, True
            elif found is not None and found.aval is eqn.outputs[0].aval:
                program.same[eqn.outputs[0]] = found
                changed = True
                continue
        for v in eqn.outputs:
            program.maker[v] = eqn
        result.append(eqn)
    if not changed:
        return jaxpr
    return replaced(jaxpr, result, [program.read(v) for v in jaxpr.outvars])


# ---------------------------------------------------------------------------------------------- the rules
# Each returns what the equation's result equals, an equation to put in its place, or None.
def number_of(v):
    """The value of a literal as a NumPy scalar of its type; None for anything else, or a type that is not
    among ``DTYPES``.
    """
    if type(v) is not Literal or v.aval.is_extended or v.aval.dtype.name not in DTYPES:
        return None
    return np.asarray(v.value).astype(v.aval.dtype)[()]


def arithmetic(program, eqn):
    for v in eqn.inputs:
        if type(v) is not Literal:
            return None
    numbers = [number_of(v) for v in eqn.inputs]
    aval = eqn.outputs[0].aval
    if any(n is None for n in numbers):
        return None
    if aval.kind == "i" and eqn.op.primitive.name in ("div", "sqrt"):
        return None
    with np.errstate(all="ignore"):
        value = EXACT[eqn.op.primitive.name](*numbers)
    return literal(value, aval)


def literal(value, aval):
    """A literal of ``value``; None for a value too small to be normal, which processors may flush to zero."""
    if aval.kind == "f" and not (value == 0 or abs(value) >= float(dtypes.finfo(aval.dtype).tiny)):
        return None  # NaN too: its bits are the processor's
    return Literal(np.asarray(value).astype(aval.dtype)[()], aval)


def is_number(v, number, sign=None):
    """Whether ``v`` is this number, zeros with this sign bit."""
    if type(v) is not Literal or v.value != number:
        return False
    value = number_of(v)
    return value is not None and value == number and (sign is None or bool(np.signbit(value)) is sign)


def sum_(program, eqn):
    x, y = eqn.inputs
    negative = None if x.aval.dtype.name.startswith("int") else True
    if is_number(y, 0, negative):
        return x
    return y if is_number(x, 0, negative) else arithmetic(program, eqn)


def difference(program, eqn):
    x, y = eqn.inputs
    return x if is_number(y, 0, False) else arithmetic(program, eqn)


def product(program, eqn):
    x, y = eqn.inputs
    if is_number(y, 1):
        return x
    return y if is_number(x, 1) else arithmetic(program, eqn)


def quotient(program, eqn):
    x, y = eqn.inputs
    return x if is_number(y, 1) else arithmetic(program, eqn)


def negation(program, eqn):
    inner = program.made_by(eqn.inputs[0], "neg")
    return inner.inputs[0] if inner is not None else arithmetic(program, eqn)


def conversion(program, eqn):
    (x,) = eqn.inputs
    out = eqn.outputs[0].aval
    if x.aval is out:
        return x
    value = number_of(x)
    if value is not None and out.dtype.name in DTYPES and lossless(x.aval.dtype, out.dtype):
        return literal(value, out)
    inner = program.made_by(x, "convert_element_type")
    if inner is not None and inner.inputs[0].aval is out and lossless(out.dtype, x.aval.dtype):
        return inner.inputs[0]
    return None


def lossless(dtype, wider):
    """Whether every number of one dtype is one of the other."""
    names = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64")
    return (
        getattr(dtype, "name", "") in names
        and getattr(wider, "name", "") in names
        and np.can_cast(dtype, wider)
    )


def itself(program, eqn):
    return eqn.inputs[0]


def rearranged(program, eqn):
    (x,) = eqn.inputs
    if x.aval is eqn.outputs[0].aval:
        return x
    inner = program.made_by(x, "reshape") or program.made_by(x, "expand_dims")
    if inner is None:
        return None
    (source,) = inner.inputs
    if source.aval is eqn.outputs[0].aval:
        return source
    return Equation(eqn.op, [source], eqn.outputs, eqn.where)


def permuted(program, eqn):
    (x,) = eqn.inputs
    order = eqn.op.params["permutation"]
    if tuple(order) == tuple(range(len(order))):
        return x
    inner = program.made_by(x, "transpose")
    if inner is None:
        return None
    first = inner.op.params["permutation"]
    both = tuple([first[i] for i in order])
    if both == tuple(range(len(both))):
        return inner.inputs[0]
    return Equation(eqn.op.primitive.op(permutation=both), inner.inputs, eqn.outputs, eqn.where)


def unchanged_shape(program, eqn):
    (x,) = eqn.inputs
    same = x.aval is eqn.outputs[0].aval
    return x if same and tuple(eqn.op.params["broadcast_dimensions"]) == tuple(range(x.aval.ndim)) else None


RULES = {
    "add": sum_, "sub": difference, "mul": product, "div": quotient, "neg": negation, "sqrt": arithmetic,
    "convert_element_type": conversion, "reshape": rearranged, "transpose": permuted,
    "broadcast_in_dim": unchanged_shape, "stop_gradient": itself, "name": itself,
}  # fmt: skip
