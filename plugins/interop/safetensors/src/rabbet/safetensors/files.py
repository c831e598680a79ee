"""Saving and loading: trees of arrays to named tensors, and back."""

from __future__ import annotations

import json
import mmap
import os
import pathlib
import secrets
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

import rabbet as rb
from rabbet import dtypes, tree
from rabbet.extend.functions import to_array
from rabbet.safetensors.layout import CODES, METADATA, read_header, write_header
from rabbet.tree import keystr

INDEX = ".index.json"


def save(arrays: Any, path: str | os.PathLike, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write a tree of arrays into a safetensors file.

    A tensor's name is the path to it, joined by points: ``{"layers": [{"w": x}]}`` has ``layers.0.w``. The
    file appears under its name when it is complete.

    Args:
      arrays: a pytree of arrays of Rabbet or NumPy.
      path: the file.
      metadata: texts by name, kept beside the tensors.

    Raises:
      TypeError: a leaf is not an array, or the format has no word for its dtype.
      ValueError: two leaves would have the same name.

    Example:
      >>> rb.safetensors.save({"layers": [{"w": rnp.ones((2, 3), "bfloat16")}]}, "net.safetensors")
      >>> rb.safetensors.load("net.safetensors")["layers.0.w"].dtype.name
      'bfloat16'
    """
    path = pathlib.Path(path)
    leaves, header = prepared(arrays, metadata)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(part, "wb") as file:
            file.write(header)
            for x in leaves.values():
                file.write(x.reshape(-1).view(np.uint8).data)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def dumps(arrays: Any, *, metadata: Mapping[str, str] | None = None) -> bytes:
    """What ``save`` would write, as bytes.

    Example:
      >>> rb.safetensors.loads(rb.safetensors.dumps({"x": rnp.arange(3)}))
      {'x': Array([0, 1, 2], dtype=int32)}
    """
    leaves, header = prepared(arrays, metadata)
    return b"".join([header, *[x.tobytes() for x in leaves.values()]])


def load(
    path: str | os.PathLike, *, names: Collection[str] | None = None, like: Any = None, device: Any = None
) -> Any:
    """Read arrays out of a safetensors file. Nothing in a file is run, and the file is checked before.

    Args:
      path: the file; or of weights in several files their index, ``model.safetensors.index.json``.
      names: which tensors to read; None: all of them.
      like: a pytree of arrays or ``rb.ShapeDtypeStruct``, to be filled with what has the names of its
        leaves; shapes and dtypes must be the same.
      device: a ``Device`` or a ``Sharding`` for all arrays, or a function of a name and an
        ``rb.ShapeDtypeStruct`` that returns one; None: the default device.

    Returns:
      a dict of arrays by name; with ``like`` a pytree as it.

    Raises:
      ValueError: it is no such file, it is damaged, or what is in it is not like ``like``.
      TypeError: a tensor has a dtype without an equal here. KeyError: a name is not there.

    Example:
      >>> params = {"w": rnp.ones((2, 2)), "b": rnp.zeros(2)}
      >>> rb.safetensors.save(params, "params.safetensors")
      >>> rb.safetensors.load("params.safetensors", names=["b"])
      {'b': Array([0., 0.], dtype=float32)}
      >>> rb.tree.map(rnp.shape, rb.safetensors.load("params.safetensors", like=params))
      {'b': (2,), 'w': (2, 2)}
    """
    path = pathlib.Path(path)
    wanted = named(like, type_of_leaf) if like is not None else None
    names = list(wanted) if wanted is not None and names is None else names
    found: dict[str, Any] = {}
    for file, there in files_of(path, names):
        with open(file, "rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            view = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
            found.update(arrays_in(view, size, str(file), there, device, wanted))
    if names is None:
        return found
    ordered = {name: found[name] for name in names}
    return ordered if wanted is None else tree.unflatten(tree.structure(like), [ordered[n] for n in wanted])


def loads(data: bytes, *, device: Any = None) -> dict:
    """Arrays out of the bytes of a safetensors file, by name; see ``load``.

    Example:
      >>> rb.safetensors.loads(rb.safetensors.dumps({"x": rnp.zeros(2, "float8_e5m2")}))["x"].dtype.name
      'float8_e5m2'
    """
    return arrays_in(data, len(data), "what was given", None, device, None)


def info(path: str | os.PathLike) -> dict:
    """Which arrays a file, or the files of an index, have: ``rb.ShapeDtypeStruct`` by name. Only headers
    are read.

    Example:
      >>> rb.safetensors.save({"w": rnp.ones((2, 3))}, "w.safetensors")
      >>> rb.safetensors.info("w.safetensors")["w"].shape
      (2, 3)
    """
    found = {}
    for file, names in files_of(pathlib.Path(path), None):
        entries = header_of(file)[0]
        found.update({n: rb.ShapeDtypeStruct(e.shape, e.dtype) for n, e in entries.items() if not names or n
        in names})
    return found


def metadata(path: str | os.PathLike) -> dict:
    """The texts that were saved beside the tensors of a file.

    Example:
      >>> rb.safetensors.save({"w": rnp.ones(2)}, "w.safetensors", metadata={"step": "100"})
      >>> rb.safetensors.metadata("w.safetensors")
      {'step': '100'}
    """
    return header_of(path)[1]


def prepared(arrays, texts):
    """The leaves as contiguous NumPy arrays by name, and the header."""
    texts = dict(texts or {})
    if not all(isinstance(x, str) for pair in texts.items() for x in pair):
        raise TypeError(f"safetensors: metadata are texts by name, got {texts!r:.80}")
    leaves = named(arrays, host_array)
    # Wide numbers first, so that each tensor begins at a multiple of its elements' size.
    leaves = dict(sorted(leaves.items(), key=lambda item: -item[1].itemsize))
    return leaves, write_header(leaves, texts)


def named(given, convert):
    """The leaves of a tree by their names, each as ``convert(leaf, name)`` makes it."""
    found: dict[str, Any] = {}
    for path, leaf in tree.leaves_with_path(given):
        name = keystr(path, simple=True, separator=".")
        if name in found or name == METADATA:
            raise ValueError(f"safetensors: two leaves have the name {name!r}, or it is the format's own")
        found[name] = convert(leaf, name)
    return found


def host_array(leaf, name):
    if not isinstance(leaf, (rb.Array, np.ndarray, np.generic)):
        raise TypeError(f"safetensors: {name!r} is not an array but {type(leaf).__name__} {leaf!r:.60}")
    if isinstance(leaf, np.ma.MaskedArray):
        raise ValueError(
            f"safetensors: {name!r} is a masked array of NumPy, which would lose its mask\n  to fix: save "
            "x.data and x.mask, or x.filled(value)"
        )
    dtype = dtypes.canonicalize(leaf.dtype)
    if not isinstance(dtype, np.dtype) or dtype.name not in CODES:
        raise TypeError(
            f"safetensors: {name!r} is of dtype {dtype}, for which the format has no word; "
            "convert it"
        )
    x = np.asarray(leaf)
    return np.ascontiguousarray(x.astype(x.dtype.newbyteorder("<"), copy=False)).reshape(x.shape)


def type_of_leaf(leaf, name):
    return tuple(leaf.shape), dtypes.canonicalize(leaf.dtype)


def files_of(path, names):
    """``(file, the names to read from it)`` for a file or an index; None for all of a file's names."""
    if not path.name.endswith(INDEX):
        return [(path, names)]
    try:
        places = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        sound = all(isinstance(x, str) for pair in places.items() for x in pair)
    except (ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise ValueError(
            f"{path} is not an index of safetensors files: it has no 'weight_map' of names "
            "and files"
        )
    by_file: dict[str, list[str]] = {}
    for name in places if names is None else names:
        if name not in places:
            raise KeyError(f"{path} has no tensor {name!r}; it has {shown(places)}")
        if not places[name] or pathlib.Path(places[name]).name != places[name]:
            raise ValueError(f"{path} names the file {places[name]!r}, which does not lie beside it")
        by_file.setdefault(places[name], []).append(name)
    return [(path.parent / file, there) for file, there in by_file.items()]


def header_of(path):
    """``(entries, metadata, start)`` of a file."""
    with open(path, "rb") as file:

        def bytes_of(start, stop):
            file.seek(start)
            return file.read(stop - start)

        return read_header(bytes_of, os.fstat(file.fileno()).st_size, str(path))


def arrays_in(data, size, where, names, device, wanted):
    """The named tensors in the bytes ``data`` as arrays on their devices."""
    entries, _, start = read_header(lambda i, j: bytes(data[i:j]), size, where)
    chosen = list(entries) if names is None else names
    for name in chosen:
        if name not in entries:
            raise KeyError(f"{where} has no tensor {name!r}; it has {shown(entries)}")
        have = entries[name].shape, entries[name].dtype
        if wanted is not None and name in wanted and have != wanted[name]:
            raise ValueError(
                f"{where}: {name!r} is {have[1]}{list(have[0])}, and `like` has "
                f"{wanted[name][1]}{list(wanted[name][0])} there"
            )
    found = {}
    for name in chosen:
        entry = entries[name]
        # A copy of its own: the file may change, and what maps it is closed when nothing looks into it.
        flat = np.array(memoryview(data)[start + entry.start : start + entry.stop], np.uint8)
        x = flat.view(entry.dtype).reshape(entry.shape)
        place = device(name, rb.ShapeDtypeStruct(entry.shape, entry.dtype)) if callable(device) else device
        # A NumPy array of 64 bits would become one of 32.
        array = to_array(x, dtype=x.dtype) if place is None or x.itemsize == 8 else x
        found[name] = array if place is None else rb.device_put(array, place)
    return found


def shown(names):
    first = sorted(names)
    return ", ".join(map(repr, first[:5])) + (f" and {len(first) - 5} more" if len(first) > 5 else "")


__all__ = ["dumps", "info", "load", "loads", "metadata", "save"]
