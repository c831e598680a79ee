"""What to say of a tracer that outlived its transformation."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rabbet.errors import UnexpectedTracerError
from rabbet.messages import source_positions

if TYPE_CHECKING:
    from rabbet.typing import Value


def leaked(tracer: Value) -> Value:
    """The error for a tracer that outlived its transformation."""
    line = (
        f"It was made at {source_positions.source_position(tracer.where)}. "
        if tracer.where is not None
        else ""
    )
    if tracer.interpreter.alive and tracer.interpreter.thread != threading.get_ident():
        return UnexpectedTracerError(
            f"a value of type {tracer.aval.str_short()} of {tracer.interpreter.describe()} was used in "
            f"another thread than the one that runs this transformation. {line}Compute with it in its own "
            "thread, or start the transformation in the other one."
        )
    if tracer.interpreter.alive:
        return UnexpectedTracerError(
            f"a value of type {tracer.aval.str_short()} of {tracer.interpreter.describe()} was used by "
            "a rule that runs below "
            f"this transformation and closes over the value. {line}A function with rules of its own "
            "(custom_jvp, custom_vjp) must "
            f"take every value that is transformed as an argument."
        )
    return UnexpectedTracerError(
        f"a value of type {tracer.aval.str_short()} was used outside the transformation that made it: "
        f"{tracer.interpreter.describe()}, which has finished. {line}"
        "Return it from the transformed function instead of storing it in a global, an attribute or a "
        "closure."
    )
