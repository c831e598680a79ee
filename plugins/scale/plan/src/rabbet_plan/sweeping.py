"""``sweep``: the same program on many meshes and in many layouts, ranked.

With a budget of time the trials are ordered by promise (``promise``), then compiled with the least effort of
the hardware's compiler, then, the best first, again with all of it. None is begun for which the time that is
left would not do, and one that does not end in time is given up.
"""

from __future__ import annotations

import contextvars
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rabbet.errors import CompileError, ConfigError, RabbetError, ShardingError

from rabbet_plan import given
from rabbet_plan.planning import Plan, planned
from rabbet_plan.printing import in_bytes, in_seconds, in_units, table
from rabbet_plan.programs import Program
from rabbet_plan.promise import Promise, promise_of, twin_of
from rabbet_plan.topologies import Topology, topology

NOT_TRIED = "not tried: the budget of time was used"
GIVEN_UP = "given up: it was still being compiled when the budget of time was used"
QUICKLY_MADE = "compiled with least effort"
OF_PROMISES = 0.25  # the share of a budget that goes into the order of trials
THREAD = "rabbet-plan-trial"
LEAST_EFFORT = {"tpu": {"xla_optimization_level": "EFFORT_O0"}}  # compiler options by platform
FULL_EFFORT = 5  # a trial is compiled again where so many times the time it took is left


@dataclass(frozen=True)
class Trial:
    """One mesh and layout.

    Attributes: ``mesh`` (sizes by name), ``layout`` (or None), ``plan`` (None where it cannot be compiled)
    ``problem``, the first line of what stands against it, or an empty text, ``options``, what else was
    tried, ``promise``, a rough account by which a sweep with a budget orders its trials, or None, and
    ``quick``, whether it was compiled with the least effort of its compiler, for want of time.
    """

    mesh: dict[str, int]
    layout: Any
    plan: Plan | None
    problem: str
    options: dict[str, Any] = field(default_factory=dict)
    promise: Promise | None = None
    quick: bool = False

    @property
    def given_up(self) -> bool:
        """Whether its compiler still works on it."""
        return self.problem == GIVEN_UP

    @property
    def seconds(self) -> float | None:
        """The longer estimate of a step; None where there is none."""
        return None if self.plan is None or self.plan.estimate is None else self.plan.estimate.most

    @property
    def sent(self) -> float:
        """The bytes that a device sends in a step."""
        return 0.0 if self.plan is None else sum(self.plan.bytes_by_axis("sent").values())


