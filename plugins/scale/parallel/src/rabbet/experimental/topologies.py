"""Devices of hardware that need not be here, to compile programs for it ahead of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rabbet_parallel.meshes import make_mesh as _make_mesh

from rabbet import devices as all_devices
from rabbet.errors import ConfigError
from rabbet.extend.functions import public_module as _public_module
from rabbet.extend.sharding import topology_devices
from rabbet.sharding import Mesh


class TopologyDescription:
    """Hardware that need not be here; ``devices`` is the list of its devices, for meshes and shardings.

    Example:
      >>> from rabbet.experimental import topologies
      >>> len(topologies.get_topology_desc("8", "cpu").devices)
      8
    """

    def __init__(self, devices: Sequence[Any]) -> None:
        self.devices = list(devices)

    def __repr__(self) -> Any:
        kind = self.devices[0].device_kind if self.devices else "no"
        return f"TopologyDescription({len(self.devices)} {kind} devices)"


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> TopologyDescription:
    """The hardware of a name. ``lower`` and ``compile`` of ``rb.jit`` work with shardings over its devices;
    arrays do not go there.

    Args:
      topology_name: what the platform calls it: ``"v5e:2x4"`` (tpu), ``"h100:8"`` (cuda), ``"8"`` (cpu).
        Empty: the devices that are here.
      platform: ``"tpu"``, ``"cuda"``, ``"cpu"``, ...; None: that of the first device here.
      kwargs: options of the platform's backend.

    Returns:
      a ``TopologyDescription``.

    Raises:
      ConfigError: the platform knows no such topology. MissingPluginError, PluginError: its package or its
        compiler is not installed.

    Example:
      >>> from rabbet.experimental import topologies
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> there = topologies.get_topology_desc("4", platform="cpu")
      >>> mesh = topologies.make_mesh(there, (4,), ("x",))
      >>> x = rb.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(mesh, P("x")))
      >>> compiled = rb.jit(lambda x: x.sum()).lower(x).compile()
      >>> "all-reduce" in compiled.as_text()
      True
    """
    if not topology_name:
        if kwargs:
            raise ConfigError(
                f"get_topology_desc: {', '.join(kwargs)} without a topology_name; for example 'v5e:2x4' for "
                "platform='tpu'"
            )
        return get_attached_topology(platform)
    chosen = platform or all_devices()[0].platform
    return TopologyDescription(topology_devices(chosen, topology_name, **kwargs))


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The hardware that is here.

    Args:
      platform: whose devices; None: the default platform's.

    Example:
      >>> from rabbet.experimental import topologies
      >>> topologies.get_attached_topology().devices == rb.devices()
      True
    """
    return TopologyDescription(all_devices(platform))


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """A mesh of the devices of a topology.

    Args:
      topo: a ``TopologyDescription``.
      mesh_shape, axis_names: the sizes of the axes, and their names.
      contiguous_submeshes: accepted for programs that set it; devices stand in their order.

    Raises:
      ShardingError: where the shape has another number of places than there are devices.

    Example:
      >>> from rabbet.experimental import topologies
      >>> mesh = topologies.make_mesh(topologies.get_topology_desc("8", "cpu"), (4, 2), ("data", "model"))
      >>> dict(mesh.shape)
      {'data': 4, 'model': 2}
    """
    return _make_mesh(mesh_shape, axis_names, devices=topo.devices)


__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]

_public_module(globals())
