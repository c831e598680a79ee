"""A backend: ``Backend`` or ``CApiBackend``, settings and their second names, compiling by hand."""

from __future__ import annotations

import importlib
from typing import Any

from rabbet.config import Alias, Setting
from rabbet.runtime.arrays.values import common_device, copy_to_device
from rabbet.runtime.compile_for_plugins import (
    call_by_placements,
    compile_program,
    lower_program,
    program_entry,
)
from rabbet.runtime.jaxlib.adapter import (
    gpu_plugin_options,
    make_cpu_client,
    make_topology,
    topology_of,
)
from rabbet.runtime.jaxlib.adapter import version as jaxlib_version
from rabbet.runtime.jaxlib.deferred_release import free_leftovers
from rabbet.runtime.jaxlib.interpreter_exit import excuse_thread
from rabbet.runtime.jaxlib.native_functions import provide_lapack, register_plugin_calls
from rabbet.runtime.platforms.backends import Backend, platform_named
from rabbet.runtime.platforms.compile_options import normalize_compiler_options
from rabbet.runtime.platforms.devices import running_platforms
from rabbet.runtime.transfer import as_device

__all__ = [
    "Alias",
    "Backend",
    "CApiBackend",  # noqa: F822 (by __getattr__)
    "Setting",
    "as_device",
    "call_by_placements",
    "common_device",
    "compile_ahead",  # noqa: F822 (by __getattr__)
    "compile_program",
    "copy_to_device",
    "excuse_thread",
    "find_library",  # noqa: F822 (by __getattr__)
    "free_leftovers",
    "gpu_plugin_options",
    "jaxlib_version",
    "lower_program",
    "make_cpu_client",
    "make_topology",
    "normalize_compiler_options",
    "platform_named",
    "program_entry",
    "provide_lapack",
    "register_plugin_calls",
    "running_platforms",
    "topology_of",
]


# What few plugins use is loaded when it is asked for.
LATER = {
    "compile_ahead": "rabbet.runtime.compilation.ahead_of_time",
    "CApiBackend": "rabbet.runtime.platforms.c_api",
    "find_library": "rabbet.runtime.platforms.c_api",
}


def __getattr__(name: str) -> Any:
    if name in LATER:
        value = globals()[name] = getattr(importlib.import_module(LATER[name]), name)
        return value
    raise AttributeError(f"rabbet.extend.backend has no {name!r}; its __all__ lists what plugins may use")


def __dir__() -> list[str]:
    return list(__all__)
