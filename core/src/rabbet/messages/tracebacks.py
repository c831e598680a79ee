"""Tracebacks without Rabbet's own frames: an exception leaves through a *door*, which folds it.

A door is a function that takes the internal frames out of the traceback and raises again. ``public_module``
puts one in front of every public function of a module; ``folded`` in front of one function, or of the methods
of a class. Code inside imports functions from the modules that define them, and pays for no door.

A door costs a call of a tenth of a microsecond. The functions that are called most have its ``try`` in their
own bodies (``rules.primitive``, ``runtime.dispatch``, operators and indexing) and say so with
``folds_itself``.
"""

from __future__ import annotations
import __future__

import functools
import threading
from collections.abc import Callable
from types import FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from rabbet.errors import ConfigError, ShapeError
from rabbet.messages import python_errors, recursion_errors, second_looks
from rabbet.messages.function_names import under_name
from rabbet.messages.source_positions import is_internal

if TYPE_CHECKING:
    from rabbet.typing import Value

__all__ = [
    "WholeTraceback", "fold_traceback", "folded", "folds_itself", "hide_frames_of", "public_module",
    "ways_of",
]  # fmt: skip

_NOTE = "(frames inside Rabbet are hidden; RABBET_TRACEBACK=full shows them)"
MARK = "__tracebackhide__"  # the local variable by which pytest and IPython know frames that they hide


class WholeTraceback(Exception):
    """Has the traceback of another exception with the frames that were hidden there: its cause, where
    ``config.traceback`` is "cause".

    Example:
      >>> from rabbet.extend.wrapping import WholeTraceback
      >>> try:
      ...     with rb.config.override(traceback="cause"):
      ...         lax.sin("no number")
      ... except TypeError as error:
      ...     print(type(error.__cause__) is WholeTraceback)
      True
    """

    kept: TracebackType | None = None  # what the other exception was left with


def fold() -> str:
    """The default of ``ways_of``: tracebacks are folded."""
    return "fold"


_way = fold


def ways_of(function: Callable[..., Any]) -> None:
    """Name the function that says what is done with tracebacks: "fold", "full", "mark" or "cause". Called
    once, by composition.
    """
    global _way
    _way = function


_hidden_too: list = []


def hide_frames_of(paths: list[Any]) -> None:
    """Take frames of these files out of tracebacks, too, besides Rabbet's.

    Args:
      paths: a list of beginnings of file names. It is looked at whenever something is raised, so what is
        added to it later, or taken away, counts.

    Example:
      >>> from rabbet.extend.wrapping import hide_frames_of
      >>> mine = ["/somewhere/my_library/internals.py"]
      >>> hide_frames_of(mine)
      >>> mine.clear()
    """
    _hidden_too.append(paths)


def _name_operation(error: Exception, operation: str) -> None:
    """Say which operation's shapes do not broadcast together; the innermost one that knows says it."""
    first, counted, rest = str(error.args[0] if error.args else "").partition("; counted from the last")
    if first.startswith("Incompatible shapes for broadcasting") and " in " not in first:
        error.args = (f"{first} in {operation}{counted}{rest}",)


