"""Backends out of PJRT plugins: libraries that a hardware's maker ships behind PJRT's C interface.

All that is particular to one is where its library lies, what it is told at the start, and what to install
where something is missing. Loading a native library that does not fit can end the process, so everything
that can be known about it is checked before: that it is there, is made for this processor, and belongs to
this version of jaxlib. Then it is loaded once, when its first device is asked for.
"""

from __future__ import annotations

import platform as machine
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rabbet.errors import PluginError
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.backends import Backend, no_obstacle
from rabbet.runtime.platforms.shared_libraries import missing_libraries

# What the header of an ELF file says of the processor it is for.
ELF = b"\x7fELF"
MACHINES = {"x86_64": 62, "aarch64": 183}
SHARED = (".so", ".dylib", ".dll")  # what the files of shared libraries end in


class CApiBackend(Backend):
    """A `Backend` out of a PJRT plugin library.

    Args:
      platform: the name of the platform, and of the plugin among those that jaxlib has loaded.
      library: the path of the shared library, or `() -> path or None`, asked when it is needed
        (`find_library` finds one in an installed package). Nothing of it is loaded to answer `obstacle`.
      options: what the client is told, a mapping or `() -> mapping`; what
        `rabbet.extend.processes.configure_client` was given goes on top.
      priority: see `Backend`; by default above the CPU and below what Rabbet's own packages bring.
      package: the distribution that brings the library, or `() -> its name`: its version is shown by
        `rabbet doctor`, given to `fits`, and part of the keys of the cache on disk.
      advice: what to do where the library is missing, `"install it with: python -m pip install ..."`.
      fits: `(version of the package or None, version of jaxlib) -> str | None`: why the two do not go
        together, and which versions would; None where they do. Asked before the library is loaded.
      hardware: `() -> str | None`, cheap: why this machine has no such device, or None.
      topology: `(name, **options) -> DeviceTopology`; True: as the plugin offers it, by name.
      checks: `() -> [(label, ok, detail)]`, further lines for `rabbet doctor`.
      prepare: `() -> None`, called before the library is loaded, for variables that it reads then.
      other fields: of `Backend`. Its `obstacle`, `doctor` and `build` are made from the arguments above.

    Attributes:
      plugin: the `Library`, for code that loads it itself.

    Example:
      >>> from rabbet.extend.backend import CApiBackend, find_library
      >>> BACKEND = CApiBackend("toaster", lambda: find_library("toaster_sdk", "libtoaster_pjrt.so"))
      >>> BACKEND.obstacle()
      "no PJRT library for 'toaster' is installed"
    """

    plugin: Any

    def __init__(
        self,
        platform: Any,
        library: Any,
        *,
        options: Any = (),
        priority: Any = 100,
        package: Any = None,
        advice: Any = None,
        fits: Any = None,
        hardware: Any = no_obstacle,
        topology: Any = None,
        prepare: Any = None,
        checks: Any = tuple,
        **fields: Any,
    ) -> None:
        plugin = Library(platform, library, package, advice, fits, prepare)
        super().__init__(
            platform=platform,
            priority=priority,
            make_client=partial(make_client, plugin, options),
            obstacle=lambda: plugin.problem() or hardware(),
            topology=partial(named_topology, plugin) if topology is True else topology,
            build=plugin.build,
            doctor=lambda: [*doctor(plugin, hardware), *checks()],
            **fields,
        )
        object.__setattr__(self, "plugin", plugin)  # as a frozen dataclass does it


