"""Compiles the library when the wheel is built. Without a C compiler the wheel is built without it."""

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Compile(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return
        folder = Path(self.root) / "src" / "rabbet_native"
        source, library = folder / "_frames.c", folder / f"_frames{sysconfig.get_config_var('EXT_SUFFIX')}"
        if not is_newer(library, [source, *folder.glob("*.h")]) and not compiled(source, library):
            return
        build_data["artifacts"].append(f"/src/rabbet_native/{library.name}")
        build_data["pure_python"] = False
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"{python}-{python}-{platform}"


def is_newer(library: Path, sources: list[Path]) -> bool:
    return library.exists() and library.stat().st_mtime > max(one.stat().st_mtime for one in sources)


def compiled(source: Path, library: Path) -> bool:
    """Compile; whether that went well. What another process uses or compiles meanwhile stays whole."""
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    made = library.with_name(f".{library.name}.{os.getpid()}.so")
    flags = ["-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{sysconfig.get_paths()['include']}"]
    try:
        done = subprocess.run([*command, *flags, source, "-o", made], capture_output=True, text=True)
        said = done.stderr
    except OSError as error:
        said = str(error)
    if not made.exists():
        print(f"rabbet-native is built without its library, and will offer nothing: {said}", file=sys.stderr)
        return False
    made.replace(library)
    return True
