"""Pytrees under JAX's longer names, and the ways to register classes as nodes.

``rabbet.tree`` has the short names (``tree.map``); this module has ``tree_map`` and its relatives, paths,
``Partial``, and the registration of dataclasses, static objects and classes that flatten themselves.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from rabbet import tree
from rabbet.errors import TreeError
from rabbet.extend.functions import folded, public_module
from rabbet.extend.wrapping import under_name
from rabbet.tree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    keystr,
    one_level,
    registry,
)

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all_leaves", "flatten_one_level", "flatten_one_level_with_keys", "is_tree_node", "keystr",
    "register_dataclass", "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast", "tree_flatten",
    "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_with_path",
    "tree_reduce", "tree_reduce_associative", "tree_structure", "tree_transpose", "tree_unflatten",
    "treedef_children", "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip

T = TypeVar("T")

tree_all = under_name(tree.all, "tree_all")
tree_broadcast = under_name(tree.broadcast, "tree_broadcast")
tree_flatten = under_name(tree.flatten, "tree_flatten")
tree_flatten_with_path = under_name(tree.flatten_with_path, "tree_flatten_with_path")
tree_leaves = under_name(tree.leaves, "tree_leaves")
tree_leaves_with_path = under_name(tree.leaves_with_path, "tree_leaves_with_path")
tree_map = under_name(tree.map, "tree_map")
tree_map_with_path = under_name(tree.map_with_path, "tree_map_with_path")
tree_reduce = under_name(tree.reduce, "tree_reduce")
tree_reduce_associative = under_name(tree.reduce_associative, "tree_reduce_associative")
tree_structure = under_name(tree.structure, "tree_structure")
tree_transpose = under_name(tree.transpose, "tree_transpose")
for _longer in __all__:
    if _longer.startswith("tree_") and _longer in globals():
        globals()[_longer].__module__ = __name__  # where pickle and help find it


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves.

    Example:
      >>> rb.tree_util.tree_unflatten(tree.structure({"a": 1, "b": 2}), [3, 4])
      {'a': 3, 'b': 4}
    """
    return treedef.unflatten(leaves)


# Structures, levels, paths ------------------------------------------------------------------------


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of a structure's root.

    Example:
      >>> rb.tree_util.treedef_children(tree.structure([1, (2, 3)]))
      [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single leaf.

    Example:
      >>> rb.tree_util.treedef_is_leaf(tree.structure(1))
      True
    """
    return treedef.node_data() is None


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees with these structures.

    Example:
      >>> rb.tree_util.treedef_tuple([tree.structure(1), tree.structure([2])])
      PyTreeDef((*, [*]))
    """
    return tree.tuple_of(treedefs)


def is_tree_node(typ: type) -> bool:
    """Whether instances of ``typ`` are nodes because the class is built in or registered (named tuples
    are too).

    Example:
      >>> rb.tree_util.is_tree_node(list), rb.tree_util.is_tree_node(int)
      (True, False)
    """
    return registry.is_node(typ)


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[..., bool] | None = None) -> bool:
    """Whether every item is a leaf, so that the iterable may be the leaves of some tree.

    Example:
      >>> rb.tree_util.all_leaves([1, 2]), rb.tree_util.all_leaves([1, [2]])
      (True, False)
    """
    items = list(iterable)
    flat = tree.leaves(items, is_leaf if is_leaf is None else lambda x: x is not items and is_leaf(x))
    return len(flat) == len(items) and all(a is b for a, b in zip(flat, items))


def flatten_one_level(tree: Any) -> tuple[Any, Any]:
    """``(children, metadata)`` of a node. Raises TreeError for a leaf.

    Example:
      >>> rb.tree_util.flatten_one_level([1, {"a": 2}])[0]
      [1, {'a': 2}]
    """
    level = registry.flatten_one_level(tree)
    if level is None:
        raise TreeError(f"{type(tree).__qualname__} is a leaf of trees; only a node can be flattened")
    return level


