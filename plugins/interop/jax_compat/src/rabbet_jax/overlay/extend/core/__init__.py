"""``jax.extend.core``."""

import contextlib

import numpy as np
import rabbet as rb
from rabbet.errors import InconclusiveDimensionOperation, JaxprTypeError
from rabbet.extend.passes import check
from rabbet.extend.transform import batch, bound_axes, context
from rabbet_jax.composed_primitives import call_primitive, run_program
from rabbet_jax.overlay.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    OpaqueTraceState,
    Primitive,
    ShapedArray,
    Trace,
    Var,
    find_top_trace,
    get_opaque_trace_state,
    jaxpr_as_fun,
    mapped_aval,
    unmapped_aval,
    valid_jaxtype,
)
from rabbet_jax.overlay.api_util import DebugInfo
from rabbet_jax.traces import begin

array_types = {rb.Array, np.ndarray, *np.ScalarType}
no_effects: frozenset = frozenset()
Effects = frozenset
TraceTag = object  # what tells traces apart: each of Rabbet's is an object of its own


class _Dropped(type):
    def __instancecheck__(cls, x):
        return False


class DropVar(Var, metaclass=_Dropped):
    """A result that nothing reads: Rabbet's programs have variables for those too."""


def new_jaxpr_eqn(invars, outvars, primitive, params, effects=no_effects, source_info=None, ctx=None):
    """An equation."""
    return JaxprEqn(primitive.op(**params), list(invars), list(outvars))


class Effect:
    """What kinds of effects are subclasses of: libraries name their own by it. Rabbet orders effects by the
    operations that have them.
    """

    __slots__ = ()

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))


def jaxprs_in_params(params):
    """The programs that an equation carries."""
    for value in params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(one, Jaxpr):
                yield one.jaxpr


def subjaxprs(jaxpr):
    """The programs that the equations of a program carry."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def check_jaxpr(jaxpr):
    """Check a program.

    Raises:
      JaxprTypeError: if it breaks the grammar, with the equation.
    """
    check(jaxpr)


def primal_dtype_to_tangent_dtype(dtype):
    """The dtype of tangents: the same for floating and complex numbers, float0 for all others."""
    return ShapedArray((), dtype).to_tangent_aval().dtype


def concrete_or_error(force, value, context=""):
    """``force(value)`` of a value that is known.

    Raises:
      ConcretizationTypeError: for one that is being traced.
    """
    return value if force is None else force(value)


def unsafe_am_i_under_a_jit_DO_NOT_USE():
    """Whether a program is being written down."""
    return any(level.stages for level in _levels())


def unsafe_am_i_under_a_vmap_DO_NOT_USE():
    """Whether a function is being mapped."""
    return any(level.table is batch for level in _levels())


def unsafe_get_axis_names_DO_NOT_USE():
    """The names of the axes that collectives may name here."""
    return [name for name, _ in bound_axes()]


def _levels():
    level = context.interpreter
    while isinstance(level, Trace):
        yield level
        level = level.parent


@contextlib.contextmanager
def take_current_trace():
    """The current trace, within a ``with`` statement."""
    yield context.interpreter


@contextlib.contextmanager
def set_current_trace(trace):
    """Make a trace the current one, within a ``with`` statement."""
    before, context.interpreter = context.interpreter, begin(trace)
    try:
        yield
    finally:
        context.interpreter = before


def gensym():
    """A function of a type that gives a new variable of it."""
    return Var


def nonempty_axis_env_DO_NOT_USE():
    """Whether collectives may name an axis here."""
    return bool(bound_axes())


def create_call_primitive(name, inline_jax_late=True):
    """A primitive that runs the program among its parameters: ``bind(*args, call_jaxpr=program)``."""
    return call_primitive(name)


def register_call_primitive_rules(prim, name=None, transpose_rule=None, inline_jax_late=True):
    """Let a primitive run the program ``call_jaxpr`` among its parameters, under every transformation."""
    if transpose_rule is not None:
        raise NotImplementedError("register_call_primitive_rules: transpose_rule is not offered")
    prim.multiple_results = True
    prim.decompose(lambda op, *args: run_program(*args, **op.params))


__all__ = [
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "OpaqueTraceState",
    "Primitive",
    "ShapedArray",
    "TraceTag",
    "Var",
    "array_types",
    "check_jaxpr",
    "concrete_or_error",
    "create_call_primitive",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "register_call_primitive_rules",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]  # fmt: skip
