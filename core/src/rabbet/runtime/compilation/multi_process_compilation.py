"""Programs that several processes compile together: what tells them apart, and one executable for all."""

from __future__ import annotations

import functools
from typing import Any

from rabbet import passes
from rabbet.config.log_levels import logger
from rabbet.messages.signal_errors import is_of_handler
from rabbet.runtime.caching import disk_cache
from rabbet.runtime.caching.shared_programs import Loaded
from rabbet.runtime.jaxlib import adapter

SHOWN = 6  # types of arguments in a message


def told_apart(lowering: Any) -> str:
    """A program in words that tell it from others of its name: its line, its types, how long it is."""
    jaxpr = lowering.jaxpr
    ins, outs = [[v.aval.str_short() for v in each] for each in (jaxpr.invars, jaxpr.outvars)]
    types = [", ".join(each[:SHOWN] + ["..."] * (len(each) > SHOWN)) for each in (ins, outs)]
    line = passes.first_line(jaxpr)
    facts = [*([line] if line else []), " -> ".join(types), f"{len(jaxpr.equations)} operations"]
    return f"{lowering.name!r} ({'; '.join(facts)})"


def bytes_of(loaded: Loaded, key: str, blob: bytes | None) -> Any:
    """What makes the bytes of an executable, or None. What was loaded from bytes is these bytes: the CPU's
    runtime cannot serialize it again.
    """
    if loaded.origin == "compiler":
        return functools.partial(adapter.serialize, loaded.exe)
    found = blob if loaded.origin == "peer" else disk_cache.get(key)
    return None if found is None else lambda: found


def fetched(client: Any, among: Any, key: str, devices: Any, options: Any) -> Any:
    """The executable that another process has compiled, or None."""
    blob = among.fetch(key)
    if blob is None:
        return None
    try:
        return adapter.deserialize(client, blob, devices, options)
    except Exception as error:  # whatever jaxlib says of it, it is compiled here
        if is_of_handler(error):
            raise
        logger().warning("an executable of another process cannot be read, and is compiled here: %s", error)
        return None


__all__ = ["bytes_of", "fetched", "told_apart"]
