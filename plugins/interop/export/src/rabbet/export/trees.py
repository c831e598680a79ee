"""Structures of arguments and results as bytes: tuples, lists, dicts, None, and registered classes.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from rabbet import tree
from rabbet.export.errors import ExportError
from rabbet.export.flatbuffer_reader import Damaged
from rabbet.export.flatbuffer_writer import Number

T = TypeVar("T")
LEAF, NONE, TUPLE, LIST, DICT, CUSTOM = range(6)
KIND, CHILDREN, KEYS, NAME, METADATA = range(5)


class Registration(NamedTuple):
    """How nodes of a class are written and read."""

    cls: type
    name: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    build: Callable[[Any, Sequence[Any]], Any] | None


by_class: dict[type, Registration] = {}
by_name: dict[str, Registration] = {}


def _register(registration):
    cls, name = registration.cls, registration.name
    if cls in by_class:
        raise ValueError(
            f"{cls.__qualname__} is registered for serialization already, under the name "
            f"{by_class[cls].name!r}"
        )
    if name in by_name:
        raise ValueError(
            f"the serialized_name {name!r} is taken by {by_name[name].cls.__qualname__}; names are unique in "
            "a process"
        )
    by_class[cls] = by_name[name] = registration


def register_pytree_node_serialization(
    nodetype: type[T],
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type[T]:
    """Say how nodes of a registered class stand in exported programs. The reader registers the same.

    Args:
      nodetype: a class that is registered with ``tree_util.register_pytree_node``.
      serialized_name: the name in artifacts, unique in a process.
      serialize_auxdata: from the metadata that flattening gives to bytes.
      deserialize_auxdata: from these bytes to the metadata.
      from_children: ``(metadata, children) -> node``, where that is not what unflattening does.

    Returns:
      ``nodetype``.

    Raises:
      ValueError: for a class or a name that is registered already.

    Example:
      >>> from rabbet import export, tree_util
      >>> class Wave:
      ...     def __init__(self, height, name):
      ...         self.height, self.name = height, name
      >>> Wave = tree_util.register_pytree_node(
      ...     Wave, lambda w: ((w.height,), w.name), lambda name, children: Wave(*children, name)
      ... ) or Wave
      >>> export.register_pytree_node_serialization(
      ...     Wave, serialized_name="sea.Wave", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode
      ... ) is Wave
      True
    """
    _register(Registration(
        nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children
    ))  # fmt: skip
    return nodetype


def register_namedtuple_serialization(nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Say under which name a named tuple stands in exported programs. The reader registers the same.

    Args:
      nodetype: made by ``collections.namedtuple`` or ``typing.NamedTuple``.
      serialized_name: the name in artifacts, unique in a process.

    Returns:
      ``nodetype``, so it can decorate a class.

    Raises:
      ValueError: for what is not a named tuple; for a class or a name that is registered already.

    Example:
      >>> import collections
      >>> from rabbet import export
      >>> Place = collections.namedtuple("Place", ["x", "y"])
      >>> export.register_namedtuple_serialization(Place, serialized_name="maps.Place") is Place
      True
    """
    fields = getattr(nodetype, "_fields", None)
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and fields is not None):
        raise ValueError(
            f"{getattr(nodetype, '__qualname__', nodetype)!r} is not a named tuple; use "
            "register_pytree_node_serialization"
        )

    def read(content):
        found = json.loads(content)
        if found != list(fields):
            raise ExportError(
                f"{nodetype.__qualname__} has the fields {list(fields)}, and the artifact those of another "
                f"version: {found}"
            )
        return nodetype

    _register(Registration(
        nodetype, serialized_name, lambda _: json.dumps(list(fields)).encode(), read,
        lambda metadata, children: nodetype(*children),
    ))  # fmt: skip
    return nodetype


