"""Calls of compiled functions in C: what the group ``rabbet.frames`` offers by this package.

``rabbet_native/_frames.c`` does what ``rabbet.runtime.execution.dispatch.function`` does in Python, for
arrays, numbers, pytrees of both, and static arguments. It takes tuples, lists, dicts and None apart itself;
where named tuples or registered classes are among them, jaxlib does. All else goes to the functions that the
frame in Python calls, too. Where the library was not compiled, or for a Python without its global lock,
nothing is offered.
"""

from __future__ import annotations

import functools
import importlib
import sysconfig
from typing import Any

from rabbet import Array, tree
from rabbet.extend.functions import fold_traceback
from rabbet.extend.wrapping import FrameParts, is_of_handler, wraps

__all__ = ["frame", "is_compiled"]

TUPLE, LIST, DICT, NOTHING = range(4)  # as in _frames.c
LEAF = tree.structure(0)


def frame(parts: FrameParts) -> Any:
    """A frame in C for the parts of a compiled function; None where there is no library."""
    library = the_library()
    if library is None or parts.convert is None:
        return None
    offered = parts._asdict()
    function = offered.pop("function")
    return wraps(function)(library.Frame(**offered))


def is_compiled() -> bool:
    """Whether the library is here, and this Python can use it.

    Example:
      >>> import rabbet_native
      >>> rabbet_native.is_compiled() in (True, False)
      True
    """
    return the_library() is not None


@functools.cache
def the_library() -> Any:
    """The module in C, or None."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    try:
        library = importlib.import_module("rabbet_native._frames")
    except ImportError:
        return None
    flatten, give_back = tree.registry.flatten, tree.recursion_levels.give_back
    library.setup(Array, raised_by_handler, fold_traceback, shape_of, shape_of_form, flatten, give_back)
    return library


def raised_by_handler(error: Exception) -> bool:
    """``is_of_handler`` for what C has caught: that looks for a frame of who called above the handler's."""
    traceback = error.__traceback__
    try:
        raise error
    except Exception:
        return bool(is_of_handler(error))
    finally:
        error.__traceback__ = traceback


def shape_of(pair: tuple[Any, ...]) -> tuple[Any, ...]:
    """``(shape, programs, structure)`` for a pair of a structure of arguments and its programs; the shape is
    None where the structure has other nodes than those which C knows.
    """
    structure, programs = pair
    shape = shaped(structure)
    return None if shape is False else shape, programs, structure


def shaped(structure: Any) -> Any:
    """What C reads of a structure: None for a leaf, else ``(kind, children, keys)``; False for others."""
    if structure == LEAF:
        return None
    node = structure.node_data()
    if node is None:  # nothing at all
        return NOTHING, (), ()
    kind, keys = node
    kinds = {tuple: TUPLE, list: LIST, dict: DICT, type(None): NOTHING}
    children = tuple([shaped(child) for child in structure.children()])
    if kind not in kinds or False in [child for child in children if child is False]:
        return False
    return kinds[kind], children, tuple(keys) if kind is dict else ()


def shape_of_form(assemble: Any) -> Any:
    """How results are put together: ``tuple``, ``list``, a shape, the function of jaxlib that does it, or
    False for ``assemble`` itself.
    """
    if assemble is tuple or assemble is list:
        return assemble
    structure = getattr(assemble, "structure", None)
    if structure is None:
        return False
    shape = shaped(structure)
    return structure.unflatten if shape is False else shape
