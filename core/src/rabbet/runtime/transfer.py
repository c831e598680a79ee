"""Putting values on devices, and exchanging memory with other libraries.

What may be shared with the caller and what must be copied:

1. a NumPy array is copied: its owner may write to it later (`values.host_array` decides this);
2. one of our arrays is shared if it is on the device already, because arrays never change;
3. a tensor that comes through DLPack is shared, as that protocol promises, unless a copy is asked for. Host
   memory that is not aligned to 64 bytes is copied in any case.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import tree
from rabbet.errors import ArgumentError, ShardingError
from rabbet.messages.tracebacks import fold_traceback, folds_itself
from rabbet.primitives.memory_spaces import moved
from rabbet.program.avals import ShapedArray
from rabbet.runtime.array_parts import relaid
from rabbet.runtime.arrays import transfer_guards
from rabbet.runtime.arrays.array import Array, from_host, spread
from rabbet.runtime.arrays.host_parts import stored
from rabbet.runtime.arrays.placement import placement
from rabbet.runtime.arrays.sharding import Sharding
from rabbet.runtime.arrays.values import copy_to_device, host_value, to_array
from rabbet.runtime.jaxlib import adapter, dlpack, raw_values
from rabbet.runtime.platforms.backends import default_registry
from rabbet.runtime.platforms.devices import Device, default_device, device_count
from rabbet.runtime.platforms.devices import device as device_numbered
from rabbet.trace.interpreter import typeof
from rabbet.trace.leaks import leaked
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.runtime.platforms.topologies import DescribedDevice
    from rabbet.typing import Value


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: bool = False, may_alias: Any = None
) -> Any:
    """Return `x` as arrays on `device`, which they are then committed to.

    Args:
      x: an array, anything convertible to one, or a pytree of such. Inside a traced function, a traced value
        is laid out by a sharding and moved to its memory; on which device it lies is not said there,
        since a program runs where its arguments are.
      device: a `Device` or a `Sharding`; None: where arrays are they stay, and other values go
        to the default device, both uncommitted. Or a pytree of these that is a prefix of `x`.
      src: the device that `x` is on, in the same forms; arrays know it themselves, so it is only checked to
        be one.
      donate: a promise that `x` is not used afterwards, a bool or a prefix of `x` with bools. Memory on the
        same device is shared in any case, and arrays that are copied to another one live on.
      may_alias: False: the result has memory of its own; True and None: it shares that of an array that is on
        the device already. A bool or None, or a prefix of `x` with these.

    Raises:
      TypeError: for a device that is none. ValueError: where `donate` and `may_alias` are both True.
      TreeError: for a pytree that is not a prefix of `x`.

    Example:
      >>> rb.device_put(np.arange(3), rb.devices()[0])
      Array([0, 1, 2], dtype=int32)
      >>> rb.device_put({"a": 1.0, "b": rnp.ones(2)})["a"]
      Array(1., dtype=float32, weak_type=True)
    """
    if src is may_alias is None and donate is False and not isinstance(device, (tuple, list, dict)):
        if type(x) is np.ndarray and device is None:
            return put_leaf(x, None)
        return tree.map(lambda leaf: put_leaf(leaf, as_place(device)), x)
    leaves, treedef = tree.flatten(x)
    targets = [as_place(d) for d in each(device, x, "device_put", "device")]
    for given in each(src, x, "device_put", "src"):
        as_place(given, "src")
    given = each(donate, x, "device_put", "donate")
    aliases = each(may_alias, x, "device_put", "may_alias")
    if any(d and a for d, a in zip(given, aliases, strict=True)):
        raise ValueError("device_put: donate and may_alias cannot both be True for one array")
    return treedef.unflatten(
        [
            put_leaf(leaf, target, alias is not False)
            for leaf, target, alias in zip(leaves, targets, aliases, strict=True)
        ]
    )


def each(argument: Any, x: Any, who: str, name: str) -> list[Any]:
    """What the argument of `who` called `name`, a value or a prefix of the pytree `x`, says of each leaf."""
    return tree.broadcast_prefix(argument, x, is_none, names=(f"{who}: {name}", "x"))


def is_none(node: Any) -> bool:
    """Whether a node is None, which stands for a leaf here."""
    return node is None


def obey_sharding(who: str, x: Value, sharding: Sharding | str | None, name: str = "out_sharding") -> Any:
    """`x`, the result of `who`, as its argument called `name` asks: where it is, or laid out by a sharding.

    Raises:
      TypeError: for what is not a sharding.
      NotImplementedError: for one device, in a traced function where there are several, because the program
        runs where its arguments are.

    Example:
      >>> from rabbet.extend.functions import obey_sharding
      >>> def ones(n, *, out_sharding=None):
      ...     return obey_sharding("ones", lax.full((n,), 1.0), out_sharding)
      >>> ones(2)
      Array([1., 1.], dtype=float32, weak_type=True)
    """
    if sharding is None:
        return x
    if not isinstance(sharding, Sharding) and not hasattr(type(sharding), "__sharding__"):
        raise TypeError(f"{who}: {name} must be None or a Sharding, such as x.sharding; got {sharding!r:.60}")
    if isinstance(sharding, Sharding) and sharding.other_memory is not None and not sharding.has_devices:
        raise ShardingError(
            f"{who}: {name} names the memory {sharding.other_memory!r} on a mesh without devices, which has "
            "none\n  to fix: give a NamedSharding on a Mesh, or move the result, with rb.device_put"
        )
    device = as_place(sharding, f"{who}: {name}")
    if device is None:
        return x
    if isinstance(device, Sharding):
        return tree.map(lambda leaf: device_put(leaf, device.written_out(typeof(leaf).ndim)), x)
    if any(type(leaf) is Tracer for leaf in tree.leaves(x)) and not is_only(device):
        raise NotImplementedError(
            f"{who}: {name} asks for {device} in a function that is traced, whose program runs on the device "
            "of its arguments, one of several here; leave it out, and bring the arguments there with "
            "rb.device_put"
        )
    return device_put(x, device)


def is_only(device: Any) -> Any:
    """Whether programs can run on no other device than this one."""
    return device is default_device() and device_count(device.platform) == 1


def obeys_out_sharding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the argument `out_sharding`, which `function` has in its signature and never looks at, is
    obeyed (see `placed`).

    Example:
      >>> from rabbet.extend.functions import obeys_out_sharding
      >>> @obeys_out_sharding
      ... def ones(n, *, out_sharding=None):
      ...     return lax.full((n,), 1.0)
      >>> from rabbet.extend.sharding import SingleDeviceSharding
      >>> ones(2, out_sharding=SingleDeviceSharding(rb.devices()[0])).committed
      True
    """
    code = inspect.unwrap(function).__code__
    position = code.co_varnames.index("out_sharding")
    most = position if position < code.co_argcount else sys.maxsize

    @functools.wraps(function)
    def call(
        *args: Any, out_sharding: Sharding | str | None = None, **kwargs: Any
    ) -> tuple[Value, ...] | Value:
        try:
            if len(args) > most:
                args, out_sharding = args[:most], args[most]
            if out_sharding is None:
                return function(*args, **kwargs)
            args, kwargs = tree.map(hidden, (args, kwargs))
            return obey_sharding(function.__name__, function(*args, **kwargs), out_sharding)
        except Exception as error:
            fold_traceback(error)
            raise

    return folds_itself(call)


