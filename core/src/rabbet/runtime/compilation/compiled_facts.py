"""What hooks are told of a compiled program; loaded where a hook listens."""

from __future__ import annotations

from typing import Any

from rabbet import passes
from rabbet.program.hook_facts import CompiledProgram, collectives_in
from rabbet.runtime.jaxlib import adapter


def facts_of(lowering: Any, exe: Any, device: Any, seconds: float, origin: str) -> CompiledProgram:
    """What hooks are told of a program that is ready."""
    memory = adapter.memory_analysis(exe) or {}
    sizes: list[Any] = [memory.get(f"{what}_size_in_bytes") for what in ("argument", "output", "temp")]
    count = 1 if lowering.spread is None else len(lowering.spread.group)
    line = passes.first_line(lowering.jaxpr)
    used = collectives_in(lowering.module.key_text)
    told = lowering.name, line, lowering.platform, count, seconds, origin
    return CompiledProgram(*told, sizes[0], sizes[1], sizes[2], used)


__all__ = ["facts_of"]