class Library:
    """A PJRT plugin's library: found, checked, loaded. The arguments are those of `CApiBackend`.

    Attributes: `platform`, `package`, `started` (what the last client said of itself, None before).
    """

    def __init__(
        self,
        platform: Any,
        library: Any,
        package: Any = None,
        advice: Any = None,
        fits: Any = None,
        prepare: Any = None,
    ) -> None:
        self.platform, self._package, self.started = platform, package, None
        self._library, self._advice, self._fits, self._prepare = library, advice, fits, prepare

    @property
    def package(self) -> str | None:
        """The distribution that brings the library, None if it is not known."""
        return self._package() if callable(self._package) else self._package

    def path(self) -> Any:
        """Return the library's path, or None where it is not known; loads nothing."""
        found = self._library() if callable(self._library) else self._library
        return None if found is None else Path(found)

    def version(self) -> Any:
        """Return the version of the package that brings the library; None if it has or names none."""
        from importlib import metadata  # only where it is asked for: it takes longer than all of core

        try:
            return metadata.version(self.package) if self.package else None
        except metadata.PackageNotFoundError:
            return None

    def problem(self) -> Any:
        """Return why the library cannot be loaded, and what to do, or None. Loads nothing."""
        path, advice = self.path(), f"; {self._advice}" if self._advice else ""
        if path is None:
            return self.elsewhere() or f"no PJRT library for {self.platform!r} is installed{advice}"
        if not path.is_file():
            return f"the PJRT library of {self.platform!r} is not where it should be: {path}{advice}"
        wrong = foreign(path)
        if wrong is not None:
            return f"the PJRT library of {self.platform!r}, {path}, {wrong}{advice}"
        return self._fits(self.version(), adapter.version()) if self._fits is not None else None

    def elsewhere(self) -> str | None:
        """What to say where the package is installed, and the library is not where it was looked for."""
        from importlib import metadata

        version = self.version()
        if version is None:
            return None
        files = [str(file) for file in metadata.files(self.package or "") or () if file.suffix in SHARED]
        shown = ", ".join(files[:8]) or "none"
        return (
            f"{self.package} {version} is installed, and has no PJRT library for {self.platform!r} where the "
            f"backend looks for one; shared libraries among its files: {shown}"
        )

    def load(self) -> None:
        """Load the library, unless it is loaded. Raises PluginError, which says what to do."""
        problem = self.problem()
        if problem is not None:
            raise PluginError(problem)
        if self._prepare is not None:
            self._prepare()
        try:
            if adapter.load_pjrt_plugin(self.platform, self.path()) is False:
                raise PluginError(
                    f"the PJRT library of {self.platform!r} has no interface: its function GetPjrtApi "
                    f"returned null ({self.path()})"
                )
        except adapter.XlaRuntimeError as error:
            message = f"the PJRT library of {self.platform!r} does not load: {error}"
            absent = missing_libraries(self.path() or "")
            needed = f"it needs libraries that are not found here: {', '.join(absent)}" if absent else ""
            raise PluginError("\n  ".join(filter(None, (message, needed, self._advice)))) from error

    def build(self) -> str:
        """Return text that differs between builds of the library."""
        path = self.path()
        if path is None or not path.is_file():
            return ""
        facts = path.stat()
        return f"{self.package} {self.version()}, {path.name} of {facts.st_size} bytes, {facts.st_mtime_ns}"


def make_client(plugin: Any, options: Callable[..., Any] | tuple[Any, ...], given: dict[Any, Any]) -> Any:
    """Return the raw client of a plugin; `given` may hold `distributed_client`, the rest is told to it."""
    plugin.load()
    told = dict(options() if callable(options) else options) | dict(given)
    client = adapter.make_c_api_client(plugin.platform, told, told.pop("distributed_client", None))
    plugin.started = f"{client.platform_version.strip()}, PJRT C API {adapter.c_api_version(client)}"
    return client


def named_topology(
    plugin: Library, name: str = "", **options: Any
) -> tuple[tuple[str, ...] | dict[Any, Any], ...]:
    """Describe devices of a plugin that need not be here, for ahead-of-time compilation."""
    plugin.load()
    return adapter.make_topology(plugin.platform, name, **options)


def doctor(plugin: Any, hardware: Callable[..., Any]) -> Any:
    """Return the lines of `rabbet doctor` about a plugin, each as (label, ok, detail)."""
    name, problem, absent = plugin.platform, plugin.problem(), hardware()
    lines = []
    if plugin.package is not None:
        version = plugin.version()
        said = "is not installed" if version is None else version
        lines.append((f"{name} package", version is not None, f"{plugin.package} {said}"))
    lines.append((f"{name} library", problem is None, problem or str(plugin.path())))
    if absent is not None or plugin.started is not None:
        lines.append((f"{name} driver", absent is None, absent or plugin.started))
    return lines


def foreign(path: Any) -> str | None:
    """Return why a file cannot be a shared library for this processor, None if its header says nothing."""
    if machine.system() != "Linux":
        return None
    with open(path, "rb") as file:
        head = file.read(20)
    if not head.startswith(ELF) or len(head) < 20:
        return "is not a shared library"
    wanted, found = MACHINES.get(machine.machine()), int.from_bytes(head[18:20], "little")
    if wanted is None or found == wanted:
        return None
    known = {number: name for name, number in MACHINES.items()}
    return f"is made for {known.get(found, f'processors of number {found}')}, and this is {machine.machine()}"


def find_library(package: str, file: str) -> Any:
    """Return the path of `file` in an installed package (by its import name), or None; imports nothing.

    Example:
      >>> from rabbet.extend.backend import find_library
      >>> find_library("rabbet", "dlpack.py").name
      'dlpack.py'
      >>> find_library("toaster_sdk", "libtoaster_pjrt.so")
    """
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:  # the package above it is missing
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / file
        if path.exists():
            return path
    return None


__all__ = ["CApiBackend", "Library", "find_library"]
