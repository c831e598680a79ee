"""The grammar of programs: a type checker that tests run after every transformation. It costs nothing in production."""

from rabbet.avals import ShapedArray
from rabbet.errors import JaxprTypeError
from rabbet.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, bodies_of


def check(program):
    """Check that ``program`` is well formed and well typed; return it.

    Every variable is defined once and before its use, every equation's outputs have the types that the shape rule of its operator gives
    for its inputs, and every body obeys the same.

    Args:
      program: a ``Jaxpr`` or a ``ClosedJaxpr``.

    Raises:
      JaxprTypeError: names the equation and what is wrong with it.
    """
    if isinstance(program, ClosedJaxpr):
        _check_consts(program)
        check(program.jaxpr)
        return program
    if type(program) is not Jaxpr:
        raise JaxprTypeError(f"a program is a Jaxpr or a ClosedJaxpr, got {type(program).__name__}")
    defined = set()
    for v in (*program.constvars, *program.invars):
        _define(v, defined, "an input")
    for i, eqn in enumerate(program.equations):
        _check_equation(i, eqn, defined)
    for v in program.outvars:
        _check_use(v, defined, "an output")
    return program


def _check_consts(closed):
    if len(closed.consts) != len(closed.jaxpr.constvars):
        raise JaxprTypeError(
            f"the program captures {len(closed.jaxpr.constvars)} arrays, {len(closed.consts)} were given"
        )
    for v, const in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if getattr(const, "shape", ()) != v.aval.shape:
            raise JaxprTypeError(f"captured array {const!r} does not have the type {v.aval.str_short()}")


def _define(v, defined, what):
    if type(v) is not Var or not isinstance(v.aval, ShapedArray):
        raise JaxprTypeError(f"{what} must be a typed variable, got {v!r}")
    if v in defined:
        raise JaxprTypeError(f"{v!r} is defined twice, the second time as {what}")
    defined.add(v)


def _check_use(v, defined, what):
    if type(v) is Literal:
        if v.aval.shape:
            raise JaxprTypeError(f"{what} is a literal that is not a scalar: {v!r}")
    elif v not in defined:
        raise JaxprTypeError(f"{what} reads {v!r} before it is defined")


def _check_equation(i, eqn, defined):
    what = f"equation {i}, {eqn.op}"
    for v in eqn.inputs:
        _check_use(v, defined, what)
    wanted = eqn.op.outs(tuple([v.aval for v in eqn.inputs]))
    got = tuple([v.aval for v in eqn.outputs])
    if wanted != got:
        raise JaxprTypeError(f"{what}: its shape rule gives {_types(wanted)}, its outputs are {_types(got)}")
    for name, body in bodies_of(eqn.op):
        try:
            check(body)
        except JaxprTypeError as error:
            raise JaxprTypeError(f"in {name} of {what}: {error}") from None
    for v in eqn.outputs:
        _define(v, defined, f"an output of {what}")


def _types(avals):
    return ", ".join(f"{a.str_short()}{' (weak)' if a.weak_type else ''}" for a in avals)
