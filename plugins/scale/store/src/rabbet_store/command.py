"""``rabbet store``: which checkpoints a folder has, and whether they are whole."""

import numpy as np
from rabbet.extend.commands import print_table

from rabbet_store import manifest
from rabbet_store.checkpoints import Checkpoints
from rabbet_store.errors import CheckpointError

HELP = "list, verify or clean up the checkpoints of a folder"


def add_arguments(parser):
    """The command line."""
    parser.add_argument(
        "action", choices=["ls", "verify", "clean"],
        help="ls: what there is; verify: read all, compare checksums; clean: remove what writers left behind",
    )  # fmt: skip
    parser.add_argument("folder", help="of the checkpoints")
    parser.add_argument("--step", type=int, help="only this one, and for ls each of its arrays")


def run(args):
    """Do it; the exit status is 1 where something is damaged or missing."""
    checkpoints = Checkpoints(args.folder)
    steps = checkpoints.steps() if args.step is None else [args.step]
    if args.action == "clean":
        for name in checkpoints.clean():
            print(f"removed {name}")
        return 0
    if not steps:
        print(f"no checkpoint in {args.folder}")
        return 1
    if args.action == "ls":
        return listing(checkpoints, steps, args.step is not None)
    return verified(checkpoints, steps)


def listing(checkpoints, steps, every_array):
    """Print what there is."""
    if every_array:
        rows = manifest.read(checkpoints.path(steps[0]))["leaves"]
        print_table(("leaf", "type", "chunks of"), [described(row) for row in rows])
        return 0
    table = []
    for step in steps:
        body = manifest.read(checkpoints.path(step))
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
