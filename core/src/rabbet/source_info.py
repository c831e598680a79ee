"""Whose line was that? Positions in the user's program, and tracebacks without Rabbet's own frames.

Every equation remembers the user's line that asked for it, so finding it must cost next to nothing:
``caller`` walks frames outward to the first file that is not *internal* and keeps the code object and the
instruction's offset, a few hundred nanoseconds. Only ``position`` turns that pair into file, line and
column, when a message, a profile or a ``loc`` is printed.

Internal are the folders of core and of the plugins (the plugin manager calls ``add_internal_root``), and
the two modules of the standard library whose frames stand between a decorated function and its caller.
"""

import contextlib
import functools
import os
import sys
import threading
from inspect import CO_VARARGS, CO_VARKEYWORDS
from itertools import islice
from types import CellType, FunctionType, TracebackType
from typing import NamedTuple

from rabbet.config import config
from rabbet.errors import ConfigError

__all__ = [
    "Position", "Site", "add_internal_root", "address", "caller", "definition_site", "describe_function",
    "fold_public", "fold_traceback", "folded", "folds_itself", "is_internal", "named_like", "position",
    "short_path", "stacklevel",
]  # fmt: skip

_positions = {}
_POSITIONS_KEPT = 1 << 15


class Position(NamedTuple):
    """A place in a source file. ``line`` and ``column`` count from 1; 0 means that Python does not know."""

    file: str
    line: int
    column: int
    function: str

    def __str__(self):
        return f"{short_path(self.file)}:{self.line}"


class Site(NamedTuple):
    """Where an object was defined: the file and line, and the name of the module."""

    file: str
    line: int
    module: str

    def __str__(self):
        return f"{short_path(self.file)}:{self.line}"


# Who is internal ----------------------------------------------------------------------------------


def _forms(path):
    """The beginnings of file names that mean ``path``: as it was given, and with links resolved."""
    forms = {os.path.abspath(path), os.path.realpath(path)}
    return [os.path.join(form, "") if os.path.isdir(form) else form for form in forms]


_roots = [
    form
    for path in (os.path.dirname(__file__), contextlib.__file__, functools.__file__)
    for form in _forms(path)
]
_verdicts = {}
_DOORS = "<rabbet>"  # the file name of the doors that ``folded`` makes


def add_internal_root(path):
    """Count every file under ``path`` (a folder, or one file) as internal, from now on."""
    _roots.extend(form for form in _forms(path) if form not in _roots)
    _verdicts.clear()


def is_internal(file):
    """Whether a frame of this file is Rabbet's business rather than the user's."""
    verdict = _verdicts.get(file)
    if verdict is None:
        verdict = _verdicts[file] = file.startswith((*_roots, "<frozen importlib", _DOORS))
    return verdict


# Where are we -------------------------------------------------------------------------------------


def caller():
    """``(code, lasti)`` of the nearest frame outside the internal roots; of the outermost one if all are
    inside.
    """
    frame = sys._getframe(1)
    while True:
        code = frame.f_code
        try:
            internal = _verdicts[code.co_filename]
        except KeyError:
            internal = is_internal(code.co_filename)
        if not internal:
            return code, frame.f_lasti
        outer = frame.f_back
        if outer is None:
            return code, frame.f_lasti
        frame = outer


def stacklevel():
    """What ``warnings.warn`` takes, in the function that calls this, to point at the user's line: the nearest
    frame outside the internal roots, or the outermost one.
    """
    frame, level = sys._getframe(1), 1
    while is_internal(frame.f_code.co_filename) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level


def position(where):
    """The ``Position`` of a pair that ``caller`` returned."""
    code, lasti = where
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


