"""Small programs over all processes: values sent to all, gathered from all, compared; meeting points.

Every process calls these functions at the same point of its program, with values of the same shapes and
dtypes.
"""

from rabbet_distributed.multihost_utils import (
    ProcessFailureError,
    assert_equal,
    broadcast_one_to_all,
    global_array_to_host_local_array,
    host_local_array_to_global_array,
    live_devices,
    process_allgather,
    reached_preemption_sync_point,
    sync_global_devices,
)

from rabbet.extend.functions import public_module as _public_module

__all__ = [
    "ProcessFailureError",
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]

_public_module(globals())
