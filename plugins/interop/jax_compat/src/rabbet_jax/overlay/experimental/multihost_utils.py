"""``jax.experimental.multihost_utils``: rabbet-distributed's, or what holds for a program of one process."""

import rabbet as rb

from rabbet_jax.composed_primitives import BETWEEN_HOSTS, composed

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


def __getattr__(name):
    for primitive in BETWEEN_HOSTS:
        if name == f"{primitive}_p":
            return composed(primitive)
        if name == f"{primitive}_impl":
            return composed(primitive).bind
    raise AttributeError(name)
