"""What ``jit`` returns: it is called as a plain function is, and prints its signatures and times."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any

from rabbet.extend.wrapping import wraps

from rabbet_jit.signature import found_by_name

if TYPE_CHECKING:
    from rabbet_jit.api import Jitted

ATTRIBUTES = ("trace", "lower", "eval_shape", "clear_cache", "cache_size", "_cache_size", "_repr_mimebundle_")


class CompiledFunction(functools.partial):
    """A compiled function, with the stages as its attributes.

    It is a ``partial`` without arguments: Python calls one in C, which takes a third of the time that a class
    with a ``__call__`` takes.
    """

    jitted: Jitted

    def __new__(cls, call: Callable[..., Any], jitted: Jitted) -> CompiledFunction:
        made = super().__new__(cls, call)
        wraps(jitted.fun)(made)
        vars(made).update(jitted=jitted, **{name: getattr(jitted, name) for name in ATTRIBUTES})
        return made

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __repr__(self) -> str:
        return repr(self.jitted)

    def __copy__(self) -> CompiledFunction:
        return self

    def __deepcopy__(self, memo: Any) -> CompiledFunction:
        return self

    def __reduce__(self) -> Any:
        if found_by_name(self) is self and not sent_by_value(self.__module__):
            return self.__qualname__
        one = self.jitted
        options = one.keep_unused, one.device, one.inline, one.options, one.layouts, one.said
        return made_again, (type(one), one.fun, one.statics, one.donated, *options)


def made_again(jitted: type[Jitted], *asked: Any) -> Any:
    """What ``jit`` returned, in another process."""
    return jitted(*asked).function()


def sent_by_value(module: str) -> bool:
    """Whether who pickles is cloudpickle, and sends the functions of this module themselves: another process
    has no module of that name, or another one.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        pickler = sys.modules.get(frame.f_globals.get("__name__", ""))
        listed = getattr(pickler, "list_registry_pickle_by_value", None)
        if listed is not None:
            return module == "__main__" or any(f"{module}.".startswith(f"{one}.") for one in listed())
        frame = frame.f_back
    return False


__all__ = ["CompiledFunction"]
