#!/usr/bin/env python3
"""Set up what is needed, inside this folder, and run it.

    python3 run.py digits             train the digits demo
    python3 run.py test               run the tests: every environment of tox.ini whose interpreter is here
    python3 run.py test lint docs     run some of them
    python3 run.py tox ARGUMENTS      tox itself, e.g. `python3 run.py tox run -e bench`
    python3 run.py environments       the names of tox.ini's list; --json: as a list for other programs

Needs Python 3.11 or newer and pip. The first call makes .venv with tox and uv in it; nothing is installed
elsewhere.
"""

import configparser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
TOOLS = ["tox>=4.23", "tox-uv>=1.20"]


def works(*command):
    """Whether a command can be started and succeeds."""
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def bootstrap():
    """Make .venv with tox in it, unless a working one is there.

    The environment is made without pip and filled from outside: that is quicker, and it works where the
    system's Python comes without ensurepip. A pip too old to know --python is asked for a private one
    first.
    """
    if works(PYTHON, "-c", "import tox, tox_uv"):
        return
    print("setting up .venv (tox and uv) ...", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", VENV], check=True)
    quiet = ["install", "--quiet", "--disable-pip-version-check"]
    if works(sys.executable, "-m", "pip", "--python", PYTHON, "--version"):
        subprocess.run([sys.executable, "-m", "pip", "--python", PYTHON, *quiet, *TOOLS], check=True)
    else:
        library = subprocess.run(
            [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        subprocess.run([sys.executable, "-m", "pip", *quiet, "--target", library, "pip"], check=True)
        subprocess.run([PYTHON, "-m", "pip", *quiet, *TOOLS], check=True)


def tox(*arguments):
    """Run tox with the interpreters of this machine and no others."""
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    env = dict(os.environ, PATH=path, UV_PYTHON_DOWNLOADS="never")
    env.pop("PYTHONPATH", None)  # a test must see what its environment installed and nothing else
    return subprocess.run([PYTHON, "-m", "tox", *arguments], cwd=ROOT, env=env).returncode


def listed():
    """The environments of tox.ini's list."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini")
    names = []
    for line in parser["tox"]["env_list"].split():
        factors = re.fullmatch(r"(.*)\{(.*)\}", line)
        names += [factors[1] + each for each in factors[2].split(",")] if factors else [line]
    return names


def environments():
    """The environments of tox.ini's list whose interpreter is here, and those that lack one."""
    names = listed()
    lacking = [name for name in names if not has_interpreter(name)]
    return [name for name in names if name not in lacking], lacking


def has_interpreter(environment):
    """Whether the interpreter that a name like py312-jaxlib012 asks for can be started."""
    version = re.match(r"py3(\d+)-", environment)
    return version is None or works(f"python3.{version[1]}", "-c", "import sys")


def test(names):
    """Run the named environments, by default all, one after the other."""
    available, lacking = environments()
    for name in lacking:
        print(f"skipped {name}: its Python is not on PATH", flush=True)
    return tox("run", "-e", ",".join(names or available))


def main(arguments):
    if sys.version_info < (3, 11):  # noqa: UP036  (whoever runs this may have an older one)
        sys.exit(f"Rabbet needs Python 3.11 or newer; this is {sys.version.split()[0]} at {sys.executable}")
    command, *rest = arguments or ["help"]
    if command not in ("digits", "test", "tox", "environments"):
        sys.exit(__doc__)
    if command == "environments":
        names = listed()
        return print(json.dumps(names) if rest == ["--json"] else "\n".join(names))
    bootstrap()
    if command == "digits":
        return tox("run", "-q", "-e", "digits", *(["--", *rest] if rest else []))
    return test(rest) if command == "test" else tox(*rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