def sweep(
    function: Callable[..., Any],
    on: Topology | str,
    axes: Sequence[str],
    layouts: Sequence[Any] = (),
    progress: Callable[[str], None] | None = None,
    *,
    options: Mapping[str, Sequence[Any]] | None = None,
    budget: float | None = None,
) -> list[Trial]:
    """Plan a program on every mesh of a topology's devices with these axes, and in every layout.

    Args:
      function: ``(mesh)`` or ``(mesh, layout)``, which returns ``(step, arguments)``.
      on: the topology, or its name.
      axes: the names of the mesh's axes: all sizes are tried whose product is the number of devices.
      layouts: what ``layout`` is given in turn.
      progress: called with a line before each trial.
      options: what other parameters of the function are given in turn, such as policies of ``checkpoint`` or
        numbers of microbatches.
      budget: seconds that it may take. A quarter of them may go into the order: each trial is compiled for
        virtual CPU devices, which is quick, and those that promise the shortest steps are tried first. For
        TPUs all are compiled with the least effort of their compiler first, then the best ones again with all
        of it, while there is time; those come first, as what was compiled with the least effort takes longer,
        and ``quick`` tells them apart. A trial that would not end in time is not
        begun, and one that does not is given up; both are told as such, last, with what they promise. What
        is given up is still compiled in a thread until it ends.

    Returns:
      the ``Trial``s, the best first: those that fit in memory by the longer estimate of a step, or, on
      hardware without one, by arithmetic of the busiest, bytes sent, and memory; then those that do not fit;
      then those that were not tried, by what they promise, and those that cannot be compiled.

    Raises:
      ConfigError: for no axes, or layouts that the function does not take.

    Example:
      >>> from rabbet import planning
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> def program(mesh):
      ...     x = rb.ShapeDtypeStruct((8, 64), "float32", sharding=NamedSharding(mesh, P("data", "model")))
      ...     return (lambda x: x.sum(0)), (x,)
      >>> best = planning.sweep(program, "cpu:4", ("data", "model"))[0]
      >>> best.mesh, best.sent
      ({'data': 1, 'model': 4}, 0.0)
    """
    listed = isinstance(axes, (tuple, list)) and all(isinstance(axis, str) and axis for axis in axes)
    if not listed or not axes or len(set(axes)) < len(axes):
        raise ConfigError(
            'sweep: give the names of the mesh\'s axes, as in ("data", "model"), each once, '
            f"got {axes!r:.60}"
        )
    axes = tuple(axes)
    if not isinstance(layouts, Iterable) or isinstance(layouts, str):
        raise ConfigError(f"sweep: layouts are a sequence, each of which is tried, got {layouts!r:.60}")
    if not isinstance(on, (str, Topology)):
        raise ConfigError(f"sweep: on is a topology or its name, as 'cpu:8', got {on!r:.60}")
    if budget is not None:
        given.number("sweep", "budget", budget)
    program, there = Program(function), topology(on) if isinstance(on, str) else on
    if layouts and not program.takes_layout:
        raise ConfigError(f"sweep: {program.name} takes no layout: give it a parameter `layout`")
    found, started, choices = [], time.monotonic(), dict(options or {})
    for name in choices:
        if name not in program.parameters:
            raise ConfigError(f"sweep: {program.name} takes no {name!r}: give it a parameter")
    meshes = [dict(zip(axes, s, strict=True)) for s in factorizations(len(there), len(axes))]
    trials = [
        Trial(mesh, layout, None, NOT_TRIED, dict(zip(choices, values, strict=True)))
        for mesh, layout, *values in alternating(meshes, layouts or (None,), *choices.values())
    ]
    tell = progress or (lambda line: None)
    if budget is None:
        for trial in trials:
            tell(told(trial))
            found.append(tried(program, there, trial))
        return sorted(found, key=rank)
    twin = twin_of(there) if len(trials) > 1 else None
    if twin is not None:
        tell(f"{len(trials)} programs for virtual CPU devices, for the order")
        trials = promising(program, there, twin, trials, started + OF_PROMISES * budget)
    quickly = LEAST_EFFORT.get(there.platform)
    found = in_time(program, there, trials, started + budget, tell, quickly)
    return sorted(in_full(program, there, found, started + budget, tell) if quickly else found, key=rank)


def in_time(program: Program, there: Topology, trials, until: float, tell, options=None) -> list[Trial]:
    """Trials tried in their order while there is time, with these options of the compiler."""
    found, took = [], [0.0]
    for trial in trials:
        begun = time.monotonic()
        if trial.problem != NOT_TRIED or until - begun <= min(took[1:], default=0.0):
            found.append(trial)
            continue
        tell(told(trial))
        made = within(until - begun, lambda: tried(program, there, trial, options))  # noqa: B023 (called here)
        found.append(replace(trial, problem=GIVEN_UP) if made is None else made)
        took.append(time.monotonic() - begun)
    return found


def in_full(program: Program, there: Topology, trials, until: float, tell) -> list[Trial]:
    """Trials of which those that were compiled with the least effort, and still promise to be the best, are
    compiled again with all of it while there is time.
    """
    found = sorted(trials, key=rank)
    for place, trial in enumerate(found):
        begun = time.monotonic()
        if not trial.quick or until - begun <= FULL_EFFORT * trial.plan.compile_seconds:
            continue
        tell(f"{told(trial)}, with all of the compiler's effort")
        made = within(until - begun, lambda: tried(program, there, trial))  # noqa: B023 (it is called here)
        if made is None:
            break
        found[place] = replace(made, promise=trial.promise)
    return found


def promising(program: Program, there: Topology, twin: Topology, trials, until: float) -> list[Trial]:
    """Trials with what they promise, the best first; behind them those for which there was no time."""
    known, rest = [], []
    for trial in trials:
        left, found = until - time.monotonic(), None
        if left > 0:
            ask = lambda: promise_of(program, there, twin, trial.mesh, trial.layout, trial.options)  # noqa: B023
            found = within(left, ask)
        if found is None:
            rest.append(trial)
        else:
            known.append(replace(trial, promise=found, problem=found.problem or trial.problem))
    return sorted(known, key=lambda trial: trial.promise.seconds) + rest


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """What a call returns, or None where it has not ended in time; it goes on in a thread then."""
    results: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # it is raised where the call was made
            raised.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: context.run(run), name=THREAD, daemon=True)
    thread.start()
    thread.join(min(seconds, threading.TIMEOUT_MAX))
    if raised:
        raise raised[0]
    return results[0] if results else None


