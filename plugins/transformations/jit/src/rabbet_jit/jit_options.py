"""What was asked of ``jit``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from rabbet.extend.wrapping import name_of

from rabbet_jit.shared_traces import Weakly
from rabbet_jit.signature import found_by_name

if TYPE_CHECKING:
    from rabbet import Device

    from rabbet_jit.signature import Statics


class Asked:
    """A function and how it is to be compiled. The stages know this, and not who asked: what was compiled for
    a jitted function does not hold it, and is given back at once where the function is dropped.

    Attributes: ``keeper``, a weak reference to a method that is told what was compiled ahead of a call
    (``precompile``), or None. ``said``, the ``Layouts`` of shardings that all name one device, or none at
    all: they are part of what the function says, and need no work at calls.
    """

    keeper: Any = None

    def __init__(
        self,
        fun: Any,
        statics: Statics,
        donated: Statics,
        keep_unused: bool,
        device: Device | None,
        inline: Any | bool,
        options: Any,
        layouts: Any = None,
        said: Any = None,
    ) -> None:
        self.fun, self.layouts, self.said = fun, layouts, said or layouts
        self.statics, self.donated = statics, donated
        self.keep_unused, self.device, self.inline, self.options = keep_unused, device, inline, options
        self.name = name_of(fun)

    def __reduce__(self) -> Any:
        named = found_by_name(self.fun)
        if getattr(getattr(named, "jitted", None), "asked", None) is self:  # that of a decorated function
            return operator.attrgetter("jitted.asked"), (named,)
        options = self.keep_unused, self.device, self.inline, self.options, self.layouts, self.said
        return Asked, (self.fun, self.statics, self.donated, *options)

    def here(self) -> Any:
        """The same with the shardings that stand for others under the mesh that is set now."""
        if self.layouts is None or not self.layouts.late:
            return self
        options = self.keep_unused, self.device, self.inline, self.options, self.layouts.here()
        made = type(self)(self.fun, self.statics, self.donated, *options)
        made.keeper = self.keeper
        return made

    def keep(self, compiled: Any) -> None:
        """Have the jitted function remember what was compiled, if there still is one."""
        keep = None if self.keeper is None else self.keeper()
        if keep is not None:
            keep(compiled)


class AskedWeakly(Asked):
    """The same of a function that others hold: what is compiled may be kept for as long as it lives."""

    function: Any = None

    @property
    def fun(self) -> Any:  # type: ignore[override]
        """The function; where it was dropped, one that is called as it was."""
        return self.function()

    @fun.setter
    def fun(self, fun: Any) -> None:
        self.function = Weakly(fun)

    def __reduce__(self) -> Any:
        return Asked(
            self.fun, self.statics, self.donated, self.keep_unused, self.device, self.inline, self.options,
            self.layouts,
        ).__reduce__()  # fmt: skip


__all__ = ["Asked", "AskedWeakly"]
