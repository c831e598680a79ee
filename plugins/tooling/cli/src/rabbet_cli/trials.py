"""``rabbet doctor`` runs each pass and each hook of strangers once, in a process of its own.

Rabbet's own are tried together: where one of them fails each is tried alone. What a process says is a line
of the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rabbet.extend.hooks import official_packages

from rabbet_cli import isolated_process

PASSES = """
import sys

import numpy
import rabbet
from rabbet import lax
from rabbet.extend.commands import plugin_manager
from rabbet.extend.passes import check, evaluate, stage

def branch(x):
    return lax.cond(lax.reduce_sum(x, (0,)) > 0, lambda x: lax.neg(lax.neg(x)), lambda x: x * 1.0, x)

def loop(x):
    return lax.scan(lambda c, _: (lax.sin(c) * 2.0, c), x, None, length=2)[0]

def plain(x):
    return 1.0 / lax.sqrt(x * x + 1.0) + lax.exp(x) * lax.exp(x) - 0.0

x = rabbet.device_put(numpy.array([0.5, -1.25, 2.0], "float32"))
for name in sys.argv[1:]:
    (one,) = plugin_manager().get_all("rabbet.passes", name, quiet=True) or [None]
    for f in (plain, branch, loop) if one is not None else ():
        program = stage(lambda x: [f(x)], [rabbet.typeof(x)], f.__name__).jaxpr
        after = one.apply(program, "cpu")
        check(after)
        for a, b in zip(evaluate(after, [x]), evaluate(program, [x])):
            wrong = f"the pass {one.name!r} changes what the program {f.__name__} computes"
            numpy.testing.assert_allclose(a, b, rtol=1e-4, err_msg=wrong)
"""

HOOKS = """
import sys

from rabbet.extend.commands import plugin_manager
from rabbet.extend.hooks import example_facts

(plugin,) = plugin_manager().get_all("rabbet.hooks", sys.argv[1], quiet=True) or [None]
for hook, facts in example_facts().items():
    function = getattr(plugin, hook, None)
    if function is not None and hasattr(function, "rabbet_impl"):
        try:
            function(**{name: facts[name] for name in parameters(function)})
        except BaseException as error:
            error.add_note(f"in the hook {hook}")
            raise
"""
PARAMETERS = """
import inspect

def parameters(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]
"""


def passes(manager: Any) -> Iterator[tuple[str, bool | None, str]]:
    """Each pass on three small programs: it raises nothing, and they mean the same."""
    ours, others = [], []
    for record in manager.records("rabbet.passes"):
        if not record.broken and record.status not in ("disabled", "passed over"):
            (ours if record.package in official_packages() else others).append(record)
    if ours:
        ended = isolated_process.in_child(PASSES, *[record.name for record in ours])
        if ended is None:
            yield "passes", True, f"{len(ours)} of Rabbet's own were tried on small programs"
        else:
            others = [*ours, *others]
    for record in others:
        ended = isolated_process.in_child(
            PASSES, record.name, package=record.package, without_passes=[record.name]
        )
        said = "was tried on small programs" if ended is None else f"tried on small programs {ended}"
        yield f"passes.{record.name}", ended is None, f"{record.title} {said}{way_out(record, ended)}"


def way_out(record, ended):
    """What to do about a pass that fails."""
    return "" if ended is None else f"\nto go on without it: RABBET_DISABLE_PASSES={record.name}"


def hooks(manager: Any) -> Iterator[tuple[str, bool | None, str]]:
    """Each hook of each plugin, called once with made-up facts."""
    for record in manager.records("rabbet.hooks"):
        if record.broken or record.status in ("disabled", "passed over"):
            continue
        ended = isolated_process.in_child(PARAMETERS + HOOKS, record.name, package=record.package)
        said = "each of its hooks was called once" if ended is None else f"called with made-up facts {ended}"
        yield f"hooks.{record.name}", ended is None, f"{record.title}: {said}"


__all__ = ["hooks", "passes"]
