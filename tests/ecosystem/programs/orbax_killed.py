"""Orbax: one of two processes that save together is killed at a random moment. A step that is listed is whole
and equal to what was saved, an older one has not changed by a byte, and a later save succeeds.

    python -m rabbet_jax orbax_killed.py --runs 50 --seed 1

The last line counts the runs that kept each of the three promises; the one before it says how many steps were
whole, and how the survivors ended: those that do not end by themselves are killed.
"""

import argparse
import collections
import hashlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

import jax
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

PROGRAM = sys.orig_argv[: sys.orig_argv.index(next(a for a in sys.orig_argv if a.endswith(".py"))) + 1]
GAVE_UP, LATER = 3, 10**9


def state_of(step):
    """What is saved as a step, of some kilobytes to some megabytes."""
    rng = np.random.default_rng(step)
    rows = rng.integers(0, 255, (4, int(rng.integers(1, 500_000))), dtype=np.uint8)
    return {"rows": rows, "few": np.arange(8, dtype=np.float32) * step}


def manager_of(folder):
    return ocp.CheckpointManager(pathlib.Path(folder))


def member(folder, port, rank, first):
    """A process of the two: it saves three steps, and waits for every second one only."""
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("x"))
    laid = lambda x: jax.make_array_from_callback(x.shape, rows, lambda index: x[index])
    try:
        manager = manager_of(folder)
        for step in range(first, first + 3):
            manager.save(step, args=ocp.args.StandardSave(jax.tree.map(laid, state_of(step))))
            if step % 2:
                manager.wait_until_finished()
        manager.wait_until_finished()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
        os._exit(GAVE_UP)
    os._exit(0)


def content(folder):
    """A digest of each file of the steps in a folder."""
    files = [p for p in pathlib.Path(folder).glob("[0-9]*/**/*") if p.is_file()]
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files if not unfinished(p.parts)}


def unfinished(parts):
    return any("orbax-checkpoint-tmp" in part for part in parts)


def check(folder, run):
    """Which steps are listed and not what was saved, and whether a later save can be read back."""
    with manager_of(folder) as manager:
        steps = manager.all_steps()
        wrong = [step for step in steps if not equal(manager, step, state_of(step))]
        manager.save(LATER + run, args=ocp.args.StandardSave(state_of(LATER)))
        manager.wait_until_finished()
        later = equal(manager, LATER + run, state_of(LATER))
        manager.delete(LATER + run)
    print(int(not wrong), int(later), len([s for s in steps if s > 10 * run]))


def equal(manager, step, right):
    try:
        found = manager.restore(step, args=ocp.args.StandardRestore(jax.tree.map(np.zeros_like, right)))
    except Exception as error:
        print(f"step {step}: {type(error).__name__}: {error}")
        return False
    return all(np.array_equal(found[name], right[name]) for name in right)


def started(*arguments, **more):
    return subprocess.Popen([*PROGRAM, *map(str, arguments)], text=True, stdout=subprocess.PIPE, **more)


def one(folder, run, rng, seconds):
    """A run: the promises kept, how many of its steps were whole, and how the survivor ended."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    known, first = content(folder), 10 * run + 1
    both = [started("member", folder, port, rank, first, stderr=subprocess.STDOUT) for rank in range(2)]
    whole, victim = rng.randrange(3), rng.randrange(2)
    seen = lambda: [p.name for p in pathlib.Path(folder).iterdir() if p.name.partition(".")[0].isdigit()]
    begun = lambda: [n for n in seen() if int(n.partition(".")[0]) >= first]
    ready = lambda: begun() if not whole else len([n for n in begun() if n.isdigit()]) >= whole
    end = time.monotonic() + 120
    while not ready() and time.monotonic() < end and None in [each.poll() for each in both]:
        time.sleep(0.002)
    time.sleep(rng.expovariate(1 / rng.choice((0.02, 0.2))))
    both[victim].send_signal(signal.SIGKILL)
    both[victim].communicate()
    survivor = both[1 - victim]
    try:
        said = survivor.communicate(timeout=seconds)[0]
        ended = {0: "was done", GAVE_UP: "ended with an error"}.get(survivor.returncode, "was ended")
    except subprocess.TimeoutExpired:
        survivor.kill()
        said, ended = survivor.communicate()[0], "was killed"
    checked = started("check", folder, run).communicate()[0].splitlines()
    right, later, there = map(int, checked[-1].split()) if checked else (0, 0, 0)
    now = content(folder)
    promises = [right, int(all(now.get(name) == digest for name, digest in known.items())), later]
    if promises != [1, 1, 1]:
        print(f"run {run}: {promises}, {checked}")
    if ended == "ended with an error":
        print(f"run {run}, process {1 - victim}:", said.strip().splitlines()[-1])
    return promises, f"{there} of 3 steps whole", f"the survivor {ended}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10, help="in which a survivor ends by itself")
    args = parser.parse_args()
    kept, counts = np.zeros(3, int), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for run in range(args.runs):
            promises, *found = one(folder, run, random.Random(f"{args.seed} {run}"), args.seconds)
            kept += promises
            counts.update(found)
    print(f"{args.runs} runs:", ", ".join([f"{n} with {what}" for what, n in sorted(counts.items())]))
    print(*kept)


if sys.argv[1:2] == ["member"]:
    member(sys.argv[2], *map(int, sys.argv[3:]))
elif sys.argv[1:2] == ["check"]:
    check(sys.argv[2], int(sys.argv[3]))
else:
    main()