def told(trial: Trial) -> str:
    """A trial in a line."""
    return ", ".join([named(trial.mesh), *shown(trial.layout, trial.options)])


def shown(layout, options: Mapping[str, Any]) -> list[str]:
    """A layout and other choices as a person writes them."""
    return [*([] if layout is None else [str(layout)]), *[f"{k}={v}" for k, v in options.items()]]


def factorizations(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a product of so many in an order."""
    if parts == 1:
        yield (n,)
        return
    for first in range(1, n + 1):
        if n % first == 0:
            for rest in factorizations(n // first, parts - 1):
                yield first, *rest


def alternating(*choices: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """All combinations once, each the next choice of every kind behind the one before: as many as the longest
    kind has choices show all choices of every kind.
    """
    seen: set[tuple[int, ...]] = set()
    for place in itertools.product(*[range(len(kind)) for kind in choices]):
        while place not in seen:
            seen.add(place)
            yield tuple([kind[i] for kind, i in zip(choices, place, strict=True)])
            place = tuple([(i + 1) % len(kind) for kind, i in zip(choices, place, strict=True)])


def tried(program: Program, there: Topology, trial: Trial, options: dict | None = None) -> Trial:
    """A trial with its plan; what stands against it is told and not raised. Options of the compiler that it
    does not know, as another version may not, are left out.
    """
    try:
        step, args, kwargs = program.step(there.mesh(trial.mesh), trial.layout, **trial.options)
        try:
            made = planned(step, args, kwargs, options)
        except (ConfigError, CompileError) as error:
            if not options or (isinstance(error, CompileError) and "Failed to parse" not in str(error)):
                raise
            made, options = planned(step, args, kwargs), None
    except (CompileError, ShardingError) as error:
        return replace(trial, problem=reason(error))
    problem = "" if made.fits in (True, None) else "does not fit"
    return replace(trial, plan=made, problem=problem, quick=bool(options))


def reason(error: RabbetError) -> str:
    """An error in a line: that memory is short, or its first line."""
    text = str(error)
    return "does not fit" if "RESOURCE_EXHAUSTED" in text else text.splitlines()[0]


def rank(trial: Trial) -> tuple:
    """What trials are sorted by."""
    if trial.plan is not None:
        seconds = trial.seconds if trial.seconds is not None else trial.plan.flops
        return bool(trial.problem), 0, trial.quick, seconds, trial.sent, trial.plan.memory.needed
    untried = trial.problem in (NOT_TRIED, GIVEN_UP)
    order = 2 if untried else 0 if trial.problem.startswith("does not fit") else 1
    if untried and trial.promise is not None:
        return 2, order, 0, trial.promise.seconds, 0
    return 2, order, 1, 0.0, 0


def ranking(trials: Sequence[Trial]) -> str:
    """Trials as a table."""
    rows: list[tuple[str, ...]] = [("", "mesh", "layout", "memory", "FLOP", "sent", "step", "")]
    for number, each in enumerate(trials, 1):
        layout = ", ".join(shown(each.layout, each.options))
        start = (str(number), named(each.mesh), layout)
        if each.plan is None and each.promise is not None:
            memory = f"over {in_bytes(each.promise.arguments)}"
            rows.append((*start, memory, "", "", f"roughly {in_seconds(each.promise.seconds)}", each.problem))
            continue
        if each.plan is None:
            rows.append((*start, "", "", "", "", each.problem))
            continue
        e = each.plan.estimate
        span = "" if e is None else f"{in_seconds(e.least)} to {in_seconds(e.most)}"
        numbers = in_bytes(each.plan.memory.needed), in_units(each.plan.flops), in_bytes(each.sent)
        notes = [*([each.problem] if each.problem else []), *([QUICKLY_MADE] if each.quick else [])]
        rows.append((*start, *numbers, span, "; ".join(notes)))
    return "\n".join(table(rows))


def named(mesh: dict[str, int]) -> str:
    """A mesh as it stands on the command line."""
    return ",".join([f"{axis}={size}" for axis, size in mesh.items()])


__all__ = ["Trial", "ranking", "sweep"]
