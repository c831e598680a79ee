"""Programs of others, read in a process of their own: MLIR's reader of bytes can end the process it is in.

What it reads there comes back as text, and only that is read here.
"""

from __future__ import annotations

import math
import re

from rabbet.export.errors import ExportError
from rabbet.extend.native import from_portable

SYMBOL = r'@("(?:[^"\\]|\\.)*"|[\w$.\-]+)'
FUNCTION = re.compile(rf"^\s*func\.func\s[^@\n]*{SYMBOL}.*$", re.MULTILINE)
USED = re.compile(SYMBOL)
# Operations that wait for the host, which nobody answers here.
SIZES = re.compile(r"tensor<((?:\d+x)+)")
WAITING = re.compile(r"stablehlo\.(?:infeed|outfeed|send|recv)\b")
# XLA looks at the types of this call with a CHECK, which ends the process.
LARGEST = re.compile(r"custom_call @(?:TopK|\"__gpu\$TopK\")\(.*$", re.MULTILINE)
FITTING = re.compile(r": \(tensor<(?:\d+x)+\w+>\) -> \(tensor<(?:\d+x)+\w+>, tensor<(?:\d+x)+i32>\)$")


def read_apart(name, artifact):
    """The text of a portable artifact of strangers.

    Raises:
      ExportError: for one that cannot be read.
    """
    try:
        return from_portable(artifact)
    except (ValueError, TypeError) as error:
        raise ExportError(f"{name!r} cannot be read: {error}") from None


def check_functions(name, text):
    """Refuse what the compiler does not survive or does not come back from: functions that call themselves,
    functions without a body, operations that wait for the host.

    Raises:
      ExportError: names them.
    """
    waiting = sorted(set(WAITING.findall(text)))
    if waiting:
        raise ExportError(f"{name!r} was read from bytes, and waits for the host: {', '.join(waiting)}")
    if any(not FITTING.search(call[0].strip()) for call in LARGEST.finditer(text)):
        raise ExportError(f"{name!r} cannot be read: it calls TopK with types that TopK does not take")
    if any(math.prod(map(int, dims[:-1].split("x"))) >= 2**59 for dims in set(SIZES.findall(text))):
        raise ExportError(f"{name!r} cannot be read: it has arrays larger than can be counted")
    heads = list(FUNCTION.finditer(text))
    known, uses = {head[1] for head in heads}, {}
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        if not head[0].rstrip().endswith("{"):
            raise ExportError(f"{name!r} cannot be read: its function {head[1]} has no body")
        body = text[head.end() : after.start() if after else len(text)]
        uses[head[1]] = set(USED.findall(body)) & known
    while uses:
        done = [f for f, used in uses.items() if not used & uses.keys()]
        if not done:
            raise ExportError(f"{name!r} cannot be read: its functions call themselves: {sorted(uses)}")
        for function in done:
            del uses[function]


__all__ = ["check_functions", "read_apart"]
