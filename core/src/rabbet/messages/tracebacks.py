"""Tracebacks without Rabbet's own frames: an exception leaves through a *door*, which folds it.

A door is a public function that takes the internal frames out of the traceback and raises again. ``folded``
puts one in front of a function, ``fold_public`` in front of all public functions of a module, and
``folds_itself`` says that a function is one already.
"""

import functools
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CellType, FunctionType, TracebackType

from rabbet.config import config
from rabbet.messages.source_positions import DOORS, is_internal

__all__ = ["fold_public", "fold_traceback", "folded", "folds_itself"]

_NOTE = "(frames inside Rabbet are hidden; RABBET_TRACEBACK=full shows them)"


def fold_traceback(exception):
    """Take the internal frames out of ``exception``'s traceback, and of its causes'. Returns the exception.

    Call it in an ``except`` clause and follow it with a bare ``raise``, which adds no frame of its own. A
    note on the exception says that frames are hidden. With ``config.traceback`` at "full" this does
    nothing.
    """
    if config.traceback == "full":
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
    exec(compile(_DOOR.format(parameters=parameters, call=call), DOORS, "exec"), made)
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
