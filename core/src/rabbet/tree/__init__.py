"""Pytrees: values made of dicts, lists, tuples, None, named tuples and registered classes, with arrays at
the leaves.

Taking trees apart and putting them together is done by jaxlib's C++ code, in a registry of our own: jaxlib's
default one belongs to the whole process, and to jax if that is imported too. Code that is called very
often may use ``registry.flatten(tree, is_leaf)`` and ``treedef.unflatten(leaves)``, which are the C++
methods themselves.

None is a node without leaves. Dicts are sorted by key; an ``OrderedDict`` keeps its order, which is part
of its structure. Structures (``PyTreeDef``) can be compared, hashed and pickled.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, overload

from rabbet.tree import loading  # first: it loads jaxlib  # isort: skip
from jaxlib._jax import pytree as cpp

from rabbet.errors import TreeError
from rabbet.messages import tracebacks, tree_nodes
from rabbet.tree import recursion_levels
from rabbet.tree.tree_errors import depth_problem, difference, unsortable_keys, watched
from rabbet.tree.registering import (
    nodes, one_level, register_dataclass_node, register_node, registered, registry, static,
)  # fmt: skip
from rabbet.tree.structures import leaf_path, leaf_paths, parts_of_pair, tuple_of

__passes_operations_on__ = True

PyTreeDef: TypeAlias = cpp.PyTreeDef
DictKey = cpp.DictKey
SequenceKey = cpp.SequenceKey
GetAttrKey = cpp.GetAttrKey
FlattenedIndexKey = cpp.FlattenedIndexKey
KeyEntry = TypeVar("KeyEntry")
KeyPath = tuple[KeyEntry, ...]
_IsLeaf: TypeAlias = Callable[..., bool] | None

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "PyTreeDef", "SequenceKey", "all",
    "broadcast", "broadcast_prefix", "flatten", "flatten_with_path", "keystr", "leaf_path", "leaf_paths",
    "leaves", "leaves_with_path", "map", "map_with_path", "nodes", "one_level", "parts_of_pair",
    "reduce", "reduce_associative",
    "register_dataclass_node", "register_node", "registered", "registry", "static", "structure",
    "transpose", "tuple_of",
    "unflatten",
]  # fmt: skip

_MISSING = object()
_DIFFER = "{}: the trees differ in structure"


# Apart and together -------------------------------------------------------------------------------


def flatten(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """``(leaves, treedef)``: the leaves in order, and the structure that puts them together again.

    ``is_leaf(node)`` may stop at a node and make it a leaf.

    Example:
      >>> leaves, structure = tree.flatten({"a": 1, "b": (2, 3)})
      >>> leaves, structure
      ([1, 2, 3], PyTreeDef({'a': *, 'b': (*, *)}))
    """
    watching, wrong = (None, None) if is_leaf is None else watched(tree, is_leaf)
    try:
        found = registry.flatten(tree, watching)
        if not wrong:
            return found
        problem = None
    except BaseException as error:
        recursion_levels.give_back(error, tree, is_leaf)
        # jaxlib says SystemError where it can go no deeper itself.
        problem = depth_problem(tree, is_leaf) if isinstance(error, RecursionError | SystemError) else None
        if problem is None:
            unsortable = unsortable_keys(tree, error, is_leaf)
            if unsortable is None:
                raise
            raise TreeError(unsortable) from error.__cause__
    raise wrong[0] if wrong else TreeError(problem)


_flatten = flatten
unflatten = PyTreeDef.unflatten  # unflatten(treedef, leaves) -> tree


def leaves(tree: Any, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves of a tree, in order.

    Example:
      >>> tree.leaves({"a": 1, "b": (2, None)})
      [1, 2]
    """
    return _flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: _IsLeaf = None) -> PyTreeDef:
    """The structure of a tree, a ``PyTreeDef``.

    Example:
      >>> tree.structure({"a": 1, "b": (2, 3)})
      PyTreeDef({'a': *, 'b': (*, *)})
    """
    return _flatten(tree, is_leaf)[1]


