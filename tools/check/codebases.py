"""The newest releases of packages written for JAX, resolved without pins as a user gets them, each with a
program of `tests/codebases/programs` that must print under Rabbet what it prints under JAX.

    python tools/check/codebases.py --into FOLDER              # all; environments are kept in FOLDER
    python tools/check/codebases.py --into FOLDER flax haliax  # some
    python tools/check/codebases.py --into FOLDER --anew       # made anew: what is newest today

A program's first line says what it does; `# packages:` names what is installed beside jax and Rabbet, and
`# tolerance:` how far two runs may be apart (1e-4 unless it says otherwise, relative and absolute). What came
out is kept in `tests/codebases/results.json`, of which `tools/write/codebases_page.py` makes the page.
"""

import argparse
import importlib.metadata
import json
import math
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "release"))

from wheels import build, for_all_environments  # noqa: E402

HERE = ROOT / "tests" / "codebases"
RESULTS = HERE / "results.json"
ENV = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "2"}


def about(program):
    """What a program's head says: what it does, what is installed, how far results may be apart."""
    text = program.read_text()
    said = dict(re.findall(r"^# (packages|tolerance): (.*)$", text, re.M))
    does = re.match(r'"""(.*?)"""', text, re.S)[1]
    return " ".join(does.split()), said["packages"].split(), float(said.get("tolerance", 1e-4))


def make(home, packages, wheels):
    """A fresh environment: the newest release of each package, JAX, Rabbet's wheels; what stopped it."""
    env = {key: value for key, value in os.environ.items() if key not in ("XDG_CACHE_HOME", "VIRTUAL_ENV")}
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, home], check=True, env=env)
    command = ["uv", "pip", "install", "--quiet", "--python", home / "bin/python", *packages, "jax", *wheels]
    ran = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True)
    return ran.stderr.strip()[-400:] if ran.returncode else None


def versions(home, packages):
    """The versions that were installed, of the packages and of jax."""
    found = {}
    for distribution in importlib.metadata.distributions(
        path=[str(p) for p in home.glob("lib/*/site-packages")]
    ):
        found[distribution.name.lower().replace("_", "-")] = distribution.version
    wanted = [re.split(r"[\[<>=]", name)[0].lower() for name in packages]
    return {name: found.get(name, "?") for name in [*wanted, "jax"]}


def run(home, program, *how):
    """The numbers of a program's last line, what stopped it, and its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, **ENV, "XDG_CACHE_HOME": str(home / "cache")}
    command = [str(home / "bin/python"), *how, str(program)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=home, timeout=300)
    except subprocess.TimeoutExpired:
        return None, "it ran for more than 300 seconds", 300.0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if ran.returncode:
        lines = [
            line
            for line in ran.stderr.strip().splitlines()
            if re.match(r"[\w.]*(Error|Exception|Exit)\b", line)
        ]
        said = (lines or ran.stderr.strip().splitlines() or [f"exit {ran.returncode}"])[-1]
        return None, re.sub(r" \(/[^()]*\)", "", said)[:300], seconds
    try:
        return [float(word) for word in ran.stdout.strip().splitlines()[-1].split()], None, seconds
    except (IndexError, ValueError):
        return None, f"it printed no numbers: {ran.stdout[-100:]!r}", seconds


def alike(found, wanted, far):
    return len(found) == len(wanted) and all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=far, abs_tol=far)
        for a, b in zip(found, wanted, strict=True)
    )


def attempt(into, program, wheels):
    """One row of the page."""
    does, packages, far = about(program)
    home = into / program.stem[3:]
    row = {"does": does}
    if not home.exists() and (stopped := make(home, packages, wheels())):
        shutil.rmtree(home, ignore_errors=True)
        return {**row, "outcome": "not installed", "why": stopped}
    row["versions"] = versions(home, packages)
    wanted, wrong, theirs = run(home, program)
    if wrong:
        return {**row, "outcome": "fails under JAX", "why": wrong}
    found, wrong, ours = run(home, program, "-m", "rabbet_jax")
    row["seconds"] = {"jax": round(theirs, 1), "rabbet": round(ours, 1)}
    if wrong:
        return {**row, "outcome": "stops", "why": wrong}
    if not alike(found, wanted, far):
        return {**row, "outcome": "differs", "why": f"{found} and under JAX {wanted}"}
    return {**row, "outcome": "equal", "numbers": len(wanted)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--into", type=pathlib.Path, required=True, help="a folder for environments")
    parser.add_argument("--anew", action="store_true", help="make environments anew")
    parser.add_argument("programs", nargs="*", help="their names, without .py")
    args = parser.parse_args()
    into = args.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    built = []

    def wheels():
        if not built:
            built.extend(build(folder, into / "wheels" / folder.name) for folder in for_all_environments())
        return built

    chosen = args.programs or [program.stem[3:] for program in sorted((HERE / "programs").glob("*.py"))]
    for name in chosen:
        if args.anew:
            shutil.rmtree(into / name, ignore_errors=True)
        row = attempt(into, HERE / "programs" / f"on_{name}.py", wheels)
        print(name, row["outcome"], row.get("why", ""), row.get("seconds", ""), flush=True)
        rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        rows[name] = row
        RESULTS.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")
    wrong = [
        name for name in chosen if json.loads(RESULTS.read_text())[name]["outcome"] in ("stops", "differs")
    ]
    if wrong:
        sys.exit(f"not as under JAX: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