def definition_site(skip=(), maker_of=None):
    """The ``Site`` of the statement that makes an object, when called in the object's ``__init__``.

    Frames of the modules named in ``skip`` are passed over too, and functions that were given the name
    ``maker_of`` as their first argument: they make such objects for whoever called them.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None and (
        frame.f_code.co_name in ("__init__", "__new__")
        or frame.f_globals.get("__name__") in skip
        or (maker_of is not None and _first_argument(frame) == maker_of)
    ):
        frame = frame.f_back
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "?"))


def owner(module):
    """`` of rabbet-core 0.1.0`` for a module of an installed package that bears its name, else nothing; for
    messages.
    """
    import importlib.metadata  # only where something went wrong: it takes longer than all of core

    first, *rest = module.split(".")
    for name in (f"{first}-{rest[0]}" if rest else first, f"{first}-core", first):
        try:
            return f" of {name.replace('_', '-')} {importlib.metadata.version(name)}"
        except Exception:  # it is not there, or its metadata cannot be read
            continue
    return ""


def _first_argument(frame):
    code = frame.f_code
    value = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return value if type(value) is str else None


def address(function):
    """``file:line`` of a function (seen through ``functools.wraps`` and ``partial``), for messages."""
    while True:
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if inner is None or inner is function:
            break
        function = inner
    code = getattr(function, "__code__", None)
    if code is None:  # an object with a __call__ written in Python
        code = getattr(vars(type(function)).get("__call__"), "__code__", None)
    if code is not None:
        return f"{short_path(code.co_filename)}:{code.co_firstlineno}"
    return f"{getattr(function, '__module__', None) or type(function).__module__} (no source)"


def describe_function(function):
    """``name (file:line)`` of a function, for messages."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if name is None and isinstance(function, functools.partial):
        name = f"partial of {getattr(function.func, '__qualname__', type(function.func).__name__)}"
    return f"{name or type(function).__qualname__} ({address(function)})"


def named_like(wrapper, function):
    """Let messages name ``function`` where they meet ``wrapper``; returns ``wrapper``."""
    wrapper.__wrapped__ = function
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if name is not None:
        wrapper.__qualname__ = name
    return wrapper


def short_path(file):
    """``file`` as seen from the import path or the working folder, whichever says it shortest."""
    return _short_path(file, tuple(p for p in sys.path if p))


@functools.lru_cache(maxsize=4096)
def _short_path(file, import_path):
    try:
        places = {os.path.join(os.path.abspath(p), "") for p in (*import_path, os.getcwd())}
    except OSError:  # the working folder is gone
        return file
    return min((file[len(p) :] for p in places if file.startswith(p) and p != os.sep), key=len, default=file)


# Tracebacks ---------------------------------------------------------------------------------------

_NOTE = "(frames inside Rabbet are hidden; RABBET_TRACEBACK=full shows them)"


def fold_traceback(exception):
    """Take the internal frames out of ``exception``'s traceback, and of its causes'. Returns the exception.

    Call it in an ``except`` clause and follow it with a bare ``raise``, which adds no frame of its own. A
    note on the exception says that frames are hidden. With ``config.traceback`` at "full" this does
    nothing.
    """
    if _shows_all(exception):
        return exception
    seen, pending, hidden = set(), [exception], 0
    while pending:
        error = pending.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        pending += [error.__cause__, error.__context__]
        kept, dropped = _user_frames(error.__traceback__)
        if dropped:
            error.__traceback__ = kept
            hidden += dropped
        if error is not exception and _NOTE in getattr(error, "__notes__", ()):
            error.__notes__.remove(_NOTE)  # once below the whole is enough
            hidden += 1
    if hidden and _NOTE not in getattr(exception, "__notes__", ()):
        exception.add_note(_NOTE)
    return exception


def _shows_all(exception):
    """Whether the setting says so; if it cannot be read, which is no reason to lose what went wrong, a note
    says that.
    """
    if getattr(_asking, "now", False):  # the setting's own error comes by here too
        return True
    _asking.now = True
    try:
        return config.traceback == "full"
    except ConfigError as error:
        exception.add_note(str(error))
        return True
    finally:
        _asking.now = False


_asking = threading.local()


