"""``jax.experimental.multihost_utils``, for a program of one process: all processes agree."""

import numpy as np
import rabbet as rb

ABSENT = (
    "ProcessFailureError global_array_to_host_local_array host_local_array_to_global_array live_devices "
    "reached_preemption_sync_point"
)


def _alone(who):
    if getattr(rb, "process_count", lambda: 1)() > 1:
        raise NotImplementedError(
            f"multihost_utils.{who} is for programs of one process when Rabbet serves jax; use the arrays "
            "of rabbet-parallel, which lie over the devices of all processes"
        )


def broadcast_one_to_all(in_tree, is_source=None):
    """The tree of process 0, as NumPy arrays."""
    _alone("broadcast_one_to_all")
    return rb.tree.map(np.asarray, in_tree)


def process_allgather(in_tree, tiled=False):
    """The trees of all processes, stacked along a new first dimension; ``tiled``: joined along the first."""
    _alone("process_allgather")
    return rb.tree.map(lambda x: np.asarray(x) if tiled and np.ndim(x) else np.asarray(x)[None], in_tree)


def sync_global_devices(name):
    """Wait until all processes have come here."""
    _alone("sync_global_devices")


def assert_equal(in_tree, fail_message=""):
    """Refuse a tree that is not the same in all processes."""
    _alone("assert_equal")
