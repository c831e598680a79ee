"""What a program of one process needs of JAX's modules for several, without rabbet-distributed."""

import numpy as np
import rabbet as rb


def is_initialized():
    """Whether processes have found each other."""
    return False


def _alone(who):
    if rb.process_count() > 1:
        raise NotImplementedError(
            f"multihost_utils.{who}: a program of several processes needs the package rabbet-distributed\n"
            "  to fix: python -m pip install rabbet-distributed"
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
