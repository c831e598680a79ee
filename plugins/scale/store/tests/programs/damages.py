"""Checkpoints that are damaged at random: bytes that are changed, files that are cut, exchanged, removed or
replaced by pipes and folders, and tables of contents that somebody forged, with a right checksum. Each ends
in CheckpointError or, where nothing was forged, in the values that were saved; within ten seconds.

    python damages.py --runs 20000 --seed 1
"""

import argparse
import collections
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import rabbet as rb
from rabbet_store import format_1  # noqa: F401  (before anything takes time)
from rabbet_store.checkpoints import Checkpoints
from rabbet_store.errors import CheckpointError

Pair = collections.namedtuple("Pair", "left right")
WRONG = [
    None, True, 0, -1, 1.5, 2**63, 2**62, 10**40, "", "x", "../../../etc", "float32", "object", "U3", [],
    {}, [[]], [0],
    {"int": "z"}, {"tuple": [{"tuple": []}]}, {"dict": [[{"list": []}, 1]]}, {"bytes": "?"},
    {"complex": [1]}, "array-0",
    ["list", 3], ["leaf"], ["class", "os:system", [], {"plain": None}], ["namedtuple", "builtins:tuple", []],
    ["defaultdict", [], "list"], [2**62, 2**62], [0, 2**62], "00000000", {"float": "nan"}, ["unknown",
    "dict", [["key", []]]],
]  # fmt: skip


def state_of(seed):
    """A state with a bit of everything."""
    rng = np.random.default_rng(seed)
    return {
        "w": rng.normal(size=(3, 4)).astype(np.float32), "same": [rng.integers(0, 9, 6) for _ in range(3)],
        "numbers": (1, 2.5, None, "text", b"raw", 1j, True, 2**80), "scalar": np.float64(rng.normal()),
        "zero": np.zeros((0, 2), np.int8), "pair": Pair(rb.device_put(np.ones(2, np.float32)), {}),
        "ordered": OrderedDict(b=1, a=[]), "keys": {("tuple", 1): rb.random.key(seed)},
    }  # fmt: skip


def same(a, b):
    """Whether two states are equal."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        order = list if type(a) is OrderedDict else set
        return order(a) == order(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, rb.Array) and a.aval.is_extended:
        return a.dtype == b.dtype and same(rb.random.key_data(a), rb.random.key_data(b))
    if hasattr(a, "shape"):
        return (
            a.dtype == b.dtype and a.shape == b.shape and np.asarray(a).tobytes() == np.asarray(b).tobytes()
        )
    return a == b


def damage(step, other, rng):
    """Damage one or two files of a checkpoint; what was done."""
    files = sorted(p for p in step.rglob("*") if p.is_file())
    path = rng.choice(files)
    kind = rng.choice(
        ["flip", "cut", "longer", "gone", "exchanged", "pipe", "folder", "of another", "noise", "link"]
    )
    content = bytearray(path.read_bytes())
    if kind == "flip":
        for _ in range(rng.choice([1, 1, 1, 5])):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    elif kind == "cut":
        path.write_bytes(content[: rng.randrange(len(content))])
    elif kind == "longer":
        path.write_bytes(content + bytes(rng.randrange(1, 100)))
    elif kind == "noise":
        path.write_bytes(rng.randbytes(len(content)))
    elif kind == "exchanged":
        second = rng.choice(files)
        theirs = second.read_bytes()
        second.write_bytes(content)
        path.write_bytes(theirs)
    elif kind == "of another":
        theirs = other / path.relative_to(step)
        path.write_bytes(theirs.read_bytes())
    else:
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "link":
            path.symlink_to(rng.choice([path.name, "/dev/zero", "/nowhere", "/dev/tty"]))
    return f"{kind} {path.relative_to(step)}"


def forge(step, rng):
    """Change the table of contents and its checksum; what was done."""
    path = step / "manifest.json"
    body = json.loads(json.loads(path.read_text())["manifest"])
    for _ in range(rng.choice([1, 1, 2, 3])):
        body, said = changed(body, rng)
    text = json.dumps(body)
    if rng.random() < 0.05:
        text = rng.choice(["[" * 100_000, "", "null", "1e999", '"', "[" * 900 + "]" * 900])
    path.write_text(json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "manifest": text}))
    return f"forged {said}"


def changed(body, rng):
    """JSON with one thing changed, and a text that says where."""
    here, way = body, []
    while isinstance(here, (dict, list)) and here:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = rng.choice(keys)
        way.append(key)
        if not isinstance(here[key], (dict, list)) or not here[key] or rng.random() < 0.2:
            break
        here = here[key]
    what = rng.choice(["replace", "replace", "remove", "repeat", "exchange"])
    if not way:
        return rng.choice(WRONG), "all of it"
    if what == "replace":
        here[key] = json.loads(json.dumps(rng.choice(WRONG)))
    elif what == "remove":
        del here[key]
    elif what == "repeat" and isinstance(here, list):
        here.insert(key, json.loads(json.dumps(here[key])))
    else:
        second = rng.choice(keys)
        here[key], here[second] = here[second], here[key]
    return body, f"{what} at {way}"


def late(*_):
    """What the alarm does."""
    raise AssertionError("it takes more than ten seconds")


def main():
    """Run as many as were asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="damages-"))
    good = Checkpoints(root / "good")
    states = {seed: state_of(seed) for seed in (1, 2)}
    for seed, state in states.items():
        good.save(seed, state, wait=True)
    signal.signal(signal.SIGALRM, late)
    counts = collections.Counter()
    bad = root / "bad"
    checkpoints = Checkpoints(bad)
    for run in range(args.runs):
        rng = random.Random(f"{args.seed} {run}")
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(root / "good", bad)
        step, forged = checkpoints.path(1), rng.random() < 0.5
        said = forge(step, rng) if forged else damage(step, checkpoints.path(2), rng)
        ways = {
            "load": lambda: checkpoints.load(1), "like": lambda: checkpoints.load(1, like=states[1]),
            "plain": lambda: checkpoints.load(1, plain=True), "verify": lambda: checkpoints.verify(1),
        }  # fmt: skip
        outcome = "right"
        for way, work in ways.items():
            try:
                signal.alarm(10)
                found = work()
                if way in ("load", "like") and not forged:
                    assert same(found, states[1]), "wrong values"
            except CheckpointError:
                outcome = "CheckpointError"
            except BaseException as error:
                print(f"run {run} of seed {args.seed}: {said}: {way}: {error!r:.300}")
                if os.environ.get("WHOLE"):
                    raise
                return 1
            finally:
                signal.alarm(0)
        counts["forged" if forged else "damaged", outcome] += 1
    shutil.rmtree(root, ignore_errors=True)
    print(f"{args.runs} runs:", ", ".join([f"{n} {a}: {b}" for (a, b), n in sorted(counts.items())]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
