"""``jax.experimental.multihost_utils``: rabbet-distributed's, or what holds for a program of one process."""

import functools

import rabbet as rb

from rabbet_jax.composed_primitives import composed

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

PRIMITIVES = ("host_local_array_to_global_array", "global_array_to_host_local_array")


def _types(name, aval, *, global_mesh, pspec):
    return rb.eval_shape(functools.partial(composed(name).bind, global_mesh=global_mesh, pspec=pspec), aval)


def __getattr__(name):
    first, last = PRIMITIVES
    if name in (f"{first}_p", f"{last}_p"):
        return composed(name[:-2])
    if name in (f"{first}_impl", f"{last}_impl"):
        return composed(name[:-5]).bind
    if name in ("ltg_abstract_eval", "gtl_abstract_eval"):
        return functools.partial(_types, first if name[0] == "l" else last)
    raise AttributeError(name)