def hidden(x: Any) -> Value | str:
    """An operand of a function that was told how its result lies: the operand's type says nothing of it."""
    spread = x.aval.spread if type(x) in (Array, Tracer) else None
    return x if spread is None else spread.hidden(x)


def as_device(device: Any, name: str = "device") -> Device | DescribedDevice | None:
    """Return the `Device` that an argument called `name` means, or None.

    Example:
      >>> from rabbet.extend.backend import as_device
      >>> device = rb.devices()[0]
      >>> as_device(device) is device, as_device(None)
      (True, None)
    """
    if device is None or isinstance(device, Device):
        return device
    if isinstance(device, Sharding) and device.is_plain:
        return device.device_order[0]
    hint = ""
    if isinstance(device, str):
        platform, _, number = device.partition(":")
        hint = f"; it may be rb.devices({platform!r})[{number if number.isdecimal() else 0}]"
    raise ArgumentError(
        f"{name} must be a Device (rb.devices() lists them) or a Sharding, got {device!r}{hint}"
    )


def as_place(device: Any, name: str = "device") -> Any:
    """What an argument called `name` means: a `Device`, a `Sharding` over several, or None. An object that
    stands for a sharding gives it by its method `__sharding__(name)`, and one that stands for a place by
    each value gives that by its method `__place_of__(x)`, when it is put somewhere.

    Example:
      >>> from rabbet.extend.sharding import as_place
      >>> device = rb.devices()[0]
      >>> as_place(device) is device, as_place(rb.device_put(1.0, device).sharding) is device
      (True, True)
    """
    if hasattr(type(device), "__place_of__"):
        return device
    if hasattr(type(device), "__sharding__"):
        device = device.__sharding__(name)
    if isinstance(device, Sharding) and not device.is_plain:
        return device
    return as_device(device, name)


