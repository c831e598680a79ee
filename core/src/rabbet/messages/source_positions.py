"""Whose line was that? Positions in the user's program, and names of functions and packages for messages.

Every equation remembers the user's line that asked for it, so finding it must cost next to nothing:
``caller`` walks frames outward to the first file that is not *internal* and keeps the code object and the
instruction's offset, a few hundred nanoseconds. Only ``position`` turns that pair into file, line and
column, when a message, a profile or a ``loc`` is printed.

Internal are the folders of core and of the plugins (the plugin manager calls ``add_internal_root``), and
the two modules of the standard library whose frames stand between a decorated function and its caller.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
from itertools import islice
from typing import Any, NamedTuple

__all__ = [
    "Definition",
    "Position",
    "add_internal_root",
    "caller",
    "definition_site",
    "is_internal",
    "short_path",
    "source_position",
    "stacklevel",
]  # fmt: skip

_positions = {}
_POSITIONS_KEPT = 1 << 15


class Position(NamedTuple):
    """A place in a source file. ``line`` and ``column`` count from 1; 0 means that Python does not know."""

    file: str
    line: int
    column: int
    function: str

    @property
    def name_stack(self) -> str:
        """The scopes around an equation, joined by slashes."""
        return ""

    def __str__(self) -> str:
        return f"{short_path(self.file)}:{self.line}"


class ScopedPosition(Position):
    """A ``Position`` within scopes (``named_scope``)."""

    scopes: tuple = ()

    @property
    def name_stack(self) -> str:
        """The scopes, joined by slashes."""
        return "/".join(self.scopes)


class Definition(NamedTuple):
    """Where an object was defined: the file and line, and the name of the module."""

    file: str
    line: int
    module: str

    def __str__(self) -> str:
        return f"{short_path(self.file)}:{self.line}"


# Who is internal ----------------------------------------------------------------------------------


def _forms(path: Any) -> list[str]:
    """The beginnings of file names that mean ``path``: as it was given, and with links resolved."""
    forms = {os.path.abspath(path), os.path.realpath(path)}
    return [os.path.join(form, "") if os.path.isdir(form) else form for form in forms]


_roots: list[str] = []
MOST_VERDICTS = 8192  # each cell of a notebook is a file of its own
_verdicts = {}
DOORS = "rabbet.messages.tracebacks"  # a function is called by its door


# Roots whose forms nobody has looked for yet: that asks the system about each folder of their paths.
# First of them core, and what stands between a decorated function and its caller.
_given: list[Any] = [os.path.dirname(os.path.dirname(__file__)), contextlib.__file__, functools.__file__]


def add_internal_root(path: Any) -> None:
    """Count every file under ``path`` (a folder, or one file) as internal, from now on."""
    _given.append(path)
    _verdicts.clear()


def _resolve_roots() -> None:
    for path in list(_given):  # another thread may do the same, or add to them, meanwhile
        _roots.extend(form for form in _forms(path) if form not in _roots)
        with contextlib.suppress(ValueError):
            _given.remove(path)


def is_internal(file: str, module: str | None = None) -> bool:
    """Whether a frame of this file is Rabbet's business rather than the user's.

    Args:
      file: the file's name, as code objects have it.
      module: the name of the frame's module, where it is known: packages of plugins are internal, too.

    Example:
      >>> from rabbet.extend.wrapping import is_internal
      >>> is_internal(rb.__file__), is_internal("/home/me/model.py")
      (True, False)
    """
    verdict = _verdicts.get(file)
    if verdict is None:
        if _given:
            _resolve_roots()
        verdict = file.startswith((*_roots, "<frozen importlib"))
        if not verdict and module:
            verdict = module.partition(".")[0] in _packages()
        if len(_verdicts) >= MOST_VERDICTS:
            _verdicts.clear()
        _verdicts[file] = verdict
    return verdict


def no_packages() -> Any:
    """No plugins: what ``_packages`` is until ``rabbet`` is composed."""
    return ()


_packages = no_packages


def find_packages_with(function: Any) -> None:
    """Name the function that returns the import packages of the installed plugins. Called once, by
    composition; it is asked when a file is met for the first time.
    """
    global _packages
    _packages = function


# Where are we -------------------------------------------------------------------------------------


def caller() -> Any:
    """``(code, lasti)`` of the nearest frame outside the internal roots; of the outermost one if all are
    inside.
    """
    frame = sys._getframe(1)
    while True:
        code = frame.f_code
        try:
            internal = _verdicts[code.co_filename]
        except KeyError:
            internal = is_internal(code.co_filename, frame.f_globals.get("__name__"))
        if not internal:
            break
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    if _scoped and _scopes.names:
        return Scoped((code, frame.f_lasti), _scopes.names)
    return code, frame.f_lasti


# Named parts of a program -------------------------------------------------------------------------


class Scoped(tuple):
    """``(code, lasti)`` within ``scopes``, from the outermost: a name each, or a tuple of pairs (name,
    value), attributes for the operations.
    """

    scopes: tuple
    names = property(lambda self: [s for s in self.scopes if type(s) is str], doc="The scopes' names.")

    def __new__(cls, where: tuple[Any, ...], scopes: tuple[tuple[tuple[Any, ...], ...] | str, ...]) -> Scoped:
        made = super().__new__(cls, where)
        made.scopes = scopes
        return made

    def __eq__(self, other: Any) -> Any:
        return type(other) is Scoped and tuple.__eq__(self, other) and self.scopes == other.scopes

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash((tuple.__hash__(self), self.scopes))


class _Scopes(threading.local):
    names: tuple = ()


_scopes = _Scopes()
_scoped = 0  # how many scopes are open, in any thread: ``caller`` looks no further where there is none


def enter_scope(name: tuple[tuple[str, ...], ...] | str) -> None:
    """From now on this thread's operations stand in the scope ``name``, too; see ``Scoped``.

    Example:
      >>> from rabbet.extend.wrapping import enter_scope, leave_scope
      >>> def within(name, f, *args):
      ...     enter_scope(name)
      ...     try:
      ...         return f(*args)
      ...     finally:
      ...         leave_scope()
    """
    global _scoped
    _scopes.names += (name,)
    _scoped += 1


def leave_scope() -> None:
    """The scope that was entered last is left.

    Example:
      >>> from rabbet.extend.wrapping import enter_scope, leave_scope
      >>> enter_scope("layer")
      >>> leave_scope()
    """
    global _scoped
    _scopes.names = _scopes.names[:-1]
    _scoped -= 1


def user_call() -> Any:
    """The frame of the call of Rabbet's that the user's line makes now."""
    frame: Any = sys._getframe(1)
    call = frame
    while frame is not None and is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__")):
        call, frame = frame, frame.f_back
    return call


def stacklevel() -> int:
    """What ``warnings.warn`` takes, in the function that calls this, to point at the user's line: the nearest
    frame outside the internal roots, or the outermost one.

    Example:
      >>> from rabbet.extend.wrapping import stacklevel
      >>> stacklevel()
      1
    """
    frame, level = sys._getframe(1), 1
    while is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__")) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level


def source_position(where: Any = None) -> Position:
    """Where in the user's program something stands, as file, line, column and function; its text is
    ``file:line``.

    Args:
      where: what an ``Equation`` or ``context`` has as its ``where``; None: the user's line that runs now.

    Example:
      >>> from rabbet.extend.functions import source_position
      >>> def whose_line():
      ...     return source_position().function
      >>> whose_line()
      'whose_line'
    """
    code, lasti = where or caller()
    # By the identity of the code, because hashing a code object reads all of it. The entry keeps the code
    # alive.
    known = _positions.get((id(code), lasti))
    if known is not None:
        return known[0]
    line, _, column, _ = next(islice(code.co_positions(), lasti // 2, None), (None,) * 4)
    line = code.co_firstlineno if line is None else line
    found = Position(code.co_filename, line, 0 if column is None else column + 1, code.co_qualname)
    if len(_positions) >= _POSITIONS_KEPT:
        _positions.clear()
    _positions[id(code), lasti] = found, code
    return found


def scoped_position(where: tuple[Any, ...]) -> Position:
    """``source_position`` with the ``name_stack`` of an operation that stands in scopes."""
    found = source_position(where)
    if type(where) is Scoped and where.names:
        found = ScopedPosition(*found)
        found.scopes = tuple(where.names)
    return found


def definition_site(skip: str | None = None, maker_of: str | None = None) -> Definition:
    """The ``Definition`` of the statement that makes an object, when called in the object's ``__init__``.

    Frames of modules whose names begin with ``skip`` are passed over too, and functions that were given the
    name ``maker_of`` as their first argument: they make such objects for whoever called them.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None and (
        frame.f_code.co_name in ("__init__", "__new__")
        or (module := frame.f_globals.get("__name__") or "?") == DOORS
        or (skip is not None and module.startswith(skip))
        or (maker_of is not None and _first_argument(frame) == maker_of)
    ):
        frame = frame.f_back
    return Definition(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "?"))


