"""Shardings: meshes of devices, and how arrays lie over them."""

from rabbet_parallel.meshes import AbstractMesh, AxisType, Mesh, get_mesh, set_mesh
from rabbet_parallel.named import NamedSharding
from rabbet_parallel.specs import PartitionSpec

from rabbet.extend.backend import SingleDeviceSharding
from rabbet.extend.functions import public_module as _public_module
from rabbet.extend.sharding import Sharding

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_mesh",
    "set_mesh",
]

_public_module(globals())
