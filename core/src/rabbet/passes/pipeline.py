"""The list of passes and how it is run.

A ``Pass`` is a value. Core brings dead-code elimination; packages bring others through the entry-point
group ``rabbet.passes``. They run in the order that their ``before`` and ``after`` ask for, each on the
result of the one before.
"""

from __future__ import annotations

import functools
import itertools
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rabbet.config import config
from rabbet.errors import InconclusiveDimensionOperation, JaxprTypeError, PluginError
from rabbet.messages import source_positions
from rabbet.messages.signal_errors import is_of_handler
from rabbet.passes.dead_code import eliminate_dead_code
from rabbet.passes.rewriting import rewrite_outer_bodies
from rabbet.program.checking import check
from rabbet.program.jaxpr import Jaxpr, bodies_of


@dataclass(frozen=True)
class PassContext:
    """What a pass gets besides the program.

    Args:
      platform: what the program is compiled for: ``"cpu"``, ``"cuda"``, ...
      options: the compiler options given for this program, by name.
      constants: the values of those inputs that are known already, by variable.

    Example:
      >>> from rabbet.extend.passes import PassContext
      >>> PassContext("cpu").platform
      'cpu'
    """

    platform: str
    options: Mapping = field(default_factory=dict)
    constants: Mapping = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """A rewrite of programs.

    Args:
      name: unique; what ``config.disable_passes`` names.
      run: ``run(jaxpr, context) -> jaxpr``, the context being a ``PassContext``; it must not change its
        argument.
      platforms: where it applies; None for everywhere.
      after, before: names of passes that it follows and precedes, installed or not.
      doc: one sentence.
      default: False for a pass that runs only where ``config.enable_passes`` names it.
      bodies: whether it runs on the programs that equations carry too, such as the bodies of calls, branches
        and loops: those furthest inside first, one that is shared once. False: it sees the outermost program
        alone.

    Example:
      >>> from rabbet.extend.passes import Equation, Jaxpr, Pass, PassContext, stage
      >>> def exp_minus_one(jaxpr, context):
      ...     made_by = {out: eqn for eqn in jaxpr.equations for out in eqn.outputs}
      ...     equations = []
      ...     for eqn in jaxpr.equations:
      ...         if eqn.primitive is lax.sub and getattr(eqn.inputs[1], "value", None) == 1.0:
      ...             inner = made_by.get(eqn.inputs[0])
      ...             if inner is not None and inner.primitive is lax.exp:
      ...                 eqn = Equation(lax.expm1.op(), inner.inputs, eqn.outputs, eqn.where)
      ...         equations.append(eqn)
      ...     return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars)
      >>> EXPM1 = Pass("exp-minus-one", exp_minus_one, before=("dead-code",), doc="exp(x) - 1 is expm1(x)")
      >>> program = stage(lambda x: [lax.exp(x) - 1.0], [rb.typeof(np.float32(1))]).jaxpr
      >>> [eqn.primitive for eqn in EXPM1.run(program, PassContext("cpu")).equations]
      [exp, expm1]
    """

    name: str
    run: Callable = field(repr=False)
    platforms: tuple | None = None
    after: tuple = ()
    before: tuple = ()
    doc: str = ""
    default: bool = True
    bodies: bool = True

    def apply(self, jaxpr: Any, context: Any = "cpu") -> Any:
        """What the pass makes of a program and, where it sees bodies, of the programs that it carries.

        Args:
          context: a ``PassContext``, or the name of a platform where that is all there is to say.
        """
        return whole_run(self, jaxpr, PassContext(context) if type(context) is str else context)


def without_dead_code(jaxpr: Jaxpr, context: PassContext) -> Jaxpr:
    """``DEAD_CODE``'s rewrite: a named function, since programs that were run through passes are pickled."""
    return eliminate_dead_code(jaxpr)


DEAD_CODE = Pass("dead-code", without_dead_code, doc="drop what no output needs")


def no_plugins() -> Any:
    """No installed passes: what the finder is until ``rabbet`` is composed."""
    return ()


def raise_it(name: Any, reason: Any) -> Any:
    """What happens to a pass whose order cannot be: the default of ``set_finder``."""
    raise PluginError(reason)


_finder = no_plugins
_refuse = raise_it
_ordered = None
_watch = None


def set_finder(finder: Callable[..., Any], refuse: Callable[..., Any] = raise_it) -> None:
    """Name the function that returns the installed ``Pass`` objects, and one that is told of those that are
    left out: ``refuse(name, reason)``. Called once, by composition.
    """
    global _finder, _refuse, _ordered
    _finder, _refuse, _ordered = finder, refuse, None


_tell: Any = None
_listening: Any = None


