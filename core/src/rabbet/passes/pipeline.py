"""The list of passes and how it is run.

A ``Pass`` is a value. Core brings dead-code elimination; packages bring others through the entry-point
group ``rabbet.passes``. They run in the order that their ``before`` and ``after`` ask for, each on the
result of the one before.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from rabbet.checking import check
from rabbet.config import config
from rabbet.errors import PluginError
from rabbet.jaxpr import Jaxpr
from rabbet.passes.dead_code import eliminate_dead_code


@dataclass(frozen=True)
class Pass:
    """A rewrite of programs.

    Args:
      name: unique; what ``RABBET_DISABLE_PASSES`` names.
      run: ``run(jaxpr, platform) -> jaxpr``; it must not change its argument.
      platforms: where it applies; None for everywhere.
      after, before: names of passes that it follows and precedes, installed or not.
      doc: one sentence.
    """

    name: str
    run: Callable = field(repr=False)
    platforms: tuple | None = None
    after: tuple = ()
    before: tuple = ()
    doc: str = ""


DEAD_CODE = Pass(
    "dead-code", lambda jaxpr, platform: eliminate_dead_code(jaxpr), doc="drop what no output needs"
)


def no_plugins():
    """No installed passes: what the finder is until ``rabbet`` is composed."""
    return ()


_finder = no_plugins
_ordered = None


def set_finder(finder):
    """Name the function that returns the installed ``Pass`` objects. Called once, by composition."""
    global _finder, _ordered
    _finder, _ordered = finder, None


def all_passes():
    """Every pass in the order in which it runs; plugins are loaded when this is first asked."""
    global _ordered
    if _ordered is None:
        _ordered = ordered([DEAD_CODE, *_finder()])
    return _ordered


def ordered(passes):
    """Passes sorted by their constraints, otherwise in the order given."""
    by_name = {}
    for p in passes:
        if p.name in by_name:
            raise PluginError(f"two passes are called {p.name!r}: {by_name[p.name]} and {p}")
        by_name[p.name] = p
    graph = {name: set() for name in by_name}
    for p in passes:
        graph[p.name].update(n for n in p.after if n in by_name)
        for n in p.before:
            if n in by_name:
                graph[n].add(p.name)
    try:
        return [by_name[n] for n in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        raise PluginError(
            f"the passes {' -> '.join(error.args[1])} each ask to run before the next"
        ) from None


def switched_off():
    """The names in ``RABBET_DISABLE_PASSES``."""
    return frozenset(n.strip() for n in os.environ.get("RABBET_DISABLE_PASSES", "").split(",") if n.strip())


def run(jaxpr, platform):
    """Run every applicable pass on ``jaxpr``."""
    off = switched_off()
    for p in all_passes():
        if p.name in off or (p.platforms is not None and platform not in p.platforms):
            continue
        try:
            before, jaxpr = jaxpr, p.run(jaxpr, platform)
            if jaxpr is not before:
                check_interface(p, before, jaxpr)
            if config.enable_checks:
                check(jaxpr)
        except Exception as error:
            error.add_note(f"in the pass {p.name!r}; switch it off with RABBET_DISABLE_PASSES={p.name}")
            raise
    return jaxpr


def check_interface(p, before, after):
    """Refuse what no caller could run in place of the program: a pass may change equations, not inputs and
    outputs.
    """
    if type(after) is not Jaxpr:
        raise PluginError(f"the pass {p.name!r} must return a Jaxpr, it returned {type(after).__name__}")
    same_inputs = [v.aval for v in (*before.constvars, *before.invars)] == [
        v.aval for v in (*after.constvars, *after.invars)
    ]
    if not same_inputs or before.out_avals != after.out_avals:
        raise PluginError(
            f"the pass {p.name!r} changed the inputs or outputs of program {before.name!r}; a pass "
            "keeps their number, order and types"
        )
