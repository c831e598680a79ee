"""Build wheels of the named folders and install exactly those into this interpreter's environment.

    python tools/release/wheels.py core pjrt_cpu plugins/transformations/jit
    python tools/release/wheels.py --with-first-party-requirements plugins/functions/nn   # and numpy,
    which nn declares
    python tools/release/wheels.py --editable core pjrt_cpu     # what is imported is what lies in this folder
    python tools/release/wheels.py --editable --all     # all packages, but those with `matrix = false`

One process builds all: that takes a second where an installer that starts processes for each takes half a
minute, and an environment of tests begins with it.

Everything that is not ours comes from the package index; everything that is ours comes from this folder, so
that a test of "core and one plugin" sees what a user would install, and neither more nor less.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

from bytecode import borrow_from_neighbours

ROOT = pathlib.Path(__file__).resolve().parents[2]


def distributions():
    """Folder of each of our distributions, by distribution name."""
    files = [
        *ROOT.glob("core/pyproject.toml"),
        *ROOT.glob("plugins/*/*/pyproject.toml"),
        *ROOT.glob("pjrt_*/pyproject.toml"),
        *ROOT.glob("examples/third_party/*/pyproject.toml"),
    ]
    return {project(file.parent)["name"]: file.parent for file in sorted(files)}


def project(folder):
    """The [project] table of a folder's pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


def about(folder):
    """The [tool.rabbet] table of a folder's pyproject.toml, empty where there is none."""
    return tomllib.loads((folder / "pyproject.toml").read_text()).get("tool", {}).get("rabbet", {})


def for_all_environments():
    """The folders of core, plugins and backends, but those with `matrix = false` in `[tool.rabbet]`."""
    return [
        folder
        for folder in distributions().values()
        if "examples" not in folder.parts and in_the_matrix(folder)
    ]


def in_the_matrix(folder):
    """Whether every environment of tests has the package: what it requires is small."""
    return about(folder).get("matrix", True)


def requirement_names(folder):
    """Names of the distributions that this one requires."""
    return [re.match(r"[A-Za-z0-9._-]+", line).group() for line in project(folder).get("dependencies", [])]


def with_requirements(folders):
    """The folders and, of those that they require, the ones that are ours, in the order in which they are
    met."""
    ours, found, queue = distributions(), [], list(folders)
    while queue:
        folder = queue.pop(0)
        if folder not in found:
            found.append(folder)
            queue += [ours[name] for name in requirement_names(folder) if name in ours]
    return found


def build(folder, into, version="standard"):
    """Build one wheel with hatchling, which is the only build requirement, and return its path.

    Args:
      version: "standard", or "editable" for a wheel that holds the path of the folder instead of its files.
    """
    from hatchling.builders.wheel import WheelBuilder

    try:
        return pathlib.Path(*WheelBuilder(str(folder)).build(directory=str(into), versions=[version]))
    except Exception as error:
        sys.exit(f"wheel of {folder.relative_to(ROOT)} does not build: {type(error).__name__}: {error}")


def install(wheels, names):
    """Install wheels anew, with what they require. uv keeps its own cache where it always does."""
    env = {key: value for key, value in os.environ.items() if key != "XDG_CACHE_HOME"}
    anew = [f"--reinstall-package={name}" for name in names]
    command = ["uv", "pip", "install", "--quiet", "--python", sys.executable, *anew, *map(str, wheels)]
    subprocess.run(command, check=True, env=env)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=lambda name: ROOT / name)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--with-first-party-requirements", action="store_true")
    parser.add_argument("--editable", action="store_true")
    options = parser.parse_args()
    options.folders += for_all_environments() if options.all else []
    folders = with_requirements(options.folders) if options.with_first_party_requirements else options.folders
    names = [project(folder)["name"] for folder in folders]
    with tempfile.TemporaryDirectory() as into:
        version = "editable" if options.editable else "standard"
        install([build(folder, into, version) for folder in folders], names)
    if "TOX_WORK_DIR" in os.environ:
        borrow_from_neighbours(os.environ["TOX_WORK_DIR"])
    print(f"installed {version} wheels:", ", ".join(names), flush=True)


if __name__ == "__main__":
    main()