def fold_traceback(exception: Any, operation: str | None = None) -> Any:
    """Take the internal frames out of ``exception``'s traceback, and of its causes'. Returns the exception.

    Call it in an ``except`` clause and follow it with a bare ``raise``, which adds no frame of its own. A
    note on the exception says that frames are hidden. ``config.traceback`` says what is done instead:
    nothing ("full"), the frames stay and are marked for pytest and IPython ("mark"), or they go and the whole
    traceback is that of the exception's cause ("cause").

    Args:
      exception: an exception.
      operation: the name that a message about shapes that do not broadcast gets, of the user's operation.

    Example:
      >>> from rabbet.extend.functions import fold_traceback
      >>> def root(x):
      ...     try:
      ...         return x**0.5
      ...     except Exception as error:
      ...         fold_traceback(error)
      ...         raise
      >>> root(4)
      2.0
    """
    if operation is not None and isinstance(exception, ShapeError):
        _name_operation(exception, operation)
    way = _way_now(exception)
    if way == "full":
        return exception
    if way == "mark":
        mark(exception.__traceback__)
        return exception
    notes = getattr(exception, "__notes__", ())
    note = None if notes else python_errors.note_of(exception)  # an inner door has seen where it came from
    if note is None and set(notes) <= {_NOTE}:
        note = recursion_errors.note_of(exception)  # an inner door sees the last of the calls alone
    if note is not None:
        exception.add_note(note)
    whole = whole_traceback(exception) if way == "cause" else None
    seen, pending, hidden = set(), [exception], 0
    while pending:
        error = pending.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        pending += [e for e in (error.__cause__, error.__context__) if type(e) is not WholeTraceback]
        kept, dropped = _user_frames(error.__traceback__)
        if _is_own_detour(error.__context__):
            error.__suppress_context__ = True
        if dropped:
            error.__traceback__ = kept
            hidden += dropped
        if error is not exception and _NOTE in getattr(error, "__notes__", ()):
            error.__notes__.remove(_NOTE)  # once below the whole is enough
            hidden += 1
    if hidden and _NOTE not in getattr(exception, "__notes__", ()):
        exception.add_note(_NOTE)
    if whole is not None and hidden:
        whole.kept, exception.__cause__ = exception.__traceback__, whole
    return exception


def mark(traceback: Any) -> None:
    """Give the internal frames of a traceback the variable by which others know what to hide."""
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_locals is not frame.f_globals and _is_internal(frame):
            frame.f_locals[MARK] = True
        traceback = traceback.tb_next


def whole_traceback(exception: Exception) -> Any:
    """A ``WholeTraceback`` with all frames of an exception: those that are there, and behind them those that
    an earlier door has taken out.
    """
    earlier = exception.__cause__
    if type(earlier) is not WholeTraceback:
        made = WholeTraceback("the traceback with the frames that are hidden below")
        made.__cause__ = earlier
        return made.with_traceback(exception.__traceback__)
    outer, traceback = [], exception.__traceback__
    while traceback is not None and traceback is not earlier.kept:
        outer.append(traceback)
        traceback = traceback.tb_next
    return earlier.with_traceback(_chained(outer, earlier.__traceback__))


def _way_now(exception: Exception | Value) -> Any:
    """What the setting says; if it cannot be read, which is no reason to lose what went wrong, a note says
    that, and all is shown.
    """
    if getattr(_asking, "now", False):  # the setting's own error comes by here too
        return "full"
    _asking.now = True
    try:
        return _way()
    except ConfigError as error:
        exception.add_note(str(error))
        return "full"
    finally:
        _asking.now = False


_asking = threading.local()


def folded(function: Callable[..., Any] | type) -> Any:
    """Decorator: exceptions leave ``function`` without internal frames. A class folds in all its methods.

    Example:
      >>> from rabbet.extend.functions import folded
      >>> @folded
      ... def half(x):
      ...     return x / 2
      >>> half(4)
      2.0
    """
    if isinstance(function, type):
        for name, value in list(vars(function).items()):
            if not name.startswith("_") or name.endswith("__"):
                _fold_member(function, name, value)
        return function
    return function if _folds(function) else _door(function, looks_again=False)


