"""Orbax's checkpoints that are damaged at random: bits that are changed, files that are cut, exchanged,
removed or replaced by pipes, folders and links, descriptions that somebody forged. Each ends within ten
seconds: in CheckpointError, or in a state. That has the right values unless the description was changed.

    python damages_orbax.py --runs 2000 --seed 1
"""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
from damages import changed, damage, late
from rabbet_store import orbax
from rabbet_store.errors import CheckpointError

DATA = Path(__file__).parents[1] / "data" / "orbax"


def leaves(state, way=()):
    """Pairs of a way and a leaf."""
    if isinstance(state, dict):
        for key, below in state.items():
            yield from leaves(below, (*way, key))
    elif isinstance(state, list):
        for key, below in enumerate(state):
            yield from leaves(below, (*way, key))
    else:
        yield way, state


def same(a, b):
    """Whether two states are equal."""
    a, b = dict(leaves(a)), dict(leaves(b))
    return a.keys() == b.keys() and all(
        type(a[k]) is type(b[k]) and np.asarray(a[k]).dtype == np.asarray(b[k]).dtype
        and np.asarray(a[k]).tobytes() == np.asarray(b[k]).tobytes() for k in a
    )  # fmt: skip


def forge(folder, rng):
    """Change the description; what was done."""
    path = folder / orbax.DESCRIPTION
    body = json.loads(path.read_text())
    for _ in range(rng.choice([1, 1, 2, 3])):
        body, said = changed(body, rng)
    text = json.dumps(body)
    if rng.random() < 0.05:
        text = rng.choice(["[" * 100_000, "", "null", "1e999", '"', "[" * 900 + "]" * 900])
    path.write_text(text)
    return f"forged {said}"


def main():
    """Run as many as were asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="damages-"))
    second = root / "second"
    shutil.copytree(DATA, second)
    right = orbax.read(DATA)
    signal.signal(signal.SIGALRM, late)
    counts = collections.Counter()
    for run in range(args.runs):
        rng = random.Random(f"orbax {args.seed} {run}")
        bad = root / f"bad-{run}"  # a place of its own: tensorstore keeps what it has read
        shutil.copytree(DATA, bad)
        forged = rng.random() < 0.3
        said = forge(bad, rng) if forged else damage(bad, second, rng)
        described = forged or orbax.DESCRIPTION in said or orbax.FACTS in said or said.startswith("exchanged")
        outcome = "right"
        try:
            signal.alarm(10)
            found = orbax.read(bad)
            if not same(found, right):
                outcome = "other values"
                assert described, f"wrong values: {found!r:.300}"
        except CheckpointError as error:
            outcome = "CheckpointError"
            assert str(error).strip()
        except BaseException as error:
            print(f"run {run} of seed {args.seed}: {said}: {error!r:.300}")
            if os.environ.get("WHOLE"):
                raise
            return 1
        finally:
            signal.alarm(0)
        shutil.rmtree(bad)
        counts["forged" if forged else "damaged", outcome] += 1
    shutil.rmtree(root, ignore_errors=True)
    print(f"{args.runs} runs:", ", ".join([f"{n} {a}: {b}" for (a, b), n in sorted(counts.items())]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