def flatten_with_path(
    tree: Any, is_leaf: _IsLeaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[Any, Any]], PyTreeDef]:
    """``([(path, leaf), ...], treedef)``. A path is a tuple of keys; ``keystr`` prints it.

    With ``is_leaf_takes_path`` it is called as ``is_leaf(path, node)``.

    Example:
      >>> [(rb.tree_util.keystr(path), leaf) for path, leaf in tree.flatten_with_path({"a": [1, 2]})[0]]
      [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    watching, wrong = (None, None) if is_leaf is None else watched(tree, is_leaf, is_leaf_takes_path)
    try:
        found = registry.flatten_with_path(tree, watching)
    except BaseException as error:
        recursion_levels.give_back(error, tree, is_leaf, is_leaf_takes_path, keyed=True)
        if isinstance(error, RecursionError | SystemError):
            flatten(tree, None if is_leaf_takes_path else is_leaf)  # says what is wrong, if it is the depth
        elif not is_leaf_takes_path and (problem := unsortable_keys(tree, error, is_leaf)) is not None:
            raise TreeError(problem) from error.__cause__
        raise
    if wrong:
        raise wrong[0]
    return found


def leaves_with_path(
    tree: Any, is_leaf: _IsLeaf = None, is_leaf_takes_path: bool = False
) -> list[tuple[Any, Any]]:
    """``[(path, leaf), ...]``, in order.

    Example:
      >>> [(rb.tree_util.keystr(path), leaf) for path, leaf in tree.leaves_with_path({"a": [1, 2]})]
      [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def keystr(keys: Sequence[Any], *, simple: bool = False, separator: str = "") -> str:
    """A path as text: ``['layers'][0].weight``; simple and separated by ``/``: ``layers/0/weight``.

    Example:
      >>> path, leaf = rb.tree_util.tree_flatten_with_path({"a": [1]})[0][0]
      >>> rb.tree_util.keystr(path)
      "['a'][0]"
    """
    return separator.join([_simple(key) if simple else str(key) for key in keys])


def _simple(key: Any) -> str:
    return str(next((getattr(key, name) for name in ("key", "idx", "name") if hasattr(key, name)), key))


# Whole trees --------------------------------------------------------------------------------------


@overload
def map(f: Callable[[Any], Any], tree: Any, /, *, is_leaf: _IsLeaf = None) -> Any: ...
@overload
def map(f: Callable[[Any, Any], Any], tree: Any, other: Any, /, *, is_leaf: _IsLeaf = None) -> Any: ...
@overload
def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _IsLeaf = None) -> Any: ...
def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _IsLeaf = None) -> Any:
    """A tree of the structure of ``tree`` whose leaves are ``f(leaf, *leaves_of_the_rest)``.

    Each tree of ``rest`` must have that structure too, but may have subtrees in place of leaves.
    Raises TreeError, which names the path, where it has not.

    Example:
      >>> tree.map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
      {'a': 11, 'b': [22]}
    """
    first, treedef = _flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten(builtins.map(f, first))
    columns = [_flatten_up_to(treedef, tree, other, is_leaf, _DIFFER.format("tree.map")) for other in rest]
    return treedef.unflatten(builtins.map(f, first, *columns))


