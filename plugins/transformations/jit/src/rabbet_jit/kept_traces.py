"""Traces of a function that every ``jit`` of it shares, where ``config.keep_bodies`` says so.

``jit(f)`` made anew traces ``f`` anew, so that what ``f`` reads counts as it is then. JAX keeps the trace
with the function, and programs for JAX that make it in a loop count on it.
"""

import weakref
from collections import OrderedDict

from rabbet import config
from rabbet.extend.functions import on_clear_caches

MOST = 1024  # functions


class KeptTraces:
    """The programs of functions, for as long as these live: by function, then by statics, then as ``jit``
    keeps them.
    """

    def __init__(self):
        self.of = OrderedDict()

    def programs(self, fun, statics):
        """The dict of programs that all ``jit(fun)`` with these static arguments share; or one of its own,
        where the setting says no or ``fun`` cannot be held weakly.
        """
        if not config.keep_bodies:
            return {}
        try:
            function = weakref.ref(fun, self.forget)
            known = self.of.setdefault(function, {})
        except TypeError:
            return {}
        self.of.move_to_end(function)
        if len(self.of) > MOST:
            self.of.popitem(last=False)
        return known.setdefault((tuple(statics.numbers), tuple(statics.names)), {})

    def forget(self, function):
        self.of.pop(function, None)


kept_traces = KeptTraces()
on_clear_caches(kept_traces.of.clear)

__all__ = ["kept_traces"]
