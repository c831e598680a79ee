"""Checkpoints as Orbax writes them, read and written, so that nobody is locked in: a tree of arrays in Zarr
version 2, all in one database of tensorstore's (OCDBT), and a description of the tree in JSON.

Orbax keeps dicts, lists and arrays. Tuples and named tuples are lists and dicts to it, texts are not for it.
"""

import json
import time
from pathlib import Path

import numpy as np
import tensorstore as ts
from rabbet import Array, dtypes, tree
from rabbet.extend.wrapping import is_of_handler

from rabbet_store.arrays import PLAIN, small_file
from rabbet_store.errors import CheckpointError

DESCRIPTION, FACTS = "_METADATA", "_CHECKPOINT_METADATA"
HANDLER = "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler"
SEQUENCE, DICT = 1, 2
EMPTY = {"None": lambda: None, "Dict": dict, "List": list, "Tuple": tuple}
NOTHING = {type(None): "None", dict: "Dict", list: "List", tuple: "Tuple"}
LARGEST = 1 << 28
# What a description that was damaged or forged leads to.
WRONG = (OSError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError)


def place(folder, name):
    """What tensorstore is told of an array."""
    base = f"file://{Path(folder).absolute()}/"
    return {"driver": "zarr", "kvstore": {"driver": "ocdbt", "base": base, "path": f"{name}/"}}


def read(folder):
    """The state of a checkpoint of Orbax's: dicts and lists of NumPy arrays, and of Python's numbers where
    they were numbers.

    Raises:
      CheckpointError: for what is no such checkpoint, or is damaged.
    """
    folder = Path(folder)
    refuse_pipes(folder)
    try:
        body = json.loads(small_file(folder / DESCRIPTION, LARGEST))
        if not body.get("use_ocdbt", False) or body.get("use_zarr3", False):
            raise CheckpointError(
                f"{folder} is of a layout of Orbax's that is not read here (no OCDBT, or Zarr 3)"
            )
        found = []
        for entry in body["tree_metadata"].values():
            way = [(int(k["key_type"]), str(k["key"])) for k in entry["key_metadata"]]
            found.append((way, value_of(folder, way, entry["value_metadata"])))
        return put_together(found)
    except WRONG as error:
        raise CheckpointError(f"{folder} is not a checkpoint of Orbax's, or is damaged: {error}") from None


def refuse_pipes(folder):
    """Raise for what tensorstore would wait for without an end: pipes, devices, links to them."""
    for path in folder.rglob("*"):
        if not (path.is_file() or path.is_dir()):
            raise CheckpointError(f"{folder} is damaged: {path.relative_to(folder)} is no file and no folder")


def value_of(folder, way, said):
    """A function that gives a leaf; reading has begun."""
    kind = said["value_type"]
    if said.get("skip_deserialize"):
        if kind not in EMPTY:
            raise ValueError(f"a value of the kind {kind!r:.40}")
        return EMPTY[kind]
    opened = ts.open(place(folder, ".".join([key for _, key in way])), open=True)

    def finish():
        try:
            values = opened.result().read().result()
        except Exception as error:
            if is_of_handler(error):
                raise
            raise ValueError(str(error).split(" [")[0]) from None
        return values[()].item() if kind == "scalar" else np.asarray(values)

    return finish


def put_together(found):
    """Dicts and lists of pairs of a way and a function."""
    if len(found) == 1 and not found[0][0]:
        return found[0][1]()
    below = {}
    for (first, *rest), finish in found:
        below.setdefault(first, []).append((rest, finish))
    made = {key: put_together(inside) for key, inside in below.items()}
    if all(kind == SEQUENCE for kind, _ in made):
        return [made[key] for key in sorted(made, key=lambda each: int(each[1]))]
    return {key: value for (_, key), value in made.items()}


def write(folder, state):
    """Write a state as a checkpoint that Orbax restores, as NumPy arrays where it is not told how they should
    lie.

    Raises:
      TypeError: for what Orbax does not keep: texts, random keys (save their ``key_data``), dtypes without a
        name in Zarr. FileExistsError: where there is something.
    """
    folder = Path(folder)
    entries, writing = {}, []
    for way, x in walked(state):
        keys = [str(key) for _, key in way]
        name = ".".join(keys)
        if type(x) in NOTHING:
            said = {"value_type": NOTHING[type(x)], "skip_deserialize": True}
        else:
            kind, host = plain(name, x)
            said = {"value_type": kind, "skip_deserialize": False}
            writing.append((name, host))
        entries[str(tuple(keys))] = {
            "key_metadata": [{"key": str(key), "key_type": kind} for kind, key in way],
            "value_metadata": said,
        }
    folder.mkdir(parents=True)
    arrays = [(ts.open(described(folder, *each), create=True, open=True), each[1]) for each in writing]
    for future in [opened.result().write(host) for opened, host in arrays]:
        future.result()
    body = {
        "tree_metadata": entries,
        "use_ocdbt": True,
        "use_zarr3": False,
        "store_array_data_equal_to_fill_value": True,
        "custom_metadata": None,
    }
    (folder / DESCRIPTION).write_text(json.dumps(body))
    now = time.time_ns()
    facts = {"item_handlers": HANDLER, "metrics": {}, "performance_metrics": {}, "init_timestamp_nsecs": now}
    facts |= {"commit_timestamp_nsecs": now, "custom_metadata": {}}
    (folder / FACTS).write_text(json.dumps(facts))


def walked(state):
    """Ways and leaves, None and empty containers among them."""
    stack = [((), state)]
    while stack:
        way, x = stack.pop()
        level = tree.one_level(x)
        if level is None or not level[1]:
            yield way, x
            continue
        keys, children, _ = level
        below = [((*way, step(key)), child) for key, child in zip(keys, children, strict=True)]
        stack.extend(reversed(below))


def step(key):
    """A key of a path as Orbax has it."""
    if isinstance(key, tree.SequenceKey):
        return SEQUENCE, key.idx
    name = key.key if isinstance(key, tree.DictKey) else getattr(key, "name", None)
    if not isinstance(name, str) or "." in name:
        raise TypeError(f"Orbax has keys that are texts without a dot, got {key}")
    return DICT, name


def plain(name, x):
    """Orbax's word for a kind of leaf, and its values."""
    if type(x) in (bool, int, float):
        return "scalar", np.asarray(x)
    if not isinstance(x, (Array, np.ndarray, np.generic)):
        raise TypeError(f"{name} is a {type(x).__name__}; Orbax keeps arrays and numbers")
    if isinstance(x.dtype, dtypes.ExtendedDType) or x.dtype.name not in PLAIN:
        raise TypeError(f"{name} has the dtype {x.dtype.name}, which Zarr has no name for; convert it")
    return "np.ndarray", np.asarray(x)  # its word for arrays of devices needs to know these


def described(folder, name, host):
    """What tensorstore is told of a new array."""
    metadata = {"shape": list(host.shape), "chunks": [max(1, n) for n in host.shape]}
    return {
        **place(folder, name),
        "metadata": metadata,
        "dtype": host.dtype.name,
        "store_data_equal_to_fill_value": True,
    }


__all__ = ["read", "write"]
