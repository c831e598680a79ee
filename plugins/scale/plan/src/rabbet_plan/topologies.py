"""Names of hardware: ``"v5e:2x4"``, ``"h100:8"``, ``"h100:1x32x8"``, ``"cpu:8"``; devices and meshes of
it.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping

import numpy as np
from rabbet.errors import ConfigError, ShardingError
from rabbet.extend.sharding import topology_devices
from rabbet.sharding import Mesh

from rabbet_plan.collective_times import Place
from rabbet_plan.hardware import TABLE, hardware_of

EXAMPLES = "cpu:8, v5e:2x4, v5p:8x8x16, h100:8, h100:1x32x8 (slices, hosts, GPUs of each)"
# What a bare grid such as 1x32x8 means.
USUAL_GPU = "h100"


def split(topology: str) -> tuple[str, str]:
    """The platform of a topology and its name there.

    Raises:
      ConfigError: for a name that is not known, with those that are close.
    """
    if not isinstance(topology, str) or not topology.strip():
        raise ConfigError(f"a topology is named by a text, got {topology!r}; for example {EXAMPLES}")
    topology = topology.strip()
    kind, _, rest = topology.partition(":")
    if re.fullmatch(r"\d+(x\d+){2}", topology):
        return "cuda", f"{USUAL_GPU}:{topology}"
    if kind == "cpu":
        if not re.fullmatch(r"0*[1-9][0-9]*", rest):
            raise ConfigError(f"{topology!r} is not a topology of CPU devices: give a number, as in cpu:8")
        return "cpu", rest
    if "/" in kind or kind in ("tpu", "cuda", "gpu"):
        platform, _, name = topology.partition("/" if "/" in kind else ":")
        return platform, name
    found = hardware_of(topology)
    if found is None:
        near = difflib.get_close_matches(kind, [*TABLE, "cpu"], n=2)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ConfigError(
            f"no hardware is called {kind!r}{hint}\n  known: cpu, {', '.join(TABLE)}\n"
            f"  for example: {EXAMPLES}"
        )
    return ("tpu" if found.name.startswith(("v", "tpu")) else "cuda"), topology


class Topology:
    """Hardware that need not be here.

    Attributes: ``name``, ``platform`` and ``devices``, a tuple of ``Device``s for meshes and shardings.

    Example:
      >>> from rabbet import planning
      >>> there = planning.topology("cpu:8")
      >>> print(there.mesh({"data": 4, "model": 2}))
      Mesh('data': 4, 'model': 2, axis_types=(Auto, Auto))
    """

    def __init__(self, name: str):
        self.platform, self.local_name = split(name)
        self.name = name
        self.devices = tuple(topology_devices(self.platform, self.local_name))

    def mesh(self, axes: Mapping[str, int], axis_types=None) -> Mesh:
        """A mesh of all devices, in their order: the last axis connects those that are nearest.

        Args:
          axes: sizes by name, such as ``{"data": 4, "model": 2}``; one of them may be -1, for what is left.
          axis_types: as for ``rb.make_mesh``.

        Raises:
          ShardingError: where the sizes do not make up the number of devices.
        """
        sizes = filled(axes, len(self.devices), self.name)
        grid = np.empty(len(self.devices), object)
        grid[:] = self.devices
        return Mesh(grid.reshape(tuple(sizes.values())), tuple(sizes), axis_types)

    def __len__(self):
        return len(self.devices)

    def __repr__(self):
        return f"Topology({self.name!r}, {len(self.devices)} devices)"


def topology(name: str) -> Topology:
    """The hardware of a name, which need not be here.

    Args:
      name: ``"cpu:8"``, 8 virtual devices; ``"v5e:2x4"``, TPUs in a grid; ``"h100:8"``, GPUs of one host;
        ``"h100:4x8"``, 4 hosts of 8; ``"h100:1x32x8"`` with the number of slices before; ``"1x32x8"`` alone
        means H100; ``"cuda/PATH"`` with the path of a GpuTargetConfigProto.

    Raises:
      ConfigError: for a name that is not known.
      MissingPluginError, PluginError: the platform's package or its compiler is not installed.

    Example:
      >>> from rabbet import planning
      >>> len(planning.topology("cpu:16"))
      16
    """
    return Topology(name)


def filled(axes: Mapping[str, int], devices: int, name: str) -> dict[str, int]:
    """Sizes of axes that make up a number of devices."""
    sizes = dict(axes) if isinstance(axes, Mapping) else {}
    for axis, n in sizes.items():
        if not isinstance(axis, str) or isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise ShardingError(f"a mesh of {name!r}: the axis {axis!r:.40} has the size {n!r:.40}; axes are "
                                "texts, and sizes whole numbers")  # fmt: skip
    if not isinstance(axes, Mapping):
        raise ShardingError(f"a mesh of {name!r} takes sizes by name, as {{'data': 4}}, got {axes!r:.60}")
    known = math.prod([n for n in sizes.values() if n != -1])
    free = [axis for axis, n in sizes.items() if n == -1]
    if len(free) == 1 and known > 0 and devices % known == 0:
        sizes[free[0]] = devices // known
    if not sizes or any(n < 1 for n in sizes.values()) or math.prod(sizes.values()) != devices:
        given = ", ".join([f"{axis}={n}" for axis, n in axes.items()]) or "no axes"
        has = "another number" if free else str(known)
        raise ShardingError(
            f"{name!r} has {devices} devices, and a mesh of {given} has {has}; sizes that fit have "
            f"the product {devices}"
        )
    return sizes


def place_of(device) -> Place:
    """Where a device stands."""
    raw = device.raw
    if device.platform == "cpu":
        return Place(device.process_index, 0, None)
    coordinates = getattr(raw, "coords", None) if device.platform == "tpu" else None
    return Place(
        device.process_index, getattr(raw, "slice_index", None) or 0,
        None if coordinates is None else tuple(coordinates),
    )  # fmt: skip


__all__ = ["Topology", "place_of", "split", "topology"]
