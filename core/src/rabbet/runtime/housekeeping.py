"""Housekeeping over arrays and programs: reading many at once, waiting, listing what lives, forgetting what
was compiled.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, tree
from rabbet.messages.signal_errors import is_of_handler
from rabbet.program.avals import ShapedArray
from rabbet.rules import primitive
from rabbet.runtime import array_parts
from rabbet.runtime.arrays import transfer_guards, values
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.arrays.memory_order import in_order
from rabbet.runtime.arrays.ownership import is_internal
from rabbet.runtime.arrays.placement import placement, spread_placement
from rabbet.runtime.arrays.sharding import EverywhereSharding, SingleDeviceSharding
from rabbet.runtime.caching import program_limit, shared_programs
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.jaxlib.raw_shards import order_of
from rabbet.runtime.platforms.device_groups import device_group
from rabbet.runtime.platforms.devices import default_clients, forget_when_forked
from rabbet.trace.tracer import is_tracer

if TYPE_CHECKING:
    from rabbet.runtime.arrays.placement import Placement
    from rabbet.runtime.platforms.clients import Client
    from rabbet.typing import Value


def device_get(x: Any) -> Any:
    """The arrays of a pytree as NumPy arrays, waiting for their values; other leaves, typed keys and, in
    transformed functions, the arrays that are traced stay as they are.

    Example:
      >>> rb.device_get({"a": rnp.arange(3)})
      {'a': array([0, 1, 2], dtype=int32)}
    """
    leaves, treedef = tree.flatten(x)
    for leaf in leaves:
        if type(leaf) is Array:
            leaf.copy_to_host_async()
    with transfer_guards.explicit():
        return tree.unflatten(treedef, [np.asarray(v) if is_readable(v) else v for v in leaves])


def is_readable(x: Value | str) -> bool:
    """Whether a value has a NumPy form; arrays of keys and traced ones have none."""
    return hasattr(x, "__array__") and not (is_tracer(x) or (type(x) is Array and x.aval.is_extended))


def copy_to_host_async(x: Any) -> Any:
    """Begin copying the arrays of a pytree to the host; return the pytree.

    Example:
      >>> rb.copy_to_host_async([rnp.ones(2)])
      [Array([1., 1.], dtype=float32)]
    """
    for leaf in tree.leaves(x):
        if hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    return x


def block_until_ready(x: Any) -> Any:
    """Wait until every array in a pytree is computed; return the pytree. Errors of the computations are
    raised here.

    Example:
      >>> rb.block_until_ready({"a": rnp.ones(2)})["a"]
      Array([1., 1.], dtype=float32)
    """
    leaves = tree.leaves(x)
    try:
        adapter.wait_for([leaf.raw for leaf in leaves])
    except Exception as error:  # a leaf is not an array, or an array failed: one by one, for its own error
        if is_of_handler(error):
            raise
    else:
        return x
    for leaf in leaves:
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def live_arrays(platform: str | None = None) -> list[Value]:
    """All arrays of this process that hold memory, on one platform or on all that are in use.

    Those that Rabbet keeps for itself, such as the numbers and the constants of compiled programs, are not
    among them, so all that are can be deleted.

    Example:
      >>> x = rnp.ones(3)
      >>> any(x is other for other in rb.live_arrays())
      False
    """
    found = []
    for client in default_clients().running():
        if platform is not None and client.platform != platform:
            continue
        for raw in client.live_buffers():
            aval = raw.aval
            if aval is not None and not raw.is_deleted() and not is_internal(raw):
                found.append(Array(raw, placement_of(raw, _aval(aval), client)))
    return found


def placement_of(raw: Any, aval: ShapedArray, client: Client) -> Placement:
    """The placement of one of jaxlib's arrays that nobody here holds; over several devices, where it does not
    say how it was laid out, as whole on each.
    """
    sharding = getattr(raw._sharding, "made_for", None)
    if sharding is not None:
        return spread_placement(aval, sharding)
    devices = [client.device(each.id) for each in adapter.devices_of(raw)]
    order = order_of(raw)
    if order is not None:
        one = len(devices) == 1
        whole = SingleDeviceSharding(devices[0]) if one else EverywhereSharding(device_group(tuple(devices)))
        return spread_placement(aval, in_order(whole, order))
    if len(devices) == 1:
        return placement(aval, devices[0], False)
    return placement(aval, device_group(tuple(devices)), True)


def _aval(aval: ShapedArray) -> ShapedArray:
    return ShapedArray(tuple(aval.shape), dtypes.canonicalize(aval.dtype), bool(aval.weak_type))


def clear_caches() -> None:
    """Forget every traced and compiled program of this process (the persistent cache stays).

    Example:
      >>> rb.clear_caches()
    """
    for p in primitive.all_primitives().values():
        p.forget()
    for forget in _forgetters:
        forget()
    for reference, forget in _owners.copy().values():
        if (owner := reference()) is not None:
            forget(owner)


_forgetters = [
    values._scalars.clear,
    shared_programs.shared.clear,
    shared_programs.kept_programs.release,
    array_parts.forget_relayers,
]
forget_when_forked.append(clear_caches)
program_limit.of_process.relieve.append(clear_caches)
shared_programs.kept_programs.relieve.append(clear_caches)


_owners: dict[int, tuple] = {}  # by the identity of a weak reference: it, and what to call with its object


def on_clear_caches(forget: Callable[..., Any], of: Any = None) -> None:
    """Call ``forget()`` whenever ``clear_caches`` is called; for code that keeps compiled programs.

    Args:
      of: an object that may die: then it is ``forget(of)`` as long as the object lives, and nothing is kept
        of it afterwards. ``forget`` must not hold it, so it is not a method of it but of its class.

    Example:
      >>> from rabbet.extend.functions import on_clear_caches
      >>> kept = {"program": 1}
      >>> on_clear_caches(kept.clear)
      >>> rb.clear_caches()
      >>> kept
      {}
    """
    if of is None:
        _forgetters.append(forget)
    else:
        reference = weakref.ref(of, _gone)
        _owners[id(reference)] = reference, forget


def _gone(reference: Any) -> None:
    _owners.pop(id(reference), None)