def set_teller(tell: Callable[..., Any], listening: Callable[[], bool]) -> None:
    """Name the function ``tell(hook, **facts)`` that is told of each pass that ran, and one that says whether
    it is worth it. Called once, by composition.
    """
    global _tell, _listening
    _tell, _listening = tell, listening


def counted(jaxpr: Jaxpr) -> int:
    """How many equations a program has, with those of its bodies."""
    return sum(1 + sum(counted(body) for _, body in bodies_of(eqn.op)) for eqn in jaxpr.equations)


def first_line(jaxpr: Jaxpr) -> str:
    """The first line of the user's in a program, as text; "" if there is none.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.passes.pipeline import first_line
      >>> first_line(stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)]).jaxpr) == ""
      False
    """
    where = next((eqn.where for eqn in jaxpr.equations if eqn.where is not None), None)
    return "" if where is None else str(source_positions.source_position(where))


def set_watch(watch: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Have ``watch(one, jaxpr, context) -> jaxpr`` apply every pass, or nobody (None). For profiles; returns
    who watched before.

    Example:
      >>> from rabbet.extend.passes import set_watch
      >>> before = set_watch(lambda one, jaxpr, context: one.run(jaxpr, context))
      >>> set_watch(before) is not None
      True
    """
    global _watch
    before, _watch = _watch, watch
    return before


def all_passes() -> Any:
    """Every pass in the order in which it runs; plugins are loaded when this is first asked.

    Example:
      >>> from rabbet.extend.passes import all_passes
      >>> [p.name for p in all_passes() if p.name == "dead-code"]
      ['dead-code']
    """
    global _ordered
    if _ordered is None:
        _ordered = tuple(without_circles([DEAD_CODE, *_finder()], _refuse))
    return _ordered


def without_circles(passes: list[Pass], refuse: Any) -> list[Pass]:
    """Passes sorted by their constraints, without those that ask for an order that cannot be: ``refuse(name,
    reason)`` is told of each.
    """
    while True:
        try:
            return ordered(passes)
        except PassCircle as error:
            for name in error.culprits:
                refuse(name, str(error))
            passes = [p for p in passes if p.name not in error.culprits]


class PassCircle(PluginError):
    """Passes that each have to run before the next, in a circle.

    Args:
      names: the circle; the first is the last again.
      asked: for each step the passes that ask for it, by ``before`` or ``after``.

    To blame are those that ask for the most steps: one that stands between two others which say nothing of it
    is alone to blame, and the two keep their order.
    """

    def __init__(self, names: list[str], asked: list[list[str]]) -> None:
        count = {name: sum(name in who for who in asked) for name in names}
        most = max(count.values())
        self.names = frozenset(names)
        self.culprits = frozenset([name for name in names if count[name] == most])
        wanted = [
            f"{who[0]!r} asks for {first!r} before {second!r}"
            for first, second, who in zip(names, names[1:], asked, strict=False)
        ]
        super().__init__(
            f"the passes {' -> '.join(names)} would each have to run before the next: {', '.join(wanted)}\n"
            f"  to fix: take a name out of `after` or `before` of {' or '.join(sorted(self.culprits))}"
        )


def ordered(passes: list[Pass] | tuple[Pass, ...]) -> Any:
    """Passes sorted by their constraints, otherwise in the order given."""
    from graphlib import CycleError, TopologicalSorter

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
        circle = error.args[1]
        asked = [
            [p.name for p in (by_name[a], by_name[b]) if (p.name == a and b in p.before) or a in p.after]
            for a, b in itertools.pairwise(circle)
        ]
        raise PassCircle(circle, asked) from None


def is_on(p: Pass) -> bool:
    """Whether the settings let the pass ``p`` run. Where both name it, it is off.

    Example:
      >>> from rabbet.extend.passes import all_passes, is_on
      >>> [is_on(p) for p in all_passes() if p.name == "dead-code"]
      [True]
    """
    asked = p.default or p.name in (config.enable_passes or ())
    return asked and p.name not in (config.disable_passes or ())


def unknown_names() -> list[tuple[str, ...]]:
    """(setting, name) for what ``disable_passes`` and ``enable_passes`` name and nothing is called.

    Example:
      >>> from rabbet.extend.passes import unknown_names
      >>> with rb.config.override(disable_passes=["no-such-pass"]):
      ...     unknown_names()
      [('disable_passes', 'no-such-pass')]
    """
    known = {p.name for p in all_passes()}
    return [
        (setting, name)
        for setting in ("disable_passes", "enable_passes")
        for name in getattr(config, setting) or ()
        if name not in known
    ]


def selected(platform: str) -> list[Pass]:
    """The passes that run on programs for ``platform``, in their order."""
    return _selected(all_passes(), platform, config.disable_passes, config.enable_passes)


@functools.lru_cache(maxsize=64)
def _selected(
    passes: tuple[Pass, ...], platform: str, off: tuple[str, ...] | None, on: tuple[str, ...] | None
) -> list[Pass]:
    for setting, name in unknown_names():
        warnings.warn(
            f"{setting} names {name!r}, and no pass is called so; the passes are "
            f"{', '.join(sorted([p.name for p in passes]))}",
            stacklevel=source_positions.stacklevel(),
        )
    return [p for p in passes if is_on(p) and (p.platforms is None or platform in p.platforms)]


def run(jaxpr: Any, context: Any) -> Jaxpr:
    """Run every applicable pass on ``jaxpr``.

    Args:
      context: a ``PassContext``, or the name of a platform where that is all there is to say.
    """
    if type(context) is str:
        context = PassContext(context)
    listening = _listening is not None and _listening()
    n = counted(jaxpr) if listening else 0
    for p in selected(context.platform):
        try:
            before, started = jaxpr, time.perf_counter() if listening else 0.0
            if _watch is None:
                jaxpr = whole_run(p, jaxpr, context)
            else:
                jaxpr = _watch(replace(p, run=functools.partial(whole_run, p)), jaxpr, context)
            if jaxpr is not before:
                check_interface(p, before, jaxpr)
            if config.enable_checks:
                check(jaxpr)
            if listening:
                from rabbet.program.hook_facts import PassRun

                seconds = time.perf_counter() - started
                m = n if jaxpr is before else counted(jaxpr)
                line = first_line(before)
                _tell("pass_finished", run=PassRun(p.name, jaxpr.name, line, context.platform, seconds, n, m))
                n = m
        except Exception as error:
            if is_of_handler(error):  # the pass has no part in it, and who made it is slow to find
                raise
            way_out = f"switch it off with RABBET_DISABLE_PASSES={p.name}"
            error.add_note(f"in the pass {p.name!r} of {package_of(p)}; {way_out}")
            raise
    return jaxpr


def whole_run(p: Pass, jaxpr: Jaxpr, context: Any) -> Jaxpr | None:
    """What a pass makes of a program, within the programs that it carries first."""
    if p.bodies:
        inner = PassContext(context.platform, context.options)
        jaxpr = rewrite_outer_bodies(jaxpr, lambda body: run_on_body(p, body, inner))
    return unharmed(p, jaxpr, context)


def unharmed(p: Pass, jaxpr: Jaxpr, context: PassContext) -> Jaxpr | None:
    """What a pass makes of a program. The program itself stays what it was: others differentiate and compile
    it too. A pass that changes it is an error; one that would have to know a symbolic dimension does nothing.
    """
    before = parts(jaxpr)
    try:
        after = p.run(jaxpr, context)
    except InconclusiveDimensionOperation:
        after = jaxpr
    finally:
        changed = parts(jaxpr) != before
        if changed:
            jaxpr.equations, jaxpr.invars, jaxpr.outvars, jaxpr.constvars = before
    if changed:
        raise PluginError(
            f"the pass {p.name!r} changed its argument, program {jaxpr.name!r}; a pass returns another Jaxpr"
        )
    return after


def parts(jaxpr: Jaxpr) -> list[list[Any]]:
    """What a program consists of, as lists of their own."""
    return [list(one) for one in (jaxpr.equations, jaxpr.invars, jaxpr.outvars, jaxpr.constvars)]


def run_on_body(p: Pass, body: Jaxpr, context: PassContext) -> Jaxpr:
    """What a pass makes of a body, remembered with the body: programs that share it share the result."""

    def made() -> Any:
        after = whole_run(p, body, context)
        if after is not body:
            check_interface(p, body, after)
            if config.enable_checks:
                check(after)
        return after

    try:
        return body.once(("pass", p, context.platform, frozenset(context.options.items())), made)
    except TypeError:  # an option that cannot be a key
        return made()


def blame(jaxpr: Jaxpr, context: PassContext) -> None:
    """Raise what the checker says of the first pass that breaks ``jaxpr``, naming the pass; None if all keep
    it sound, or if it was broken before. For programs that could not be lowered: checking takes its time.
    """
    try:
        check(jaxpr)
    except JaxprTypeError:
        return
    try:
        with config.override(enable_checks=True):
            run(jaxpr, context)
    except JaxprTypeError as error:
        raise error from None  # what came of it is not worth reading


def package_of(p: Pass) -> str:
    """The distribution that a pass comes from, or else its module."""
    module = getattr(p.run, "__module__", None) or type(p.run).__module__
    return source_positions.owner(module).removeprefix(" of ") or module


def check_interface(p: Pass, before: Jaxpr, after: Jaxpr | None) -> None:
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
