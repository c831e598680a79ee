"""Arrays and programs over many devices. See ``meshes``, ``partition_spec`` and
``named_sharding``, then ``arrays`` and ``constraints``.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.extend.sharding import Shard

from rabbet_parallel.arrays import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from rabbet_parallel import explicit_rules, partition_rules, several_meshes
from rabbet_parallel.constraints import with_sharding_constraint
from rabbet_parallel.shard_map_function import shard_map, smap
from rabbet_parallel.current_mesh import get_mesh, set_mesh
from rabbet_parallel.meshes import Mesh, make_mesh
from rabbet_parallel.named_sharding import NamedSharding
from rabbet_parallel.pmap_arrays import device_put_replicated, device_put_sharded
from rabbet_parallel.pmap_function import pmap
from rabbet_parallel.resharding import reshard
from rabbet_parallel.partition_spec import PartitionSpec

__all__ = [
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Shard",
    "device_put_replicated",
    "device_put_sharded",
    "get_mesh",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_mesh",
    "pmap",
    "reshard",
    "set_mesh",
    "shard_map",
    "smap",
    "with_sharding_constraint",
]

_public_module(globals())
