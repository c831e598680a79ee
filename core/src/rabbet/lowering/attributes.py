"""Attributes that a program asked for (``rabbet.extend.wrapping.operation_attributes``), in the text of its
operations.

An operation's attributes stand in braces before its types: ``stablehlo.sine %0 {...} : tensor<f32>``. They
are put there once the text is written, since few programs ask for any and rules need not know of them.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from rabbet.config import config
from rabbet.messages.source_positions import Scoped, enter_scope, leave_scope

# Strings of MLIR hold none of these.
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
KEY = "mhlo.frontend_attributes = {"
BARRIER = " = stablehlo.optimization_barrier "  # has its attributes before its operands


@contextlib.contextmanager
def operation_attributes(attributes: dict[str, str]) -> Any:
    """Within the ``with`` block operations that are traced carry these attributes in compiled programs,
    beside those of the blocks around it.

    What is traced in such a block is another program than what is traced outside, so a jitted function
    that is called in both is traced twice. Operations that derivatives add to it carry them, too.

    Args:
      attributes: texts by name, StableHLO's ``mhlo.frontend_attributes``; what they mean is the compiler's
        affair.

    Example:
      >>> from rabbet.extend.wrapping import operation_attributes
      >>> def f(x):
      ...     with operation_attributes({"stage": "first"}):
      ...         return lax.sin(x)
      >>> 'stage = "first"' in rb.jit(f).lower(1.0).as_text()
      True
    """
    given = tuple([(str(key), str(value)) for key, value in attributes.items()])
    around = dict(config.operation_attributes)
    with config.override(operation_attributes=tuple(sorted({**around, **dict(given)}.items()))):
        enter_scope(given)
        try:
            yield
        finally:
            leave_scope()


def attributes_at(where: Scoped) -> Any:
    """The attributes of operations at a position, by name; those of inner scopes win."""
    if type(where) is not Scoped:
        return {}
    return {key: value for scope in where.scopes if type(scope) is tuple for key, value in scope}


def mark(lines: list[tuple[str, ...]], start: int, attributes: dict[Any, Any]) -> None:
    """Write attributes into the operations of ``lines[start:]``; what one has already stays."""
    for i in range(start, len(lines)):
        text, location = lines[i]
        if location:  # a line without one is a part of an operation
            lines[i] = marked(text, attributes), location


def mark_result(lines: list[tuple[str, ...]], result: str, attributes: dict[Any, Any]) -> None:
    """Write attributes into the operation that made the value ``result``, if it stands in ``lines``."""
    first, _, number = result.partition("#")
    head = f"{first}:" if number else f"{first} = "
    for i in range(len(lines) - 1, -1, -1):
        text, location = lines[i]
        if text.startswith(head):
            if not text.endswith("({"):  # else its attributes stand behind its regions
                lines[i] = marked(text, attributes), location
            if i == 0 or not lines[i - 1][0].startswith(head):  # a line may be there in two forms
                return


def marked(text: str, attributes: dict[Any, Any]) -> str:
    """The text of an operation with attributes; as it is where there is no place for them.

    Example:
      >>> marked("%1 = stablehlo.sine %0 : tensor<f32>", {"a": "1"})
      '%1 = stablehlo.sine %0 {mhlo.frontend_attributes = {a = "1"}} : tensor<f32>'
    """
    operation, colon, types = text.rpartition(" : ")
    if not colon or types.count("{") != types.count("}"):
        return text
    has = operation.rfind(KEY)
    there = operation[has:] if has >= 0 else ""
    written = [(name(k), quoted(v)) for k, v in attributes.items()]
    new = ", ".join([f"{k} = {v}" for k, v in written if f"{k} = " not in there])
    if not new:
        return text
    if there:
        at = has + len(KEY)
        return f"{operation[:at]}{new}, {operation[at:]}{colon}{types}"
    if BARRIER in operation:
        return text.replace(BARRIER, f"{BARRIER}{{{KEY}{new}}}}} ", 1)
    if not operation.endswith("}"):
        return f"{operation} {{{KEY}{new}}}}}{colon}{types}"
    at = _opening(operation)
    if at is None:
        return text
    return f"{operation[: at + 1]}{KEY}{new}}}, {operation[at + 1 :]}{colon}{types}"


def name(text: str) -> str:
    """The name of an attribute, which needs no quotes if it is a word."""
    return text if text.isidentifier() and text.isascii() else quoted(text)


def quoted(text: str) -> str:
    """A string of MLIR. What is no text, as in the name of a file of another encoding, is written out."""
    if text.isprintable():
        import json  # for the few texts that are not plain

        return json.dumps(text, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return f'"{CONTROL.sub(_in_digits, text)}"'


def _in_digits(character: Any) -> Any:
    return f"\\{ord(character[0]):02X}"


def _opening(text: Any) -> Any:
    """Where the brace opens that the last character closes; None if it does not stand in ``text``, or if
    braces in quotes could be meant.
    """
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == "}") - (text[i] == "{")
        if depth == 0:
            return None if '"' in text[i:] and ('{"' in text[i:] or '}"' in text[i:]) else i
    return None
