"""``jax.extend.core``."""

import contextlib

from rabbet.extend.transform import context
from rabbet_jax.overlay.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    OpaqueTraceState,
    Primitive,
    ShapedArray,
    Var,
    find_top_trace,
    get_opaque_trace_state,
    jaxpr_as_fun,
    mapped_aval,
    unmapped_aval,
)

ABSENT = "DropVar Effect array_types no_effects concrete_or_error"


@contextlib.contextmanager
def take_current_trace():
    """The current trace, within a ``with`` statement."""
    yield context.interpreter


@contextlib.contextmanager
def set_current_trace(trace):
    """Make a trace the current one, within a ``with`` statement."""
    before, context.interpreter = context.interpreter, trace
    try:
        yield
    finally:
        context.interpreter = before


__all__ = [
    "ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "OpaqueTraceState", "Primitive", "ShapedArray", "Var",
    "find_top_trace", "get_opaque_trace_state", "jaxpr_as_fun", "mapped_aval", "set_current_trace",
    "take_current_trace", "unmapped_aval",
]  # fmt: skip
