"""Intel GPUs as a Rabbet backend: the PJRT library of the wheel `jax-oneapi-pjrt`.

The library needs oneAPI, which does not come with it: the loader has to find it (`LD_LIBRARY_PATH`, or
`ldconfig`). Which libraries are missing is read from the file's header, so `rabbet doctor` names them on any
machine, and nothing native is loaded to find out. How far this was tried is in docs/vendors.md: no such GPU
was at hand.

Two settings, read when the client is made:

RABBET_ONEAPI_MEMORY_FRACTION=0.5   how much of a GPU's memory the allocator may take;
RABBET_ONEAPI_DEVICES=0,2           the GPUs to use, by number; by default all.
"""

from collections.abc import Mapping
from glob import glob
from typing import Any

from rabbet import config
from rabbet.extend.backend import CApiBackend, Setting, find_library, gpu_plugin_options
from rabbet.extend.native import missing_libraries

NAME = "oneapi"
WHEELS = (("jax_plugins.xla_oneapi", "xla_oneapi_plugin.so", "jax-oneapi-pjrt"),)
SDK = "oneAPI"


def fraction(text: Any) -> float:
    """A part of a whole."""
    value = float(text)
    if not 0 < value <= 1:
        raise ValueError("between 0 and 1")
    return value


def numbers(text: Any) -> tuple[int, ...]:
    """Numbers of GPUs, as a text with commas or a sequence."""
    parts = text.split(",") if isinstance(text, str) else text
    return tuple([int(part) for part in parts])


SETTINGS = (
    Setting(
        "oneapi_memory_fraction", 0.75, fraction, doc="How much of a GPU's memory the allocator may take."
    ),
    Setting("oneapi_devices", (), numbers, doc="The GPUs to use, by number; none: all."),
)


def library() -> str | None:
    """The path of the PJRT library, or None."""
    for folder, file, _ in WHEELS:
        found = find_library(folder, file)
        if found is not None:
            return found
    return None


def package() -> str:
    """The distribution that brings the library."""
    return next(
        (name for folder, file, name in WHEELS if find_library(folder, file) is not None), WHEELS[0][2]
    )


def options() -> Mapping[str, Any]:
    """What the client is told at the start."""
    chosen = config.oneapi_devices
    told = {**gpu_plugin_options(), "memory_fraction": config.oneapi_memory_fraction, "preallocate": False}
    return {**told, "visible_devices": list(chosen)} if chosen else told


def fits(version: str | None, jaxlib: str) -> str | None:
    """Why the library does not go with jaxlib, or None: those of one minor version do, and it may be one
    behind.
    """
    if version is None or 0 <= minor(jaxlib) - minor(version) <= 1:
        return None
    return (
        f"{package()} {version} does not go with jaxlib {jaxlib}\n  to fix: python -m pip install "
        f'"{package()}==0.{minor(jaxlib)}.*", or "jaxlib==0.{minor(version)}.*"'
    )


def minor(version: str) -> int:
    """The second number of a version."""
    return int(version.split(".")[1])


def hardware() -> str | None:
    """Why this machine cannot run programs for oneAPI, or None."""
    if not glob("/dev/dri/renderD*"):
        return "no Intel GPU is visible to this process (nothing matches /dev/dri/renderD*)"
    return missing_sdk()


def missing_sdk() -> str | None:
    """Which libraries the PJRT library would not find, in words, or None."""
    path = library()
    absent = [] if path is None else missing_libraries(path)
    if not absent:
        return None
    some = ", ".join(absent[:4]) + (f" and {len(absent) - 4} more" if len(absent) > 4 else "")
    return f"{SDK} is not found by the system's loader: {some} missing; add its lib folder to LD_LIBRARY_PATH"


def checks() -> list[tuple[str, bool | None, str]]:
    """Lines for `rabbet doctor`: what the library needs, also where there is no GPU."""
    if library() is None:
        return []
    problem = missing_sdk()
    return [(f"{NAME} libraries", None if problem else True, problem or f"{SDK} is found")]


BACKEND = CApiBackend(
    NAME,
    library,
    options=options,
    priority=180,
    package=package,
    advice='install it with: python -m pip install "rabbet-pjrt-oneapi[wheel]"',
    fits=fits,
    hardware=hardware,
    checks=checks,
    topology=True,
    native_dtypes=frozenset(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
        "complex64 complex128".split()
    ),
    settings=SETTINGS,
)
