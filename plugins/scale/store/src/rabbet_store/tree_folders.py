"""One pytree of arrays in a folder: what programs of JAX's know as ``pytree_serialization``.

The folder holds two checkpoints (``Checkpoints``): ``structure``, of which each leaf is the type of an array,
and ``arrays``, by the numbers of the leaves. What is saved again takes the next number in both, so a program
that ends while it writes leaves what was there.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import rabbet as rb
from rabbet import Array, dtypes, tree
from rabbet.errors import ArgumentError
from rabbet.extend.functions import folded
from rabbet.extend.sharding import SingleDeviceSharding

from rabbet_store.checkpoints import Checkpoints
from rabbet_store.errors import CheckpointError


class PyTreeFuture:
    """What is saved or loaded meanwhile.

    Attributes:
      pytree: the tree with ``rb.ShapeDtypeStruct``s for arrays, at once.
    """

    def __init__(self, pytree: Any, work: Callable[[], Any]) -> None:
        self.pytree = pytree
        thread = concurrent.futures.ThreadPoolExecutor(1, "rabbet-tree-folder")
        self._future = thread.submit(work)
        thread.shutdown(wait=False)

    def done(self) -> bool:
        """Whether it is finished."""
        return self._future.done()

    def result(self) -> Any:
        """The loaded tree, or None, when it is finished.

        Raises:
          CheckpointError: it could not be written or read.
        """
        return self._future.result()

    def __await__(self) -> Any:
        import asyncio  # only where somebody awaits

        return asyncio.wrap_future(self._future).__await__()


@folded
def nonblocking_save(
    data: Any, directory: str | os.PathLike, *, overwrite: bool = True, ts_specs: Any = None
) -> PyTreeFuture:
    """``save`` that goes on while the program does; values are copied before this returns.

    Returns:
      a future whose ``result()`` is None.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import pytree_serialization
      >>> future = pytree_serialization.nonblocking_save({"w": rnp.ones(3)}, tempfile.mkdtemp())
      >>> future.pytree, future.result()
      ({'w': ShapeDtypeStruct(shape=(3,), dtype=float32)}, None)
    """
    _refuse_specs("save", ts_specs)
    leaves, structure = tree.flatten(data)
    paths = [tree.keystr(path) for path, _ in tree.flatten_with_path(data)[0]]
    for path, x in zip(paths, leaves, strict=True):
        if not isinstance(x, (Array, np.ndarray, np.generic)):
            raise TypeError(
                f"save: {path or 'data'} is {x!r:.60}, and arrays are saved\n  to fix: rnp.asarray"
            )
    types = [rb.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves]
    arrays, shape = _folders(directory)
    if not overwrite and shape.steps():
        raise ValueError(f"save: there is a tree in {directory} already\n  to fix: overwrite=True")
    step = max([-1, *arrays.steps(), *shape.steps()]) + 1
    arrays.save(step, {str(i): x for i, x in enumerate(leaves)})

    def rest() -> None:
        arrays.wait()
        shape.save(step, tree.unflatten(structure, [_text(t) for t in types]), wait=True)

    return PyTreeFuture(tree.unflatten(structure, types), rest)


@folded
def save(data: Any, directory: str | os.PathLike, *, overwrite: bool = True, ts_specs: Any = None) -> None:
    """Write a pytree of arrays to a folder of this computer, or one that all processes see.

    Args:
      data: the pytree; its containers are those that ``rabbet.store.Checkpoints`` keeps.
      directory: the folder. It is made.
      overwrite: whether a tree that is there gives way; other files stay.
      ts_specs: None: the files are rabbet.store's.

    Raises:
      TypeError: for a leaf that is no array. ValueError: with ``overwrite=False``, if a tree is there.
      CheckpointError: it could not be written.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import pytree_serialization
      >>> folder = tempfile.mkdtemp()
      >>> pytree_serialization.save({"w": rnp.ones(3), "b": None}, folder)
      >>> pytree_serialization.load(folder, rb.devices()[0])
      {'b': None, 'w': Array([1., 1., 1.], dtype=float32)}
    """
    nonblocking_save(data, directory, overwrite=overwrite, ts_specs=ts_specs).result()


@folded
def load_pytreedef(directory: str | os.PathLike) -> Any:
    """The tree in a folder with an ``rb.ShapeDtypeStruct`` for each array; no array is read.

    Raises:
      CheckpointError: there is none.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import pytree_serialization
      >>> folder = tempfile.mkdtemp()
      >>> pytree_serialization.save({"w": rnp.ones(3)}, folder)
      >>> pytree_serialization.load_pytreedef(folder)["w"].shape
      (3,)
    """
    return _types(directory)[1]


@folded
def nonblocking_load(
    directory: str | os.PathLike, shardings: Any, *, mask: Any = None, ts_specs: Any = None
) -> PyTreeFuture:
    """``load`` that goes on while the program does.

    Returns:
      a future whose ``result()`` is the tree.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import pytree_serialization
      >>> folder = tempfile.mkdtemp()
      >>> pytree_serialization.save({"w": rnp.ones(3)}, folder)
      >>> pytree_serialization.nonblocking_load(folder, rb.devices()[0]).result()
      {'w': Array([1., 1., 1.], dtype=float32)}
    """
    _refuse_specs("load", ts_specs)
    step, types = _types(directory)
    leaves, structure = tree.flatten(types)
    names = "load: shardings", "the tree"
    places = tree.broadcast_prefix(shardings, types, names=names)
    wanted = [True] * len(leaves)
    if mask is not None:
        wanted = [bool(m) for m in tree.broadcast_prefix(mask, types, names=("load: mask", "the tree"))]
    like = {
        str(i): _placed(t, place)
        for i, (t, place) in enumerate(zip(leaves, places, strict=True))
        if wanted[i]
    }
    stubs = [like.get(str(i)) for i in range(len(leaves))]

    def read() -> Any:
        arrays = _folders(directory)[0].load(step, like=like, partial=True) if like else {}
        return tree.unflatten(structure, [arrays.get(str(i)) for i in range(len(leaves))])

    return PyTreeFuture(tree.unflatten(structure, stubs), read)


@folded
def load(directory: str | os.PathLike, shardings: Any, *, mask: Any = None, ts_specs: Any = None) -> Any:
    """Read the pytree in a folder.

    Args:
      directory: where ``save`` put it.
      shardings: for each array a ``Sharding``, a device, or an ``rb.ShapeDtypeStruct`` with a sharding; a
        prefix of the tree, so one stands for all.
      mask: booleans, a prefix of the tree: what is False is not read, and None stands for it.
      ts_specs: None: the files are rabbet.store's.

    Raises:
      CheckpointError: there is none, it is damaged, or an array has another shape or dtype than asked for.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import pytree_serialization
      >>> folder = tempfile.mkdtemp()
      >>> pytree_serialization.save({"w": rnp.ones(3)}, folder)
      >>> pytree_serialization.load(folder, rb.devices()[0])
      {'w': Array([1., 1., 1.], dtype=float32)}
    """
    return nonblocking_load(directory, shardings, mask=mask, ts_specs=ts_specs).result()


def _folders(directory: str | os.PathLike) -> tuple[Checkpoints, Checkpoints]:
    """The checkpoints of the arrays, and of the structure. Of the arrays those before stay, too, for the
    structure is what says which ones count.
    """
    if "://" in str(directory):
        raise ValueError(
            f"a tree is saved in a folder of files, got {str(directory)!r}; rabbet.store copies them"
        )
    folder = pathlib.Path(directory)
    return Checkpoints(folder / "arrays", keep=2), Checkpoints(folder / "structure", keep=1)


def _types(directory: str | os.PathLike) -> tuple[int, Any]:
    """The number of the tree in a folder, and its types."""
    shape = _folders(directory)[1]
    step = shape.latest()
    if step is None:
        raise CheckpointError(f"there is no tree in {directory}, as pytree_serialization.save writes it")
    return step, tree.map(_type, shape.load(step))


def _text(aval: rb.ShapeDtypeStruct) -> str:
    return f"{aval.dtype.name} {','.join(map(str, aval.shape))}"


def _type(text: str) -> rb.ShapeDtypeStruct:
    name, _, sizes = text.partition(" ")
    return rb.ShapeDtypeStruct([int(n) for n in sizes.split(",") if n], dtypes.canonicalize(name))


def _placed(aval: rb.ShapeDtypeStruct, place: Any) -> rb.ShapeDtypeStruct:
    """A type with the place where it should lie."""
    if isinstance(place, rb.ShapeDtypeStruct):
        if place.shape != aval.shape:
            raise CheckpointError(f"load: an array of the shape {aval.shape} is asked for as {place.shape}")
        return place
    if isinstance(place, rb.Device):
        place = SingleDeviceSharding(place)
    return rb.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=place)


def _refuse_specs(who: str, ts_specs: Any) -> None:
    if ts_specs is not None:
        raise ArgumentError(
            f"{who}: ts_specs are for tensorstore's files, and trees are kept in those of rabbet.store\n"
            "  to fix: leave ts_specs out; array_serialization.serialization takes them for single arrays"
        )


__all__ = ["PyTreeFuture", "load", "load_pytreedef", "nonblocking_load", "nonblocking_save", "save"]
