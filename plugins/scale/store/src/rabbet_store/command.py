"""``rabbet store``: which checkpoints a folder has, and whether they are whole."""

import os
import sys

import numpy as np
from rabbet.extend.commands import print_table

from rabbet_store import manifest, orbax
from rabbet_store.checkpoints import Checkpoints
from rabbet_store.errors import CheckpointError

HELP = "list, verify or clean up the checkpoints of a folder"


def add_arguments(parser):
    """The command line."""
    parser.add_argument(
        "action", choices=["ls", "verify", "clean", "from-orbax", "to-orbax"],
        help="ls: what there is; verify: read all, compare checksums; clean: remove what writers left; "
        "from-orbax, to-orbax: read a checkpoint of Orbax's as a step, write a step as one",
    )  # fmt: skip
    parser.add_argument("folder", help="of the checkpoints")
    parser.add_argument("other", nargs="?", help="for from-orbax and to-orbax: Orbax's checkpoint")
    parser.add_argument("--step", type=int, help="only this one, and for ls each of its arrays")


def run(args):
    """Do it; the exit status is 1 where something is damaged or missing."""
    if args.action != "from-orbax" and not os.path.isdir(args.folder):
        print(f"rabbet store {args.action}: there is no folder {args.folder}", file=sys.stderr)
        return 1
    checkpoints = Checkpoints(args.folder)
    steps = checkpoints.steps() if args.step is None else [args.step]
    if args.action == "clean":
        for name in checkpoints.clean():
            print(f"removed {name}")
        return 0
    if args.action in ("from-orbax", "to-orbax"):
        return converted(checkpoints, args)
    if not steps:
        print(f"no checkpoint in {args.folder}")
        return 1
    if args.action == "ls":
        return listing(checkpoints, steps, args.step is not None)
    return verified(checkpoints, steps)


def converted(checkpoints, args):
    """Read or write a checkpoint of Orbax's."""
    if args.other is None or (args.action == "from-orbax" and args.step is None):
        which = " --step N: which step it becomes" if args.action == "from-orbax" else "[--step N]"
        print(f"rabbet store {args.action}: give FOLDER ORBAX-FOLDER {which.strip()}", file=sys.stderr)
        return 2
    try:
        if args.action == "from-orbax":
            checkpoints.save(args.step, orbax.read(args.other), wait=True)
            print(f"step {args.step}: {checkpoints.verify(args.step)} leaves, from {args.other}")
        else:
            orbax.write(args.other, checkpoints.load(args.step, plain=True))
            print(f"{args.other}: written")
    except (CheckpointError, FileExistsError, TypeError) as error:
        print(error)
        return 1
    return 0


def listing(checkpoints, steps, every_array):
    """Print what there is."""
    if every_array:
        rows = manifest.read(checkpoints.path(steps[0]), steps[0])["leaves"]
        print_table(("leaf", "type", "chunks of"), [described(row) for row in rows])
        return 0
    table = []
    for step in steps:
        body = manifest.read(checkpoints.path(step), step)
        size = sum([nbytes(checkpoints.path(step))])
        table.append((str(step), str(len(body["leaves"])), f"{size:,}", str(body["processes"])))
    print_table(("step", "leaves", "bytes", "processes"), table)
    return 0


def described(row):
    """A row of the table of arrays."""
    if "value" in row:
        return row["name"], repr(row["value"]), ""
    size = int(np.prod(row["chunk"], dtype=int))
    return row["name"], f"{row['dtype']}{row['shape']}", f"{row['chunk']} ({size} elements)"


def nbytes(folder):
    """The bytes of all files below a folder."""
    return sum([each.stat().st_size for each in folder.rglob("*") if each.is_file()])


def verified(checkpoints, steps):
    """Verify all; print the outcome of each."""
    status = 0
    for step in steps:
        try:
            print(f"step {step}: {checkpoints.verify(step)} leaves, all well")
        except CheckpointError as error:
            print(f"step {step}: {error}")
            status = 1
    return status


__all__ = ["HELP", "add_arguments", "run"]
