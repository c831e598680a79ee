"""Programs as data: what staging a function produces and what every pass, lowering and transposition reads.

A ``Jaxpr`` is a straight list of equations over typed variables. ``ClosedJaxpr`` pairs it with the arrays
that the function captured; they are inputs of the program, not text in it. Scalars written in the source
stand in equations as literals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.messages import source_positions
from rabbet.program.context import context
from rabbet.program.effects import NONE
from rabbet.program.python_scalars import NARROWED, typed_scalar
from rabbet.program.text import program_lines, text_of

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


def _short(aval: ShapedArray | str) -> str:
    return aval.str_short() if hasattr(aval, "str_short") else repr(aval)


class Var:
    """A value of a program, defined once. Identity is its name.

    Example:
      >>> from rabbet.extend.passes import Var, stage
      >>> program = stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)]).jaxpr
      >>> (x,) = program.invars
      >>> type(x) is Var, x.aval.str_short(), program.equations[0].inputs[0] is x
      (True, 'f32[]', True)
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var:{_short(self.aval)}"


class Literal:
    """A scalar written into a program: ``value`` is a Python or NumPy scalar, ``aval`` its type.

    Example:
      >>> from rabbet.extend.passes import Literal, stage
      >>> program = stage(lambda x: [lax.mul(x, 2.0)], [rb.typeof(1.0)]).jaxpr
      >>> [v.value for v in program.equations[0].inputs if type(v) is Literal]
      [2.0]
    """

    __slots__ = ("value", "aval")

    def __init__(self, value: Any, aval: ShapedArray) -> None:
        # NumPy's own scalars of 64 bits would be narrowed where the value is computed with.
        if type(value) in NARROWED and value.dtype == aval.dtype:
            value = typed_scalar(value, aval)
        self.value = value
        self.aval = aval

    val = property(lambda self: self.value, doc="JAX's name for ``value``.")

    def __repr__(self) -> str:
        return f"{self.value}:{_short(self.aval)}"


class Equation:
    """``outputs = op(inputs)``; ``where`` is the user's ``(code, lasti)`` or None.

    Example:
      >>> from rabbet.extend.passes import Equation, stage
      >>> program = stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)]).jaxpr
      >>> (eqn,) = program.equations
      >>> eqn.primitive, eqn.op.params, len(eqn.inputs), eqn.outputs == program.outvars
      (sin, {}, 1, True)
      >>> Equation(lax.cos.op(), eqn.inputs, eqn.outputs, eqn.where).primitive
      cos
    """

    __slots__ = ("op", "inputs", "outputs", "where")

    def __init__(self, op: Any, inputs: Any, outputs: Any, where: Any = None) -> None:
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self.where = where

    primitive = property(lambda self: self.op.primitive)
    params = property(lambda self: self.op.params)
    invars = property(lambda self: self.inputs, doc="JAX's name for ``inputs``.")
    outvars = property(lambda self: self.outputs, doc="JAX's name for ``outputs``.")
    effects = property(lambda self: effects_of(self.op), doc="What it does besides computing.")

    def replace(
        self,
        *,
        invars: Any = None,
        outvars: Any = None,
        primitive: Any = None,
        params: Any = None,
        **of_jax: Any,
    ) -> Any:
        """The same equation with other parts; None keeps a part. What else JAX's equations have (``effects``,
        ``source_info``, ``ctx``) follows from these here.
        """
        op = self.op
        if primitive is not None or params is not None:
            chosen = op.primitive if primitive is None else primitive
            op = chosen.op(**(op.params if params is None else params))
        return Equation(
            op,
            self.inputs if invars is None else list(invars),
            self.outputs if outvars is None else list(outvars),
            self.where,
        )

    @property
    def source_info(self) -> Any:
        """The user's line, a ``Position``, whose ``name_stack`` has the scopes around it; None where no line
        of the user's made it.
        """
        return None if self.where is None else source_positions.scoped_position(self.where)

    def __reduce__(self) -> tuple[tuple[Op | list[Any], ...] | type, ...]:
        return Equation, (self.op, self.inputs, self.outputs)  # the user's line is of this process

    def __repr__(self) -> str:
        return f"{self.outputs} = {self.op} {self.inputs}"


ITSELF = object()  # in a program's memo: the program


class DebugInfo(NamedTuple):
    """What a program was traced from, as far as it is kept; the fields are JAX's.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)], "wave").jaxpr.debug_info.func_name
      'wave'
    """

    func_name: str
    traced_for: str = ""
    arg_names: tuple | None = None
    result_paths: tuple | None = None

    @property
    def func_src_info(self) -> str:
        """The same as ``func_name``."""
        return self.func_name


