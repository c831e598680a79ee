"""Plans as text and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rabbet_plan.planning import Plan
    from rabbet_plan.training import Training

# Measured; the table is in docs/planning.md.
ON_CPUS = (
    "a CPU's libraries hold more while they compute, of which this has a part only: varied programs took "
    "1.00 to 1.29 of it with jaxlib 0.12, 0.88 to 1.72 with 0.10"
)


def report(plan: Plan, top: int = 8) -> str:
    """A plan as text."""
    mesh = ", ".join([f"{axis}={size}" for axis, size in plan.mesh.items()])
    there = f"{plan.devices} x {plan.device_kind}, {counted(plan.hosts, 'host')}"
    lines = [
        f"{plan.name} on {plan.topology}: {there}, mesh {mesh}, compiled in {plan.compile_seconds:.1f} s",
        "Each device:",
        *memory_lines(plan),
        *buffer_lines(plan, top),
        *collective_lines(plan, top),
        *arithmetic_lines(plan),
        *estimate_lines(plan),
        *overlap_lines(plan, top),
    ]
    return "\n".join(lines)


def memory_lines(plan: Plan) -> list[str]:
    memory = plan.memory
    uses = [
        ("arguments", memory.arguments), ("outputs", memory.outputs),
        ("in place of arguments", -memory.aliased), ("temporaries", memory.temporaries),
        ("held by libraries", memory.libraries),
        ("code", memory.code),
    ]  # fmt: skip
    shown = ", ".join([f"{name} {in_bytes(n)}" for name, n in uses if n])
    line = f"  memory      {in_bytes(memory.needed)}: {shown}"
    if memory.host:
        line += f"; in the host's memory {in_bytes(memory.host)}"
    lines = [line]
    if any(plan.transfers):
        there, back = map(in_bytes, plan.transfers)
        lines.append(f"              to the host's memory {there} in a step, from it {back}")
    if plan.capacity is not None:
        share = memory.needed / plan.capacity
        verdict = "fits in" if plan.fits else "DOES NOT FIT in"
        lines.append(f"              {verdict} {in_bytes(plan.capacity)} ({share:.1%})")
    if plan.topology.startswith("cpu:"):
        lines.append(f"  note        {ON_CPUS}")
    return lines


def buffer_lines(plan: Plan, top: int) -> list[str]:
    exact = plan.buffers_from == "buffer assignment"
    source = "the compiler's assignment" if exact else "the order of instructions"
    lines = [f"  largest buffers when most is in use, by {source}"]
    rows = [(in_bytes(b.bytes), b.use, b.type, b.what, b.where) for b in plan.buffers[:top]]
    return lines + table(rows)


def collective_lines(plan: Plan, top: int) -> list[str]:
    if not plan.exchanges:
        return ["  collectives none"]
    lines = ["  collectives in a step (bytes: put in or got; sent: by a ring)"]
    for axes, size in sorted(plan.bytes_by_axis().items(), key=lambda row: -row[1]):
        lines.append(
            f"    over {over(axes)}: {in_bytes(size)}, sent {in_bytes(plan.bytes_by_axis('sent')[axes])}"
        )
    rows = [
        (in_bytes(e.bytes), f"{e.count} x {e.kind}", f"over {over(e.axes)}", f"of {e.size}", e.where)
        for e in plan.exchanges[:top]
    ]
    if len(plan.exchanges) > top:
        rows.append((f"and {len(plan.exchanges) - top} more", "", "", "", ""))
    return lines + table(rows)


def arithmetic_lines(plan: Plan) -> list[str]:
    share = ""
    if plan.useful is not None and plan.useful < 0.995:
        share = f"; {1 - plan.useful:.0%} of the products are done more than once"
    products = f"{in_units(plan.matrix_flops)} in matrix products{share}"
    moved = f"{in_bytes(plan.traffic)} to and from memory"
    lines = [f"  arithmetic  {in_units(plan.flops)} FLOP, {products}; {moved}"]
    for call in plan.native_calls:
        what = f"{call.count} x {call.target}"
        if call.flops is None or call.bytes is None:
            lines.append(f"  native      {what}: no rule cost says what it does, so its FLOP count as none")
        else:
            by_rule = f"{in_units(call.flops)} FLOP, {in_bytes(call.bytes)} by the rule of its primitive"
            lines.append(f"  native      {what}: {by_rule}")
    if plan.unknown_loops:
        loops = counted(plan.unknown_loops, "loop")
        lines.append(f"  note        {loops} with a number of rounds that is not known: counted once")
    return lines


def estimate_lines(plan: Plan) -> list[str]:
    e = plan.estimate
    if e is None:
        return ["  time        no estimate: no speeds are published for this hardware"]
    communication = in_seconds(sum(e.communication.values()))
    by_axis = ", ".join([f"{over(axes)} {in_seconds(s)}" for axes, s in e.communication.items()])
    busy = e.arithmetic / e.most if e.most else 0.0
    reached = plan.hardware is not None and plan.hardware.reached.source
    speeds = "speeds that were measured" if reached else "the published peaks"
    span = f"  time        {in_seconds(e.least)} to {in_seconds(e.most)} at {speeds}"
    parts = f"arithmetic {in_seconds(e.arithmetic)}, memory {in_seconds(e.memory)}"
    compute = f"compute {in_seconds(e.compute)} ({parts})"
    return [
        f"{span}; arithmetic is busy {busy:.0%} of the longer",
        f"              {compute}, communication {communication}{f' ({by_axis})' if by_axis else ''}",
        *[f"              links of {over(axes)}: {links}" for axes, links in e.links.items()],
        *([f"              to the host's memory and back {in_seconds(e.host)}"] if e.host else []),
        f"              source: {e.source}; error: {e.measured}",
    ]


def overlap_lines(plan: Plan, top: int) -> list[str]:
    found = plan.overlap
    if found is None or not found.parts:
        return []
    sent = found.waited + found.hidden
    head = (
        f"  overlap     in the compiler's order a step takes {in_seconds(found.seconds)}; of "
        f"{in_seconds(sent)} of communication {in_seconds(found.hidden)} run beside arithmetic, "
        f"{in_seconds(found.waited)} are waited for"
    )
    rows = []
    for part in found.parts[:top]:
        beside = f"beside {first_of(part.mostly)}" if part.mostly else ""
        if not part.begun:
            beside = "nothing runs beside it"
        way = "to or from the host" if part.kind == "transfer" else f"over {over(part.axes)}"
        waited = f"{in_seconds(part.waited)} of {in_seconds(part.seconds)} waited for"
        rows.append((waited, part.kind, way, first_of(part.where), beside))
    if len(found.parts) > top:
        rows.append((f"and {len(found.parts) - top} more", "", "", "", ""))
    return [head, *table(rows)]


def first_of(lines: str) -> str:
    """The first of some lines of a program, and how many more there are."""
    first, *more = lines.split(", ")
    return f"{first} and {len(more)} more" if more else first


def training_lines(t: Training) -> list[str]:
    """What a step means for training."""
    again = "" if t.again is None else f"; products in all {t.again:.2f} of it"
    speed = f"{t.tokens_per_second:,.0f} tokens per second"
    share = f"6ND is {in_units(t.model_flops)} FLOP, {t.mfu:.1%} of the peak (MFU)"
    lines = [f"  training    {speed}; {share}{again}"]
    if t.bubbles:
        lines.append(f"              {t.bubbles:.1%} of a step a stage waits (pipeline)")
    if t.interval is not None:
        every = f"with a checkpoint every {in_seconds(t.interval)}"
        lines.append(f"              goodput {t.goodput:.1%}, {every}")
    if t.price is not None:
        lines.append(f"              price of 1e9 tokens {t.price:,.2f}")
    return lines


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their columns one below the other."""
    if not rows:
        return []
    widths = [max([len(row[i]) for row in rows]) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        first = row[0].rjust(widths[0])
        rest = [cell.ljust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("    " + "  ".join([first, *rest]).rstrip())
    return lines


def over(axes: Sequence[str]) -> str:
    """Axes as a person writes them."""
    return ", ".join(axes) or "no axis"


def counted(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n} {noun}{'s' * (n != 1)}"


def in_bytes(count: float) -> str:
    """A number of bytes as people write it: 1536 is '1.5 KiB'."""
    sign, count = ("-", -count) if count < 0 else ("", count)
    power = 0
    while count >= 1024 and power < 5:
        count, power = count / 1024, power + 1
    return f"{sign}{count:.{1 if power else 0}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[power]}"


def in_units(count: float) -> str:
    """A number with thousands as letters."""
    power = 0
    while count >= 1000 and power < 6:
        count, power = count / 1000, power + 1
    return f"{count:.{2 if power else 0}f}{('', ' k', ' M', ' G', ' T', ' P', ' E')[power]}"


def in_seconds(seconds: float) -> str:
    """A time."""
    for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.2g} us" if seconds else "0 s"


def as_dict(plan: Plan) -> dict[str, Any]:
    """A plan as what JSON can hold, without the program's text and the members of groups."""
    found = {f.name: getattr(plan, f.name) for f in dataclasses.fields(plan)}
    del found["hlo"], found["hardware"], found["module"]
    found["transfers"] = plan.transfers._asdict()
    found["memory"] = dataclasses.asdict(plan.memory) | {"needed": plan.memory.needed}
    found["fits"] = plan.fits
    if plan.overlap is not None:
        told = ("waited", "hidden", "mostly")
        parts = [
            dataclasses.asdict(p) | {"axes": list(p.axes)} | {n: getattr(p, n) for n in told}
            for p in plan.overlap.parts
        ]
        found["overlap"] = {"seconds": plan.overlap.seconds, "parts": parts}
    found["native_calls"] = [dataclasses.asdict(c) for c in plan.native_calls]
    found["buffers"] = [dataclasses.asdict(b) for b in plan.buffers]
    found["exchanges"] = [dataclasses.asdict(e) | {"axes": list(e.axes)} for e in plan.exchanges]
    found["collectives"] = [
        {k: v if not isinstance(v, tuple) else list(v) for k, v in c._asdict().items() if k != "groups"}
        for c in plan.collectives
    ]
    if plan.estimate is not None:
        e = plan.estimate
        found["estimate"] = dataclasses.asdict(e) | {"least": e.least, "most": e.most}
        found["estimate"]["communication"] = [[list(axes), s] for axes, s in e.communication.items()]
        found["estimate"]["links"] = [[list(axes), s] for axes, s in e.links.items()]
    return found


__all__ = ["as_dict", "in_bytes", "in_seconds", "in_units", "over", "report", "training_lines"]
