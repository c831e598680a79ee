"""Kinds of memory, whatever a platform calls them: ``device_put(x, memory.Space.Host)``."""

import enum
from typing import Any

from rabbet import Array
from rabbet.extend.functions import public_module
from rabbet.extend.primitive import to_memory as _to_memory
from rabbet.extend.sharding import as_place
from rabbet.extend.transform import is_tracer, typeof


class Space(enum.Enum):
    """The memory of a device, or the memory of its host that the device can read.

    As the place in ``device_put`` it leaves an array on its devices, in that memory. A value that is no
    array goes to the default device. Within a traced function it is an operation, and the type of its
    result says where it lies; on the processor, whose devices have one memory, it moves nothing.

    Example:
      >>> x = rb.device_put(rnp.ones(2), rb.memory.Space.Device)
      >>> x.sharding.memory_kind == rb.devices()[0].memory_kinds()[0]
      True
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __place_of__(self, x):
        """Where ``device_put`` of ``x`` puts it.

        Raises:
          ValueError: for ``Any``, and where the device has no such memory, with those that it has.
        """
        if self is Space.Any:
            raise ValueError("device_put: memory.Space.Any is not a place; give Space.Device or Space.Host")
        from rabbet import device_put

        if is_tracer(x):
            return _InProgram(None if self is Space.Device else "pinned_host")
        there: Any = x if isinstance(x, Array) else device_put(0)
        sharding = there.sharding
        kinds = next(iter(sharding.device_set)).memory_kinds()
        kind = kinds[0] if self is Space.Device else "pinned_host"
        if kind not in kinds:
            raise ValueError(f"device_put: the device has no memory {kind!r}, only {', '.join(kinds)}")
        return as_place(sharding.with_memory_kind(kind))


class _InProgram:
    """A memory as the place of a traced value."""

    def __init__(self, memory: str | None) -> None:
        self.memory = memory

    def constrain(self, x: Any) -> Any:
        """The value moved there."""
        return x if typeof(x).memory == self.memory else _to_memory(x, memory=self.memory or "device")


__all__ = ["Space"]

public_module(globals())
