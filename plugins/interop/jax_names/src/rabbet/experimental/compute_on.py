"""Computing on the host of an accelerator, within a program: ``compute_on``."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from rabbet import device_put, tree
from rabbet.errors import ConfigError
from rabbet.extend.functions import public_module
from rabbet.extend.wrapping import operation_attributes, wraps

if TYPE_CHECKING:
    from collections.abc import Callable

# What XLA calls the types of JAX.
TYPES = {"device_host": "host", "tpu_sparsecore": "sparse"}


def compute_on(
    f: Callable[..., Any] | str | None = None,
    *,
    compute_type: str | None = None,
    out_memory_spaces: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """A function whose operations run elsewhere than on the device: on its host, or a TPU's SparseCore.

    Operands on the host are in its memory: ``device_put(x, memory.Space.Host)`` before. A CPU is its own
    host: there nothing changes.

    Args:
      f: takes and returns pytrees of arrays. Without it a decorator; with the name of a type instead of it, a
        context manager for the operations of a ``with`` block.
      compute_type: ``"device_host"`` or ``"tpu_sparsecore"``.
      out_memory_spaces: where results are put, such as ``memory.Space.Device``: one for all, or a prefix of
        the result with these; None leaves them where the types of operands say.
      compiler_options: for what is compiled there, by name.

    Raises:
      ConfigError: for another type.

    Example:
      >>> from rabbet.experimental.compute_on import compute_on
      >>> @compute_on(compute_type="device_host", out_memory_spaces=rb.memory.Space.Device)
      ... def update(m, g):
      ...     return 0.9 * m + g
      >>> update(rnp.ones(2), rnp.ones(2))
      Array([1.9, 1.9], dtype=float32)
    """
    if isinstance(f, str):
        return _marked(f, compiler_options)
    if compute_type is None:
        raise ConfigError("compute_on: give compute_type, one of " + ", ".join(map(repr, TYPES)))
    if f is None:
        return lambda f: compute_on(
            f, compute_type=compute_type, out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )  # fmt: skip
    function: Callable[..., Any] = f

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _marked(compute_type, compiler_options):
            out = function(*args, **kwargs)
        if out_memory_spaces is None:
            return out
        spaces = tree.broadcast_prefix(out_memory_spaces, out, lambda node: node is None)
        leaves, structure = tree.flatten(out)
        moved = [x if s is None else device_put(x, s) for x, s in zip(leaves, spaces, strict=True)]
        return structure.unflatten(moved)

    return call


def _marked(compute_type: str, options: dict[str, Any] | None) -> contextlib.AbstractContextManager[Any]:
    """A ``with`` block whose operations say where they run."""
    if compute_type not in TYPES:
        known = ", ".join(map(repr, TYPES))
        raise ConfigError(f"compute_on: there is no type {compute_type!r}, only {known}")
    attributes = {"_xla_compute_type": TYPES[compute_type]}
    if options is not None:
        attributes["_xla_compiler_options"] = json.dumps(options)
    return operation_attributes(attributes)


__all__ = ["compute_on"]

public_module(globals())
