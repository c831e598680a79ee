"""Tracers: what stands for an array while a transformation runs, and the payload behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.trace.interpreter import Interpreter
    from rabbet.typing import Value


class Tracer:
    """Stands for an array while a transformation runs; holds its interpreter's payload.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.transform import Tracer
      >>> closed = stage(lambda x: [print(type(x) is Tracer, x.shape) or x], [rb.typeof(np.ones((2, 3)))])
      True (2, 3)
    """

    __slots__ = ("interpreter", "payload", "aval", "where", "__weakref__")
    __array_priority__ = 1000

    def __init__(
        self, interpreter: Interpreter, payload: Any, aval: ShapedArray, where: tuple[Any, ...] | None = None
    ) -> None:
        self.interpreter = interpreter
        self.payload = payload
        self.aval = aval
        self.where = where

    shape = property(lambda self: self.aval.shape, doc="The shape, a tuple of ints.")
    dtype = property(lambda self: self.aval.dtype, doc="The dtype.")
    ndim = property(lambda self: self.aval.ndim, doc="The number of dimensions.")
    size = property(lambda self: self.aval.size, doc="The number of elements.")
    weak_type = property(lambda self: self.aval.weak_type, doc="Whether the dtype gives way in promotion.")
    itemsize = property(lambda self: self.aval.itemsize, doc="Bytes per element.")
    nbytes = property(lambda self: self.aval.nbytes, doc="Bytes in all.")

    def __getattr__(self, name: str) -> Any:  # of what is not found only
        if name in Tracer.__slots__ or name.startswith("__"):
            raise AttributeError(f"'Tracer' object has no attribute {name!r}")
        try:
            return self.interpreter.attribute(self.payload, name)
        except AttributeError as error:
            if error.obj is None:  # Python suggests a name that is near, when it prints the traceback
                error.name, error.obj = name, self
            raise

    def __copy__(self) -> Value:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> Value:
        return self

    def __repr__(self) -> str:
        shown = getattr(self.interpreter, "shown", None)
        text = None if shown is None or not self.interpreter.alive else shown(self.payload)
        return text or f"Tracer<{self.aval.str_short()}> of {self.interpreter.describe()}"


def payload_of(interpreter: Interpreter, x: Value) -> Any:
    """The payload of ``x`` under ``interpreter``: its own if it is one of its tracers, else ``x`` lifted.

    Example:
      >>> from rabbet.extend.transform import Interpreter, payload_of
      >>> class Pairs(Interpreter):
      ...     def lift(self, value):
      ...         return value, "a constant"
      >>> payload_of(Pairs(), 2.0)
      (2.0, 'a constant')
    """
    if type(x) is Tracer and x.interpreter is interpreter:
        return x.payload
    return interpreter.lift(x)


def is_tracer(x: Any) -> bool:
    """Whether ``x`` is a tracer: an array that a transformation has not computed yet.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.transform import is_tracer
      >>> is_tracer(np.ones(3))
      False
      >>> closed = stage(lambda x: [print(is_tracer(x)) or x], [rb.typeof(1.0)])
      True
    """
    return type(x) is Tracer


__all__ = ["Tracer", "is_tracer", "payload_of"]
