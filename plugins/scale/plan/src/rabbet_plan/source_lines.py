"""Lines of the user's code in compiled programs.

XLA keeps the names of operations through its passes, and on the CPU not the positions in files. So the
positions in a program's text are made names before it is compiled, and found again in what comes out.
"""

from __future__ import annotations

import os
import re

LOCATION = re.compile(r'(?m)^#l(\d+) = loc\("((?:[^"\\]|\\.)*)":(\d+):\d+\)$')
# What stands in front of a position for those who read profiles.
PATH = re.compile(r'(?m)^#l(\d+) = loc\("(?:[^"\\]|\\.)*"\(#l(\d+)\)\)$')
# Of an operation within a call, "line_of_call/line", the last one.
NAME = re.compile(r"rabbet_line_(\d+)(?![\w.]*/)")


def with_names(text: str) -> tuple[str, dict[int, str]]:
    """A module's text with its positions as names, and these positions by number: ``"step.py:12"``."""
    found = {int(m[1]): f"{short(m[2])}:{m[3]}" for m in LOCATION.finditer(text)}
    text = PATH.sub(lambda m: f'#l{m[1]} = loc("rabbet_line_{m[2]}")' if int(m[2]) in found else m[0], text)
    return LOCATION.sub(r'#l\1 = loc("rabbet_line_\1")', text), found


def short(path: str) -> str:
    """A path as it is written from here, or from the packages if it lies there."""
    for part in ("site-packages/", "dist-packages/"):
        if part in path:
            return path.rpartition(part)[2]
    here = os.path.join(os.getcwd(), "")
    return path.removeprefix(here)


def lines_in(op_name: str, positions: dict[int, str]) -> list[str]:
    """The positions that the name of an operation tells of, each once."""
    found = [positions[int(n)] for n in NAME.findall(op_name) if int(n) in positions]
    return list(dict.fromkeys(found))


def is_name(name: str) -> bool:
    """Whether the compiler named an instruction by a position."""
    return name.startswith("rabbet_line_")


__all__ = ["is_name", "lines_in", "with_names"]
