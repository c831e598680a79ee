"""``jax.interpreters.ad``."""

from typing import Any

import rabbet as rb
from rabbet.extend import passes
from rabbet.extend.passes import Var, stage
from rabbet.extend.primitive import Linear as UndefinedPrimal
from rabbet.extend.primitive import Zero, instantiate
from rabbet.extend.primitive import add_tangents as add_jaxvals
from rabbet.extend.transform import Tracer, jvp

from rabbet_jax.composed_primitives import composed
from rabbet_jax.overlay.core import jaxpr_as_fun
from rabbet_jax.primitives import defjvp, deflinear, primitive_jvps, primitive_transposes


def deflinear2(primitive, transpose_rule):
    """A linear primitive; ``transpose_rule(cotangent, *operands, **params)`` gives a cotangent for each."""
    deflinear(primitive, None)
    primitive_transposes[primitive] = transpose_rule


def defbilinear(primitive, lhs_rule, rhs_rule):
    """A product: linear in each of two operands while the other is fixed. ``lhs_rule(cotangent, x, y)`` gives
    the cotangent of the first, ``rhs_rule`` of the second.
    """
    defjvp(
        primitive,
        lambda t, x, y, **params: primitive.bind(t, y, **params),
        lambda t, x, y, **params: primitive.bind(x, t, **params),
    )

    def transpose(ct, x, y, **params):
        if is_undefined_primal(x):
            return [None if type(ct) is Zero else lhs_rule(ct, x, y, **params), None]
        return [None, None if type(ct) is Zero else rhs_rule(ct, x, y, **params)]

    primitive_transposes[primitive] = transpose


def zeros_like_aval(aval):
    """An array of zeros of a type."""
    return rb.numpy.zeros(aval.shape, aval.dtype)


def add_tangents(x, y):
    """The sum of two tangents, of which either may be a ``Zero``."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_jaxvals(x, y)


class _JVPTracers(type):
    def __instancecheck__(cls, x):
        return type(x) is Tracer and x.interpreter.table is jvp


class JVPTracer(metaclass=_JVPTracers):
    """What a value of forward mode is an instance of."""


def is_undefined_primal(x):
    """Whether an operand of a transposition is one that it is linear in."""
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent):
    """A tangent as an array, if it is a symbolic zero."""
    return instantiate(tangent)


ABSENT = "JVPTrace backward_pass defjvp2 get_primitive_transpose linearize"
__all__ = [
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "deflinear",
    "deflinear2",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]  # fmt: skip


def get_primitive_transpose(primitive):
    """The rule that a library gave for the transposition of a primitive.

    Raises:
      NotImplementedError: if none did.
    """
    found = primitive_transposes.get(primitive)
    if found is None:
        raise NotImplementedError(f"no rule of JAX's kind was given for the transposition of {primitive}")
    return found


def defjvp2(primitive, *jvprules):
    """As ``defjvp``, with rules that are told the result too: ``rule(tangent, out, *primals, **params)``."""

    def rule(primals, tangents, **params):
        out = primitive.bind(*primals, **params)
        total = Zero(rb.typeof(out).to_tangent_aval())
        for f, t in zip(jvprules, tangents, strict=True):
            if f and type(t) is not Zero:
                total = add_tangents(total, f(t, out, *primals, **params))
        return out, total

    primitive_jvps[primitive] = rule


def jvp_jaxpr(jaxpr, nonzeros, instantiate):
    """A program of values and of those tangents that ``nonzeros`` says are there.

    Args:
      jaxpr: a closed program.
      nonzeros: a bool for each input.
      instantiate: True, or True for each output: it has a tangent even if it does not move.

    Returns:
      ``(program, moves)``: the outputs, then the tangents of those of which ``moves`` is True.
    """
    closed: Any = jaxpr if hasattr(jaxpr, "consts") else passes.ClosedJaxpr(jaxpr, [])
    run, types, moving = jaxpr_as_fun(closed), list(closed.in_avals), []
    many = len(closed.out_avals)
    always = [instantiate] * many if isinstance(instantiate, bool) else list(instantiate)

    def forward(*args):
        primals, given = args[: len(types)], iter(args[len(types) :])
        moved = [i for i, there in enumerate(nonzeros) if there]

        def on_moved(*some):
            full = list(primals)
            for i, x in zip(moved, some, strict=True):
                full[i] = x
            return list(run(*full))

        outs, tangents = rb.jvp(on_moved, [primals[i] for i in moved], list(given))
        return [*outs, *[t for t, kept in zip(tangents, moving, strict=True) if kept]]

    moving.extend([d or a for d, a in zip(_moved(closed.jaxpr, nonzeros), always, strict=True)])
    extra = [t.to_tangent_aval() for t, there in zip(types, nonzeros, strict=True) if there]
    return stage(forward, [*types, *extra]), moving


def _moved(jaxpr, nonzeros):
    """Which outputs depend on an input that moves."""
    moved = {v for v, there in zip(jaxpr.invars, nonzeros, strict=True) if there}
    for eqn in jaxpr.eqns:
        if any(type(v) is Var and v in moved for v in eqn.invars):
            moved.update(eqn.outvars)
    return [type(v) is Var and v in moved and not _still(v) for v in jaxpr.outvars]


def _still(variable):
    return variable.aval.to_tangent_aval().dtype == rb.dtypes.float0


def __getattr__(name):
    if name == "add_jaxvals_p":
        return composed("add_any")
    raise AttributeError(name)