def owner(module: str) -> str:
    """`` of rabbet-core 0.1.0`` for a module of an installed package, found by its name or else by the files
    that it installed; nothing for any other. For messages.
    """
    import importlib.metadata  # only where something went wrong: it takes longer than all of core

    first, *rest = module.split(".")
    for name in (f"{first}-{rest[0]}" if rest else first, f"{first}-core", first):
        try:
            return f" of {name.replace('_', '-')} {importlib.metadata.version(name)}"
        except Exception:  # it is not there, or its metadata cannot be read
            continue
    with contextlib.suppress(Exception):
        (name,) = set(importlib.metadata.packages_distributions()[first])
        return f" of {name} {importlib.metadata.version(name)}"
    return ""


def _first_argument(frame: Any) -> str | None:
    code = frame.f_code
    value = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return value if type(value) is str else None


def short_path(file: str) -> str:
    """``file`` as seen from the import path or the working folder, whichever says it shortest; a cell of a
    notebook by its number.

    Example:
      >>> from rabbet.extend.wrapping import short_path
      >>> short_path("/somewhere/else/model.py")
      '/somewhere/else/model.py'
      >>> short_path("<ipython-input-3-a2f4be43acfe>")
      'cell 3'
    """
    if _CELL.search(file):
        return _cell_name(file)
    return _short_path(file, tuple(p for p in sys.path if p))


# What notebooks call the code of a cell: a file that is not there, or no file.
_CELL = re.compile(r"ipython-input-(\d+)-|[\\/]ipykernel_\d+[\\/]\d+\.py$")


def _cell_name(file: str) -> str:
    """``cell 3``: by the name itself, or as the notebook that runs here counts."""
    if number := _CELL.search(file)[1]:  # type: ignore[index]
        return f"cell {number}"
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    told = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
    numbers = re.findall(r"\d+", told[1]) if told else []
    return f"cell {numbers[0]}" if numbers else "a cell"


@functools.lru_cache(maxsize=4096)
def _short_path(file: str, import_path: tuple[str, ...]) -> str:
    try:
        places = {os.path.join(os.path.abspath(p), "") for p in (*import_path, os.getcwd())}
    except OSError:  # the working folder is gone
        return file
    return min((file[len(p) :] for p in places if file.startswith(p) and p != os.sep), key=len, default=file)
