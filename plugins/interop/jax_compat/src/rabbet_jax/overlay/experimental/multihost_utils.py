"""``jax.experimental.multihost_utils``: rabbet-distributed's, or what holds for a program of one process."""

import rabbet as rb

ABSENT = (
    "ProcessFailureError global_array_to_host_local_array host_local_array_to_global_array live_devices "
    "reached_preemption_sync_point"
)

if not hasattr(rb.experimental, "multihost_utils"):
    from rabbet_jax.single_process import (  # noqa: F401
        assert_equal,
        broadcast_one_to_all,
        process_allgather,
        sync_global_devices,
    )
