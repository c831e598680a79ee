"""What compiled code assumes of the machine: part of every cache key, so none runs another machine's code."""

from __future__ import annotations

import functools
import os
import platform

from rabbet.messages.signal_errors import suppressed


@functools.cache
def host_fingerprint() -> str:
    """Return text that changes whenever code compiled for this processor might not run, or not run well."""
    wanted = (
        "model name",
        "flags",
        "Features",
        "CPU implementer",
        "CPU architecture",
        "CPU variant",
        "CPU part",
    )
    found = {}
    with suppressed(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name.strip() in wanted:
                found.setdefault(name.strip(), value.strip())
    if "flags" in found:
        found["flags"] = " ".join(sorted(found["flags"].split()))
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return "\n".join(
        [
            platform.machine(),
            platform.processor(),
            f"processors {processors}",
            f"NPROC {os.environ.get('NPROC')}",
            *(f"{name} {found[name]}" for name in sorted(found)),
        ]
    )
