"""Compiled functions as bytes, for another process with the same versions and the same hardware."""

import hashlib
import pickle
from typing import Any

from rabbet_jit.serializing import packed, unpacked

from rabbet.extend.backend import as_device
from rabbet.extend.functions import public_module

# What the bytes start with: the format, then the hash of all that follows it.
FORMAT = b"rabbet program 2\n"
DIGEST = hashlib.sha256


def serialize(compiled: Any) -> tuple[bytes, Any, Any]:
    """A compiled function as bytes.

    Args:
      compiled: what ``rb.jit(f).lower(...).compile()`` returned.

    Returns:
      ``(bytes, in_tree, out_tree)``; the structures are those of ``(args, kwargs)`` and of the result, which
      pickle as they are.

    Raises:
      ValueError: for a program that calls Python functions, which bytes cannot hold, or that was compiled for
        hardware that is not here.

    Example:
      >>> from rabbet.experimental.serialize_executable import deserialize_and_load, serialize
      >>> stored = serialize(rb.jit(lambda x: x + 1).lower(1.0).compile())
      >>> deserialize_and_load(*stored)(2.0)
      Array(3., dtype=float32, weak_type=True)
    """
    content = pickle.dumps(packed(compiled))
    return FORMAT + DIGEST(content).digest() + content, compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes, in_tree: Any, out_tree: Any, backend: Any = None, execution_devices: Any = None
) -> Any:
    """The compiled function of bytes that ``serialize`` made, ready to be called.

    Load only what you trust: the bytes hold native code, and a checksum finds damage, not malice.

    Args:
      serialized, in_tree, out_tree: what ``serialize`` returned.
      backend: the platform to run on; by default the one that it was compiled for.
      execution_devices: one ``Device`` in a list; by default the first of the platform.

    Returns:
      a ``Compiled``, which takes arguments of the types that it was compiled for.

    Raises:
      ValueError: for bytes that are damaged, of another version of Rabbet or jaxlib, or for another platform.

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
    made = pickle.loads(content)
    device = None
    if execution_devices is not None:
        if len(execution_devices) != 1:
            raise NotImplementedError(
                f"deserialize_and_load: a program runs on one device, got {len(execution_devices)}"
            )
        device = as_device(execution_devices[0])
    return unpacked(*made, in_tree, out_tree, backend, device)


__all__ = ["deserialize_and_load", "serialize"]
public_module(globals())
