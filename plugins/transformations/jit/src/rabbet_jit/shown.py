"""What notebooks, and ``repr`` of ``step.jitted``, show of a compiled function: its signatures and times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet.extend.commands import address
from rabbet.extend.wrapping import name_of

if TYPE_CHECKING:
    from rabbet_jit.api import Jitted
    from rabbet_jit.stages import Compiled

MOST, MOST_ARGUMENTS = 8, 6  # programs, and arguments of each; the last ones
FROM = {"disk": ", from the cache on disk", "process": ", from an equal program"}
CELL = "font-family:monospace;text-align:left;padding:0 1em 0 0"
HEAD = "font-family:monospace;opacity:0.7;padding-bottom:0.3em"


def rows(jitted: Jitted) -> list[tuple[str, str, str]]:
    """Of each compiled program, the last ones of many: types of arguments, device, and what it took."""
    return [row(one) for one in list(jitted.compiled.values())[-MOST:]]


def row(compiled: Compiled) -> tuple[str, str, str]:
    """Types, device and times of one program."""
    types = [aval.str_short() for aval in compiled.avals[:MOST_ARGUMENTS]]
    left = len(compiled.avals) - len(types)
    types += [f"and {left} more"] if left else []
    made = compiled.executable
    lowered = made.lowering.pass_seconds + made.lowering.seconds
    took = f"lowered in {time_of(lowered)}, compiled in {time_of(made.seconds)}{FROM.get(made.origin, '')}"
    return ", ".join(types) or "no arrays", str(made.device), took


def time_of(seconds: float) -> str:
    """Seconds as people read them.

    Example:
      >>> from rabbet_jit.shown import time_of
      >>> time_of(0.0123), time_of(12.34)
      ('12.3 ms', '12.3 s')
    """
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def counted(jitted: Jitted) -> str:
    """How many programs there are."""
    count = len(jitted.compiled)
    return f"{count} compiled program{'s' if count > 1 else ''}" if count else "not compiled yet"


def text(jitted: Jitted) -> str:
    """One line about the function, and one for each program."""
    lines = [f"<jit of {name_of(jitted.fun)} ({address(jitted.fun)}): {counted(jitted)}"]
    lines += [f"({types}) on {device}: {took}" for types, device, took in rows(jitted)]
    return "\n  ".join(lines) + ">"


def html(jitted: Jitted) -> str:
    """The same as a table."""
    from html import escape  # few need it, and loading it would count in the first trace

    lines = "".join([
        '<tr style="background:none">'
        + "".join([f'<td style="{CELL}">{escape(part)}</td>' for part in (f"({one[0]})", *one[1:])])
        + "</tr>"
        for one in rows(jitted)
    ])  # fmt: skip
    head = escape(f"jit of {name_of(jitted.fun)} ({address(jitted.fun)}): {counted(jitted)}")
    table = f'<table style="border:none">{lines}</table>' if lines else ""
    return f'<div style="overflow-x:auto"><div style="{HEAD}">{head}</div>{table}</div>'


__all__ = ["html", "text"]
