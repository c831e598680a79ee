"""Programs as data: what staging a function produces and what every pass, lowering and transposition reads.

A ``Jaxpr`` is a straight list of equations over typed variables. ``ClosedJaxpr`` pairs it with the arrays
that the function captured; they are inputs of the program, not text in it. Scalars written in the source
stand in equations as literals.
"""

from typing import Any

from rabbet.program.context import context
from rabbet.program.effects import NONE


def _short(aval):
    return aval.str_short() if hasattr(aval, "str_short") else repr(aval)


class Var:
    """A value of a program, defined once. Identity is its name."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval

    def __repr__(self):
        return f"Var:{_short(self.aval)}"


class Literal:
    """A scalar written into a program: ``value`` is a Python or NumPy scalar, ``aval`` its type."""

    __slots__ = ("value", "aval")

    def __init__(self, value, aval):
        self.value = value
        self.aval = aval

    val = property(lambda self: self.value, doc="The field's name for ``value``.")

    def __repr__(self):
        return f"{self.value}:{_short(self.aval)}"


class Equation:
    """``outputs = op(inputs)``; ``where`` is the user's ``(code, lasti)`` or None."""

    __slots__ = ("op", "inputs", "outputs", "where")

    def __init__(self, op, inputs, outputs, where=None):
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self.where = where

    primitive = property(lambda self: self.op.primitive)
    params = property(lambda self: self.op.params)
    invars = property(lambda self: self.inputs, doc="The field's name for ``inputs``.")
    outvars = property(lambda self: self.outputs, doc="The field's name for ``outputs``.")
    effects = property(lambda self: effects_of(self.op), doc="What it does besides computing.")

    @property
    def source_info(self):
        """The user's line, a ``Position``, or None."""
        from rabbet.messages.source_positions import position

        return None if self.where is None else position(self.where)

    def __reduce__(self):
        return Equation, (self.op, self.inputs, self.outputs)  # the user's line is of this process

    def __repr__(self):
        return f"{self.outputs} = {self.op} {self.inputs}"


class Jaxpr:
    """A program: inputs, captured inputs, equations, outputs.

    Args:
      invars: list of ``Var``.
      outvars: list of ``Var`` or ``Literal``.
      equations: list of ``Equation``, in an order in which each value is defined before its use.
      constvars: list of ``Var`` for captured arrays, given before the inputs.
      effects: frozenset of the ``Effect``s of its equations; None: to be found.
      name: the traced function's name.
    """

    __slots__ = ("invars", "outvars", "equations", "constvars", "effects", "name", "memo", "__weakref__")

    def __init__(self, invars, outvars, equations, constvars=(), effects=None, name="f"):
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.equations = equations
        self.constvars = list(constvars)
        self.effects = effects_in(equations) if effects is None else effects
        self.name = name
        # What transformations derived from this program (its jvp, its halves, its executables), by their
        # own keys.
        self.memo = {}

    eqns = property(lambda self: self.equations, doc="The field's name for ``equations``.")
    in_avals = property(lambda self: tuple([v.aval for v in self.invars]))
    out_avals = property(lambda self: tuple([v.aval for v in self.outvars]))

    def once(self, key, make):
        """``make()``, computed once for this program and ``key``."""
        try:
            return self.memo[key]
        except KeyError:
            made = self.memo[key] = make()
            return made

    def __repr__(self):
        from rabbet.program.printing import text_of

        return text_of(self)


class ClosedJaxpr:
    """A program and the arrays for its ``constvars``; unpacks into the two. To pytrees it is a leaf."""

    __slots__ = ("jaxpr", "consts", "__weakref__")

    def __init__(self, jaxpr, consts):
        self.jaxpr, self.consts = jaxpr, consts

    def __iter__(self):
        return iter((self.jaxpr, self.consts))

    @property
    def eqns(self):
        """The program's equations."""
        return self.jaxpr.equations

    @property
    def in_avals(self):
        """The types of its inputs."""
        return self.jaxpr.in_avals

    @property
    def out_avals(self):
        """The types of its outputs."""
        return self.jaxpr.out_avals

    @property
    def effects(self):
        """What it does besides computing."""
        return self.jaxpr.effects

    def __repr__(self):
        return repr(self.jaxpr)


def open_consts(closed):
    """The same program with its captured arrays as leading inputs, as bodies of other programs have it."""
    jaxpr = closed.jaxpr
    if not jaxpr.constvars:
        return jaxpr
    return jaxpr.once(
        "open",
        lambda: Jaxpr(
            [*jaxpr.constvars, *jaxpr.invars], jaxpr.outvars, jaxpr.equations, (), jaxpr.effects, jaxpr.name
        ),
    )


def evaluate(jaxpr, args, consts=()):
    """Run a program on ``args`` under the current interpreter; a list of outputs."""
    if len(args) != len(jaxpr.invars) or len(consts) != len(jaxpr.constvars):
        raise TypeError(
            f"program {jaxpr.name!r} takes {len(jaxpr.invars)} arguments and {len(jaxpr.constvars)} "
            f"captured arrays, got {len(args)} "
            f"and {len(consts)}"
        )
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    ctx = context
    outer = ctx.where
    try:
        for eqn in jaxpr.equations:
            ctx.where = eqn.where if outer is None or eqn.where is not None else outer
            out = eqn.op(*[env[v] if type(v) is Var else v.value for v in eqn.inputs])
            if eqn.op.primitive.multiple_results:
                env.update(zip(eqn.outputs, out, strict=True))
            else:
                env[eqn.outputs[0]] = out
    finally:
        ctx.where = outer
    return [env[v] if type(v) is Var else v.value for v in jaxpr.outvars]


def last_uses(jaxpr):
    """For each variable the index of the last equation that reads it; outputs map to the number of
    equations.
    """
    last = {}
    for i, eqn in enumerate(jaxpr.equations):
        for v in eqn.inputs:
            if type(v) is Var:
                last[v] = i
    for v in jaxpr.outvars:
        if type(v) is Var:
            last[v] = len(jaxpr.equations)
    return last


def bodies_of(op):
    """The programs that an operator carries in its parameters, by parameter name."""
    found = []
    for name, value in op.params.items():
        if type(value) is Jaxpr:
            found.append((name, value))
        elif type(value) is tuple:
            found += [(f"{name}[{i}]", v) for i, v in enumerate(value) if type(v) is Jaxpr]
    return found


def effects_of(op):
    """The effects of an operator and of the programs that it carries."""
    effects = op.primitive.effects_of(op.params)
    for _, body in bodies_of(op):
        effects |= body.effects
    return effects


def effects_in(equations):
    """The effects of a list of equations."""
    effects = NONE
    for eqn in equations:
        if eqn.op.primitive.special:
            effects |= effects_of(eqn.op)
    return effects


__all__ = [
    "ClosedJaxpr",
    "Equation",
    "Jaxpr",
    "Literal",
    "Var",
    "bodies_of",
    "effects_in",
    "effects_of",
    "evaluate",
    "open_consts",
]
