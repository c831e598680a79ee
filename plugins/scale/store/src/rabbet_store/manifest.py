"""The table of contents of a checkpoint: which nodes and leaves a tree has, and where each is.

It is written last, with a checksum of its own, so a checkpoint that has one is whole. ``docs/checkpoints.md``
describes the format.
"""

import hashlib
import json
import math
import os
import re
import stat
from pathlib import Path

import numpy as np
from rabbet import dtypes

from rabbet_store import format_1, scalars, structure
from rabbet_store.arrays import bytes_of_chunk, grid
from rabbet_store.errors import CheckpointError

NAME, FORMAT = "manifest.json", 2
FOLDER = re.compile(r"array-\d{1,12}")
HEX = re.compile(r"[0-9a-f]*")
LARGEST = 1 << 31  # bytes


def write(folder, step, nodes, rows, facts):
    """Write the manifest, for the nodes of a tree, rows of leaves and further facts."""
    body = {"format": FORMAT, "step": step, **facts, "tree": nodes, "leaves": rows}
    text = json.dumps(body, separators=(",", ":"), allow_nan=False)
    whole = json.dumps({"sha256": digest(text), "manifest": text})
    path = Path(folder, NAME)
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def read(folder, step):
    """The manifest of the checkpoint of ``step``. Raises CheckpointError for one that is missing, damaged, or
    of another step.
    """
    path = Path(folder, NAME)
    try:
        whole = json.loads(content_of(path))
        text, checksum = whole["manifest"], whole["sha256"]
        right = digest(text) == checksum
        body = json.loads(text) if right else None
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(f"there is no checkpoint in {folder}: it has no {NAME}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, IndexError) as error:
        raise CheckpointError(
            f"the table of contents of a checkpoint cannot be read: {path} ({type(error).__name__})"
        ) from None
    if not right:
        raise CheckpointError(f"the table of contents of a checkpoint is damaged: {path}")
    try:
        version = body["format"]
        if type(version) is not int:
            raise ValueError("its format is not a number")
        if version > FORMAT:
            raise CheckpointError(f"{folder} was written by a later version of rabbet-store; install that")
        body = format_1.brought_up(body) if version == 1 else body
        check(body)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        IndexError,
        OverflowError,
    ) as error:
        raise CheckpointError(
            f"the table of contents of a checkpoint says what cannot be: {path} ({error})"
        ) from None
    if body["step"] != step:
        raise CheckpointError(
            f"{folder} holds what was saved as step {body['step']}: the folder was renamed or exchanged\n"
            "  to fix: give it back the name of its step, or load it there and save it as another step"
        )
    return body


def content_of(path):
    """The text of a manifest; a pipe is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
            raise ValueError("no file, or too large")
        return file.read().decode("utf-8")


def check(body):
    """Raise one of the errors that ``read`` turns into a CheckpointError, where the parts of a manifest do
    not fit.
    """
    rows, nodes = body["leaves"], body["tree"]
    expect(type(rows) is list and type(nodes) is list, "leaves or tree is not a list")
    expect(type(body["step"]) is int and type(body.get("processes", 1)) is int, "step is not a number")
    check_nodes(nodes, len(rows))
    for row in rows:
        expect(type(row) is dict and type(row["name"]) is str, "a leaf has no name")
        if "value" in row:
            expect(type(scalars.decoded(row["value"])) in scalars.TYPES, "a leaf is not a number and no text")
        else:
            check_array(row, body["format"])


def check_nodes(nodes, leaves):
    """Each node has the form of its kind, and there are as many as there are children and leaves."""
    due = 1
    for node in nodes:
        expect(type(node) is list and type(node[0]) is str, "a node is not a list")
        kind, rest = node[0], node[1:]
        if kind in structure.SEQUENCES:
            expect(len(rest) == 1 and type(rest[0]) is int and 0 <= rest[0] <= len(nodes), "a sequence")
        elif kind in structure.CONTAINERS:
            keys = rest[1 if kind in ("namedtuple", "class", "unknown") else 0]
            expect(type(keys) is list and len(keys) <= len(nodes), "the keys of a container")
            if kind in ("namedtuple", "class", "unknown"):
                expect(type(rest[0]) is str, "the name of a class")
            if kind == "class":
                expect(type(rest[2]) is dict, "the metadata of a class")
            steps = structure.steps_of(node)
            for step in steps:
                expect(len(step) == 2 and type(step[0]) is str, "a step")
                hash(scalars.decoded(step[1]))
            if kind == "defaultdict":
                expect(len(rest) == 2 and (rest[1] is None or type(rest[1]) is str), "a factory")
            if kind == "namedtuple":
                expect(all(type(field) is str for field in keys), "a field")
            expect(len({structure.hashable(s) for s in steps}) == len(steps), "a key stands there twice")
        else:
            expect(kind in ("leaf", "none") and not rest, f"a node of the kind {kind!r:.40}")
        expect(due > 0, "nodes that belong to nothing")
        due += len(structure.steps_of(node)) - 1
    expect(due == 0, "nodes are missing")
    expect(sum([node[0] == "leaf" for node in nodes]) == leaves, "another number of leaves")


def check_array(row, version):
    """What the row of an array says fits together."""
    shape, chunk = row["shape"], row["chunk"]
    expect(type(row["folder"]) is str and FOLDER.fullmatch(row["folder"]), "the folder of an array")
    for numbers, least in ((shape, 0), (chunk, 1)):
        expect(type(numbers) is list and all(type(n) is int and n >= least for n in numbers), "a shape")
    expect(len(shape) == len(chunk) and len(shape) <= 64, "a chunk's shape")
    expect(row["as"] in ("array", "numpy", "scalar"), "a kind of array")
    expect(row["as"] != "scalar" or not shape, "a scalar with dimensions")
    expect(type(row["dtype"]) is str, "a dtype")
    dtype = np.dtype(dtypes.canonicalize(row["dtype"]))
    expect(max([math.prod([n for n in shape if n]), bytes_of_chunk(chunk, dtype)]) < 1 << 62, "its size")
    if "extended" in row:
        own = row["extended"]
        expect(type(own["dtype"]) is str and type(own["dimensions"]) is int, "an extended dtype")
        expect(0 <= own["dimensions"] <= len(shape), "an extended dtype")
        expect(own.get("generator") is None or type(own["generator"]) is str, "a generator")
    if version > 1 and 0 not in shape:
        sums = row["crc32c"]
        expect(type(sums) is list and len(sums) == math.prod(grid(shape, chunk)), "checksums of chunks")
        expect(all(type(s) is str and len(s) == 8 and HEX.fullmatch(s) for s in sums), "checksums of chunks")
        expect(type(row["metadata"]) is str, "the checksum of the metadata")


def expect(condition, what):
    """Raise ValueError where it does not hold."""
    if not condition:
        raise ValueError(what)


def digest(text):
    """A checksum of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def sync_folder(folder):
    """Have the system write a folder's entries to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = ["FORMAT", "NAME", "read", "sync_folder", "write"]