def _door(function: Callable[..., Any], looks_again: bool) -> Any:
    """A door that may run a function of the library again where a check of values raises on the way."""

    @functools.wraps(function)
    def door(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                return function(*args, **kwargs)
            except FloatingPointError as error:
                if not looks_again or any(map(callable, (*args, *kwargs.values()))):
                    raise
                return second_looks.look_again(error, "", function, *args, **kwargs)
        except Exception as error:
            fold_traceback(error)
            raise

    return folds_itself(door)


def folds_itself(function: Any) -> Any:
    """Say that ``function`` has the ``try`` of a door inside, so that nobody puts a door in front of it.
    Returns it.

    Example:
      >>> from rabbet.extend.functions import fold_traceback, folded, folds_itself
      >>> @folds_itself
      ... def half(x):
      ...     try:
      ...         return x / 2
      ...     except Exception as error:
      ...         fold_traceback(error)
      ...         raise
      >>> folded(half) is half
      True
    """
    # The code, because functools.wraps hands attributes on to functions that have none.
    function.__folds__ = function.__code__
    return function


def public_module(
    namespace: dict[Any, Any], modules: tuple[str, ...] = (), more: Callable[..., Any] | None = None
) -> None:
    """Make a module a public one: its functions fold, and ``dir`` lists what users may use. Called as the
    last line of the module, ``public_module(globals())``.

    Public is what ``__all__`` names, or else every name without an underscore in front that is not a module.
    The name of a function that was defined in this module, or in one inside it, then stands for its door,
    while whoever imports the function from the module that defines it gets it bare. So does the module's
    ``__getattr__``. A second name of a function is a function of that name. Classes are decorated with
    ``folded`` where they stand.

    Args:
      namespace: the module's ``globals()``.
      modules: names of modules inside it that are public too.
      more: ``() -> names`` that its ``__getattr__`` finds when they are asked for.

    Example:
      >>> from rabbet.extend.functions import public_module
      >>> def half(x):
      ...     return x / 2
      >>> public_module(globals())
      >>> half(4)
      2.0
    """
    home = namespace["__name__"]
    doors: dict = {}
    public = namespace.get("__all__") or [
        n for n, value in namespace.items()
        if not n.startswith("_") and type(value) not in (ModuleType, type(__future__.annotations))
    ]  # fmt: skip
    for name in [*public, "__getattr__"]:
        value = namespace.get(name)
        if type(value) is not FunctionType or not f"{value.__module__}.".startswith(f"{home}."):
            continue
        if not _folds(value):
            if value not in doors:
                doors[value] = _door(value, looks_again=not value.__closure__)
                doors[value].__module__ = home  # where pickle and help find it
            value = namespace[name] = doors[value]
        if value.__name__ != name and namespace.get(value.__name__) is not None and name != "__getattr__":
            namespace[name] = under_name(value, name)
            namespace[name].__module__ = home
    namespace["__dir__"] = lambda: sorted({*public, *modules, *(more() if more else ())})


def _folds(function: Callable[..., Any]) -> bool:
    return getattr(function, "__folds__", None) is getattr(function, "__code__", function)


def _fold_member(cls, name: str, value: Any) -> None:
    if isinstance(value, FunctionType):
        setattr(cls, name, folded(value))
    elif isinstance(value, (staticmethod, classmethod)):
        setattr(cls, name, type(value)(folded(value.__func__)))
    elif isinstance(value, property):
        getter, setter, deleter = [f and folded(f) for f in (value.fget, value.fset, value.fdel)]
        setattr(cls, name, property(getter, setter, deleter, value.__doc__))


def _is_own_detour(error: Any) -> Any:
    """Whether this is a plain error of Python's that Rabbet's code met and answered by itself, as a lookup
    that finds nothing: no line of a user took part in it, and what went wrong is what was raised afterwards.
    """
    if type(error) not in _DETOURS or error.__traceback__ is None:
        return False
    return _user_frames(error.__traceback__)[0] is None


_DETOURS = (KeyError, IndexError, AttributeError, TypeError, ValueError)


def _is_internal(frame: Any) -> bool:
    file = frame.f_code.co_filename
    return is_internal(file, frame.f_globals.get("__name__")) or any(
        file.startswith(path) for paths in _hidden_too for path in paths
    )


def _user_frames(traceback: Any) -> Any:
    """A copy of the traceback with the frames of users only (None if there are none), and how many were
    left out.
    """
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    users = [t for t in frames if not _is_internal(t.tb_frame)]
    return _chained(users), len(frames) - len(users)


def _chained(frames: list[Any], last: Any = None) -> Any:
    """A traceback of copies of these, before another one."""
    for t in reversed(frames):
        line = t.tb_lineno  # None where the code that was interrupted has no line, which -1 stands for
        last = TracebackType(last, t.tb_frame, t.tb_lasti, -1 if line is None else line)
    return last