class Jaxpr:
    """A program: inputs, captured inputs, equations, outputs.

    Args:
      invars: list of ``Var``.
      outvars: list of ``Var`` or ``Literal``.
      equations: list of ``Equation``, in an order in which each value is defined before its use.
      constvars: list of ``Var`` for captured arrays, given before the inputs.
      effects: frozenset of the ``Effect``s of its equations; None: to be found.
      name: the traced function's name.

    Example:
      >>> from rabbet.extend.passes import Equation, Jaxpr, Var, check
      >>> x, y = Var(rb.typeof(np.float32(1))), Var(rb.typeof(np.float32(1)))
      >>> check(Jaxpr([x], [y], [Equation(lax.sin.op(), [x], [y])]))
      { lambda ; a:f32[]. let
          b:f32[] = sin a
        in (b,) }
    """

    __slots__ = ("invars", "outvars", "equations", "constvars", "effects", "name", "memo", "__weakref__")

    def __init__(
        self,
        invars: Any,
        outvars: Any,
        equations: Any,
        constvars: Any = (),
        effects: Any = None,
        name: Any = "f",
    ) -> None:
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.equations = equations
        self.constvars = list(constvars)
        self.effects = effects_in(equations) if effects is None else effects
        self.name = name
        # What transformations derived from this program (its jvp, its halves, its executables), by their
        # own keys.
        self.memo = {}

    eqns = property(lambda self: self.equations, doc="JAX's name for ``equations``.")
    jaxpr = property(lambda self: self, doc="Itself: where JAX has a ``ClosedJaxpr`` as a loop's body.")
    consts = property(lambda self: (), doc="None: bodies are given what they capture as inputs.")
    in_avals = property(lambda self: tuple([v.aval for v in self.invars]))
    out_avals = property(lambda self: tuple([v.aval for v in self.outvars]))
    debug_info = property(lambda self: DebugInfo(self.name), doc="What it was traced from.")

    def replace(
        self,
        *,
        invars: Any = None,
        outvars: Any = None,
        eqns: Any = None,
        constvars: Any = None,
        effects: Any = None,
        name: Any = None,
        debug_info: Any = None,
    ) -> Any:
        """The same program with other parts; None keeps a part, and effects are those of the equations.
        ``debug_info`` gives a name.
        """
        name = getattr(debug_info, "func_name", None) if name is None else name
        return Jaxpr(
            self.invars if invars is None else invars,
            self.outvars if outvars is None else outvars,
            self.equations if eqns is None else list(eqns),
            self.constvars if constvars is None else constvars,
            self.effects if eqns is None and effects is None else effects,
            self.name if name is None else name,
        )

    def once(self, key: tuple[Any, ...] | str, make: Callable[..., Any]) -> Any:
        """``make()``, computed once for this program and ``key``."""
        try:
            made = self.memo[key]
        except KeyError:
            made = make()
            self.memo[key] = ITSELF if made is self else made  # it would live until Python looks for cycles
            return made
        return self if made is ITSELF else made

    def __repr__(self) -> str:
        return text_of(self)

    def pretty_print(self, *, all_parameters: bool = False, **options: Any) -> Any:
        """The program's text; JAX's options for it change nothing here.

        Args:
          all_parameters: show parameters too that are None, functions or structures of pytrees.

        Example:
          >>> program = rb.make_jaxpr(lax.sin)(1.0).jaxpr
          >>> "accuracy=None" in program.pretty_print(all_parameters=True)
          True
        """
        return text_of(self, all_parameters)

    def _repr_html_(self) -> str:
        """What notebooks show: the program beside the user's lines."""
        from rabbet.program.html import program_html  # notebooks only

        return program_html(program_lines(self))


class ClosedJaxpr:
    """A program and the arrays for its ``constvars``; unpacks into the two. To pytrees it is a leaf.

    Example:
      >>> from rabbet.extend.passes import ClosedJaxpr, stage
      >>> captured = rb.device_put(np.ones(2, np.float32))
      >>> closed = stage(lambda x: [lax.mul(x, captured)], [rb.typeof(captured)])
      >>> type(closed) is ClosedJaxpr, len(closed.consts), len(closed.jaxpr.constvars)
      (True, 1, 1)
    """

    __slots__ = ("jaxpr", "consts", "__weakref__")

    def __init__(self, jaxpr: Jaxpr, consts: Any) -> None:
        self.jaxpr = jaxpr.jaxpr if type(jaxpr) is ClosedJaxpr else jaxpr
        self.consts = consts

    def __iter__(self) -> Any:
        return iter((self.jaxpr, self.consts))

    literals = property(lambda self: self.consts, doc="``consts``, as libraries for JAX call them too.")

    # In JAX 0.12 this and ``Jaxpr`` are one class, so libraries walk either.
    invars = property(lambda self: self.jaxpr.invars, doc="The program's inputs.")
    outvars = property(lambda self: self.jaxpr.outvars, doc="The program's outputs.")
    constvars = property(lambda self: self.jaxpr.constvars, doc="The program's variables for ``consts``.")
    equations = property(lambda self: self.jaxpr.equations, doc="The program's equations.")
    name = property(lambda self: self.jaxpr.name, doc="The traced function's name.")
    debug_info = property(lambda self: self.jaxpr.debug_info, doc="What it was traced from.")

    @property
    def eqns(self) -> list[Equation]:
        """The program's equations."""
        return self.jaxpr.equations

    @property
    def in_avals(self) -> tuple[ShapedArray, ...]:
        """The types of its inputs."""
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of its outputs."""
        return self.jaxpr.out_avals

    @property
    def effects(self) -> frozenset[Any]:
        """What it does besides computing."""
        return self.jaxpr.effects

    def replace(self, *, jaxpr: Any = None, consts: Any = None, **parts: Any) -> Any:
        """The same with other ``consts``, and with another program or parts of it, as ``Jaxpr.replace``."""
        program = (self.jaxpr if jaxpr is None else jaxpr.jaxpr).replace(**parts)
        return ClosedJaxpr(program, self.consts if consts is None else consts)

    def __repr__(self) -> str:
        return repr(self.jaxpr)

    def pretty_print(self, *, all_parameters: bool = False, **options: Any) -> Any:
        """The program's text, as ``Jaxpr.pretty_print``."""
        return self.jaxpr.pretty_print(all_parameters=all_parameters)

    def _repr_html_(self) -> str:
        """What notebooks show: the program beside the user's lines."""
        return self.jaxpr._repr_html_()


