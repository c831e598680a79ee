"""The settings ``transfer_guard_*``: who may move values between the host and devices, and between devices.

A transfer is *explicit* where the program says so, by ``device_put`` or ``device_get``, and implicit where an
operation needs the value elsewhere. Python numbers are no transfers: they are part of the operation that they
stand in. Nor are constants of a program that is being recorded, or those that the library's functions make on
the host: only what a user's call gives is.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.config.log_levels import logger
from rabbet.errors import TransferError
from rabbet.program.context import context
from rabbet.runtime.arrays.given_values import is_given
from rabbet.runtime.platforms import hook_calls

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.runtime.platforms.device_groups import DeviceGroup
    from rabbet.runtime.platforms.devices import Device

ADVICE = {
    "host-to-device": "bring the value to the device first, with rb.device_put",
    "device-to-device": "bring the array to the other device first, with rb.device_put",
    "device-to-host": "read it with rb.device_get",
}


class AskedGuards(threading.local):
    """Whether this thread is inside ``explicit``."""

    explicitly = False


asked = AskedGuards()


@contextlib.contextmanager
def explicit() -> Iterator[Any]:
    """Transfers in the ``with`` block are what the program asked for."""
    before, asked.explicitly = asked.explicitly, True
    try:
        yield
    finally:
        asked.explicitly = before


def check(direction: str, level: str, aval: Any, device: Any) -> None:
    """Let a transfer pass, log it or raise ``TransferError``, as ``level`` says; None and "allow" are the
    caller's.
    """
    if asked.explicitly and level in ("log", "disallow"):
        return
    what = f"{direction} transfer of {aval.str_short()} ({device})"
    if level.startswith("log"):
        logger().warning("%s", what)
    elif level.startswith("disallow"):
        name = f"transfer_guard_{direction.replace('-', '_')}"
        advice = "" if asked.explicitly else f"; {ADVICE[direction]}"
        raise TransferError(f"{what}, which config.{name}={level!r} forbids{advice}")


wanted: bool | None = None
"""Whether a hook plugin is told of transfers; None: nobody has asked yet."""


def told(direction: str, aval: ShapedArray, device: Any) -> None:
    """Tell hooks of a transfer, where a plugin has the hook for it."""
    global wanted
    if wanted is None:
        wanted = hook_calls.is_implemented("transferred")
    if wanted:
        from rabbet.program.hook_facts import Transfer

        where = f"{device.platform}:{getattr(device, 'id', '')}"
        nbytes = aval.physical.nbytes
        fact = Transfer(direction, nbytes, where, asked.explicitly)
        hook_calls.tell_hooks("transferred", transfer=fact)


def recorded() -> bool:
    """Whether a program is being recorded: a value of the host that it meets becomes a constant of it."""
    interpreter = context.interpreter
    while interpreter.parent is not None:
        interpreter = interpreter.parent
    return not getattr(interpreter, "executes", False)


def to_device(aval: ShapedArray, device: Any, *, numbers: bool = False) -> None:
    """A value of the host becomes an array.

    Args:
      numbers: whether a number by itself counts as such a value.
    """
    if wanted is not False:
        told("host-to-device", aval, device)
    level = config.transfer_guard_host_to_device
    if level is not None and level != "allow" and not recorded() and is_given(aval.size, numbers):
        check("host-to-device", level, aval, device)


def between(aval: ShapedArray, device: Any) -> None:
    """An array is copied to another device."""
    if wanted is not False:
        told("device-to-device", aval, device)
    level = config.transfer_guard_device_to_device
    if level is not None and level != "allow":
        check("device-to-device", level, aval, device)


def to_host(aval: ShapedArray, device: DeviceGroup | Device) -> None:
    """An array is read on the host, from a device with a memory of its own."""
    if wanted is not False and device.platform != "cpu":
        told("device-to-host", aval, device)
    level = config.transfer_guard_device_to_host
    if level is not None and level != "allow" and device.platform != "cpu":
        check("device-to-host", level, aval, device)


__all__ = ["between", "explicit", "to_device", "to_host"]
