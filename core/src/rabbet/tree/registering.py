"""The registry of nodes of trees: which classes are taken apart, and how."""

from __future__ import annotations

import dataclasses
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib._jax import pytree as cpp

from rabbet.errors import TreeError
from rabbet.messages import source_positions

DictKey = cpp.DictKey
GetAttrKey = cpp.GetAttrKey

registry = cpp.PyTreeRegistry(
    enable_none=True, enable_tuple=True, enable_namedtuple=True, enable_list=True, enable_dict=True
)
# A registry is pickled as the place where it can be imported from, and a PyTreeDef with it.
registry.__module__, registry.__name__ = "rabbet.tree", "registry"

_sites = {}
_apart: dict[type, tuple[Any, Any]] = {}
nodes = types.MappingProxyType(_apart)
"""How the classes are taken apart that were made nodes: ``(flatten, unflatten)`` for each, or for the classes
of ``register_dataclass_node`` ``(data_fields, meta_fields)``, two tuples of names."""


def register_node(
    cls: type,
    flatten: Callable[[Any], Any],
    unflatten: Callable[[Any, Any], Any],
    flatten_with_keys: Callable[[Any], Any] | None = None,
) -> None:
    """Make instances of exactly ``cls`` nodes of trees.

    Args:
      cls: the class; subclasses have to be registered themselves.
      flatten: ``flatten(node) -> (children, metadata)``. The metadata is part of the
        structure: it needs ``==`` and ``hash``, and may not hold arrays.
      unflatten: ``unflatten(metadata, children) -> node``. The children may be any objects, not only arrays.
      flatten_with_keys: like ``flatten``, but each child is a pair ``(key, child)``; the keys make up paths.

    Raises TreeError if the class is registered already.

    Example:
      >>> class Pair:
      ...     def __init__(self, left, right):
      ...         self.left, self.right = left, right
      >>> rb.tree.register_node(Pair, lambda p: ((p.left, p.right), None), lambda _, both: Pair(*both))
      >>> rb.tree.leaves(Pair(1, [2, 3]))
      [1, 2, 3]
    """
    _refuse_second(cls)
    registry.register_node(cls, flatten, unflatten, flatten_with_keys)
    _apart[cls] = flatten, unflatten
    _sites[cls] = source_positions.definition_site(skip="rabbet.tree")


def register_dataclass_node(cls: type, data_fields: Sequence[str], meta_fields: Sequence[str]) -> None:
    """Make instances of a class nodes whose children are the attributes ``data_fields``; ``meta_fields`` are
    part of the structure. ``tree_util.register_dataclass`` finds and checks the fields.

    Example:
      >>> import dataclasses
      >>> @dataclasses.dataclass
      ... class Wave:
      ...     height: float
      ...     name: str
      >>> rb.tree.register_dataclass_node(Wave, ["height"], ["name"])
      >>> rb.tree.leaves(Wave(2.0, "long"))
      [2.0]
    """
    _refuse_second(cls)
    registry.register_dataclass_node(cls, list(data_fields), list(meta_fields))
    _apart[cls] = tuple(data_fields), tuple(meta_fields)
    _sites[cls] = source_positions.definition_site(skip="rabbet.tree")


def registered() -> tuple[type, ...]:
    """The classes that were made nodes of trees, in the order in which they were; those that are nodes by
    themselves (dict, list, tuple, named tuples) are not among them.

    Example:
      >>> import collections
      >>> collections.OrderedDict in rb.tree.registered()
      True
    """
    return tuple(_sites)


def _refuse_second(cls: type) -> None:
    if registry.is_node(cls) and not _is_unregistered_namedtuple(cls):
        place = f"registered at {_sites[cls]}" if cls in _sites else "built in"
        raise TreeError(f"{cls.__qualname__} is a node of trees already, {place}; register a class once")


def _is_unregistered_namedtuple(cls: type) -> bool:
    """Whether a class is a node as a named tuple alone; its own registration wins over that."""
    return cls not in _sites and issubclass(cls, tuple) and hasattr(cls, "_fields")


def _flatten_ordered(node: Any) -> Any:
    return tuple(node.values()), tuple(node)


def _flatten_ordered_with_keys(node: Any) -> Any:
    return tuple([(DictKey(k), v) for k, v in node.items()]), tuple(node)


def _flatten_default(node: Any) -> Any:
    keys = tuple(sorted(node))
    return tuple([node[k] for k in keys]), (node.default_factory, keys)


def _flatten_default_with_keys(node: Any) -> Any:
    children, metadata = _flatten_default(node)
    return tuple([(DictKey(k), v) for k, v in zip(metadata[1], children)]), metadata


def _unflatten_ordered(keys: Sequence[Any], values: Any) -> Any:
    return OrderedDict(zip(keys, values))


def _unflatten_default(metadata: Any, values: Any) -> Any:
    factory, keys = metadata
    return defaultdict(factory, zip(keys, values))


register_node(OrderedDict, _flatten_ordered, _unflatten_ordered, _flatten_ordered_with_keys)
register_node(defaultdict, _flatten_default, _unflatten_default, _flatten_default_with_keys)


def static(**kwargs: Any) -> Any:
    """A dataclass field that is part of the structure instead of holding leaves, for ``register_dataclass``.

    Keyword arguments are those of ``dataclasses.field``.

    Example:
      >>> import dataclasses
      >>> @rb.tree_util.register_dataclass
      ... @dataclasses.dataclass
      ... class Tide:
      ...     height: float
      ...     name: str = rb.tree.static(default="low")
      >>> rb.tree.leaves(Tide(2.0))
      [2.0]
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


def one_level(node: Any) -> Any:
    """``(keys, children, metadata)`` of a node; None for a leaf.

    Example:
      >>> rb.tree.one_level({"a": 1, "b": [2]})[1:]
      ([1, [2]], ('a', 'b'))
    """
    level = registry.flatten_one_level_with_keys(node)
    if level is None:
        return None
    pairs, metadata = level
    keys, children = [key for key, _ in pairs], [child for _, child in pairs]
    if metadata is type(node) and hasattr(metadata, "_fields"):
        # A named tuple, for which jaxlib 0.10 repeats the name of the first field.
        keys = [GetAttrKey(name) for name in metadata._fields]
    return keys, children, metadata


__all__ = [
    "nodes", "one_level", "register_dataclass_node", "register_node", "registered", "registry", "static",
]  # fmt: skip