def consts_as_inputs(closed: ClosedJaxpr) -> Any:
    """The same program with its captured arrays as leading inputs, as bodies of other programs have it.

    Example:
      >>> from rabbet.extend.passes import consts_as_inputs, stage
      >>> captured = rb.device_put(np.ones(2, np.float32))
      >>> closed = stage(lambda x: [lax.mul(x, captured)], [rb.typeof(captured)])
      >>> len(consts_as_inputs(closed).invars)
      2
    """
    jaxpr = closed.jaxpr
    if not jaxpr.constvars:
        return jaxpr
    return jaxpr.once(
        "open",
        lambda: Jaxpr(
            [*jaxpr.constvars, *jaxpr.invars], jaxpr.outvars, jaxpr.equations, (), jaxpr.effects, jaxpr.name
        ),
    )


def evaluate(
    jaxpr: Jaxpr, args: list[Any] | tuple[Value, ...], consts: list[Value] | tuple[Any, ...] = ()
) -> Any:
    """Run a program on ``args`` under the current interpreter; a list of outputs.

    Example:
      >>> from rabbet.extend.passes import evaluate, stage
      >>> closed = stage(lambda x: [lax.mul(x, x)], [rb.typeof(1.0)])
      >>> evaluate(closed.jaxpr, [3.0], closed.consts)
      [Array(9., dtype=float32, weak_type=True)]
    """
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


def last_uses(jaxpr: Jaxpr) -> dict[Any, Any]:
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


def bodies_of(op: Op) -> Any:
    """The programs that an operator carries in its parameters, by parameter name.

    Example:
      >>> from rabbet.extend.passes import bodies_of, stage
      >>> closed = stage(lambda x: [lax.cond(x > 0, lax.sin, lax.cos, x)], [rb.typeof(1.0)])
      >>> [[str(e.primitive) for e in body.equations] for _, body in bodies_of(closed.eqns[-1].op)]
      [['cos'], ['sin']]
    """
    found = []
    for name, value in op.params.items():
        if type(value) is Jaxpr:
            found.append((name, value))
        elif type(value) is tuple:
            found += [(f"{name}[{i}]", v) for i, v in enumerate(value) if type(v) is Jaxpr]
    return found


class Enclosing:
    """A parameter of an operator that holds programs which passes leave as they are, such as a kernel's.

    They are shown where the program is printed, and their effects are the operator's. A subclass says in
    ``programs`` which there are; its ``str`` is what is shown beside them.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.rules import Enclosing
      >>> class Kernel(Enclosing):
      ...     def __init__(self, program):
      ...         self.program = program
      ...     def programs(self):
      ...         return [("program", self.program)]
      ...     def __str__(self):
      ...         return "kernel"
      >>> kernel = Kernel(stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)]).jaxpr)
      >>> [name for name, _ in kernel.programs()]
      ['program']
    """

    def programs(self) -> list:
        """Pairs of a name and a ``Jaxpr``."""
        raise NotImplementedError(f"{type(self).__name__}.programs")


def effects_of(op: Any) -> Any:
    """The effects of an operator and of the programs that it carries.

    Example:
      >>> from rabbet.extend.passes import effects_of, stage
      >>> closed = stage(lambda x: [rb.debug.print("{}", x), x][1:], [rb.typeof(1.0)])
      >>> [effect.name for effect in effects_of(closed.eqns[0].op)]
      ['debug']
    """
    effects = op.primitive.effects_of(op.params)
    for _, body in bodies_of(op):
        effects |= body.effects
    for value in op.params.values():
        if isinstance(value, Enclosing):
            effects = effects.union(*[body.effects for _, body in value.programs()])
    return effects


def effects_in(equations: list[Equation]) -> frozenset[Any]:
    """The effects of a list of equations."""
    effects = NONE
    for eqn in equations:
        if eqn.op.primitive.special:
            effects |= effects_of(eqn.op)
    return effects


__all__ = [
    "ClosedJaxpr",
    "Enclosing",
    "Equation",
    "Jaxpr",
    "Literal",
    "Var",
    "bodies_of",
    "consts_as_inputs",
    "effects_in",
    "effects_of",
    "evaluate",
]
