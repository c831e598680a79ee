"""What is said about attributes that arrays have and traced arrays have not: those of memory and devices."""

from __future__ import annotations

SHARDING = (
    "rb.typeof(x) shows its sharding along explicit axes, debug.inspect_array_sharding shows how the "
    "compiler lays it out, and lax.with_sharding_constraint sets it"
)
WAITING = "leave it out, and wait for the results of the whole program outside"
OUTSIDE = "ask the results of the whole program, outside"
ADVICE = {
    "sharding": SHARDING,
    "is_fully_replicated": SHARDING,
    "block_until_ready": WAITING,
    "copy_to_host_async": WAITING,
    "is_ready": WAITING,
    **dict.fromkeys(
        ("addressable_shards", "committed", "device", "device_set", "format", "global_shards",
         "is_fully_addressable", "raw"), OUTSIDE,
    ),
}  # fmt: skip


def absent(name: str, kind: str, trace: str) -> str:
    """The text of the AttributeError for a name in ``ADVICE``: of a tracer of type ``kind`` in ``trace``, a
    description.
    """
    return (
        f"an array of type {kind} in {trace} has no {name!r}: it gets memory on a device only when the "
        f"program runs\n  to fix: {ADVICE[name]}"
    )


__all__ = ["ADVICE", "absent"]
