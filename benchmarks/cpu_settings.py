"""What the CPU's settings cost and gain: small dispatch and a training step under each of them.

    python benchmarks/cpu_settings.py [--rounds 3]

Runs `micro.py` and `gpt_step.py 4` under rabbet with the defaults and with one setting changed at a time, in
processes that take turns, and prints the median of each figure over that with the defaults. Under 1 is
faster. Only a quiet machine answers this question.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SETTINGS = {
    "defaults": {},
    "asynchronous": {"RABBET_CPU_ASYNCHRONOUS": "1"},
    "system's malloc": {"RABBET_CPU_ALLOCATOR": "default"},
    "asynchronous, system's malloc": {"RABBET_CPU_ASYNCHRONOUS": "1", "RABBET_CPU_ALLOCATOR": "default"},
    "one thread": {"RABBET_CPU_THREADS": "1"},
}
PROGRAMS = {
    ("micro.py",): ("jit_2_args", "jit_150_leaf_tree", "eager_add", "device_put_numpy", "to_numpy"),
    ("gpt_step.py", "4"): ("compile_s", "step_ms_min", "step_ms_median"),
}


def figures(program, environment, cache):
    """What one process prints."""
    name, *rest = program
    done = subprocess.run(
        [sys.executable, str(HERE / name), "rabbet", *rest],
        env={**os.environ, **environment, "RABBET_CACHE_DIR": cache},
        check=True, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"| program | figure | {' | '.join(SETTINGS)} |")
    print(f"|{'---|' * (2 + len(SETTINGS))}")
    for program, names in PROGRAMS.items():
        runs = {setting: [] for setting in SETTINGS}
        for _ in range(rounds):
            for setting, environment in SETTINGS.items():
                with tempfile.TemporaryDirectory() as cache:
                    runs[setting].append(figures(program, environment, cache))
        for name in names:
            base = statistics.median([r[name] for r in runs["defaults"]])
            ratios = [statistics.median([r[name] for r in one]) / base for one in runs.values()]
            cells = [" ".join(program), name, *[f"{r:.2f}" for r in ratios]]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
