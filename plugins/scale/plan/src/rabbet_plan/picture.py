"""Plans as pictures: SVG that needs nothing else, for a browser or a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rabbet_plan.planning import Plan
from rabbet_plan.printing import in_bytes, in_seconds, over
from rabbet_plan.sweeping import Trial, named

WIDTH, LEFT, ROW = 900, 260, 20
COLOURS = ("#4878a8", "#e0943c", "#6aa35b", "#b65d5d", "#8c78b0", "#7f7f7f")
Bars = Sequence[tuple[str, float, str, str]]  # label, length, what is written behind, colour


def of_plan(plan: Plan, top: int = 12) -> str:
    """A plan as SVG: memory by use, the largest buffers, bytes over each axis, the times of a step."""
    memory = plan.memory
    uses = ("arguments", memory.arguments), ("outputs", memory.outputs), ("temporaries", memory.temporaries)
    rows = enumerate((*uses, ("libraries", memory.libraries), ("code", memory.code)))
    used = [(name, float(n), in_bytes(n), COLOURS[i]) for i, (name, n) in rows]
    colours = {"argument": COLOURS[0], "output": COLOURS[1], "temporary": COLOURS[2]}
    buffers = [
        (b.what, float(b.bytes), f"{in_bytes(b.bytes)} {b.type} {b.where}", colours.get(b.use, COLOURS[5]))
        for b in plan.buffers[:top]
    ]
    sent = [
        (f"over {over(axes)}", n, in_bytes(n), COLOURS[3]) for axes, n in plan.bytes_by_axis("sent").items()
    ]
    charts = [("memory of each device by use", used), ("largest buffers when most is in use", buffers)]
    charts.append(("bytes that a device sends in a step", sent))
    if plan.estimate is not None:
        e = plan.estimate
        times = [("arithmetic", e.arithmetic, in_seconds(e.arithmetic), COLOURS[4])]
        times.append(("memory", e.memory, in_seconds(e.memory), COLOURS[0]))
        times += [(f"over {over(axes)}", s, in_seconds(s), COLOURS[3]) for axes, s in e.communication.items()]
        charts.append(("seconds of a step", times))
    return drawn(f"{plan.name} on {plan.topology}, mesh {named(plan.mesh)}", charts)


def of_trials(trials: Sequence[Trial], title: str) -> str:
    """Trials as SVG: the estimate and the memory of each, the best first."""
    done = [t for t in trials if t.plan is not None]
    labels = [named(t.mesh) + ("" if t.layout is None else f" {t.layout}") for t in done]
    memory = [
        (label, float(t.plan.memory.needed), in_bytes(t.plan.memory.needed), COLOURS[3 if t.problem else 0])
        for label, t in zip(labels, done, strict=True)
        if t.plan is not None
    ]
    times = [
        (label, t.seconds, in_seconds(t.seconds), COLOURS[2])
        for label, t in zip(labels, done, strict=True)
        if t.seconds is not None
    ]
    sent = [(label, t.sent, in_bytes(t.sent), COLOURS[4]) for label, t in zip(labels, done, strict=True)]
    charts = [("step, the longer estimate", times), ("memory of each device", memory)]
    return drawn(title, [*charts, ("bytes that a device sends in a step", sent)])


def drawn(title: str, charts: Sequence[tuple[str, Bars]]) -> str:
    """Bar charts one below the other, each with its own scale."""
    parts = [text(10, 24, title, size=16, weight="bold")]
    y = 40
    for heading, bars in charts:
        if not bars:
            continue
        y += 24
        parts.append(text(10, y, heading, size=13, weight="bold"))
        most = max([length for _, length, _, _ in bars]) or 1.0
        for label, length, behind, colour in bars:
            y += ROW
            width = max(1.0, length / most * (WIDTH - LEFT - 260))
            parts.append(text(LEFT - 8, y, shortened(label), anchor="end"))
            parts.append(f'<rect x="{LEFT}" y="{y - 12}" width="{width:.1f}" height="15" fill="{colour}"/>')
            parts.append(text(LEFT + width + 6, y, behind))
        y += 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 20}" width="{WIDTH}">'
    ground = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, ground, *parts, "</svg>"]) + "\n"


def text(
    x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", weight: str = "normal"
) -> str:
    """Words at a place."""
    style = f'font-family="sans-serif" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'


def shortened(label: str) -> str:
    """A label that fits beside its bar."""
    return label if len(label) <= 36 else f"{label[:17]}...{label[-16:]}"


def written(path: str, svg: str, title: str) -> None:
    """Write a picture: as it is, or in a page where the file's name ends in .html."""
    if path.endswith((".html", ".htm")):
        head = f'<!doctype html><meta charset="utf-8"><title>{escape(title)}</title>'
        svg = f"{head}\n<body>\n{svg}</body>\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg)


__all__ = ["of_plan", "of_trials", "written"]
