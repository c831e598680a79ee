"""Groups of two and four processes write checkpoints of arrays that lie over all of them, and one process is
killed at a random moment. After each run: a step that is listed is whole and equal to what was saved, one
that was there before has not changed, the survivors ended by themselves with an error that names the lost
one, and a later save succeeds.

    python crashes_together.py --runs 50 --seed 1

Prints how many runs there were and in how many a step was lost, and ends with status 1 at the first that
breaks the promise. Needs rabbet-distributed and a system that can fork.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import rabbet as rb
from crashes import child, content, wait_for
from rabbet.errors import PeerLost
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P
from rabbet_store.errors import CheckpointError

WHO, OF = rb.process_index, rb.process_count
ENDED, GAVE_UP = 0, 3
SECONDS = 120  # for a group to end by itself


def state_of(step):
    """What is saved as a step: rows for 4 processes, from some kilobytes to some megabytes, and others."""
    rng = np.random.default_rng(abs(step))
    rows = rng.integers(0, 255, (4, int(rng.integers(1, 1_500_000))), dtype=np.uint8)
    few = np.arange(8, dtype=np.float32) * np.float32(step)
    return {"rows": rows, "few": few, "step": step, "name": f"step {step}"}


def equal(found, step):
    """Whether what was read is what was saved as a step."""
    right = state_of(step)
    return found.keys() == right.keys() and all(np.array_equal(found[k], right[k]) for k in right)


def member(folder, number, count, port, steps):
    """A process of the group: it saves steps, one after the other, and waits for every second one only."""
    os.environ.update({"RABBET_PLATFORMS": "cpu", "RABBET_NUM_CPU_DEVICES": "1"})
    rb.process_index, rb.process_count = WHO, OF  # ``child`` has put others there
    rb.distributed.initialize(f"127.0.0.1:{port}", num_processes=count, process_id=number)
    rows = NamedSharding(rb.make_mesh((count,), ("x",)), P("x"))
    checkpoints = rb.store.Checkpoints(folder, timeout_seconds=SECONDS)
    try:
        for step in steps:
            state = state_of(step)
            state.update({name: rb.device_put(state[name], rows) for name in ("rows", "few")})
            checkpoints.save(step, state, wait=bool(step % 2))
        checkpoints.wait()
    except (CheckpointError, PeerLost) as error:
        assert "process" in str(error), error
        os._exit(GAVE_UP)
    os._exit(ENDED)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check(folder, known):
    """The promise, in a process of its own."""
    checkpoints = rb.store.Checkpoints(folder)
    for step in checkpoints.steps():
        assert equal(checkpoints.load(step, plain=True), step), f"step {step} is not what was saved"
        checkpoints.verify(step)
    now = content(folder)
    for name, digest in known.items():
        assert now.get(name) == digest, f"{name} has changed, or is gone"
    later = 10**9
    checkpoints.save(later, {"after": later}, wait=True)
    assert checkpoints.load(later) == {"after": later}
    left = [each.name for each in folder.iterdir() if each.name.startswith(".")]
    assert not left, f"left over: {left}"
    shutil.rmtree(checkpoints.path(later))


def begun_or_whole(folder, first, whole):
    """The steps from ``first`` on that are whole; for ``whole`` 0 what was begun, too."""
    names = [name for name in os.listdir(folder) if name.startswith("step-") or not whole]
    return [name for name in names if name.startswith(".") or int(name.split("-")[1]) >= first]


def one(folder, count, first, rng):
    """A group that saves three steps, of which one process is killed; what each ended with."""
    port, steps = free_port(), range(first, first + 3)
    pids = [child(lambda i=i: member(folder, i, count, port, steps)) for i in range(count)]
    victim, begun = rng.randrange(count), time.monotonic()
    # From the first sign of a checkpoint on, or when one or two are whole: what is before is forming a group.
    whole = rng.randrange(3)
    while len(begun_or_whole(folder, first, whole)) < max(whole, 1):
        assert time.monotonic() - begun < SECONDS, "the group saved nothing"
        time.sleep(0.002)
    time.sleep(rng.expovariate(1 / rng.choice((0.02, 0.2))))
    os.kill(pids[victim], signal.SIGKILL)
    said = [wait_for(pid, SECONDS) for pid in pids]
    assert said[victim] in (-signal.SIGKILL, ENDED), said
    assert set(said[:victim] + said[victim + 1 :]) <= {ENDED, GAVE_UP}, said
    return said


def main():
    """Run as many as were asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    counts = collections.Counter()
    folder = Path(tempfile.mkdtemp(prefix="crashes-together-"))
    for run in range(args.runs):
        rng = random.Random(f"{args.seed} {run}")
        count, first, known = rng.choice((2, 2, 4)), 10 * run + 1, content(folder)
        try:
            said = one(folder, count, first, rng)
            assert wait_for(child(lambda known=known: check(folder, known))) == 0, "the check failed"
        except BaseException as error:
            print(f"run {run} of seed {args.seed} ({count} processes): {error!r}; the folder is {folder}")
            return 1
        there = len([s for s in rb.store.Checkpoints(folder).steps() if s >= first])
        counts[f"{count} processes, {there} of 3 steps whole"] += 1
        counts["survivors that gave up"] += said.count(GAVE_UP)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{args.runs} runs:", ", ".join([f"{n} with {what}" for what, n in sorted(counts.items())]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
