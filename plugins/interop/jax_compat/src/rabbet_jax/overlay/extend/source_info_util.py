"""``jax.extend.source_info_util``: where in a program something was written, and within which names.

Rabbet keeps both by itself for each equation, and folds frames of libraries; here a library reads them, and
enters names that the text of a program then has.
"""

import contextlib
import threading
from typing import Any, NamedTuple

import rabbet as rb
from rabbet.extend.functions import source_position

_names = threading.local()


class NameStack(NamedTuple):
    """Names that programs were entered by, outermost first."""

    stack: tuple = ()

    def extend(self, name: str) -> "NameStack":
        """With one more name within."""
        return NameStack((*self.stack, *((name,) if isinstance(name, str) else name)))

    def transform(self, name: str) -> "NameStack":
        """Within a transformation."""
        return NameStack((*self.stack, f"{name}()"))

    def __add__(self, other: Any) -> "NameStack":
        return NameStack((*self.stack, *other.stack))

    def __str__(self) -> str:
        return "/".join(self.stack)


class SourceInfo(NamedTuple):
    """A place, Rabbet's position of it, and the names around it."""

    traceback: Any
    name_stack: NameStack

    def replace(self, **changes: Any) -> "SourceInfo":
        """The same with something else."""
        return self._replace(**changes)


def current_name_stack():
    """The names that were entered here."""
    return getattr(_names, "stack", NameStack())


def new_name_stack(name=""):
    """A stack of one name, or of none."""
    return NameStack((name,) if name else ())


def current():
    """This place."""
    return SourceInfo(source_position(), current_name_stack())


def new_source_info():
    """No place."""
    return SourceInfo(None, NameStack())


def summarize(source_info, num_frames=1):
    """The place of the user's line, ``file:line:column (function)``."""
    place = source_info.traceback
    return "" if place is None else f"{place}:{place.column - 1} ({place.function})"


@contextlib.contextmanager
def set_name_stack(name_stack):
    """Make these the names that were entered, within a ``with`` statement."""
    before = current_name_stack()
    _names.stack = name_stack
    try:
        yield
    finally:
        _names.stack = before


def reset_name_stack():
    """As if no name had been entered."""
    return set_name_stack(NameStack())


@contextlib.contextmanager
def extend_name_stack(name):
    """Enter a name: operations within have it in the text of the program."""
    stack = current_name_stack().extend(name)
    with rb.named_scope(name), set_name_stack(stack):
        yield stack


@contextlib.contextmanager
def transform_name_stack(name):
    """Enter a transformation."""
    with set_name_stack(current_name_stack().transform(name)):
        yield


@contextlib.contextmanager
def user_context(traceback, *, name_stack=None):
    """Take the names of another place; the place itself Rabbet finds out."""
    with set_name_stack(current_name_stack() if name_stack is None else name_stack):
        yield


def register_exclusion(path):
    """Frames of files below ``path`` are not the user's."""


__all__ = [
    "NameStack", "SourceInfo", "current", "current_name_stack", "extend_name_stack", "new_name_stack",
    "new_source_info", "register_exclusion", "reset_name_stack", "set_name_stack", "summarize",
    "transform_name_stack", "user_context",
]  # fmt: skip
