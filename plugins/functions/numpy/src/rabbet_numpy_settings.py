"""The settings of ``rabbet.numpy``, apart from it: they are read without loading the library."""

from __future__ import annotations

from typing import Any

from rabbet.extend.backend import Setting


def module_name(value: Any) -> str:
    """A dotted name, as ``import`` takes it."""
    if not isinstance(value, str) or not all(part.isidentifier() for part in value.split(".")):
        raise ValueError("it is the name of a module, such as 'rabbet.numpy'")
    return value


SETTINGS = (
    Setting(
        "array_namespace", "rabbet.numpy", module_name,
        "The module that x.__array_namespace__() gives to libraries written for the array API standard: one "
        "that shows the functions of rabbet.numpy under a name that they know.",
    ),
)  # fmt: skip
