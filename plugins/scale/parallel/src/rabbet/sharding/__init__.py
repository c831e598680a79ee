"""Shardings: meshes of devices, and how arrays lie over them."""

from rabbet_parallel.current_mesh import (
    get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh, use_mesh,
)  # fmt: skip
from rabbet_parallel.meshes import AbstractMesh, AxisType, Mesh
from rabbet_parallel.named_sharding import NamedSharding
from rabbet_parallel.resharding import auto_axes, explicit_axes, reshard
from rabbet_parallel.partition_spec import PartitionSpec

from rabbet.extend.functions import public_module as _public_module
from rabbet.extend.sharding import ManualAxisType, Sharding, SingleDeviceSharding

UnreducedKind = vars(ManualAxisType)["kinds"]

__all__ = [
    "AbstractMesh",
    "AxisType",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "UnreducedKind",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
    "use_mesh",
]

_public_module(globals())
