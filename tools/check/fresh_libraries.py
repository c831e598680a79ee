"""Libraries written for JAX in fresh environments without JAX: `rabbet`, `rabbet-jax-compat` and the library,
from wheels, and its program of `tests/ecosystem/programs`.

    python tools/check/fresh_libraries.py --into FOLDER                 # all of them
    python tools/check/fresh_libraries.py --into FOLDER optax flax      # some
    python tools/check/fresh_libraries.py --into FOLDER --pip optax     # as pip does it, which brings JAX too

The libraries require jax, so an override leaves it out; with `--pip` it is installed, and must not be loaded.
Each program must print what it prints under JAX, which `tests/ecosystem/printed.json` holds and the
environment `ecosystem` checks.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "release"))

from wheels import build, with_requirements  # noqa: E402

PROGRAMS, PRINTED = ROOT / "tests" / "ecosystem" / "programs", ROOT / "tests" / "ecosystem" / "printed.json"
# What is installed, and the programs that run there.
LIBRARIES = {
    "optax": ("optax>=0.2.8", ["optax_regression"]),
    "flax": ("flax>=0.12", ["flax_linen_cnn", "flax_nnx_dropout"]),
    "equinox": ("equinox>=0.13 optax>=0.2.8", ["equinox_mlp"]),
    "haiku": ("dm-haiku>=0.0.17", ["haiku_layers"]),
    "numpyro": ("numpyro>=0.22", ["numpyro_posterior"]),
    "diffrax": ("diffrax>=0.7", ["diffrax_decay"]),
    "chex": ("chex>=0.1.92", ["chex_checks"]),
    "jraph": ("jraph>=0.0.6.dev0 dm-haiku>=0.0.17 optax>=0.2.8", ["jraph_nodes"]),
    "blackjax": ("blackjax>=1.7", ["blackjax_nuts"]),
}
OVERRIDE = 'jax ; sys_platform == "none"\n'
# Whether JAX can be found, and what was loaded of it when the program is over.
BEHIND = """
import atexit, importlib.util, sys
there = importlib.util.find_spec("jax") is not None
def say():
    file = getattr(sys.modules.get("jax"), "__file__", None) or ""
    print("JAX", there, "site-packages/jax/" in file.replace("\\\\", "/"), file=sys.stderr)
atexit.register(say)
"""


def python_of(home):
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(home, wheels, requirements, with_jax):
    """A fresh environment with Rabbet's wheels and one library."""
    env = {key: value for key, value in os.environ.items() if key not in ("XDG_CACHE_HOME", "VIRTUAL_ENV")}
    shutil.rmtree(home, ignore_errors=True)
    if with_jax:
        # pip itself, as its users call it.
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        command = [python_of(home), "-m", "pip", "install", "--quiet"]
    else:
        subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, home], check=True, env=env)
        override = home / "without-jax.txt"
        override.write_text(OVERRIDE)
        command = ["uv", "pip", "install", "--quiet", "--python", python_of(home), "--override", override]
    subprocess.run([*command, *wheels, *requirements.split()], check=True, env=env)
    (home / "behind.py").write_text(BEHIND + "import runpy, rabbet_jax\nrabbet_jax.install()\n"
                                    "runpy.run_path(sys.argv[1], run_name='__main__')\n")  # fmt: skip


def try_program(home, name, with_jax):
    """What is wrong with a program in an environment, or None."""
    command = [python_of(home), home / "behind.py", PROGRAMS / f"{name}.py"]
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env, cwd=home)
    if ran.returncode:
        return ran.stderr[-2000:]
    there, loaded = (word == "True" for word in ran.stderr.splitlines()[-1].split()[1:])
    if there != with_jax or loaded:
        return f"JAX is {'there' if there else 'absent'} and {'loaded' if loaded else 'not loaded'}"
    record = json.loads(PRINTED.read_text())[name]
    found = [float(word) for word in ran.stdout.strip().splitlines()[-1].split()]
    far = record["tolerance"]
    alike = len(found) == len(record["printed"]) and all(
        math.isclose(a, b, rel_tol=far, abs_tol=far) for a, b in zip(found, record["printed"], strict=True)
    )
    return None if alike else f"it printed {found}, and under JAX {record['printed']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--into", type=pathlib.Path, required=True, help="a folder for wheels and environments"
    )
    parser.add_argument("--pip", action="store_true", help="install with pip, and JAX with the library")
    parser.add_argument("libraries", nargs="*", help=", ".join(LIBRARIES))
    args = parser.parse_args()
    into = args.into.resolve()
    ours = with_requirements([ROOT, ROOT / "plugins" / "interop" / "jax_compat"])
    wheels = [build(folder, into / "wheels" / folder.name) for folder in ours]
    failed = []
    for library in args.libraries or LIBRARIES:
        requirements, programs = LIBRARIES[library]
        home = into / library
        install(home, wheels, requirements, args.pip)
        for name in programs:
            wrong = try_program(home, name, args.pip)
            print(f"{library} {name}: {wrong or 'prints what it prints under JAX'}", flush=True)
            failed += [name] if wrong else []
        shutil.rmtree(home)
    if failed:
        sys.exit(f"not as under JAX: {', '.join(failed)}")


if __name__ == "__main__":
    main()
