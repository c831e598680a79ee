"""Each plugin alone: core, the CPU, the test kit and one plugin (with what it declares), from wheels, in an
environment of its own; its tests, and `tests/one_plugin`.

    python tools/check/minimal.py --into FOLDER               # every plugin
    python tools/check/minimal.py --into FOLDER jit nn        # some of them

Wheels are built once, and two environments run beside each other (RABBET_TEST_PROCESSES says how many).
What one has compiled to bytecode, the next ones get: without it, they would spend most of their time on
pytest's, NumPy's and core's. A hidden dependency shows as a failure. To find one, one row of a test with
many parameters is enough; other environments run more of them. XLA leaves most of its optimizations out,
but for packages of which some tests are about them (the mark `optimized`).
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "release"))

from bytecode import borrow, keep, site_packages  # noqa: E402
from wheels import about, build, distributions, project, with_requirements  # noqa: E402

TOOLS = ["pytest>=8.3", "hypothesis>=6.100"]
BASE = [
    ROOT / "core",
    ROOT / "pjrt_cpu",
    ROOT / "plugins" / "tooling" / "testing",
]  # tests are written with the kit
# Packages at a time. `run.py test` says 0 where it runs environments beside each other.
AT_ONCE = max(1, int(os.environ.get("RABBET_TEST_PROCESSES") or 2))


def environment():
    """The environment of a child process: uv keeps its own cache where it always does."""
    return {key: value for key, value in os.environ.items() if key not in ("XDG_CACHE_HOME", "VIRTUAL_ENV")}


def run(command, log, **options):
    """Run a command with its output in ``log``; whether it succeeded."""
    return (
        subprocess.run(list(map(str, command)), stdout=log, stderr=log, cwd=ROOT, **options).returncode == 0
    )


def xla_flags(folder):
    """XLA's flags for a package's tests: the caller's, and less optimization if none of them is about it."""
    about_it = "optimized" in about(folder).get("tests", []) or any(
        "mark.optimized" in file.read_text() for file in folder.glob("tests/**/*.py")
    )
    own = [] if about_it else ["--xla_backend_optimization_level=0"]
    return " ".join([*os.environ.get("XLA_FLAGS", "").split(), *own])


def try_alone(folder, wheels, into, rows):
    """Install one plugin in an environment of its own and run its tests.

    Returns:
      (name, whether all is well, seconds, what was printed)
    """
    started = time.perf_counter()
    name = folder.name
    home, log_file = into / name, into / f"{name}.log"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    needed = [wheels[one] for one in with_requirements([*BASE, folder])]
    extras = project(folder).get("optional-dependencies", {}).get("test", [])
    extras = [one for one in extras if not one.startswith("rabbet-")]
    own = {"RABBET_ONE_PLUGIN": name, "RABBET_TEST_ROWS": rows}
    shutil.rmtree(home, ignore_errors=True)
    with open(log_file, "w") as log:
        installed = run(
            ["uv", "venv", "--quiet", "--python", sys.executable, home], log, env=environment()
        ) and run(
            ["uv", "pip", "install", "--quiet", "--python", python, *needed, *TOOLS, *extras],
            log,
            env=environment(),
        )
        if installed:
            borrow(site_packages(home), into / "bytecode")
        well = installed and run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not exhaustive",
             folder / "tests", ROOT / "tests" / "one_plugin"],
            log,
            env={**os.environ, **own, "XLA_FLAGS": xla_flags(folder)},
        )  # fmt: skip
        keep(site_packages(home), into / "bytecode")
    shutil.rmtree(home, ignore_errors=True)
    return name, well, time.perf_counter() - started, log_file.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--into", type=pathlib.Path, required=True, help="a folder for wheels and environments"
    )
    parser.add_argument("--rows", default=1, type=int, help="of each test with parameters; 0: all")
    parser.add_argument("plugins", nargs="*")
    options = parser.parse_args()
    known = {
        folder.name: folder for folder in distributions().values() if folder.parent.parent.name == "plugins"
    }
    unknown = sorted(set(options.plugins) - set(known))
    if unknown:
        sys.exit(f"no plugin is called {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    chosen = [known[name] for name in options.plugins or sorted(known)]
    rows = str(options.rows or "")
    into = options.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(into / "bytecode", ignore_errors=True)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        needed = with_requirements([*BASE, *chosen])
        wheels = {folder: build(folder, into / "wheels" / folder.name) for folder in needed}
        failed = []
        for name, well, seconds, text in pool.map(
            lambda folder: try_alone(folder, wheels, into, rows), chosen
        ):
            print(
                f"{name}: {text.strip().splitlines()[-1] if text.strip() else ''} ({seconds:.0f} s)",
                flush=True,
            )
            if not well:
                failed.append(name)
                print(text, flush=True)
    if failed:
        sys.exit(f"these plugins fail alone: {', '.join(failed)}")


if __name__ == "__main__":
    main()