def flatten_one_level_with_keys(tree: Any) -> tuple[Any, Any]:
    """``([(key, child), ...], metadata)`` of a node. Raises TreeError for a leaf.

    Example:
      >>> rb.tree_util.flatten_one_level_with_keys({"a": 1})
      ([(DictKey(key='a'), 1)], ('a',))
    """
    flatten_one_level(tree)
    keys, children, metadata = one_level(tree)
    return list(zip(keys, children)), metadata


# Registration -------------------------------------------------------------------------------------


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], Any],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], Any] | None = None,
) -> None:
    """Make instances of a class nodes; see ``rabbet.tree.register_node``.

    Example:
      >>> class Box:
      ...     def __init__(self, content):
      ...         self.content = content
      >>> rb.tree_util.register_pytree_node(Box, lambda b: ((b.content,), None), lambda _, c: Box(*c))
      >>> rb.tree.map(lambda x: 2 * x, Box(3)).content
      6
    """
    tree.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], Any],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], Any] | None = None,
) -> Any:
    """Like ``register_pytree_node`` for a class whose flatten function gives pairs ``(key, child)``.

    Example:
      >>> class Bag:
      ...     def __init__(self, content):
      ...         self.content = content
      >>> key = rb.tree_util.GetAttrKey("content")
      >>> _ = rb.tree_util.register_pytree_with_keys(
      ...     Bag, lambda b: (((key, b.content),), None), lambda _, c: Bag(*c)
      ... )
      >>> rb.tree_util.keystr(rb.tree_util.tree_flatten_with_path(Bag(1))[0][0][0])
      '.content'
    """

    def flatten(node: Any) -> Any:
        pairs, metadata = flatten_with_keys(node)
        return [child for _, child in pairs], metadata

    tree.register_node(nodetype, flatten_func or flatten, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: type) -> type:
    """Class decorator: ``tree_flatten(self)`` and the class method ``tree_unflatten(metadata, children)``
    do the work.

    Example:
      >>> @rb.tree_util.register_pytree_node_class
      ... class Point:
      ...     def __init__(self, x, y):
      ...         self.x, self.y = x, y
      ...     def tree_flatten(self):
      ...         return (self.x, self.y), None
      ...     @classmethod
      ...     def tree_unflatten(cls, extra, children):
      ...         return cls(*children)
      >>> rb.grad(lambda p: p.x * p.y)(Point(2.0, 3.0)).x
      Array(3., dtype=float32, weak_type=True)
    """
    tree.register_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: type) -> type:
    """Class decorator like ``register_pytree_node_class``; ``tree_flatten_with_keys(self)`` gives pairs.

    ``tree_flatten``, if the class has it, is used where no paths are asked for.

    Example:
      >>> @rb.tree_util.register_pytree_with_keys_class
      ... class Can:
      ...     def __init__(self, content):
      ...         self.content = content
      ...     def tree_flatten_with_keys(self):
      ...         return ((rb.tree_util.GetAttrKey("content"), self.content),), None
      ...     @classmethod
      ...     def tree_unflatten(cls, metadata, children):
      ...         return cls(*children)
      >>> rb.tree.leaves(Can([1, 2]))
      [1, 2]
    """
    flatten = (lambda node: node.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda node: node.tree_flatten_with_keys(), cls.tree_unflatten, flatten)
    return cls


def register_static(cls: type) -> type:
    """Make instances of a class nodes without leaves, part of the structure. They need ``==`` and
    ``hash``.

    Example:
      >>> @rb.tree_util.register_static
      ... class Options:
      ...     steps = 3
      >>> tree.leaves(Options())
      []
    """
    tree.register_node(cls, lambda node: ((), node), lambda node, children: node)
    return cls


