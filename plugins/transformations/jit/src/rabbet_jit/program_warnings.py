"""Warnings about what a program was given: large captured arrays, and donations without effect."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import TYPE_CHECKING

from rabbet import config
from rabbet.extend.wrapping import stacklevel

if TYPE_CHECKING:
    from rabbet.typing import Value

    from rabbet_jit.stages import Lowered


def of_captured(name: str, arrays: list[Value]) -> None:
    """Warn of a program that captures arrays of more bytes than ``config.captured_constants_warn_bytes``."""
    most = config.captured_constants_warn_bytes
    if most < 0 or not arrays:
        return
    found = sum([math.prod(x.shape) * x.dtype.itemsize for x in arrays])
    if found > most:
        warnings.warn(
            f"{name} captured arrays of {found:,} bytes in all, which its programs keep in memory; pass them "
            "as arguments, or change config.captured_constants_warn_bytes if it is meant",
            stacklevel=stacklevel(),
        )


def of_donated(lowered: Lowered, offset: int) -> None:
    """Warn of donated arguments for which no result has the shape and dtype, so that none gets the memory.

    An argument that the program does not read is dropped and cannot be donated either.
    """
    lowering = lowered.lowering
    if not lowered.donated:
        return
    room = Counter([(a.shape, a.dtype) for a in lowering.out_avals])
    unused, names = [], []
    for i in lowered.donated:
        aval = lowered.avals[i - offset]
        key = aval.shape, aval.dtype
        if room[key]:
            room[key] -= 1
        else:
            unused.append(aval.str_short())
            names.append(lowered.signature.name_of(i - offset))
    if unused:
        warnings.warn(
            f"{lowered.fun_name}: donated arrays of the types {', '.join(unused)} are given up, but no "
            f"result of these types is there to use their memory: {', '.join(names)}",
            stacklevel=stacklevel(),
        )


__all__ = ["of_captured", "of_donated"]
