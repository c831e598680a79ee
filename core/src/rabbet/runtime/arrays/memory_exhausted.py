"""When a device has no memory left: what lives there, what can be freed, and what to say.

An allocation that fails leaves the process as it was. Arrays that nobody can reach any more, but that hold
each other in cycles, are then collected, and a program that only computes is tried once more.
"""

from __future__ import annotations

import gc
import re
from math import prod
from typing import TYPE_CHECKING, Any

from rabbet.errors import OutOfMemoryError
from rabbet.runtime.arrays import memory_report
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.devices import default_clients

if TYPE_CHECKING:
    from rabbet.runtime.platforms.devices import Device

# "Out of memory allocating 1024 bytes", "Out of memory while trying to allocate 1.00GiB", "Attempting to
# allocate 96.00G. That was not possible": the words of XLA on CPU, GPU and TPU.
SAID = re.compile(r"RESOURCE_EXHAUSTED|[Oo]ut of memory")
AMOUNT = re.compile(r"allocat(?:e|ing) (?:a buffer of )?([\d.]+ ?[KMGTP]?i?B?)\b")
SHOWN = 5


def is_exhausted(error: Exception) -> bool:
    """Whether an error of the runtime says that memory ran out."""
    return isinstance(error, adapter.XlaRuntimeError) and SAID.search(str(error)) is not None


def made_room(error: Any, device: Any) -> Any:
    """Whether ``error`` says that ``device`` ran out of memory, and some could be freed there."""
    if not is_exhausted(error):
        return False
    before = in_use(device)
    gc.collect()
    return in_use(device) < before


def in_use(device: Device) -> int:
    """The bytes of all arrays on a device."""
    return sum([nbytes(raw) for raw in device.live_buffers()])


def explained(error: Exception, what: str, devices: Any, program: Any = None) -> Exception:
    """The ``OutOfMemoryError`` for an error of which ``is_exhausted`` holds.

    Args:
      what: what was going on, ``"running 'step'"``.
      devices: whose memory it may have been.
      program: the ``Jaxpr`` that was running, to list what it makes.
    """
    amount = AMOUNT.search(str(error))
    lines = [f"out of memory while {what}: {wanted(amount[1])} could not be allocated" if amount else
             f"out of memory while {what}: {error}"]  # fmt: skip
    for device in devices:
        lines += living(device)
    if program is not None:
        lines += ["  and by the program:", *memory_report.lines(program)]
    lines.append(
        "  to fix: delete what is not needed (del x, x.delete()), donate arguments that a step replaces "
        "(jit(..., donate_argnums=...)), compute in smaller batches, or rb.checkpoint what gradients keep"
    )
    return OutOfMemoryError("\n".join(lines))


def wanted(amount: str) -> str:
    """The size of an allocation for people, from the words of the runtime."""
    return memory_report.in_units(int(amount)) if amount.strip().isdecimal() else amount.strip()


def living(device: Device) -> list[str]:
    """Lines about the arrays that a device holds, the largest first."""
    stats = device.memory_stats() or {}
    used, limit = stats.get("bytes_in_use"), stats.get("bytes_limit")
    room = (
        f" ({memory_report.in_units(used)} of {memory_report.in_units(limit)} in use)"
        if used and limit
        else ""
    )
    by_type = {}
    for raw in filter(nbytes, device.live_buffers()):
        shown = f"{raw.aval.dtype.name}{list(raw.aval.shape)}"
        count, size = by_type.get(shown, (0, nbytes(raw)))
        by_type[shown] = count + 1, size
    total = sum([count * size for count, size in by_type.values()])
    number = sum([count for count, _ in by_type.values()])
    head = (
        f"  on {device}{room}: {number} array{'s' * (number != 1)} of {memory_report.in_units(total)} in all"
    )
    if not by_type:
        return [head]
    largest = sorted(by_type.items(), key=lambda item: -item[1][0] * item[1][1])[:SHOWN]
    return [
        f"{head}, most of it in",
        *[f"    {memory_report.in_units(c * s):>10}  {c} x {shown}" for shown, (c, s) in largest],
    ]


def nbytes(raw: Any) -> int:
    """The bytes of one of jaxlib's arrays; 0 for one that is deleted or was made by somebody else."""
    aval = raw.aval
    return 0 if aval is None or raw.is_deleted() else prod(aval.shape) * aval.dtype.itemsize


def devices_in_use() -> list[Device]:
    """The local devices of all clients that run: where it is not known which one ran out of memory."""
    return [device for client in default_clients().running() for device in client.local_devices]


__all__ = ["devices_in_use", "explained", "is_exhausted", "made_room"]
