"""Levels of recursion that jaxlib does not give back.

Python counts how deep calls are nested, and jaxlib takes part in that while it takes a tree apart. But where
an exception leaves it (of a node's own ``flatten``, of keys that cannot be sorted), jaxlib 0.10 to 0.12 does
not count the levels of that tree back. After some hundreds of lost levels Python refuses every call, and the
process ends. So they are given back here: as many as there are containers around what raised.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
from collections.abc import Callable
from typing import Any

from rabbet.tree.registering import one_level, registry

leave: Any = ctypes.pythonapi.Py_LeaveRecursiveCall
leave.restype, leave.argtypes = None, []

ROOM = range(64)  # levels with which the functions here can run, where none is left
MOST_NODES = 1_000_000  # of a tree that is looked through


def give_back(
    error: BaseException,
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    takes_path: bool = False,
    keyed: bool = False,
) -> None:
    """Give back the levels that were lost where ``registry.flatten(tree, is_leaf)`` raised ``error``, or with
    ``keyed`` ``registry.flatten_with_path``. Call it once for each failure.

    Example:
      >>> from rabbet.tree import recursion_levels
      >>> nested = [[{1: "a", "b": 2}]]
      >>> try:
      ...     rb.tree.registry.flatten(nested)
      ... except ValueError as error:
      ...     recursion_levels.give_back(error, nested)
    """
    # By its class: there may be no level left to call a function in C with.
    if error.__class__ is SystemError:
        return  # jaxlib itself could go no deeper, and lost none
    if error.__class__ is RecursionError:
        for _ in ROOM:
            leave()
        # What functions in C that run now have is not known; it is little, and is given back too.
        lost = _levels() - _most_levels()
    else:
        lost = _depth_of_failure(tree, is_leaf, takes_path, keyed)
    for _ in range(lost):
        leave()


def _depth_of_failure(
    tree: Any, is_leaf: Callable[..., bool] | None, takes_path: bool, keyed: bool
) -> int:
    """How many containers are around the first node that cannot be taken apart; 0 if all can."""
    waiting: list[Any] = [(tree, 0, ())]
    for _ in range(MOST_NODES):
        if not waiting:
            break
        node, depth, path = waiting.pop()
        try:
            if is_leaf is not None and is_leaf(*((path, node) if takes_path else (node,))):
                continue
            level = one_level(node) if keyed or takes_path else registry.flatten_one_level(node)
        except Exception:
            return depth
        if level is not None:
            keys, children = level[:2] if len(level) == 3 else (itertools.repeat(None), level[0])
            waiting += [
                (child, depth + 1, (*path, key) if takes_path else ()) for child, key in zip(children, keys)
            ][::-1]
    return 0


def _levels() -> int:
    """How many levels this thread would have."""
    if sys.version_info < (3, 12):  # those in Python count too
        frame: Any
        frame, running = sys._getframe(), 0
        while frame is not None:
            frame, running = frame.f_back, running + 1
        return sys.getrecursionlimit() - running
    found: list[int] = []
    probe = threading.Thread(target=lambda: found.append(_most_levels()))
    probe.start()
    probe.join()
    return found[0]


def _most_levels() -> int:
    most = 1000
    while _can_compare(most) and most < 1_000_000:
        most *= 2
    least = 0
    while most - least > 1:
        middle = (least + most) // 2
        if _can_compare(middle):
            least = middle
        else:
            most = middle
    return least


def _can_compare(levels: int) -> bool:
    one: Any = ()
    other: Any = ()
    for _ in range(levels):
        one, other = (one,), (other,)
    try:
        return bool(one == other)
    except RecursionError:
        return False


__all__ = ["give_back"]