def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]:
    """Make instances of a dataclass nodes; also a class decorator.

    Args:
      nodetype: a dataclass, or, with both kinds of fields given, any class that takes them as keywords.
      data_fields: names of the fields that hold subtrees. By default all that are not made by
      ``rabbet.tree.static``. meta_fields: names of the fields that are part of the structure; their
      values need ``==`` and ``hash``. drop_fields: names of fields that are neither: they are lost, and
      get their default when the node is rebuilt.

    Returns the class.

    Example:
      >>> import dataclasses
      >>> @rb.tree_util.register_dataclass
      ... @dataclasses.dataclass
      ... class State:
      ...     position: float
      ...     speed: float
      >>> tree.map(lambda x: 2 * x, State(1.0, 3.0))
      State(position=2.0, speed=6.0)
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError("register_dataclass: give both data_fields and meta_fields, or neither")
    if data_fields is None:
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(
                f"register_dataclass: {nodetype!r} is not a dataclass; give data_fields and meta_fields, "
                f"or decorate it with dataclasses.dataclass first (below this decorator)"
            )
        static = {f.name for f in dataclasses.fields(nodetype) if f.metadata.get("static")}
        names = [f.name for f in dataclasses.fields(nodetype) if f.init and f.name not in drop_fields]
        data_fields = [name for name in names if name not in static]
        meta_fields = [name for name in names if name in static]
    data_fields, meta_fields = list(data_fields), list(meta_fields)
    if dataclasses.is_dataclass(nodetype):
        _check_fields(nodetype, data_fields, meta_fields, drop_fields)
    tree.register_dataclass_node(nodetype, data_fields, meta_fields)
    return nodetype


def _check_fields(
    nodetype: type, data_fields: Sequence[str], meta_fields: Sequence[str], drop_fields: Sequence[str]
) -> None:
    """Every field that ``__init__`` takes is named once."""
    expected = {f.name for f in dataclasses.fields(nodetype) if f.init}
    named = [*data_fields, *meta_fields, *drop_fields]
    unknown = [name for name in named if name not in {f.name for f in dataclasses.fields(nodetype)}]
    missing = sorted(expected - set(named))
    twice = sorted({name for name in named if named.count(name) > 1})
    for what, names in {"it has not": unknown, "left out": missing, "named twice": twice}.items():
        if names:
            raise TreeError(
                f"register_dataclass of {nodetype.__qualname__}: fields {what}: {', '.join(names)}\n"
                f"  data_fields={data_fields}, meta_fields={meta_fields}, drop_fields={list(drop_fields)}"
            )


# Partial ------------------------------------------------------------------------------------------


class _Opaque:
    """A ``functools.partial`` behind a plain call, so that ``Partial`` does not take it apart: its
    arguments are static.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: Any) -> bool:
        return self.function == (other.function if type(other) is _Opaque else other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


@folded
class Partial(functools.partial):
    """``functools.partial`` as a node: the arguments are its children, the function is part of the
    structure.

    A jitted function can so take and return functions. The function is compared by ``==``: pass a named
    one, because each evaluation of a ``lambda`` makes a new function, which means a new trace.

    Example:
      >>> add = rb.tree_util.Partial(lambda a, b: a + b, 1.0)
      >>> rb.jit(lambda f, x: f(x))(add, 2.0)
      Array(3., dtype=float32, weak_type=True)
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        # functools.partial would merge with a partial inside, and turn its static arguments into children;
        # not with what wraps another function, as what `jit` returns does.
        whole = isinstance(func, Partial) or hasattr(func, "__wrapped__")
        if isinstance(func, functools.partial) and not whole:
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **kw)


def _flatten_partial(node: Any) -> Any:
    return ((GetAttrKey("args"), node.args), (GetAttrKey("keywords"), node.keywords)), node.func


register_pytree_with_keys(
    Partial,
    _flatten_partial,
    lambda func, children: Partial(func, *children[0], **children[1]),
    lambda node: ((node.args, node.keywords), node.func),
)


public_module(globals())
