"""``jax.core``: types, programs and the current trace, as Rabbet has them."""

import weakref
from typing import Any

import numpy as np
import rabbet as rb
from rabbet.extend import passes
from rabbet.extend.functions import is_evaluating
from rabbet.extend.passes import Equation, Literal, Var, evaluate
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import context, is_tracer

from rabbet_jax.checkpoint_levels import current_level
from rabbet_jax.primitives import Primitive
from rabbet_jax.traces import Trace, Tracer

ensure_compile_time_eval = rb.ensure_compile_time_eval
Atom = Var | Literal
JaxprEqn = Equation
AxisSize = Any

ABSENT = "ParamDict"
Value = Any
# By type: how its abstract value is found. Libraries add their own; Rabbet asks `__array__` of those.
pytype_aval_mappings = dict.fromkeys((np.ndarray, rb.Array, bool, int, float, complex), rb.typeof)


PROGRAMS = passes.Jaxpr, passes.ClosedJaxpr


class _Programs(type):
    def __instancecheck__(cls, x):
        return isinstance(x, PROGRAMS)

    def __subclasscheck__(cls, c):
        return c is cls or issubclass(c, PROGRAMS)

    def __call__(
        cls, constvars, invars=None, outvars=None, eqns=None, effects=None, debug_info=None, is_high=False,
        consts=None,
    ):  # fmt: skip
        if isinstance(constvars, PROGRAMS):  # a program, and the arrays for what it captures
            return passes.ClosedJaxpr(constvars, list((consts if invars is None else invars) or ()))
        called = getattr(debug_info, "func_name", None) or "f"
        program = passes.Jaxpr(invars, outvars, list(eqns), constvars, effects or None, called)
        return program if consts is None else passes.ClosedJaxpr(program, list(consts))


class Jaxpr(metaclass=_Programs):
    """A program, closed or not: one class since JAX 0.12, which makes either from its parts.

    ``Jaxpr(constvars, invars, outvars, eqns)``, or ``Jaxpr(program, consts)``.
    """

    jaxpr: Any


ClosedJaxpr = Jaxpr


class _Avals(type):
    def __instancecheck__(cls, x):
        return isinstance(x, ShapedArray)

    def __subclasscheck__(cls, c):
        return c is cls or issubclass(c, ShapedArray)


class AbstractValue(metaclass=_Avals):
    """What every abstract array is an instance of."""


def eval_jaxpr(jaxpr, consts, *args, propagate_source_info=True):
    """Run a program: a list of its outputs."""
    return evaluate(jaxpr, list(args), list(consts))


def jaxpr_as_fun(closed_jaxpr):
    """A closed program as a function of its inputs."""
    return lambda *args: evaluate(closed_jaxpr.jaxpr, list(args), list(closed_jaxpr.consts))


def get_aval(x):
    """The type of an array or a number."""
    return rb.typeof(x)


def valid_jaxtype(x):
    """Whether something may be an argument of a transformed function."""
    try:
        rb.typeof(x)
    except TypeError:
        return False
    return True


def is_concrete(x):
    """Whether a value is known now."""
    return not is_tracer(x)


def trace_state_clean():
    """Whether nothing is being traced."""
    return is_evaluating()


class OpaqueTraceState:
    """Which trace is current, for comparing. Objects that a function makes keep it, and outlive the trace; so
    it does not keep the trace, which has the function's arguments.
    """

    def __init__(self, interpreter):
        self._trace = weakref.ref(interpreter)
        self._mark = id(interpreter), current_level()

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, OpaqueTraceState) or self._mark != other._mark:
            return False
        trace = self._trace()
        return trace is not None and trace is other._trace()

    def __hash__(self):
        return hash(self._mark)


def get_opaque_trace_state(convention=None):
    """The current trace, as something that can be compared."""
    return OpaqueTraceState(context.interpreter)


def is_constant_dim(d):
    """Whether a size of a dimension is a number, as every size is here."""
    return isinstance(d, int | np.integer)


def max_dim(d1, d2):
    """The greater of two sizes of dimensions."""
    return d1 if d1 >= d2 else d2


def min_dim(d1, d2):
    """The smaller of two sizes of dimensions."""
    return d2 if d1 >= d2 else d1


def eval_context():
    """A ``with`` block outside of every transformation: what is called there is computed."""
    return ensure_compile_time_eval()


def mapped_aval(size, axis, aval):
    """The type of one example."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(size, axis, aval, explicit_mesh_axis=None):
    """The type of a batch of ``size`` examples."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def find_top_trace(xs):
    """The innermost trace among those of the values."""
    found = {id(x.interpreter) for x in xs if is_tracer(x)}
    level = context.interpreter
    while id(level) not in found and level.parent is not None:
        level = level.parent
    return level


__all__ = [
    "AbstractValue", "Atom", "AxisSize", "ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "OpaqueTraceState",
    "Primitive", "ShapedArray", "Trace", "Tracer", "Var", "eval_jaxpr", "find_top_trace", "get_aval",
    "get_opaque_trace_state", "is_concrete", "jaxpr_as_fun", "mapped_aval", "trace_state_clean",
    "unmapped_aval", "valid_jaxtype",
]  # fmt: skip
