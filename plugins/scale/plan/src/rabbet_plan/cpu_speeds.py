"""The speeds of the CPU devices of this process, measured: of them nothing is published."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet.errors import ConfigError
from rabbet.sharding import NamedSharding, PartitionSpec

from rabbet_plan.hardware import Hardware

ROUNDS = 5  # the quickest counts
SIZE = 512  # of the matrices
LONG = 1 << 22  # numbers of one device, more than its caches hold
STEPS = 64  # operations on each of a few numbers
AXIS = "measured"


def measured_hardware(devices: int | None = None) -> Hardware:
    """What one of several CPU devices of this machine does while all of them are busy, measured.

    It takes a second or two. Other programs that run meanwhile make it slower, as they do the step.

    Args:
      devices: how many, by default all: they share the machine's cores, so with more of them each is slower.

    Returns:
      a ``Hardware`` for ``planning.plan(..., hardware=...)``.

    Raises:
      ConfigError: the devices are no CPUs, or there are fewer.

    Example:
      >>> from rabbet import planning
      >>> here = planning.measured_hardware(1)
      >>> here.speed("f32") > 1e8 and here.bandwidth > 1e7
      True
    """
    there = rb.devices("cpu")
    count = len(there) if devices is None else devices
    if not 1 <= count <= len(there):
        raise ConfigError(
            f"measured_hardware: {count} CPU devices, and there are {len(there)}; set RABBET_NUM_CPU_DEVICES"
        )
    mesh = rb.make_mesh((count,), (AXIS,), devices=there[:count])
    products = seconds(mesh, product, (count, SIZE, SIZE))
    moved = seconds(mesh, lambda x: lax.add(x, np.float32(1)), (count, LONG))
    others = seconds(mesh, chain, (count, SIZE * 8))
    call = seconds(mesh, lambda x: lax.add(x, np.float32(1)), (count, 8))
    few, many = [seconds(mesh, total, (count, n), whole=True) for n in (8, LONG)]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // count
    sent = 2 * 4 * LONG * (count - 1) / count
    hops = max(1, 2 * (count - 1))
    speed = 2.0 * SIZE**3 / products
    link = sent / max(many - few, 1e-9) if count > 1 else math.inf
    return Hardware(
        name="cpu", title=f"one of {count} CPU devices of this machine", memory=memory,
        bandwidth=2 * 4 * LONG / moved, matrix={"f32": speed, "f64": speed / 2},
        other=STEPS * SIZE * 8 / max(others - call, 1e-9), link=link,
        links=1, network=math.inf, latency=max(few - call, 0.0) / hops, network_latency=0.0,
        source=f"measured on this machine, {count} devices at a time",
        measured="measured in this process; what a call costs is not in it",
    )  # fmt: skip


def product(x: Any) -> Any:
    """A product of two matrices on each device."""
    return lax.dot_general(x, x, (((2,), (1,)), ((0,), (0,))))


def total(x: Any) -> Any:
    """The sum of all devices' rows."""
    return lax.reduce_sum(x, (0,))


def chain(x: Any) -> Any:
    """Operations on numbers that stay in registers: none of them can be left out."""
    for _ in range(STEPS // 2):
        x = lax.add(lax.mul(x, x), np.float32(0.25))
    return x


def seconds(mesh: Any, function: Callable[[Any], Any], shape: tuple[int, ...], whole: bool = False) -> float:
    """How long a function of an array takes whose first dimension lies over the devices; ``whole``: its
    result is wanted on each device.
    """
    x = rb.device_put(np.full(shape, 0.5, np.float32), NamedSharding(mesh, PartitionSpec(AXIS)))
    compiled = rb.jit(function, out_shardings=NamedSharding(mesh, PartitionSpec()) if whole else None)
    compiled(x).block_until_ready()
    best = math.inf
    for _ in range(ROUNDS):
        started = time.perf_counter()
        compiled(x).block_until_ready()
        best = min(best, time.perf_counter() - started)
    return best


__all__ = ["measured_hardware"]
