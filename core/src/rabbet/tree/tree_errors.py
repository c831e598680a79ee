"""What is wrong with a tree that cannot be taken apart, and where two trees differ."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from rabbet.errors import TreeError
from rabbet.messages import tree_nodes
from rabbet.tree.registering import one_level

IsLeaf: TypeAlias = Callable[..., bool] | None

# What Python can go down, whatever the limit of the process is.
MOST_LEVELS = 400
# Nodes that are asked about before anybody looks how deep a tree is: at most so many lie above the last one.
SAFE_NODES = 300


def depth_problem(tree: Any, is_leaf: IsLeaf = None) -> str | None:
    """What is wrong with a tree that could not be taken apart: text, or None if it is neither deep nor
    contains itself. Looks without recursion.
    """
    line, above = [], set()  # the nodes on the way down to the current one, by identity
    deepest = 0, None
    # A node, its depth, and the way to it: (the way to its parent, its key).
    waiting: list[Any] = [(tree, 0, None)]
    while waiting:
        node, depth, way = waiting.pop()
        above.difference_update(line[depth:])
        del line[depth:]
        level = None if is_leaf is not None and is_leaf(node) else one_level(node)
        if level is None:
            continue
        if id(node) in above:
            place = "".join(map(str, _path(way))) if depth < 20 else f"a depth of {depth}"
            return f"the tree contains itself, at {place}, so it has no end"
        line.append(id(node))
        above.add(id(node))
        deepest = max(deepest, (depth, way), key=operator.itemgetter(0))
        waiting += [(child, depth + 1, (way, key)) for key, child in zip(level[0], level[1])]
    if deepest[0] < MOST_LEVELS:
        return None
    start = tree_nodes.shorten("".join(map(str, _path(deepest[1])[:5])))
    return (
        f"the tree has {deepest[0] + 1} levels of containers, more than can be flattened; the deepest are "
        f"at {start}...\n  to fix: keep nested values in a list, or raise sys.setrecursionlimit"
    )


def unsortable_keys(
    tree: Any, error: BaseException, is_leaf: Callable[..., bool] | None = None
) -> str | None:
    """What is wrong with a tree in which jaxlib could not sort the keys of a dict, with ``error``: text, or
    None if it is something else.
    """
    if type(error) is not ValueError or error.__cause__ is None or not str(error).startswith("Comparator"):
        return None
    waiting: list[Any] = [(tree, None)]
    while waiting:
        node, way = waiting.pop()
        if is_leaf is not None and is_leaf(node):
            continue
        if isinstance(node, dict):
            try:
                sorted(node)
            except Exception:
                types = sorted({type(key).__name__ for key in node})
                place = "".join(map(str, _path(way)))
                return (
                    f"the keys of the dict{f' at {place}' if place else ''} cannot be sorted, and dicts are "
                    f"taken apart in the order of their keys. They are of type {' and '.join(types)}: "
                    f"{error.__cause__}\n  to fix: take keys that can be compared with each other, or an "
                    "OrderedDict, which keeps its own order"
                )
        level = one_level(node)
        if level is not None:
            waiting += [(child, (way, key)) for key, child in zip(level[0], level[1])][::-1]
    return None


def watched(
    tree: Any, is_leaf: Callable[..., bool], takes_path: bool = False
) -> tuple[Callable[..., bool], list[BaseException]]:
    """``is_leaf`` for jaxlib, and a list for the first thing that went wrong, to be raised afterwards.

    An exception that leaves ``is_leaf`` makes jaxlib lose count of how deep it is, until Python believes that
    it can go no deeper at all and the process ends; Python's own, of a tree that is too deep, does that at
    once. So none leaves it: the rest of the tree is a leaf then.
    """
    wrong: list[BaseException] = []
    asked = 0

    def watching(*place: Any) -> bool:
        nonlocal asked
        if wrong:
            return True
        try:
            asked += 1
            if len(place[0]) == MOST_LEVELS if len(place) == 2 else asked == SAFE_NODES:
                problem = depth_problem(tree, None if takes_path else is_leaf)
                if problem is not None:
                    raise TreeError(problem)
            return bool(is_leaf(*(place if takes_path else place[-1:])))
        except BaseException as error:
            wrong.append(error)
            return True

    return watching, wrong


def _path(way: Any) -> list[Any]:
    keys = []
    while way is not None:
        way, key = way
        keys.append(key)
    return keys[::-1]


def difference(prefix: Any, full: Any, is_leaf: IsLeaf = None, path: tuple[Any, ...] = ()) -> Any:
    """Where ``prefix`` stops being a prefix of ``full``: ``(path, what is here, what is there)``; None if
    it is one.
    """
    ours = None if is_leaf is not None and is_leaf(prefix) else one_level(prefix)
    if ours is None:
        return None
    theirs = one_level(full)
    if theirs is None or type(prefix) is not type(full):
        return path, tree_nodes.describe(prefix, ours), tree_nodes.describe(full, theirs)
    if ours[2] != theirs[2] or len(ours[1]) != len(theirs[1]):
        lacks = has = []
        if isinstance(prefix, dict):
            lacks, has = [k for k in prefix if k not in full], [k for k in full if k not in prefix]
        return path, tree_nodes.describe(prefix, ours, lacks), tree_nodes.describe(full, theirs, has)
    for key, a, b in zip(ours[0], ours[1], theirs[1]):
        found = difference(a, b, is_leaf, (*path, key))
        if found is not None:
            return found
    return None


def in_words(structure: Any) -> str:
    """What the trees of a structure are at the top: ``an array``, ``tuple of length 2``."""
    try:
        node = structure.unflatten([0] * structure.num_leaves)
    except Exception:  # a class of the user's that refuses numbers
        return str(structure)
    return _of_arrays(tree_nodes.describe(node, one_level(node)))


def parting(first: Any, other: Any, name: str) -> tuple[str, str, str]:
    """Where two different structures of arrays part, and what each has there, in words:
    ``("carry['b']", "an array", "tuple of length 2")``; ``name`` begins the path.
    """
    try:
        one, two = [s.unflatten([0] * s.num_leaves) for s in (first, other)]
        found = difference(one, two)
        if found is None and (turned := difference(two, one)) is not None:
            found = turned[0], turned[2], turned[1]
    except Exception:  # a class of the user's that refuses numbers
        found = None
    if found is None:
        return name, str(first), str(other)
    path, here, there = found
    return name + "".join(map(str, path)), _of_arrays(here), _of_arrays(there)


def _of_arrays(text: str) -> str:
    return "an array" if text == "a leaf (int)" else text


__all__ = ["depth_problem", "difference", "in_words", "parting", "unsortable_keys", "watched"]