def tree_fields(structure):
    """A structure as a table to write."""
    data = structure.node_data()
    if data is None:
        return {KIND: Number("B", LEAF)}
    cls, metadata = data
    children = [tree_fields(child) for child in structure.children()]
    plain = {type(None): NONE, tuple: TUPLE, list: LIST, dict: DICT}.get(cls)
    if cls not in by_class and (cls is OrderedDict or (cls is dict and not _are_texts(metadata))):
        name = ORDERED if cls is OrderedDict else KEYED
        content = json.dumps([_key(key) for key in metadata]).encode()
        return {KIND: Number("B", CUSTOM), CHILDREN: children, NAME: name, METADATA: content}
    if cls not in by_class and plain is None:
        raise ExportError(
            f"a structure with {cls.__qualname__} cannot be serialized; register the class with "
            "export.register_pytree_node_serialization, or export.register_namedtuple_serialization for a "
            "named tuple"
        )
    if plain is None or cls in by_class:
        found = by_class[cls]
        content = found.write(metadata)
        if not isinstance(content, (bytes, bytearray)):
            raise TypeError(
                f"serialize_auxdata of {cls.__qualname__} must return bytes, got {type(content).__name__}"
            )
        return {KIND: Number("B", CUSTOM), CHILDREN: children, NAME: found.name, METADATA: bytes(content)}
    fields = {KIND: Number("B", plain), CHILDREN: children or None}
    if plain == DICT:
        fields[KEYS] = list(metadata)
    return fields


# Names of what needs no registration, beside those of registered classes.
ORDERED, KEYED = "collections.OrderedDict", "builtins.dict"


def _are_texts(keys):
    return all(isinstance(key, str) for key in keys)


def _key(key):
    """A dict's key as JSON: numbers and texts as they are, a tuple as a list."""
    if key is None or type(key) in (bool, int, float, str):
        return key
    if type(key) is tuple:
        return [_key(part) for part in key]
    raise TypeError(
        "dicts in serialized structures have texts, numbers, None or tuples of these as keys, got "
        f"{key!r}, {type(key).__name__}"
    )


def _read_key(key):
    if isinstance(key, dict):
        raise Damaged("a dict in it has a key that no dict has")
    return tuple([_read_key(part) for part in key]) if isinstance(key, list) else key


def _read_keyed(name, content, children):
    """The structure of an OrderedDict, or of a dict whose keys are not all texts."""
    try:
        keys = json.loads(content)
    except ValueError:
        keys = None
    if not isinstance(keys, list) or len(keys) != len(children):
        raise Damaged("the keys of a dict in it are not those of its values")
    keys = [_read_key(key) for key in keys]
    leaves = [child.unflatten([0] * child.num_leaves) for child in children]
    try:
        found = tree.structure((OrderedDict if name == ORDERED else dict)(zip(keys, leaves, strict=True)))
    except (TypeError, ValueError):  # keys that cannot be sorted
        found = None
    if found is None or found.children() != children:
        raise Damaged("the keys of a dict in it are not those of its values")
    return found


def read_tree(table):
    """The structure that a table holds."""
    if table is None:
        raise Damaged("it has no structure of its arguments or results")
    kind = table.number(KIND, "B")
    if kind == LEAF:
        return tree.structure(0)
    children = [read_tree(child) for child in table.tables(CHILDREN)]
    if kind == NONE and not children:
        return tree.structure(None)
    if kind in (TUPLE, LIST):
        return _joined((tuple if kind == TUPLE else list, None), children)
    if kind == DICT:
        keys = table.texts(KEYS)
        if len(keys) != len(children) or keys != sorted(set(keys)):
            raise Damaged("the keys of a dict in it are not those of its values")
        return _joined((dict, keys), children)
    if kind == CUSTOM:
        return _custom(table, children)
    raise Damaged(f"it has a structure of the unknown kind {kind}")


def _custom(table, children):
    name = table.text(NAME)
    found = by_name.get(name)
    if found is None and name in (ORDERED, KEYED):
        return _read_keyed(name, table.content(METADATA), children)
    if found is None:
        raise ExportError(
            f"the artifact has nodes of a class that was serialized as {name!r}, and nothing is registered "
            "under this name here; register the class with export.register_pytree_node_serialization, or "
            "export.register_namedtuple_serialization, before loading"
        )
    metadata = found.read(table.content(METADATA))
    if found.build is not None:
        leaves = [child.unflatten([0] * child.num_leaves) for child in children]
        return tree.structure(found.build(metadata, leaves))
    return _joined((found.cls, metadata), children)


def _joined(data, children):
    return tree.PyTreeDef.from_node_data_and_children(tree.registry, data, children)


__all__ = [
    "read_tree", "register_namedtuple_serialization", "register_pytree_node_serialization", "tree_fields",
]  # fmt: skip
