"""The gallery's programs under Rabbet and JAX: the time of the whole program once it has run before.

    python benchmarks/gallery.py [--rounds 3] [PROGRAM ...]       # a Markdown table
    python benchmarks/gallery.py --one jax kalman_filter           # one process: a line of JSON

Each program runs in a process of its own, under the two systems by turns, `--rounds` times. By the clock a
figure is the least time of a call of `main()` after the first two, over all rounds. Of the processor (all
threads) it is the least mean over the calls of a round: what another thread has just used is not always
counted yet when a call ends, so the least of single calls can be half of what they take.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time
import types

from runs import environment, interpreter

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "examples" / "gallery"
SECONDS = 2  # that one process measures
SYSTEMS = ("rabbet", "jax")


def measure(system, name):
    """`{"clock": ms, "processor": ms}` of the program `name` in this process."""
    source = (FOLDER / f"{name}.py").read_text()
    module = types.ModuleType(name)
    exec(compile(re.sub(r"\brabbet\b", system, source), f"{name}.py", "exec"), vars(module))

    def run():
        for value in module.main().values():
            getattr(value, "block_until_ready", lambda: None)()

    run()
    run()
    clock, used, until = [], time.process_time(), time.perf_counter() + SECONDS
    while len(clock) < 3 or time.perf_counter() < until:
        at = time.perf_counter()
        run()
        clock.append(1e3 * (time.perf_counter() - at))
    return {"clock": min(clock), "processor": 1e3 * (time.process_time() - used) / len(clock)}


def compare(name, rounds):
    """The least of each figure over `rounds` processes of each system."""
    found = {system: [] for system in SYSTEMS}
    for turn in range(rounds):
        for system in SYSTEMS if turn % 2 else SYSTEMS[::-1]:
            command = [interpreter(system)[0], __file__, "--one", system, name]
            done = subprocess.run(command, capture_output=True, text=True, env=environment("", False))
            if done.returncode:
                raise SystemExit(f"{name} under {system}: {done.stderr.strip()}")
            found[system].append(json.loads(done.stdout.splitlines()[-1]))  # some programs print a picture
    return {
        system: {kind: min(one[kind] for one in figures) for kind in ("clock", "processor")}
        for system, figures in found.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=SYSTEMS)
    given = parser.parse_args()
    names = given.names or sorted(path.stem for path in FOLDER.glob("*.py"))
    if given.one:
        print(json.dumps(measure(given.one, names[0])))
        return
    print("| program | Rabbet, ms | JAX, ms | ratio | ratio of processor time |")
    print("|---|---|---|---|---|", flush=True)
    for name in names:
        ours, theirs = compare(name, given.rounds).values()
        clock, processor = (ours[kind] / theirs[kind] for kind in ("clock", "processor"))
        times = f"{ours['clock']:.2f} | {theirs['clock']:.2f}"
        print(f"| {name} | {times} | {clock:.2f} | {processor:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
