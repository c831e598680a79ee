"""What a tracer cannot do: be a Python bool, number, index or NumPy array while its value is not known.

Where it is known, as under differentiation alone, it can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rabbet.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)  # fmt: skip
from rabbet.messages.source_positions import source_position
from rabbet.trace.leaks import leaked
from rabbet.trace.tracer import Tracer


def place(self: Any) -> str:
    """Where a tracer was made, for messages."""
    return f" It was made at {source_position(self.where)}." if self.where is not None else ""


def refuse(error: type[Exception], what: str, advice: str) -> Callable:
    """A method of tracers that raises: the value is not known while the function is traced."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.interpreter.alive:
            raise leaked(self)
        known = concrete(self)
        if known is not None:
            return known(what)(*args, **kwargs)
        raise error(
            f"{what} needs the value of an array of type {self.aval.str_short()}, which is not known in "
            f"{self.interpreter.describe()}.{place(self)} {advice}"
        )

    return method


def concrete(tracer: Tracer) -> Callable | None:
    """None if the tracer's value is unknown, else a function from a use, such as ``"item()"``, to the method
    of the known value.
    """
    value = tracer
    while type(value) is Tracer:
        look = getattr(value.interpreter, "concrete", None)
        if look is None:
            return None
        value = look(value.payload)
        if value is None:
            return None
    return lambda what: getattr(value, method_of(what))


def method_of(what: str) -> str:
    """The name of the method behind a use of a value, which is its own but for Python's protocols."""
    return DUNDER.get(what) or what.removesuffix("()")


DUNDER = {
    "bool()": "__bool__", "a Python integer": "__index__", "int()": "__int__", "float()": "__float__",
    "complex()": "__complex__", "numpy.asarray()": "__array__", "format()": "__format__",
}  # fmt: skip
OF_MEMORY = (
    "devices()", "delete()", "is_deleted()", "addressable_data()", "unsafe_buffer_pointer()",
    "on_device_size_in_bytes()",
)  # fmt: skip

CHOOSE = (
    "Instead of 'if' use rabbet.numpy.where or lax.cond, instead of 'while' lax.while_loop, or make the "
    "argument static (static_argnames). JAX's words, which libraries look for: Attempted boolean conversion "
    "of traced array."
)
STATIC = (
    "If the value is a plain Python number, make that argument static (static_argnames); or compute it "
    "outside."
)
INTEGER = (
    "Sizes, axes, the bounds of range and positions in lists must be known while tracing: make the argument "
    "static (static_argnames), loop with lax.fori_loop, index an array (rabbet.numpy.array(a_list)[i]), "
    "or take the largest size and a mask (rabbet.numpy.where(rabbet.numpy.arange(most) < n, x, 0))."
)
RESULTS = "Ask the results of the whole program, outside."


def format_tracer(self: Any, spec: str) -> str:
    """``f"{x}"`` shows what is known; with a format, only a known number can be shown."""
    known = concrete(self)
    if known is not None:
        return known("format()")(spec)
    if not spec:
        return repr(self)
    raise ConcretizationTypeError(
        f"the format {spec!r} needs the value of an array of type {self.aval.str_short()}, which is not "
        f"known in {self.interpreter.describe()}.{place(self)} Show the array itself, as in f'{{x}}', or "
        "print outside."
    )


def refuse_to_pickle(self: Any, protocol: Any) -> Any:
    """Pickling asks for what an object is made of. A known value would lose what
    the transformation knows of it.
    """
    if not self.interpreter.alive:
        raise leaked(self)
    raise ConcretizationTypeError(
        f"an array of type {self.aval.str_short()} cannot be pickled in {self.interpreter.describe()}: it "
        f"stands for values that are known later.{place(self)} Pickle the results of the whole program, "
        "outside; what goes to a process pool, or to a cache on disk, is pickled too."
    )


def give_to(tracer: Any) -> None:
    """Put the methods that need a value on the class of tracers."""
    tracer.__bool__ = refuse(TracerBoolConversionError, "bool()", CHOOSE)
    tracer.__index__ = refuse(TracerIntegerConversionError, "a Python integer", INTEGER)
    for name in ("int()", "float()", "complex()", "item()", "tolist()", "tobytes()"):
        setattr(tracer, method_of(name), refuse(ConcretizationTypeError, name, STATIC))
    for name in OF_MEMORY:
        setattr(tracer, method_of(name), refuse(ConcretizationTypeError, name, RESULTS))
    tracer.__array__ = refuse(
        TracerArrayConversionError,
        "numpy.asarray()",
        "Use rabbet.numpy instead of numpy inside transformed functions; to index a NumPy array, make it "
        "one of Rabbet's first: rabbet.numpy.asarray(table)[i].",
    )
    tracer.__reduce_ex__ = refuse_to_pickle
    tracer.__len__ = lambda self: len(self.aval)
    tracer.__format__ = format_tracer
