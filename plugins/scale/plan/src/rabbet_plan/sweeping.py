"""``sweep``: the same program on many meshes and in many layouts, ranked."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rabbet.errors import CompileError, ConfigError, RabbetError, ShardingError

from rabbet_plan.planning import Plan, plan
from rabbet_plan.printing import in_bytes, in_seconds, in_units, table
from rabbet_plan.programs import Program
from rabbet_plan.topologies import Topology, topology

NOT_TRIED = "not tried: the budget of time was used"


@dataclass(frozen=True)
class Trial:
    """One mesh and layout.

    Attributes: ``mesh`` (sizes by name), ``layout`` (or None), ``plan`` (None where it cannot be compiled)
    ``problem``, the first line of what stands against it, or an empty text, and ``options``, what else was
    tried.
    """

    mesh: dict[str, int]
    layout: Any
    plan: Plan | None
    problem: str
    options: dict[str, Any] = field(default_factory=dict)

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
      budget: seconds after which no trial is begun; those that were not are told as such, last. Trials
        alternate in everything at once, so that those of a budget that ends early have seen a bit of each.

    Returns:
      the ``Trial``s, the best first: those that fit in memory by the longer estimate of a step, or, on
      hardware without one, by arithmetic of the busiest, bytes sent, and memory; then those that do not fit;
      then those that cannot be compiled.

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
    axes = tuple(axes)
    if not axes:
        raise ConfigError("sweep: give the names of the mesh's axes, as in (\"data\", \"model\")")
    program, there = Program(function), topology(on) if isinstance(on, str) else on
    if layouts and not program.takes_layout:
        raise ConfigError(f"sweep: {program.name} takes no layout: give it a parameter `layout`")
    found, started, choices = [], time.monotonic(), dict(options or {})
    for name in choices:
        if name not in program.parameters:
            raise ConfigError(f"sweep: {program.name} takes no {name!r}: give it a parameter")
    meshes = [dict(zip(axes, s, strict=True)) for s in factorizations(len(there), len(axes))]
    for mesh, layout, *values in alternating(meshes, layouts or (None,), *choices.values()):
        more = dict(zip(choices, values, strict=True))
        if budget is not None and time.monotonic() - started > budget:
            found.append(Trial(mesh, layout, None, NOT_TRIED, more))
            continue
        if progress is not None:
            progress(", ".join([named(mesh), *shown(layout, more)]))
        found.append(tried(program, there, mesh, layout, more))
    return sorted(found, key=rank)


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


def tried(program: Program, there: Topology, mesh: dict[str, int], layout, options) -> Trial:
    """One trial; what stands against it is told and not raised."""
    try:
        step, args, kwargs = program.step(there.mesh(mesh), layout, **options)
        made = plan(step, *args, **kwargs)
    except (CompileError, ShardingError) as error:
        return Trial(mesh, layout, None, reason(error), options)
    return Trial(mesh, layout, made, "" if made.fits in (True, None) else "does not fit", options)


def reason(error: RabbetError) -> str:
    """An error in a line: that memory is short, or its first line."""
    text = str(error)
    return "does not fit" if "RESOURCE_EXHAUSTED" in text else text.splitlines()[0]


def rank(trial: Trial) -> tuple:
    """What trials are sorted by."""
    if trial.plan is None:
        order = ("does not fit", NOT_TRIED)
        return 2, order.index(trial.problem) if trial.problem in order else 0.5, 0.0, 0.0, 0
    seconds = trial.seconds if trial.seconds is not None else trial.plan.flops
    return bool(trial.problem), False, seconds, trial.sent, trial.plan.memory.needed


def ranking(trials: Sequence[Trial]) -> str:
    """Trials as a table."""
    rows: list[tuple[str, ...]] = [("", "mesh", "layout", "memory", "FLOP", "sent", "step at the peaks", "")]
    for number, each in enumerate(trials, 1):
        layout = ", ".join(shown(each.layout, each.options))
        start = (str(number), named(each.mesh), layout)
        if each.plan is None:
            rows.append((*start, "", "", "", "", each.problem))
            continue
        e = each.plan.estimate
        span = "" if e is None else f"{in_seconds(e.least)} to {in_seconds(e.most)}"
        numbers = in_bytes(each.plan.memory.needed), in_units(each.plan.flops), in_bytes(each.sent)
        rows.append((*start, *numbers, span, each.problem))
    return "\n".join(table(rows))


def named(mesh: dict[str, int]) -> str:
    """A mesh as it stands on the command line."""
    return ",".join([f"{axis}={size}" for axis, size in mesh.items()])


__all__ = ["Trial", "ranking", "sweep"]
