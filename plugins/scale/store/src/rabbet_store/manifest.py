"""The table of contents of a checkpoint: which leaves a tree has, and where each is.

It is written last, with a checksum of its own, so a checkpoint that has one is whole.
"""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
from rabbet import tree

from rabbet_store.errors import CheckpointError

NAME, FORMAT = "manifest.json", 1


def way_of(path):
    """A path within a tree as JSON: for each step its kind, and the key or number."""
    way = []
    for key in path:
        if isinstance(key, tree.SequenceKey):
            way.append(["item", key.idx])
        elif isinstance(key, tree.DictKey):
            way.append(["key", plain_key(key.key)])
        elif isinstance(key, tree.GetAttrKey):
            way.append(["attribute", key.name])
        else:
            way.append(["key", str(key)])
    return way


def plain_key(key):
    """A key of a dict as JSON.

    Raises:
      TypeError: for one that could not be read again.
    """
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, tuple):
        return {"tuple": [plain_key(each) for each in key]}
    if key is None or isinstance(key, (str, int, float)):
        return key
    raise TypeError(
        f"a checkpoint has keys of dicts that are texts, numbers, None, or tuples of these, got {key!r:.60}"
    )


def key_from(written):
    """The key of a dict that was written so."""
    return tuple([key_from(each) for each in written["tuple"]]) if isinstance(written, dict) else written


def rebuilt(leaves):
    """Dicts and lists of leaves, from pairs of a way and a value."""
    if len(leaves) == 1 and not leaves[0][0]:
        return leaves[0][1]
    inside: dict = {}
    for way, value in leaves:
        inside.setdefault((way[0][0], key_from(way[0][1])), []).append((way[1:], value))
    made = {name: rebuilt(below) for (_, name), below in inside.items()}
    if all(kind == "item" for kind, _ in inside):
        return [made[i] for i in sorted(made)]
    return made


def write(folder, step, rows, facts):
    """Write the manifest, for rows of leaves and further facts."""
    body = {"format": FORMAT, "step": step, **facts, "leaves": rows}
    text = json.dumps(body, indent=1)
    whole = json.dumps({"sha256": digest(text), "manifest": text})
    path = Path(folder, NAME)
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def read(folder):
    """The manifest of a checkpoint. Raises CheckpointError for one that is missing or damaged."""
    path = Path(folder, NAME)
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        text, checksum = whole["manifest"], whole["sha256"]
        right = digest(text) == checksum
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint in {folder}: it has no {NAME}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(f"the table of contents of a checkpoint cannot be read: {path}") from None
    if not right:
        raise CheckpointError(f"the table of contents of a checkpoint is damaged: {path}")
    body = json.loads(text)
    if body["format"] > FORMAT:
        raise CheckpointError(f"{folder} was written by a later version of rabbet-store; install that")
    return body


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


__all__ = ["NAME", "read", "rebuilt", "sync_folder", "way_of", "write"]