def map_with_path(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _IsLeaf = None, is_leaf_takes_path: bool = False
) -> Any:
    """Like ``map``, but ``f`` gets the path of the leaf first: ``f(path, leaf, *leaves_of_the_rest)``.

    Example:
      >>> tree.map_with_path(lambda path, x: f"{rb.tree_util.keystr(path)}={x}", {"a": [1, 2]})
      {'a': ["['a'][0]=1", "['a'][1]=2"]}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [
        _flatten_up_to(treedef, tree, other, is_leaf, _DIFFER.format("tree.map_with_path")) for other in rest
    ]
    return treedef.unflatten([f(path, leaf, *others) for (path, leaf), *others in zip(pairs, *columns)])


def reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _MISSING, is_leaf: _IsLeaf = None
) -> Any:
    """Combine the leaves from the left: ``function(function(leaf0, leaf1), leaf2)`` ...

    Example:
      >>> tree.reduce(lambda a, b: a + b, {"a": 1, "b": [2, 3]})
      6
    """
    start = () if initializer is _MISSING else (initializer,)
    return functools.reduce(function, leaves(tree, is_leaf), *start)


def reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = _MISSING, is_leaf: _IsLeaf = None
) -> Any:
    """Combine the leaves by an associative ``operation``, in pairs, so that rounding and depth grow slowly.

    Raises TypeError for a tree without leaves if there is no ``identity``.

    Example:
      >>> tree.reduce_associative(lambda a, b: a + b, {"a": 1, "b": [2, 3]})
      6
    """
    items = leaves(tree, is_leaf)
    if not items:
        if identity is _MISSING:
            raise TypeError("reduce_associative of a tree without leaves needs an identity")
        return identity
    while len(items) > 1:
        pairs = [operation(a, b) for a, b in zip(items[::2], items[1::2])]
        items = pairs + items[len(pairs) * 2 :]
    return items[0]


def all(tree: Any, *, is_leaf: _IsLeaf = None) -> bool:
    """Whether all leaves are true.

    Example:
      >>> tree.all({"a": True, "b": [True, False]})
      False
    """
    return builtins.all(leaves(tree, is_leaf))


def transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees inside out: from structure outer of inner to inner of outer.

    ``inner_treedef`` may be None; then it is read from the tree.

    Example:
      >>> tree.transpose(tree.structure([0, 0]), tree.structure({"a": 0}), [{"a": 1}, {"a": 2}])
      {'a': [1, 2]}
    """
    items, treedef = _flatten(pytree_to_transpose, None)
    if inner_treedef is None:
        parts = _flatten_up_to(
            outer_treedef, None, pytree_to_transpose, None, _DIFFER.format("tree.transpose")
        )
        if not parts:
            raise TreeError(
                "tree.transpose: the outer structure has no leaves, so the inner one must be given"
            )
        inner_treedef = structure(parts[0])
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected:
        raise TreeError(
            f"tree.transpose: the tree is not of the given structures\n"
            f"  expected: {tree_nodes.shorten(expected)}\n  got:      {tree_nodes.shorten(treedef)}"
        )
    n = inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(items[i::n]) for i in range(n)])


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: _IsLeaf = None) -> Any:
    """A tree of the structure of ``full_tree`` in which each leaf of ``prefix_tree`` stands for its whole
    subtree.

    Example:
      >>> tree.broadcast(1, {"a": 0, "b": [0, 0]})
      {'a': 1, 'b': [1, 1]}
    """
    return structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: _IsLeaf = None,
    *,
    names: tuple[str, str] = ("the prefix", "the tree"),
) -> list[Any]:
    """One leaf of ``prefix_tree`` for each leaf of ``full_tree``, as a list: each stands for its whole
    subtree.

    ``is_leaf`` is asked about nodes of the prefix only (``lambda x: x is None`` makes None a leaf);
    ``names`` are what the error calls the two, as in ``names=("in_axes", "the arguments")``. Raises
    TreeError, which names the path, where the first is not a prefix of the second.

    Example:
      >>> rb.tree.broadcast_prefix(1, {"a": 2, "b": [3, 4]})
      [1, 1, 1]
    """
    tops, treedef = _flatten(prefix_tree, is_leaf)
    subtrees = _flatten_up_to(
        treedef, prefix_tree, full_tree, is_leaf, f"{names[0]} is not a prefix of {names[1]}", names
    )
    result = []
    for top, subtree in zip(tops, subtrees):
        result += [top] * _flatten(subtree, None)[1].num_leaves
    return result


# When structures differ ---------------------------------------------------------------------------


def _flatten_up_to(
    treedef: PyTreeDef,
    first: Any,
    other: Any,
    is_leaf: _IsLeaf,
    headline: str,
    names: tuple[str, str] = ("the first tree", "the other tree"),
) -> list[Any]:
    """The subtrees of ``other`` where ``treedef``, the structure of ``first``, has leaves."""
    try:
        return treedef.flatten_up_to(other)
    except ValueError as error:
        if first is None:  # only the structure is known
            first = treedef.unflatten([0] * treedef.num_leaves)
        found = difference(first, other, is_leaf)
        if found is None:  # the C++ code knows better, or a class's own flatten function failed
            raise TreeError(f"{headline}\n  {error}") from error
    path, here, there = found
    place = "".join([str(key) for key in path]) or "the root"
    raise TreeError(
        f"{headline}, at {place}\n    {names[0]}: {here}\n    {names[1]}: {there}\n"
        f"  as a whole\n    {names[0]}: {tree_nodes.shorten(treedef)}\n"
        f"    {names[1]}: {tree_nodes.shorten(structure(other))}"
    )


tracebacks.public_module(globals())
