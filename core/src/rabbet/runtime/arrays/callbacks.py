"""Python functions that compiled programs call: what jaxlib is given for each, and how their errors travel.

jaxlib hands over views that are valid during the call, copies what comes back without looking at its type,
and turns an exception into text. So arguments are copied into arrays, the function itself checks its results
(see ``HostCallback``), and its exceptions take another way (see ``failures``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.program.context import Context, context
from rabbet.runtime.arrays.array import from_host
from rabbet.runtime.arrays.callback_errors import put_aside
from rabbet.runtime.jaxlib.inside_callback import running
from rabbet.runtime.platforms.backends import default_registry
from rabbet.runtime.platforms.device_groups import DeviceGroup
from rabbet.runtime.platforms.devices import device as device_numbered

if TYPE_CHECKING:
    from rabbet.lowering.host_callbacks import HostCallback
    from rabbet.runtime.platforms.devices import Device

failed_over: dict = {}
"""What callbacks of programs over several devices raised, by their ``DeviceGroup``, until it is raised
again."""


@contextlib.contextmanager
def on_host() -> Iterator[Any]:
    """The surroundings of user code that a program calls: no transformation is running, at nobody's line."""
    previous = context.interpreter, context.where, context.axes
    context.interpreter, context.where, context.axes = Context.interpreter, None, Context.axes
    try:
        yield
    finally:
        context.interpreter, context.where, context.axes = previous


def lying_on(device: Any) -> Device:
    """Where the arguments of a callback lie: on the CPU where there is one, for jaxlib hands over memory of
    the host, and a device may do nothing else until the program that calls has finished.
    """
    if device.platform == "cpu" or "cpu" not in default_registry().allowed():
        return device
    return device_numbered("cpu", 0)


def for_device(callback: HostCallback, device: Any) -> Callable[..., Any]:
    """What jaxlib calls for a ``HostCallback`` of a program on ``device``, or on a ``DeviceGroup``: there an
    exception would leave the other devices waiting until the process ends, so it is kept for the caller of
    the program, and zeros go on.
    """
    n = callback.tokens
    before = (None,) * n
    group = device if type(device) is DeviceGroup else None
    asked = callback.device if group is not None and callback.device in group.local_devices else None
    device = lying_on(asked or (device.local_devices[0] if group is not None else device))

    def call(*views: np.ndarray | None) -> tuple[np.ndarray | None, ...]:
        running.depth += 1
        try:
            with on_host():
                avals = callback.in_avals
                given = [np.array(v) for v in views[n:]]
                if callback.partitioned:  # the last dimensions of what is stored may be those of one element
                    avals = tuple(
                        [a.update(shape=v.shape[: a.ndim]) for a, v in zip(avals, given, strict=True)]
                    )
                arrays = [
                    from_host(v, aval, device, False, private=True)
                    for v, aval in zip(given, avals, strict=True)
                ]
                return (*before, *callback.function(arrays))
        except BaseException as error:  # also KeyboardInterrupt: it travels like the others
            if group is not None:
                failed_over[group] = error
                physical = [a.physical for a in callback.out_avals]
                return (*before, *[np.zeros(a.shape, a.dtype) for a in physical])
            raise put_aside(error) from None
        finally:
            running.depth -= 1

    return call


__all__ = ["for_device", "on_host"]
