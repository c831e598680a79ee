"""What structures tell without a tree: the paths of their leaves, and structures made of others. It holds for
users' classes too that can be made of arrays alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jaxlib._jax import pytree as cpp

from rabbet.tree.registering import registry


def leaf_paths(structure: cpp.PyTreeDef) -> list[tuple[Any, ...]]:
    """The key paths of all leaves of a pytree of this structure, in order. Where a registered class takes
    nothing but arrays, its parts are named by their positions.

    Example:
      >>> structure = rb.tree.structure({"w": [1.0, 2.0]})
      >>> [rb.tree_util.keystr(path) for path in rb.tree.leaf_paths(structure)]
      ["['w'][0]", "['w'][1]"]
    """
    numbers = list(range(structure.num_leaves))
    try:
        found, _ = registry.flatten_with_path(structure.unflatten(numbers), None)
        if all(leaf is n for (_, leaf), n in zip(found, numbers, strict=True)):
            return [path for path, _ in found]
    except Exception:  # a class of the tree is not made of numbers, or is not a node then
        pass
    return list(_paths_by_position(structure, ()))


def leaf_path(structure: cpp.PyTreeDef, index: int) -> tuple[Any, ...]:
    """The key path of leaf number ``index``, see ``leaf_paths``.

    Example:
      >>> structure = rb.tree.structure({"w": [1.0, 2.0]})
      >>> rb.tree_util.keystr(rb.tree.leaf_path(structure, 1))
      "['w'][1]"
    """
    return leaf_paths(structure)[index]


def _paths_by_position(structure: cpp.PyTreeDef, above: tuple[Any, ...]) -> Iterable[tuple[Any, ...]]:
    data = structure.node_data()
    if data is None:
        yield above
        return
    kind, keys = data
    for position, child in enumerate(structure.children()):
        if kind is dict:
            key: Any = cpp.DictKey(keys[position])
        else:
            key = (cpp.SequenceKey if kind in (tuple, list) else cpp.FlattenedIndexKey)(position)
        yield from _paths_by_position(child, (*above, key))


def tuple_of(structures: Iterable[cpp.PyTreeDef]) -> cpp.PyTreeDef:
    """The structure of a tuple of trees with these structures.

    Example:
      >>> rb.tree.tuple_of([rb.tree.structure(1), rb.tree.structure([2])])
      PyTreeDef((*, [*]))
    """
    return cpp.PyTreeDef.from_node_data_and_children(registry, (tuple, None), list(structures))


def parts_of_pair(structure: cpp.PyTreeDef) -> tuple[cpp.PyTreeDef, cpp.PyTreeDef] | None:
    """The structures of the two parts of a tuple or list of two; None for any other tree.

    Example:
      >>> rb.tree.parts_of_pair(rb.tree.structure((1, [2])))
      (PyTreeDef(*), PyTreeDef([*]))
      >>> rb.tree.parts_of_pair(rb.tree.structure(1)) is None
      True
    """
    data = structure.node_data()
    if data is None or not issubclass(data[0], (tuple, list)) or len(parts := structure.children()) != 2:
        return None
    return parts[0], parts[1]


__all__ = ["leaf_path", "leaf_paths", "parts_of_pair", "tuple_of"]
