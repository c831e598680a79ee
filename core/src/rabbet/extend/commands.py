"""A command of ``rabbet``, or a check of ``rabbet doctor``: what they may ask about an installation."""

from __future__ import annotations

from rabbet.cli.installation import (
    backend_registry,
    compilation_cache,
    entry_point_groups,
    explain_error,
    is_core_name,
    package_of,
    plugin_manager,
    plugin_variables,
    provider_of,
)
from rabbet.cli.output import print_table
from rabbet.messages.source_positions import address

__all__ = [
    "address",
    "backend_registry",
    "compilation_cache",
    "entry_point_groups",
    "explain_error",
    "is_core_name",
    "package_of",
    "plugin_manager",
    "plugin_variables",
    "print_table",
    "provider_of",
]


def __dir__() -> list[str]:
    return list(__all__)
