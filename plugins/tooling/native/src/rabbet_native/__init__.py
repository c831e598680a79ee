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
import threading
import warnings
from typing import Any

from rabbet import Array, tree
from rabbet.extend.functions import fold_traceback
from rabbet.extend.wrapping import FrameParts, is_of_handler, stacklevel, wraps

__all__ = ["frame", "is_compiled"]

TUPLE, LIST, DICT, NOTHING, NAMED, FIELDS, CUSTOM = range(7)  # as in _arrays.h
LEAF = tree.structure(0)
PARTS = 3  # the version of FrameParts for which all of this was written


def frame(parts: FrameParts) -> Any:
    """A frame in C for the parts of a compiled function; None where there is no library."""
    library = the_library() if getattr(FrameParts, "version", None) == PARTS else None
    if library is None or parts.convert is None:
        return None
    offered = parts._asdict()
    function = offered.pop("function")
    return wraps(function)(library.Frame(**offered))


frame.parts_version = PARTS  # type: ignore[attr-defined]  # a core with other parts does not ask


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
    if getattr(library, "PARTS", None) != PARTS:
        warnings.warn(
            f"rabbet-native's library {library.__file__} was not compiled from the sources beside it: "
            "calls of compiled functions are made in Python\n  to fix: install rabbet-native again",
            RuntimeWarning,
            stacklevel=stacklevel(),
        )
        return None
    flatten, give_back = tree.registry.flatten, tree.recursion_levels.give_back
    library.setup(
        Array, raised_by_handler, fold_traceback, shape_of, shape_of_form, flatten, give_back, tree.nodes,
        threading.local, threading.main_thread().ident,
    )  # fmt: skip
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
    """``(shape, programs, structure, calls)`` for a pair of a structure of arguments and its programs; the
    shape is None where the structure has other nodes than those which C knows, and ``calls`` says whether it
    calls functions that take nodes apart.
    """
    structure, programs = pair
    shape = shaped(structure)
    return None if shape is False else shape, programs, structure, shape is not False and calls(shape)


def shaped(structure: Any) -> Any:
    """What C reads of a structure: None for a leaf, else ``(kind, children, keys)``; False for others."""
    if structure == LEAF:
        return None
    node = structure.node_data()
    if node is None:  # nothing at all
        return NOTHING, (), ()
    known = kind_of(*node)
    children = tuple([shaped(child) for child in structure.children()])
    if known is None or False in [child for child in children if child is False]:
        return False
    kind, keys = known
    return kind, children, keys


def kind_of(cls: type, data: Any) -> tuple[int, tuple[Any, ...]] | None:
    """The kind of a node, and what C has to know of it beside its children; None for one that it does not
    know.
    """
    kinds = {tuple: TUPLE, list: LIST, type(None): NOTHING}
    if cls is dict:
        return DICT, tuple(data)
    if cls in kinds:
        return kinds[cls], ()
    if cls not in tree.nodes:
        is_named = issubclass(cls, tuple) and hasattr(cls, "_fields")
        return (NAMED, (cls, len(tree.nodes))) if is_named else None
    apart, together = tree.nodes[cls]
    if callable(apart):
        return CUSTOM, (cls, apart, data, together)
    return FIELDS, (cls, apart, together, tuple(data), (*apart, *together))


def calls(shape: Any) -> bool:
    """Whether a shape has nodes that functions take apart."""
    return shape is not None and (shape[0] == CUSTOM or any(map(calls, shape[1])))


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
