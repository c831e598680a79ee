"""Compiles the library when the wheel is built."""

import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import jaxlib
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Compile(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root) / "src" / "rabbet_gelu"
        headers = Path(jaxlib.__file__).parent / "include"
        command = ["c++", "-O3", "-w", "-std=c++17", "-shared", "-fPIC", f"-I{headers}"]
        subprocess.run([*command, folder / "gelu.cc", "-o", folder / "libgelu.so"], check=True)
        build_data["artifacts"].append("*.so")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
