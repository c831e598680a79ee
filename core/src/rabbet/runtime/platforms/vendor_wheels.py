"""What packages for GPUs have in common whose PJRT library comes in a wheel of the vendor's, and needs the
vendor's own libraries besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rabbet.config import config
from rabbet.config.setting import Setting
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.c_api import find_library
from rabbet.runtime.platforms.shared_libraries import missing_libraries

SHOWN = 4  # missing libraries that a message names


class VendorWheels:
    """A vendor's PJRT library for GPUs out of one of its wheels: found, compared with jaxlib, told its
    options; and which of the libraries that it needs are missing, read from the file's header, so that
    nothing native is loaded to find out. Its methods are arguments of a ``CApiBackend``.

    Args:
      platform: the platform's name; its settings are ``NAME_memory_fraction`` and ``NAME_devices``.
      wheels: ``(import name, file, distribution)`` of each wheel that may bring the library; the first that
        is installed counts.
      sdk: what the vendor calls the libraries that do not come with it, ``"ROCm 7"``.
      behind: how many minor versions the wheel may be behind jaxlib.

    Example:
      >>> from rabbet.extend.backend import CApiBackend
      >>> from rabbet.extend.native import VendorWheels
      >>> WHEELS = VendorWheels("toaster", [("toaster_sdk", "libpjrt.so", "toaster-sdk")], sdk="Toast 3")
      >>> BACKEND = CApiBackend(
      ...     "toaster", WHEELS.library, package=WHEELS.package, fits=WHEELS.fits, hardware=WHEELS.missing,
      ...     options=WHEELS.options, checks=WHEELS.checks, settings=WHEELS.settings,
      ... )
      >>> WHEELS.package(), WHEELS.fits("0.9.0", "0.12.0").partition("\\n")[0], WHEELS.settings[1].name
      ('toaster-sdk', 'toaster-sdk 0.9.0 does not go with jaxlib 0.12.0', 'toaster_devices')
    """

    def __init__(
        self, platform: str, wheels: Sequence[tuple[str, str, str]], *, sdk: str, behind: int = 0
    ) -> None:
        self.platform, self.wheels, self.sdk, self.behind = platform, tuple(wheels), sdk, behind
        memory = "How much of a GPU's memory the allocator may take."
        self.settings = (
            Setting(f"{platform}_memory_fraction", 0.75, fraction, doc=memory),
            Setting(f"{platform}_devices", (), numbers, doc="The GPUs to use, by number; none: all."),
        )

    def library(self) -> Path | None:
        """The path of the PJRT library, or None."""
        paths = [find_library(folder, file) for folder, file, _ in self.wheels]
        return next((path for path in paths if path is not None), None)

    def package(self) -> str:
        """The distribution that brings the library; the first where none is installed."""
        found = [name for folder, file, name in self.wheels if find_library(folder, file) is not None]
        return found[0] if found else self.wheels[0][2]

    def options(self) -> Mapping[str, Any]:
        """What the client is told at the start."""
        chosen = getattr(config, f"{self.platform}_devices")
        share = getattr(config, f"{self.platform}_memory_fraction")
        told = {**adapter.gpu_plugin_options(), "memory_fraction": share, "preallocate": False}
        return {**told, "visible_devices": list(chosen)} if chosen else told

    def fits(self, version: str | None, jaxlib: str) -> str | None:
        """Why the library does not go with jaxlib, or None: one of the same minor version does, or one that
        is at most ``behind``.
        """
        if version is None or 0 <= minor(jaxlib) - minor(version) <= self.behind:
            return None
        return (
            f"{self.package()} {version} does not go with jaxlib {jaxlib}\n  to fix: python -m pip install "
            f'"{self.package()}==0.{minor(jaxlib)}.*", or "jaxlib==0.{minor(version)}.*"'
        )

    def missing(self) -> str | None:
        """Which libraries of the vendor's the PJRT library would not find, in words, or None."""
        path = self.library()
        absent = [] if path is None else missing_libraries(path)
        if not absent:
            return None
        more = f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else ""
        return (
            f"{self.sdk} is not found by the system's loader: {', '.join(absent[:SHOWN])}{more} missing; "
            "add its lib folder to LD_LIBRARY_PATH"
        )

    def checks(self) -> list[tuple[str, bool | None, str]]:
        """Lines for `rabbet doctor`: what the library needs, also where there is no GPU."""
        if self.library() is None:
            return []
        problem = self.missing()
        said = problem or f"{self.sdk} is found"
        return [(f"{self.platform} libraries", None if problem else True, said)]


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


def minor(version: str) -> int:
    """The second number of a version."""
    return int(version.split(".")[1])


__all__ = ["VendorWheels"]
