"""Compiled functions as bytes, for another process with the same versions and the same hardware."""

from __future__ import annotations

import hashlib
import io
import pickle
from typing import Any

from rabbet_jit.serializing import packed, unpacked

from rabbet import Device, devices, local_devices
from rabbet.extend.backend import as_device
from rabbet.extend.functions import public_module

# What the bytes start with: the format, then the hash of all that follows it.
FORMAT = b"rabbet program 3\n"
DIGEST = hashlib.sha256


def serialize(compiled: Any) -> tuple[bytes, Any, Any]:
    """A compiled function as bytes.

    Args:
      compiled: what ``rb.jit(f).lower(...).compile()`` returned.

    Returns:
      ``(bytes, in_tree, out_tree)``; the structures are those of ``(args, kwargs)`` and of the result, which
      pickle as they are.

    Raises:
      ValueError: for a program that calls Python functions, which bytes cannot hold, that was compiled for
        hardware that is not here, or whose devices belong to several processes.

    Example:
      >>> from rabbet.experimental.serialize_executable import deserialize_and_load, serialize
      >>> stored = serialize(rb.jit(lambda x: x + 1).lower(1.0).compile())
      >>> deserialize_and_load(*stored)(2.0)
      Array(3., dtype=float32, weak_type=True)
    """
    content = by_places(packed(compiled), places_of(compiled))
    return FORMAT + DIGEST(content).digest() + content, compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes, in_tree: Any, out_tree: Any, backend: Any = None, execution_devices: Any = None
) -> Any:
    """The compiled function of bytes that ``serialize`` made, ready to be called.

    Load only what you trust: the bytes hold native code, and a checksum finds damage, not malice.

    Args:
      serialized, in_tree, out_tree: what ``serialize`` returned.
      backend: the platform to run on; by default the one that it was compiled for.
      execution_devices: ``Device``s in a list, as many as the program runs on; by default those of the
        numbers that it was compiled for, for a program on one device the first of the platform.

    Returns:
      a ``Compiled``, which takes arguments of the types that it was compiled for.

    Raises:
      ValueError: for bytes that are damaged, of another version of Rabbet or jaxlib, or for another platform,
        and where there are fewer devices, or others given, than the program runs on.

    Example:
      >>> from rabbet.experimental.serialize_executable import deserialize_and_load, serialize
      >>> stored = serialize(rb.jit(lambda x: x * 2).lower(1.0).compile())
      >>> deserialize_and_load(*stored)(4.0)
      Array(8., dtype=float32, weak_type=True)
    """
    start = len(FORMAT) + DIGEST().digest_size
    content = bytes(serialized[start:])
    if serialized[: len(FORMAT)] != FORMAT or DIGEST(content).digest() != serialized[len(FORMAT) : start]:
        raise ValueError(
            "deserialize_and_load: these bytes are damaged, or were not made by serialize of this version"
        )
    (platform, ids), program = pickle.loads(content)
    if execution_devices is not None:
        if len(execution_devices) != len(ids):
            raise ValueError(
                f"deserialize_and_load: the program runs on {len(ids)} device{'s' * (len(ids) > 1)}, and "
                f"execution_devices has {len(execution_devices)}"
            )
        places = [as_device(d) for d in execution_devices]
    elif len(ids) == 1:
        places = devices(backend or platform)[:1]
    else:
        here = {d.id: d for d in local_devices(backend=backend or platform)}
        missing = [str(i) for i in ids if i not in here]
        if missing:
            raise ValueError(
                f"deserialize_and_load: the program is for the {platform} devices "
                f"{', '.join(map(str, ids))}, and {', '.join(missing)} are not here; name others by "
                "execution_devices"
            )
        places = [here[i] for i in ids]
    return unpacked(*from_places(program, places), in_tree, out_tree, places[0])


def places_of(compiled: Any) -> tuple[Device, ...]:
    """The devices on which a compiled function runs, in their order."""
    place = getattr(compiled, "device", None)
    return getattr(place, "devices", (place,))


def by_places(value: tuple[Any, ...], places: tuple[Device, ...]) -> bytes:
    """The bytes of a value in which devices are numbers: their places among ``places``."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, x: Any) -> Any:
            return places.index(x) if isinstance(x, Device) else None

    out = io.BytesIO()
    Pickler(out).dump(value)
    return pickle.dumps(((places[0].platform, [d.id for d in places]), out.getvalue()))


def from_places(content: bytes, places: list[Device]) -> tuple[Any, ...]:
    """The value of bytes that ``by_places`` made, with these devices."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, number: Any) -> Any:
            return places[number]

    return Unpickler(io.BytesIO(content)).load()


__all__ = ["deserialize_and_load", "serialize"]
public_module(globals())
