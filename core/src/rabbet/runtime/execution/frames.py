"""Frames of compiled functions that installed packages offer, in the place of the one in Python.

``dispatch.function`` makes the frame of what ``jit`` returns. A package may offer another one that does the
same in less time, by an entry point of the group ``rabbet.frames``: a function that gets the ``FrameParts``
and returns a callable, or None where it has none for them.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from rabbet.config import config
from rabbet.messages.source_positions import stacklevel
from rabbet.program.context import context


class FrameParts(NamedTuple):
    """What the frame of a compiled function is made of; see ``rabbet.extend.backend.call_by_placements`` for
    what is called when.

    Attributes:
      function: what it stands for.
      programs: by ``(*[x.spec for x in arrays], traced_key)``, tuples ``(execute, handlers, spec, run)``.
        ``run(arrays)`` does the whole work. A program that reads all its arguments and has one result is also
        ``execute(raws).consume_with_handlers(handlers)[0]``, from the ``raw`` of each array to that of an
        ``Array`` with this ``spec``. For one of several results ``execute`` is None, ``handlers`` is
        ``(execute, handlers)``, and ``spec`` makes the result of the list of raw arrays; its ``form`` is
        ``[specs, assemble, None]``, where ``assemble`` is called with the list of arrays, is ``tuple`` or
        ``list``, or has the ``structure`` of the result. Where there is only ``run``, the others are None; it
        may have ``captured``, a tuple of arrays and such a tuple of four, whose program gets those arrays
        before the arguments; or ``reading``, the numbers of the arguments that its program gets, and the
        first three. ``execute`` may be a function with ``steady``, the ``LoopParts`` of it.
      settings: ``traced_key`` is an attribute of it.
      evaluation: the interpreter of the thread while operations are executed at once.
      traced: ``(*args, **kwargs)``, under any other interpreter.
      slowly: ``(args, kwargs)``, where the program is not known yet, and where there are keywords.
      of_others: ``(args)``, where an argument is neither an array nor one of the ``converted`` types.
      of_trees: a collection; while there is something in it, arguments may be pytrees.
      trees: a dict by the structure of all arguments, of tuples whose first is its ``programs``; it is empty
        as long as no pytree was given, and None where arguments are static. ``trees.shapes`` is a list of
        pairs of a structure and its programs, once more, which the frame may replace. ``named`` is the same
        for calls with keywords, by the structure of ``(args, kwargs)``.
      fixed: such a ``named`` by the values of static arguments, for the other ones; None where none are.
      split: ``(args, kwargs) -> (values, others)`` takes them out. ``split.by_count`` has the positions that
        are static, and the others, for a number of positional arguments; ``split.names`` the static names.
        ``values`` are that number, then for each value what kind it is (its type; for a tuple, that and those
        of its items) and itself, with its name before the two where it was given by name.
      convert: makes an ``Array`` of a value of one of the types in ``converted``.
      unread: the places of NumPy arrays among the leaves of calls that some program did not read. What
        ``later`` makes of one has a ``spec``, and the ``array`` and its ``raw`` when they are asked for; only
        the program of a ``reading`` may get it. None where everything is converted.
      lend: ``(spec)`` of such a one gives a raw array and the bytes of its memory, or None: a frame may copy
        the NumPy array there and run a program on that, again and again, each time when the program before
        is done. None where everything is converted.
      context: has the ``interpreter`` of the thread.

    What offers a frame has an attribute ``parts_version``, that of the ``FrameParts`` for which it was
    written: with another one it is not asked.

    Example:
      >>> from rabbet.extend.wrapping import FrameParts
      >>> FrameParts._fields[:3]
      ('function', 'programs', 'settings')
    """

    function: Any
    programs: dict[Any, Any]
    settings: Any
    evaluation: Any
    traced: Callable[..., Any]
    slowly: Callable[..., Any]
    of_others: Callable[..., Any]
    of_trees: Any
    trees: Any = None
    named: Any = None
    fixed: dict[Any, Any] | None = None
    split: Any = None
    convert: Callable[..., Any] | None = None
    converted: frozenset[type] = frozenset()
    unread: set[int] | None = None
    later: Callable[..., Any] | None = None
    lend: Callable[[Any], Any] | None = None
    context: Any = context


VERSION = 3
"""Of ``FrameParts``: count on where what was written for the parts before would go wrong with these."""
FrameParts.version = VERSION  # type: ignore[attr-defined]


class DonatingParts(NamedTuple):
    """What ``run`` of ``FrameParts`` is made of, as its attribute ``donating``, for a program that takes the
    memory of arguments: for a frame that runs it and then calls ``delete`` of the ``raw`` of each.

    Attributes:
      places: of the arguments that are deleted.
      known: a tuple of four as in ``programs``, for the program alone.
      failed: ``(error, arrays)`` does the rest where running it raised an Exception: it raises what is to be
        told, or gives the result of another attempt.
      shared: a list; while there is something in it, arrays may have the memory of others: then ``run`` is to
        be called.
      callbacks: has ``depth``: where it is not 0, arrays are deleted by their own ``delete``.
    """

    places: tuple[int, ...]
    known: tuple[Any, ...]
    failed: Callable[..., Any]
    shared: list[Any]
    callbacks: Any


class LoopParts(NamedTuple):
    """What ``execute`` is made of for a program whose loops a signal ends (``interruptible.stoppable``), for
    a frame that does the same: while the watch has the place of who is told of signals, and is ``sure`` of
    it, its ``table`` is ``goes_on`` as long as ``plain`` runs on the raw arrays and ``table``.

    Attributes:
      plain: runs the program; its last argument is the table.
      table: a raw array of two truth values, in the memory of ``goes_on``.
      goes_on: a memoryview; a signal makes ``goes_on[1]`` false, and the program ends before it is done.
      thread: the number of the main thread; others call ``execute``.
      callbacks: has ``depth``: where it is not 0, in callbacks of programs, ``execute`` is called.
      state: a list of the watch, which has slots ``table`` and ``sure``, and of its ``spare`` table; both are
        None until ``execute`` was called.
      found: weak references to raw arrays of which is known that they were there when the program began.
      otherwise: what to call with the raw arrays where a program was ended.
      is_of_callback: whether an exception of ``plain`` is what a callback made of values of an ended loop.
    """

    plain: Callable[..., Any]
    table: Any
    goes_on: memoryview
    thread: int | None
    callbacks: Any
    state: list[Any]
    found: list[Any]
    otherwise: Callable[..., Any]
    is_of_callback: Callable[[Any], bool]


def no_frames() -> list[Any]:
    """What offers frames until ``rabbet`` is composed."""
    return []


_find = no_frames


def find_frames(function: Callable[..., Any]) -> None:
    """Name the function that lists what offers frames. Called once, by composition."""
    global _find
    _find = function


def offered_frame(parts: FrameParts) -> Any:
    """The first frame that an installed package offers for these parts, or None: then Python's own is used,
    as it is where ``config.native`` is off.

    Example:
      >>> from rabbet.extend.wrapping import offered_frame
      >>> with rb.config.override(native=False):
      ...     print(offered_frame(None))
      None
    """
    if config.native:
        for offer in _find():
            if getattr(offer, "parts_version", None) != VERSION:
                tell_of_versions(offer)
                continue
            frame = offer(parts)
            if frame is not None:
                return frame
    return None


@functools.cache
def tell_of_versions(offer: Any) -> None:
    """Warn, once for each, of what offers frames and was written for another version of their parts."""
    name = str(getattr(offer, "__module__", offer)).partition(".")[0].replace("_", "-")
    theirs = getattr(offer, "parts_version", "none")
    warnings.warn(
        f"{name} {version_of(name)} makes calls from parts of version {theirs}, and rabbet-core "
        f"{version_of('rabbet-core')} has version {VERSION}: calls of compiled functions are made "
        f"in Python, as without {name}\n"
        f"  to fix: install both of one release, pip install -U {name} rabbet-core",
        RuntimeWarning,
        stacklevel=stacklevel(),
    )


def version_of(distribution: str) -> str:
    import importlib.metadata  # only where something is wrong: it takes longer than all of core

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


__all__ = ["DonatingParts", "FrameParts", "LoopParts", "find_frames", "offered_frame"]
