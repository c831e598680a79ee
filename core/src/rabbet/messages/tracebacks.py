"""Tracebacks without Rabbet's own frames: an exception leaves through a *door*, which folds it.

A door is a function that takes the internal frames out of the traceback and raises again. ``public_module``
puts one in front of every public function of a module; ``folded`` in front of one function, or of the methods
of a class. Code inside imports functions from the modules that define them, and pays for no door.

A door costs a call of a tenth of a microsecond. The functions that are called most have its ``try`` in their
own bodies (``rules.primitive``, ``runtime.dispatch``, operators and indexing) and say so with
``folds_itself``.
"""

import functools
import threading
from types import FunctionType, ModuleType, TracebackType

from rabbet.errors import ConfigError
from rabbet.messages.source_positions import is_internal, under_name

__all__ = ["fold_traceback", "folded", "folds_itself", "full_if", "public_module"]

_NOTE = "(frames inside Rabbet are hidden; RABBET_TRACEBACK=full shows them)"


def never():
    """The default of ``full_if``: tracebacks are folded."""
    return False


_is_full = never


def full_if(function):
    """Name the function that says whether tracebacks are left as they are. Called once, by composition."""
    global _is_full
    _is_full = function


def fold_traceback(exception):
    """Take the internal frames out of ``exception``'s traceback, and of its causes'. Returns the exception.

    Call it in an ``except`` clause and follow it with a bare ``raise``, which adds no frame of its own. A
    note on the exception says that frames are hidden. With ``config.traceback`` at "full" this does
    nothing.

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
        return _is_full()
    except ConfigError as error:
        exception.add_note(str(error))
        return True
    finally:
        _asking.now = False


_asking = threading.local()


def folded(function):
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
    if _folds(function):
        return function

    @functools.wraps(function)
    def door(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            fold_traceback(error)
            raise

    return folds_itself(door)


def folds_itself(function):
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


def public_module(namespace, modules=(), more=None):
    """Make a module a public one: its functions fold, and ``dir`` lists what users may use. Called as the
    last line of the module, ``public_module(globals())``.

    Public is what ``__all__`` names, or else every name without an underscore in front that is no module.
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
        n for n, value in namespace.items() if not n.startswith("_") and type(value) is not ModuleType
    ]
    for name in [*public, "__getattr__"]:
        value = namespace.get(name)
        if type(value) is not FunctionType or not f"{value.__module__}.".startswith(f"{home}."):
            continue
        if not _folds(value):
            if value not in doors:
                doors[value] = folded(value)
                doors[value].__module__ = home  # where pickle and help find it
            value = namespace[name] = doors[value]
        if value.__name__ != name and namespace.get(value.__name__) is not None and name != "__getattr__":
            namespace[name] = under_name(value, name)
            namespace[name].__module__ = home
    namespace["__dir__"] = lambda: sorted({*public, *modules, *(more() if more else ())})


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


def _is_internal(frame):
    return is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__"))


def _user_frames(traceback):
    """A copy of the traceback with the frames of users only (None if there are none), and how many were
    left out.
    """
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    users = [t for t in frames if not _is_internal(t.tb_frame)]
    kept = None
    for t in reversed(users):
        kept = TracebackType(kept, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return kept, len(frames) - len(users)
