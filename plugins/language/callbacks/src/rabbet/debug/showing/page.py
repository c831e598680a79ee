"""The page: its parts as HTML, with its style and its few lines of script within it."""

from __future__ import annotations

import linecache
import os
from html import escape
from typing import Any

from rabbet.debug.showing.template import DOCUMENT
from rabbet.extend.wrapping import short_path

MOST = 20_000  # lines of a stage that are shown
PREFIXES = ("", "k", "M", "G", "T", "P")


def document(
    name: str, facts: list[tuple[str, str]], lines: dict[Any, Any], stages: list[Any], peak: Any
) -> str:
    """The whole page.

    Args:
      name: the function's.
      facts: pairs of a label and a text, about the whole program.
      lines: a ``Cost`` by ``(file, line)``, or None for what has no line.
      stages: the ``Stage``s.
      peak: a ``Peak``.
    """
    places = sorted({at for stage in stages for _, at in stage.lines if at} | {at for at in lines if at})
    numbers = {place: i for i, place in enumerate(places)}
    tabs = "".join([
        f'<button role="tab" id="tab{i}" aria-controls="stage{i}" aria-selected="{str(i == 0).lower()}">'
        f"{escape(stage.title)}</button>"
        for i, stage in enumerate(stages)
    ])  # fmt: skip
    panels = "".join([panel(i, stage, numbers) for i, stage in enumerate(stages)])
    shown = "".join([f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts])
    parts = {
        "title": escape(name), "facts": shown, "source": source(lines, numbers, peak), "tabs": tabs,
        "panels": panels,
    }  # fmt: skip
    text = DOCUMENT
    for key, part in parts.items():  # which are escaped, so none has a place for another
        text = text.replace(f"<!--{key}-->", part)
    return text


def panel(i, stage, numbers):
    """A stage: a sentence, and its lines."""
    texts = []
    for text, place in stage.lines[:MOST]:
        at = f' data-at="{numbers[place]}"' if place else ""
        texts.append(f"<span{at}>{escape(text) or ' '}</span>")
    left = len(stage.lines) - MOST
    rest = f"<p>{left} more lines are left out.</p>" if left > 0 else ""
    hidden = " hidden" if i else ""
    return (
        f'<section role="tabpanel" id="stage{i}" aria-labelledby="tab{i}"{hidden}>'
        f"<p>{escape(stage.about)}</p><pre>{''.join(texts)}</pre>{rest}</section>"
    )


def source(lines, numbers, peak):
    """The user's lines that cost something, in their order, with what they cost."""
    most = max([cost.flops + cost.transcendentals for cost in lines.values()], default=0)
    rows, last, margins = [], None, {}
    for file, line in [p for p in lines if p]:  # lines begin where the outermost one does
        text = linecache.getline(file, line)
        margin = len(text) - len(text.lstrip())
        margins[file] = min(margin, margins.get(file, margin))
    for place in sorted([p for p in lines if p]):
        file, line = place
        if file != last:
            full, name = escape(short(file, parts=99)), escape(short(file))
            head = f'<th colspan="7" class="file" title="{full}">{name}</th>'
            rows.append(f"<tr>{head}</tr>")
            last = file
        text = linecache.getline(file, line).rstrip()[margins[file] :]
        rows.append(row(str(line), text, lines[place], most, numbers[place], place == peak.place))
    if None in lines:
        rows.append(row("", "(without a line of yours)", lines[None], most, None, False))
    return "".join(rows)


def row(number, text, cost, most, at, is_peak):
    """A line of the user's."""
    work = cost.flops + cost.transcendentals
    share = round(100 * work / most) if most else 0
    marks = []
    if cost.endless:
        marks.append('<abbr title="in a loop without a known end: one turn is counted">1 turn</abbr>')
    if cost.uncounted:
        marks.append(f'<abbr title="{cost.uncounted} operations with effects are not counted">+ ?</abbr>')
    if is_peak:
        marks.append('<abbr title="here the values of the program hold most memory">peak</abbr>')
    attribute = "" if at is None else f' data-at="{at}"'
    cells = [
        f"<td>{number}</td>",
        f'<td class="code" title="{escape(text.strip())}"><code>{escape(text)}</code></td>',
        f'<td class="marks">{" ".join(marks)}</td>',
        f'<td class="bar" style="--share:{share}%">{amount(work)}</td>',
        f"<td>{amount(cost.accessed)}</td>",
        f"<td>{amount(cost.made)}</td>",
        f"<td>{cost.equations}</td>",
    ]
    return f"<tr{attribute}>{''.join(cells)}</tr>"


def amount(number: float) -> str:
    """A number as people read it: ``1536`` is ``1.54k``."""
    for prefix in PREFIXES:
        if abs(number) < 999.5 or prefix == PREFIXES[-1]:
            break
        number /= 1000
    return f"{number:.3g}{prefix}"


def short(path, parts=2):
    """The last parts of a path; the number of a notebook's cell."""
    name = short_path(path)
    is_cell = name == "a cell" or name.startswith("cell ")
    return name if is_cell else os.sep.join(path.split(os.sep)[-parts:])


__all__ = ["amount", "document"]
