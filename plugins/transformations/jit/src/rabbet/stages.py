"""The stages of a compiled function, for annotations and ``isinstance``: ``jit`` returns a ``Wrapped``, its
``trace`` a ``Traced``, ``lower`` a ``Lowered``, and ``compile`` a ``Compiled``.
"""

from typing import Any, Protocol, runtime_checkable

from rabbet_jit.argument_info import ArgInfo
from rabbet_jit.stages import Compiled, Lowered, Traced

from rabbet.extend.functions import public_module

CompilerOptions = dict[str, Any]


@runtime_checkable
class Wrapped(Protocol):
    """A function that ``jit`` returned: it can be called, traced and lowered.

    Example:
      >>> isinstance(rb.jit(lambda x: x), rb.stages.Wrapped)
      True
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled function."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace the function for the types of these arguments."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower the function for the types of these arguments."""


__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]

public_module(globals())