def folded(function):
    """Decorator: exceptions leave ``function`` without internal frames. A class folds in all its methods.

    The door that is put in front of a function has the parameters of the function, because a call with
    ``*args, **kwargs`` would cost several times the thirty nanoseconds that this one does. Where even these
    are too many, write the ``try`` of ``_DOOR`` into the function itself and say so with ``folds_itself``.
    """
    if isinstance(function, type):
        for name, value in list(vars(function).items()):
            if not name.startswith("_") or name.endswith("__"):
                _fold_member(function, name, value)
        return function
    if _folds(function):
        return function
    if isinstance(function, FunctionType):
        code, defaults, names = function.__code__, function.__defaults__, function.__globals__
    else:
        code, defaults, names = _ANYTHING, None, globals()
    several = code.co_argcount <= _MOST_PARAMETERS
    count = code.co_argcount if several else 0
    keywords = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    stars = not several or len(keywords) > _MOST_KEYWORDS or bool(code.co_flags & _STARS)
    keywords = () if stars else keywords
    own = _door(count, len(keywords), stars)
    parameters = code.co_varnames[:count] + keywords
    own = own.replace(
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_posonlyargcount=code.co_posonlyargcount if several else 0,
        co_varnames=parameters + own.co_varnames[len(parameters) :],
        co_consts=tuple([keywords if type(const) is tuple else const for const in own.co_consts]),
    )
    cells = CellType(fold_traceback), CellType(function)  # in the order of their names
    door = FunctionType(own, names, code.co_name, defaults if several else None, cells)
    if keywords:
        door.__kwdefaults__ = function.__kwdefaults__
    return folds_itself(functools.update_wrapper(door, function))


def folds_itself(function):
    """Say that ``function`` has the ``try`` of a door inside, so that nobody puts a door in front of it.
    Returns it.
    """
    # The code, because functools.wraps hands attributes on to functions that have none.
    function.__folds__ = function.__code__
    return function


def fold_public(namespace):
    """Let the public functions of a module fold: ``fold_public(globals())`` is the last line of the module.

    Public is what ``__all__`` names, or else every name without an underscore in front, if it is a function
    that was defined in this module or in one inside it; and the module's ``__getattr__``. The name then
    stands for its door, while whoever imports the function from the module that defines it gets it bare.
    Classes are decorated with ``folded`` where they stand.
    """
    home = namespace["__name__"]
    doors: dict = {}
    public = namespace.get("__all__") or [n for n in namespace if not n.startswith("_")]
    for name in [*public, "__getattr__"]:
        value = namespace.get(name)
        if type(value) is not FunctionType or _folds(value):
            continue
        if f"{value.__module__}.".startswith(f"{home}."):
            if value not in doors:
                doors[value] = folded(value)
                doors[value].__module__ = home  # where pickle and help find it
            namespace[name] = doors[value]


_DOOR = """
def of(function, fold_traceback):
    def door({parameters}):
        try:
            return {call}
        except Exception as error:
            fold_traceback(error)
            raise
    return door
"""
_MOST_PARAMETERS, _MOST_KEYWORDS = 6, 2
_STARS = CO_VARARGS | CO_VARKEYWORDS
_ANYTHING = (lambda *args, **kwargs: None).__code__


@functools.cache
def _door(count, keywords, stars):
    """The code of a door for so many parameters by position and by keyword, under names that ``folded``
    replaces: one compilation serves all functions of a form. ``stars`` stand for any others; to hand them on
    costs most of all, so that is only done if something is given that way.
    """
    positions, names = [f"a{i}" for i in range(count)], [f"k{i}" for i in range(keywords)]
    parameters = ", ".join([*positions, *(["*"] if names else []), *names])
    call = f"function({', '.join([*positions, *[f'{name}={name}' for name in names]])})"
    if stars:
        parameters = ", ".join([*positions, "*rest", "**keywords"])
        call = f"function({parameters}) if rest or keywords else {call}"
    made: dict = {}
    exec(compile(_DOOR.format(parameters=parameters, call=call), _DOORS, "exec"), made)
    return made["of"](None, None).__code__


def _folds(function):
    return getattr(function, "__folds__", None) is getattr(function, "__code__", function)


def _fold_member(cls, name, value):
    if isinstance(value, FunctionType):
        setattr(cls, name, folded(value))
    elif isinstance(value, (staticmethod, classmethod)):
        setattr(cls, name, type(value)(folded(value.__func__)))
    elif isinstance(value, property):
        getter, setter, deleter = [f and folded(f) for f in (value.fget, value.fset, value.fdel)]
        setattr(cls, name, property(getter, setter, deleter, value.__doc__))


def _user_frames(traceback):
    """A copy of the traceback with the frames of users only (None if there are none), and how many were
    left out.
    """
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    users = [t for t in frames if not is_internal(t.tb_frame.f_code.co_filename)]
    kept = None
    for t in reversed(users):
        kept = TracebackType(kept, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return kept, len(frames) - len(users)
