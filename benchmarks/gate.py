"""Does the working tree lose speed? It and an older commit run the short programs in alternating processes.

    python3 run.py tox run -e bench-gate                    # against the last release, or the last commit
    python3 run.py tox run -e bench-gate -- v0.1.0 --pairs 5 --only micro.py

Both are installed into environments of their own, with the same jaxlib. A figure is the least of all rounds,
and its ratio is new / old. What takes over a tenth longer is measured a second time; only what is slower both
times is a failure (exit status 1). Run it on a machine that does nothing else: a busy one misleads.
"""

import argparse
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile

import runs

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("micro.py", "mlp.py", "convnet.py", "lstm.py", "gpt_step.py")
OTHERS = ("kernels.py", "operations.py", "shallow_water.py", "nbody.py")  # with --only
ARGUMENTS = {"gpt_step.py": ("4",)}
LIMIT = 1.10
LEAST_MS = 0.02  # a step shorter than this is noise


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def last_release():
    """The newest tag that the working tree comes from, or its last commit where there is none."""
    try:
        return git("describe", "--tags", "--abbrev=0")
    except subprocess.CalledProcessError:
        return git("rev-parse", "HEAD")


def distributions(tree):
    """The folders of a tree that are installed. Older commits have packages in plugins/, without groups."""
    patterns = ("core", "plugins/*", "plugins/*/*", "pjrt_*")
    files = [file for pattern in patterns for file in sorted(tree.glob(f"{pattern}/pyproject.toml"))]
    return [file.parent for file in files]


def install(tree, into, jaxlib):
    """Make an environment with everything of a tree; return its python."""
    python = into / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, into], check=True)
    folders = [str(folder) for folder in distributions(tree)]
    command = ["uv", "pip", "install", "--quiet", "--python", python, f"jaxlib=={jaxlib}", *folders]
    subprocess.run(command, check=True)
    return str(python)


def measure(programs, pythons, pairs):
    """The least of each figure: ``{(program, figure): {"old": number, "new": number}}``; and what failed."""
    least, failed = {}, []

    def run(which, command, cache, warm=False):
        os.environ["RABBET_PYTHON"] = pythons[which]
        return runs.run("rabbet", command, cache, warm)

    for program in programs:
        command = (program, "rabbet", *ARGUMENTS.get(program, ()))
        commands = dict.fromkeys(pythons, command)
        results = runs.alternate(_Program(commands), pairs, tuple(pythons), run)
        for which, rows in results.items():
            failed += [f"{program}, {which}: {row['failed']}" for row in rows if "failed" in row]
            for row in rows:
                for figure, value in row.items():
                    if isinstance(value, float) and value > 0:
                        there = least.setdefault((program, figure), {})
                        there[which] = min(value, there.get(which, value))
    return {key: both for key, both in least.items() if len(both) == 2}, failed


class _Program:
    warm, once = False, ()

    def __init__(self, commands):
        self.commands = commands


def slower(figures):
    """What takes over a tenth longer than it did: ``{(program, figure): ratio}``."""
    found = {}
    for (program, figure), both in figures.items():
        noise = "_ms" in figure and both["old"] < LEAST_MS
        if not noise and both["new"] > LIMIT * both["old"]:
            found[program, figure] = both["new"] / both["old"]
    return found


def confirmed(first, second):
    """What was slower both times, with the smaller of both ratios."""
    return {key: min(ratio, second[key]) for key, ratio in first.items() if key in second}


def show(figures):
    for (program, figure), both in figures.items():
        ratio = both["new"] / both["old"]
        mark = "  slower" if ratio > LIMIT else ""
        print(f"{program:14s} {figure:28s} {both['old']:>12} {both['new']:>12} {ratio:7.3f}{mark}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?", help="what to compare with; by default the last release")
    parser.add_argument("--pairs", type=int, default=3, help="rounds, in each of which both run once")
    parser.add_argument("--only", nargs="*", default=PROGRAMS, choices=PROGRAMS + OTHERS)
    options = parser.parse_args()
    commit = git("rev-parse", options.commit or last_release())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        git("worktree", "add", "--detach", str(folder / "old"), commit)
        try:
            jaxlib = importlib.metadata.version("jaxlib")
            pythons = {
                "old": install(folder / "old", folder / "python-old", jaxlib),
                "new": install(ROOT, folder / "python-new", jaxlib),
            }
            print(f"old: {git('log', '-1', '--format=%h %s', commit)}\nnew: the working tree")
            figures, failed = measure(options.only, pythons, options.pairs)
            show(figures)
            found = slower(figures)
            if found:
                print("\nonce more, what was slower:")
                again, more = measure(sorted({program for program, _ in found}), pythons, options.pairs)
                show({key: both for key, both in again.items() if key in found})
                found, failed = confirmed(found, slower(again)), failed + more
        finally:
            git("worktree", "remove", "--force", str(folder / "old"))
    for line in dict.fromkeys(failed):
        print(f"failed: {line}")
    for (program, figure), ratio in found.items():
        print(f"slower, twice: {program} {figure}: {ratio:.2f} of the time before")
    sys.exit(bool(found or failed))


if __name__ == "__main__":
    main()
