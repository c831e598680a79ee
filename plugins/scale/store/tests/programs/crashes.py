"""Writers of checkpoints that are killed, stopped, out of room, or told of errors by the system, one after
the other and several at once, while readers read. After each of them: a step that is listed is whole and
equal to what was saved, one that was there before has not changed, the next save succeeds, and then nothing
is left over.

    python crashes.py --runs 5000 --seed 1 [--small-disk FOLDER]

A small disk is a folder on a file system of a few megabytes; without one, that kind of run is left out.
Prints how many runs of each kind there were, and ends with status 1 at the first that breaks the promise.
"""

import argparse
import collections
import errno
import hashlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
import rabbet as rb
from rabbet_store.checkpoints import Checkpoints
from rabbet_store.errors import CheckpointError

Pair = collections.namedtuple("Pair", "left right")
KINDS = ("kill", "kill many", "file size", "error", "error many", "stop", "reader", "keep", "disk")


def state_of(step):
    """The state that is saved as a step, large or small."""
    rng = np.random.default_rng(abs(step))
    many, size = int(rng.integers(1, 12)), int(rng.integers(1, 30_000))
    return {
        "arrays": [rng.integers(0, 255, int(rng.integers(1, size + 1)), dtype=np.uint8) for _ in range(many)],
        "nothing": [None, {}, (), None, step], "pair": Pair(np.float32(step % 1000), f"step {step}"),
        "empty": np.zeros((0, 3)),
    }  # fmt: skip


