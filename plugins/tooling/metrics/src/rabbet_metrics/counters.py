"""The numbers, and their text."""

from __future__ import annotations

import threading
from collections.abc import Mapping

# What each metric is: its kind for Prometheus, and a sentence.
METRICS: Mapping[str, tuple[str, str]] = {
    "rabbet_traces_total": ("counter", "Functions that were traced, by the function."),
    "rabbet_trace_seconds_total": ("counter", "Seconds of tracing, by the function."),
    "rabbet_pass_seconds_total": ("counter", "Seconds of passes, by the pass."),
    "rabbet_pass_equations_removed_total": ("counter", "Equations that passes removed, by the pass."),
    "rabbet_programs_total": (
        "counter",
        "Programs that became ready, by the function and where they came from.",
    ),
    "rabbet_program_seconds_total": (
        "counter",
        "Seconds until programs were ready, by where they came from.",
    ),
    "rabbet_program_temporary_bytes": ("gauge", "Temporary memory of the last program, by the function."),
    "rabbet_collectives_total": (
        "counter",
        "Collective operations in programs that became ready, by their kind.",
    ),
    "rabbet_cache_hits_total": ("counter", "Programs found in the cache on disk."),
    "rabbet_cache_misses_total": ("counter", "Programs not found there."),
    "rabbet_transferred_bytes_total": ("counter", "Bytes moved, by direction."),
}
Key = tuple[str, tuple[tuple[str, str], ...]]
_values: dict[Key, float] = {}
_lock = threading.Lock()


def add(name: str, value: float = 1.0, **labels: str) -> None:
    """Add to a counter."""
    key = name, tuple(sorted(labels.items()))
    with _lock:
        _values[key] = _values.get(key, 0.0) + value


def put(name: str, value: float, **labels: str) -> None:
    """Set a gauge."""
    with _lock:
        _values[name, tuple(sorted(labels.items()))] = value


def snapshot() -> dict[Key, float]:
    """All numbers: ``{(name, ((label, value), ...)): number}``.

    Example:
      >>> rb.metrics.reset()
      >>> rb.metrics.snapshot()
      {}
    """
    with _lock:
        return dict(_values)


def reset() -> None:
    """Begin anew at nothing.

    Example:
      >>> rb.metrics.reset()
    """
    with _lock:
        _values.clear()


def prometheus() -> str:
    """All numbers in Prometheus' text format.

    Example:
      >>> rb.metrics.reset()
      >>> rb.metrics.prometheus()
      ''
    """
    lines: list[str] = []
    now = snapshot()
    for name, (kind, sentence) in METRICS.items():
        rows = sorted((labels, value) for (own, labels), value in now.items() if own == name)
        if rows:
            lines += [f"# HELP {name} {sentence}", f"# TYPE {name} {kind}"]
        for labels, value in rows:
            shown = ",".join([f'{label}="{escaped(text)}"' for label, text in labels])
            lines.append(f"{name}{{{shown}}} {value:.17g}" if shown else f"{name} {value:.17g}")
    return "\n".join([*lines, ""]) if lines else ""


def escaped(text: str) -> str:
    """A label's value within quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


__all__ = ["METRICS", "add", "prometheus", "put", "reset", "snapshot"]
