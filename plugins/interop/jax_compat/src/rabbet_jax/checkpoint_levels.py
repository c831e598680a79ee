"""Levels of tracing that JAX has and Rabbet has not: a function under ``checkpoint`` runs as it is here."""

import contextlib
import threading


class _Current(threading.local):
    level = 0


_current = _Current()
_made = 0


def current_level():
    """A number that tells levels apart, 0 outside of them."""
    return _current.level


@contextlib.contextmanager
def another_level():
    """A level of its own, within a ``with`` statement."""
    global _made
    _made += 1
    before, _current.level = _current.level, _made
    try:
        yield
    finally:
        _current.level = before
