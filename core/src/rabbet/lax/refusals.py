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
from rabbet.messages.operation_origin import asking_function
from rabbet.trace.argument_origins import STATIC as MAKE_STATIC
from rabbet.trace.argument_origins import origin, with_static
from rabbet.trace.leaks import leaked
from rabbet.trace.tracer import Tracer


def unknown(tracer: Any, advice: str) -> str:
    """What an error says of a value that is not known, from its type on: where it comes from, and what to do.

    Args:
      tracer: a tracer, what stands for the value.
      advice: what to do. In it, ``make the argument static (static_argnames)`` gets the argument's name, and
        goes where none can be static.

    Example:
      >>> from rabbet.extend.wrapping import unknown
      >>> def f(n):
      ...     print(unknown(n, "Compute it outside.").partition(". ")[2])
      ...     return n
      >>> closed = rb.jit(f).trace(1)
      It is the argument 'n' of f. Compute it outside.
    """
    return (
        f"an array of type {tracer.aval.str_short()}, which is not known in {tracer.interpreter.describe()}."
        f"{origin(tracer)} {with_static(advice, tracer)}"
    )


def refuse(error: type[Exception], what: str, advice: str) -> Callable:
    """A method of tracers that raises: the value is not known while the function is traced."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.interpreter.alive:
            raise leaked(self)
        known = concrete(self)
        if known is not None:
            return known(what)(*args, **kwargs)
        if what == "bool()" and self.aval.size != 1:  # no value would do
            raise ValueError(ambiguous(self.aval))
        who = asking_function(self, what)
        text = advice if who == what else WITHIN.get(what, advice)
        raise error(f"{who} needs the value of {unknown(self, text)}")

    return method


def ambiguous(aval: Any) -> str:
    """Why an array of another number of elements than one is neither true nor false."""
    return (
        f"the truth value of an array of {aval.size} elements ({aval.str_short()}) is ambiguous; use x.any() "
        "or x.all()"
    )


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
    "Instead of 'if' use rabbet.numpy.where or lax.cond, instead of 'while' lax.while_loop, "
    "instead of 'and', 'or', 'not' use &, |, ~, "
    f"or {MAKE_STATIC}."
)
NUMBER = f"Compute it outside, or {MAKE_STATIC}. To change the dtype of an array, use x.astype(dtype)."
INTEGER = (
    "The bounds of range and positions in lists must be known while tracing: "
    f"{MAKE_STATIC}, loop with lax.fori_loop, or index an array (rabbet.numpy.array(a_list)[i])."
)
WITHIN = {
    "a Python integer": "Shapes, sizes and axes must be known while tracing: take them from x.shape, or "
    f"{MAKE_STATIC}. For a size that varies, take the largest and a mask "
    "(rabbet.numpy.where(rabbet.numpy.arange(most) < n, x, 0)).",
    "bool()": f"It decides what is computed, so it must be known while tracing: {MAKE_STATIC}, or compute it "
    "outside.",
}
RESULTS = "Ask the results of the whole program, outside."


def format_tracer(self: Any, spec: str) -> str:
    """``f"{x}"`` shows what is known; with a format, only a known number can be shown."""
    shown = None if spec else getattr(self.interpreter, "shown", None)
    if shown is not None and self.interpreter.alive and (text := shown(self.payload)):
        return text
    known = concrete(self)
    if known is not None:
        return known("format()")(spec)
    if not spec:
        return repr(self)
    raise ConcretizationTypeError(
        f"the format {spec!r} needs the value of "
        + unknown(self, "Show the array itself, as in f'{x}', or print outside.")
    )


def refuse_to_pickle(self: Any, protocol: Any) -> Any:
    """Pickling asks for what an object is made of. A known value would lose what
    the transformation knows of it.
    """
    if not self.interpreter.alive:
        raise leaked(self)
    raise ConcretizationTypeError(
        f"an array of type {self.aval.str_short()} cannot be pickled in {self.interpreter.describe()}: it "
        f"stands for values that are known later.{origin(self)} Pickle the results of the whole program, "
        "outside; what goes to a process pool, or to a cache on disk, is pickled too."
    )


def give_to(tracer: Any) -> None:
    """Put the methods that need a value on the class of tracers."""
    tracer.__bool__ = refuse(TracerBoolConversionError, "bool()", CHOOSE)
    tracer.__index__ = refuse(TracerIntegerConversionError, "a Python integer", INTEGER)
    for name in ("int()", "float()", "complex()", "item()", "tolist()", "tobytes()"):
        setattr(tracer, method_of(name), refuse(ConcretizationTypeError, name, NUMBER))
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
