#!/usr/bin/env python3
"""Set up what is needed, inside this folder, and run it.

    python3 run.py install            Rabbet into .env: core, the CPU and the standard packages
    python3 run.py digits             train the digits demo
    python3 run.py test               run the tests: every environment of tox.ini whose interpreter is here
    python3 run.py test lint docs     run some of them, three at a time; each is printed when it ends
    python3 run.py test lint          run one, and see what it prints as it goes
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
import time

try:
    import resource
except ImportError:  # Windows
    resource = None

ROOT = pathlib.Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
TOOLS = ["tox>=4.23", "tox-uv>=1.20"]
AT_ONCE = 3  # environments: two compute while another installs, waits or has one long test left
# Worker processes of each, besides pytest's own. On two cores that one is enough: every worker reads all test
# files, and makes what the others have made.
WORKERS = (os.cpu_count() or 1) // 2 if (os.cpu_count() or 1) > 2 else 0


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


def standard_folders():
    """The folders of core, the CPU and the packages that the distribution `rabbet` requires."""
    import tomllib  # Python 3.11 or newer, as all of Rabbet

    files = [
        file for where in ("core", "pjrt_*", "plugins/*/*") for file in ROOT.glob(f"{where}/pyproject.toml")
    ]
    read = {file.parent: tomllib.loads(file.read_text()) for file in sorted(files)}
    about = {folder: text.get("tool", {}).get("rabbet", {}) for folder, text in read.items()}
    return [folder for folder, said in about.items() if "extra" not in said]


def install():
    """Make .env, or use it, and install Rabbet there as users have it: without tests and other frameworks."""
    env = ROOT / ".env"
    python = env / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not works(python, "-m", "pip", "--version"):
        subprocess.run([sys.executable, "-m", "venv", "--clear", env], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # hatchling builds all packages: with one installed, pip need not fetch one for each of them.
    for command in ([*pip, "hatchling>=1.27"], [*pip, "--no-build-isolation", *standard_folders()]):
        code = subprocess.run(command, cwd=ROOT).returncode
        if code:
            return code
    size = sum(file.stat().st_size for file in env.rglob("*") if file.is_file() and not file.is_symlink())
    print(f"Rabbet is in {env.name} ({size / 1e6:.0f} MB). Try: {python.relative_to(ROOT)} -m rabbet doctor")
    return 0


def tox_command(*arguments):
    """The command that runs tox, and how: with the interpreters of this machine and no others."""
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    env = dict(os.environ, PATH=path, UV_PYTHON_DOWNLOADS="never")
    env.pop("PYTHONPATH", None)  # a test must see what its environment installed and nothing else
    return [PYTHON, "-m", "tox", *arguments], {"cwd": ROOT, "env": env}


def tox(*arguments):
    """Run tox."""
    command, options = tox_command(*arguments)
    return subprocess.run(command, **options).returncode


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
    version = re.match(r"py3(\d+t?)-", environment)  # 14t is 3.14 without its global lock
    return version is None or works(f"python3.{version[1]}", "-c", "import sys")


def with_interpreter(environment):
    """What tells tox to take the first interpreter that is here, for an environment that may take several:
    tox-uv asks for the first of the list alone.
    """
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini")
    pythons = parser.get(f"testenv:{environment}", "base_python", fallback="").replace(",", " ").split()
    here = [one for one in pythons if works(one, "-c", "import sys")] if len(pythons) > 1 else []
    return ["-x", f"testenv:{environment}.base_python={here[0]}"] if here else []


def test(names):
    """Run the named environments, by default all; one shows what it prints, several run beside each other."""
    available, lacking = environments()
    for name in lacking:
        print(f"skipped {name}: its Python is not on PATH", flush=True)
    chosen = [one for name in names or available for one in name.split(",")]
    if len(chosen) == 1:
        return tox("run", "-e", *chosen, *with_interpreter(*chosen))
    os.environ.setdefault("RABBET_TEST_PROCESSES", str(WORKERS))
    return beside_each_other(
        {name: tox_command("run", "-e", name, *with_interpreter(name)) for name in chosen},
        ROOT / ".tox" / "output",
    )


def beside_each_other(commands, folder):
    """Run commands, three at a time and in their order; print what each has to say when it ends.

    Args:
      commands: a command and the options of its process, by name.
      folder: where to write the output meanwhile, for whoever wants to follow it.
    Returns:
      1 if one of them failed, else 0.
    """
    folder.mkdir(parents=True, exist_ok=True)
    waiting, running, failed, begun, used = list(commands), {}, {}, time.monotonic(), processor_time()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                name = waiting.pop(0)
                command, options = commands[name]
                with open(folder / f"{name}.txt", "wb") as output:
                    child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
                running[name] = child, time.monotonic()
                print(f"--- {name} begins; its output so far is in {output.name}", flush=True)
            time.sleep(0.1)
            for name, (child, since) in list(running.items()):
                if child.poll() is None:
                    continue
                del running[name]
                text = (folder / f"{name}.txt").read_text(errors="replace")
                end = "passed" if child.returncode == 0 else f"FAILED with exit status {child.returncode}"
                if child.returncode:
                    failed[name] = text
                print(f"--- {name}\n{text.rstrip()}", flush=True)
                before, used = used, processor_time()  # of what has ended: that of this one alone is new
                took = f"{time.monotonic() - since:.0f} s ({used - before:.0f} s of the processors)"
                print(f"--- {name} {end} after {took}", flush=True)
    except KeyboardInterrupt:
        # A terminal's Ctrl-C has reached the children too; they stop their own.
        print(f"stopped while these ran: {', '.join(running)}", flush=True)
        stop([child for child, _ in running.values()])
        raise
    for name, text in failed.items():  # once more: between the two may stand thousands of lines
        lines = text.rstrip().splitlines()
        telling = "FAILED ", "ERROR ", "these plugins fail", "Fatal "
        said = [line for line in lines if line.startswith(telling)]
        print(f"--- what failed in {name}:", *(said or lines[-30:]), sep="\n", flush=True)
    print(f"{len(commands)} environments in {time.monotonic() - begun:.0f} s, ", end="")
    print(f"of which these FAILED: {', '.join(failed)}" if failed else "all passed", flush=True)
    return 1 if failed else 0


def processor_time():
    """Seconds of processor time that the processes have used which this one started and which have ended."""
    if resource is None:
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stop(children):
    """Wait a while for processes that were interrupted, then end them."""
    for child in children:
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.terminate()
            child.wait()


def main(arguments):
    if sys.version_info < (3, 11):  # noqa: UP036  (whoever runs this may have an older one)
        sys.exit(f"Rabbet needs Python 3.11 or newer; this is {sys.version.split()[0]} at {sys.executable}")
    command, *rest = arguments or ["help"]
    if command not in ("install", "digits", "test", "tox", "environments"):
        sys.exit(__doc__)
    if command == "environments":
        names = listed()
        return print(json.dumps(names) if rest == ["--json"] else "\n".join(names))
    if command == "install":
        return install()
    bootstrap()
    if command == "digits":
        return tox("run", "-q", "-e", "digits", *(["--", *rest] if rest else []))
    return test(rest) if command == "test" else tox(*rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