def lay_out(x: Value, sharding: Sharding) -> Value:
    """`x`, an array or anything convertible to one, laid over devices by a sharding."""
    if type(x) is Array and x.raw.is_deleted():
        raise x.deleted()
    if type(x) is Array and x.spec.layout is not None:
        if x.spec.layout == sharding:
            return x
        if x.spec.device is sharding.group:  # by a program, which moves only what has to move
            return relaid(x, sharding)
        x = added_up(x)
    if sharding.order is not None:
        return relaid(lay_out(x, sharding.by_rows), sharding)
    if sharding.addends:  # whole first: what each device is given is an addend
        return relaid(lay_out(x, sharding.whole), sharding)
    if type(x) is np.ndarray:  # cut from the caller's memory: each part is copied once
        aval = typeof(x)
        host, private = host_value(x, aval)
        transfer_guards.to_device(aval, sharding.group)
        return spread(stored(host, aval), aval, sharding, private=private)
    array = to_array(x)
    return spread(raw_values.to_numpy(array.raw), array.aval, sharding)


def added_up(x: Array) -> Value:
    """An array of which each device may hold an addend, as one that each has whole."""
    layout = x.spec.layout
    return relaid(x, layout.whole) if layout is not None and layout.addends else x


def put_leaf(x: Any, device: Any, may_alias: bool = True) -> Value:
    """`device_put` of one value."""
    if type(x) is Tracer:
        if not x.interpreter.alive:
            raise leaked(x)
        if hasattr(type(device), "__place_of__"):
            device = device.__place_of__(x)
        if isinstance(device, Device):  # in its usual memory
            return moved(x, None)
        return x if device is None else device.constrain(x)
    if device is not None and hasattr(type(device), "__place_of__"):
        device = device.__place_of__(x)
    if isinstance(device, Sharding):
        device.refuse_unsettled("device_put")
        with transfer_guards.explicit():
            out = lay_out(x, device)
            return out if may_alias or out is not x else out.__deepcopy__({})
    asked = transfer_guards.asked
    before, asked.explicitly = asked.explicitly, True  # as `explicit` does it, in half of its time
    try:
        array = to_array(x if device is None or type(x) is not Array else added_up(x), device, alone=True)
        if type(x) is not np.ndarray and array.raw.is_deleted():
            raise array.deleted()
        out = array if device is None else copy_to_device(array, device, True)
    finally:
        asked.explicitly = before
    return out if may_alias else out.__deepcopy__({})


def from_dlpack(x: Any, device: Device | None = None, copy: bool | None = None) -> Value:
    """Return an array over the memory of `x`, a tensor of another library on this machine's devices.

    Args:
      x: an object with `__dlpack__` and `__dlpack_device__`.
      device: the `Device` to put it on; None: the one that its memory belongs to.
      copy: True always copies; False never does, and raises BufferError where it would have to.

    Raises TypeError for an object without the protocol or a dtype without an equal here, BufferError if the
    memory belongs to a platform that is not installed.
    """
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"{type(x).__name__} does not offer its memory through DLPack (it has no __dlpack__)")
    source, target = owner_of(x), as_device(device)
    stream = adapter.incoming_stream(source.raw)
    capsule = dlpack.capsule_of(x, stream)
    info = dlpack.describe(capsule)
    aval = ShapedArray(info.shape, info.dtype)
    if info.on_host:
        host = dlpack.consume(capsule)
        if copy is False and (host.ctypes.data % 64 or not host.flags.c_contiguous):
            raise BufferError(
                "the tensor's memory is not contiguous and aligned to 64 bytes, so it has to be "
                "copied; leave out copy=False"
            )
        array = from_host(np.array(host) if copy else host, aval, source, target is not None, private=True)
    else:
        spec = placement(aval, source, target is not None)
        array = Array(adapter.from_dlpack(capsule, source.raw, aval, spec.sharding, stream), spec)
        if copy and target in (None, source):
            array = Array(
                raw_values.copy_to_device(array.raw, source.raw, spec.sharding, always_copy=True), spec
            )
    if target in (None, source):
        return array
    if copy is False:
        raise BufferError(
            f"the tensor is on {source}, so bringing it to {target} copies it; leave out copy=False"
        )
    return copy_to_device(array, target, True)


def owner_of(x: Any) -> Device:
    """Return the `Device` whose memory holds the foreign tensor `x`."""
    kind, number = x.__dlpack_device__()
    if kind in dlpack.CPU_LIKE:
        fallback = default_device()
        if fallback.platform == "cpu" or "cpu" not in default_registry().allowed():
            return (
                fallback  # without the platform cpu, what the processor has is copied to the default device
            )
        return device_numbered("cpu", 0)
    platform = dlpack.PLATFORMS.get(int(kind))
    if platform is None or number >= device_count(platform):
        raise BufferError(f"no device here has the memory of DLPack device type {int(kind)}, number {number}")
    return device_numbered(platform, number)


__all__ = [
    "as_device",
    "device_put",
    "from_dlpack",
    "hidden",
    "obey_sharding",
    "obeys_out_sharding",
    "owner_of",
    "put_leaf",
]
