"""What to say when the compiler refuses a program: its message, the user's line, the rule that wrote what is
refused, the passes that ran, and where the module's text can be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from rabbet import passes
from rabbet.errors import CompileError, JaxprTypeError
from rabbet.messages import source_positions
from rabbet.messages.signal_errors import raise_if_of_handler, suppressed
from rabbet.program.checking import check
from rabbet.runtime.arrays import memory_report
from rabbet.runtime.caching import disk_cache
from rabbet.runtime.caching.atomic_files import write_whole
from rabbet.runtime.compilation.refused_rules import refused
from rabbet.runtime.execution import foreign_errors

FOLDER = "failed"
# How XLA and MLIR write positions: model.py:12:5: error, loc("model.py":12:5), source_file="model.py"
# source_line=12. The module's text itself is called "-".
POSITIONS = (
    re.compile(r"(?m)(?:^|: )([^\n:\"]+):(\d+):\d+: error"),
    re.compile(r'"([^"\n]+)":(\d+):\d+'),
    re.compile(r'source_file="([^"\n]+)" source_line=(\d+)'),
)
CALL = re.compile(r'stablehlo\.custom_call @"?([\w.$-]+)"?.*loc\((#l\d+)\)')


def compile_failure(lowering: Any, error: Exception | str) -> Exception:
    """The ``CompileError`` for a program and what the compiler said; saves the module's text."""
    message = error if isinstance(error, str) else str(foreign_errors.translated(error, lowering.name))
    culprit = refused(lowering, message)
    line = culprit and culprit.where and source_positions.source_position(culprit.where)
    lines = [
        f"the compiler refused {lowering.name!r} for {lowering.platform}: {message.strip()}",
        f"  where: {line or where(lowering, message)}",
        *(() if culprit is None else (f"  rule: {culprit}",)),
        *(memory_report.lines(lowering.jaxpr) if "RESOURCE_EXHAUSTED" in message else ()),
        f"  passes that ran: {', '.join([p.name for p in passes.selected(lowering.platform)]) or 'none'}",
        *broken(lowering.jaxpr),
    ]
    try:
        lines.append(f"  the module's text: {save(lowering.name, lowering.module.text)}")
    except OSError as error:
        raise_if_of_handler(error)
        lines.append(f"  the module's text could not be saved: {error}")
    return CompileError("\n".join(lines))


def broken(jaxpr: Any) -> Iterator[Any]:
    """Lines for a program that is unsound, which a pass has made it: how to learn which one."""
    try:
        check(jaxpr)
    except JaxprTypeError as error:
        yield (
            f"  one of the passes broke the program ({str(error).splitlines()[0]}): RABBET_ENABLE_CHECKS=1 "
            "names it, RABBET_DISABLE_PASSES=NAME switches it off"
        )


def where(lowering: Any, message: str) -> str:
    """The user's line that the message points to: by a position, a called function or the name of an
    operation; else the lines of the whole program.
    """
    text = lowering.module.text
    for pattern in POSITIONS:
        found = pattern.search(message)
        if found and found[1] != "-":
            return f"{source_positions.short_path(found[1])}:{found[2]}"
        rows = text.splitlines()
        if found and 0 < int(found[2]) <= len(rows):  # else it is a position in a module within the module
            line = rows[int(found[2]) - 1]
            return defined(text, re.search(r"#l\d+", line)) or line.strip()
    for called in CALL.finditer(text):
        if mentions(message, called[1]):
            return defined(text, re.search(r"#l\d+$", called[2]))
    equations = [e for e in lowering.jaxpr.equations if e.where is not None]
    for e in equations:
        if mentions(message, e.op.primitive.name):
            return f"{source_positions.source_position(e.where)} ({e.op.primitive.name})"
    lines = list(dict.fromkeys([str(source_positions.source_position(e.where)) for e in equations]))
    if len(lines) > 4:
        return f"one of {len(lines)} lines, from {lines[0]} to {lines[-1]}"
    return ", ".join(lines) or "the program has no operations"


def defined(text: str, name: Any) -> Any:
    """The user's line behind a name of the module's text such as ``#l3``, or None."""
    behind = name and re.search(rf'(?m)^{name[0]} = loc\(".*"\((#l\d+)\)\)$', text)
    place = behind[1] if behind else name and name[0]  # behind the path that profiles show
    found = place and re.search(rf'(?m)^{place} = loc\("(.+)":(\d+):\d+\)', text)
    return f"{source_positions.short_path(found[1])}:{found[2]}" if found else None


def mentions(message: str, word: str) -> bool:
    """Whether a message has this word."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", message) is not None


def save(name: str, text: str) -> Any:
    """Write a module's text, for the user alone; return the path: in the cache's folder if that is ours to
    write to, else among the temporary files.
    """
    import hashlib

    stem = f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    with suppressed(OSError, RuntimeError):
        folder = disk_cache.default_folder() / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if disk_cache.not_ours(os.lstat(folder), disk_cache.stat.S_ISDIR) is None:
            path = folder / f"{stem}.mlir"
            write_whole(path, text.encode())
            return path
    import tempfile  # seldom needed, and it loads eight modules

    handle, path = tempfile.mkstemp(prefix=f"rabbet-{stem}-", suffix=".mlir")
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path


__all__ = ["compile_failure"]
