"""What every ``jit`` of a function shares, where ``config.keep_bodies`` says so: traces and programs.

``jit(f)`` made anew traces ``f`` anew, so that what ``f`` reads counts as it is then. JAX keeps the trace
with the function, and programs for JAX that make it in a loop count on it.
"""

import types
import weakref
from collections import OrderedDict

from rabbet import config
from rabbet.extend.functions import on_clear_caches

MOST = 1024  # functions


class Shared:
    """The programs of a function that was compiled with one set of options: traced, compiled, and as calls
    find them. It holds the function weakly.
    """

    def __init__(self, fun):
        self.fun = Weakly(fun)
        self.runners, self.compiled, self.quick = {}, {}, None


class Weakly:
    """A function that may be dropped: called, itself, or what is called as it was."""

    def __init__(self, fun):
        self.alive, self.name = weakref.ref(fun), getattr(fun, "__name__", type(fun).__name__)
        self.module = str(getattr(fun, "__module__", ""))
        self.qualname = getattr(fun, "__qualname__", self.name)
        self.code = getattr(fun, "__code__", None)

    def __call__(self):
        fun = self.alive()
        return self.stand_in() if fun is None else fun

    def stand_in(self):
        """A function of the same name from the same lines, for messages."""

        def gone(*args, **kwargs):
            raise TypeError(f"{self.name} is called, and was dropped")

        if isinstance(self.code, types.CodeType):
            gone.__code__ = gone.__code__.replace(
                co_filename=self.code.co_filename, co_firstlineno=self.code.co_firstlineno
            )
        gone.__name__, gone.__qualname__, gone.__module__ = self.name, self.qualname, self.module
        return gone


class KeptTraces:
    """The programs of functions, for as long as these live: by function, then by statics, then as ``jit``
    keeps them; and by function, then by all options, what was compiled.
    """

    def __init__(self):
        self.of = OrderedDict()

    def known(self, fun):
        """The dict of a function, or None where the setting says no or ``fun`` cannot be held weakly."""
        if not config.keep_bodies:
            return None
        try:
            function = weakref.ref(fun, self.forget)
            known = self.of.setdefault(function, {})
        except TypeError:
            return None
        self.of.move_to_end(function)
        if len(self.of) > MOST:
            self.of.popitem(last=False)
        return known

    def programs(self, fun, statics):
        """The dict of programs that all ``jit(fun)`` with these static arguments share; or one of its own."""
        known = self.known(fun)
        return {} if known is None else known.setdefault((tuple(statics.numbers), tuple(statics.names)), {})

    def shared(self, fun, options):
        """What all ``jit(fun)`` with these options share, a ``Shared``; or None."""
        known = self.known(fun)
        if known is None:
            return None
        found = known.get(options)
        if found is None:
            found = known[options] = Shared(fun)
        return found

    def forget(self, function):
        self.of.pop(function, None)


kept_traces = KeptTraces()
on_clear_caches(kept_traces.of.clear)

__all__ = ["kept_traces"]