def same(a, b):
    """Whether two states are equal, with their types."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    return bool(a == b)


def child(work):
    """Run a function in a process of its own; its number."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        rb.process_index, rb.process_count = (
            (lambda: 0),
            (lambda: 1),
        )  # no client: many processes in a short time
        os.setpgid(0, 0)
        work()
        status = 0
    except CheckpointError:
        status = 3
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait_for(pid, seconds=60):
    """The exit status of a child."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"a child did not end within {seconds} s")


def write(folder, steps, keep=None):
    """Write steps, one after the other."""
    checkpoints = Checkpoints(folder, keep=keep)
    for step in steps:
        try:
            checkpoints.save(step, state_of(step), wait=True)
        except FileExistsError:
            pass


def failing(rng, chance):
    """Have some calls to the system fail from now on."""

    def wrapped(function):
        def call(*args, **kwargs):
            if rng.random() < chance:
                raise OSError(
                    rng.choice([errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EACCES]), "by the test"
                )
            return function(*args, **kwargs)

        return call

    for name in ("rename", "fsync", "open", "mkdir", "pread", "replace", "unlink"):
        setattr(os, name, wrapped(getattr(os, name)))


def content(folder):
    """A digest of all files of each step."""
    found = {}
    for step in folder.glob("step-*"):
        digest = hashlib.sha256()
        for each in sorted(step.rglob("*")):
            if each.is_file():
                digest.update(str(each.relative_to(step)).encode() + each.read_bytes())
        found[step.name] = digest.hexdigest()
    return found


def check(folder, known, others=False):
    """The promise, in a process of its own. ``others``: somebody else is writing."""
    next_step = 10**9  # above all others

    def work():
        checkpoints = Checkpoints(folder)
        for step in checkpoints.steps():
            assert same(checkpoints.load(step), state_of(step)), f"step {step} is not what was saved"
            checkpoints.verify(step)
        now = content(folder)
        for name, digest in known.items():
            assert now.get(name, digest) == digest, f"{name} has changed"
        checkpoints.save(next_step, {"after": next_step}, wait=True)
        assert checkpoints.load(next_step) == {"after": next_step}
        left = [each.name for each in folder.iterdir() if each.name.startswith(".")]
        assert others or not left, f"left over: {left}"
        shutil.rmtree(checkpoints.path(next_step))

    return wait_for(child(work))


def read_for_ever(folder):
    """Read the latest, again and again. Each is whole, or it was removed meanwhile."""
    checkpoints = Checkpoints(folder)
    while True:
        latest = checkpoints.latest()
        if latest is None:
            continue
        try:
            found = checkpoints.load()
        except CheckpointError:
            if checkpoints.path(latest).exists() and checkpoints.latest() == latest:
                raise
            continue
        assert same(found, state_of(found["nothing"][-1])), "a reader saw something that nobody saved"


def one(kind, folder, rng, step, small):
    """One run of a kind; the next free step."""
    steps = range(step, step + rng.randint(1, 4))
    keep = 2 if kind == "keep" else None
    if kind in ("kill", "keep", "kill many", "reader"):
        count = 1 if kind == "kill" else rng.randint(2, 3)
        reader = child(lambda: read_for_ever(folder)) if kind in ("reader", "keep") else None
        groups = (
            [[s * 10 + i if i else s for s in steps] for i in range(count)]
            if keep is None
            else [steps] * count
        )
        pids = [child(lambda mine=mine: write(folder, mine, keep)) for mine in groups]
        for pid in pids:
            time.sleep(rng.expovariate(1 / 0.02))
            os.kill(pid, signal.SIGKILL)
        said = [wait_for(pid) for pid in pids]
        assert set(said) <= {0, 3, -9}, said
        if reader is not None:
            os.kill(reader, signal.SIGKILL)
            assert wait_for(reader) == -9
    elif kind == "file size":

        def work():
            resource.setrlimit(resource.RLIMIT_FSIZE, (rng.randint(0, 40_000),) * 2)
            write(folder, steps)

        assert wait_for(child(work)) in (0, 3)
    elif kind in ("error", "error many"):

        def work(seed):
            failing(random.Random(seed), 0.03)
            for s in steps:
                try:
                    Checkpoints(folder).save(s, state_of(s), wait=True)
                except (CheckpointError, FileExistsError):
                    pass

        pids = [child(lambda i=i: work(f"{step} {i}")) for i in range(1 if kind == "error" else 3)]
        assert {wait_for(pid) for pid in pids} <= {0}
    elif kind == "stop":
        pid = child(lambda: write(folder, steps))
        time.sleep(rng.expovariate(1 / 0.01))
        os.kill(pid, signal.SIGSTOP)
        assert check(folder, content(folder), others=True) == 0
        os.kill(pid, signal.SIGCONT)
        assert wait_for(pid) == 0, "a writer that was stopped for a while did not end well"
    elif kind == "disk":
        shutil.rmtree(small, ignore_errors=True)
        small.mkdir()
        filler = small / "filler"

        def work():
            room = shutil.disk_usage(small).free
            with open(filler, "wb") as file:
                file.write(bytes(max(0, room - rng.randint(0, 400_000))))
            write(small, steps)

        said = wait_for(child(work))
        assert said in (0, 3), said
        filler.unlink()
        assert check(small, content(small)) == 0
    return steps[-1] + 1


def main():
    """Run as many as were asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small-disk", type=Path)
    args = parser.parse_args()
    counts, step, interrupted = collections.Counter(), 1, 0
    folder = Path(tempfile.mkdtemp(prefix="crashes-"))
    for run in range(args.runs):
        rng = random.Random(f"{args.seed} {run}")
        kind = rng.choice(KINDS if args.small_disk else KINDS[:-1])
        if run % 25 == 0:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            step = 1
        known = content(folder)
        try:
            step = one(kind, folder, rng, step, args.small_disk and args.small_disk / "run")
            interrupted += bool(list(folder.glob(".writing-*")))
            status = check(folder, {} if kind == "keep" else known)
            assert status == 0, f"the check ended with {status}"
        except BaseException as error:
            print(f"run {run} of seed {args.seed} ({kind}): {error!r}; the folder is {folder}")
            return 1
        counts[kind] += 1
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(counts.values())} runs:", ", ".join([f"{n} {kind}" for kind, n in sorted(counts.items())]))
    print(f"{interrupted} left a checkpoint that was not finished")
    return 0


if __name__ == "__main__":
    sys.exit(main())
