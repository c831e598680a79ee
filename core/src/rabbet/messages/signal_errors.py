"""Exceptions of signal handlers, which Python raises between any two steps of whatever runs.

A handler that raises (an alarm that ends what takes too long) means the user's code to hear it. Where Rabbet
answers a failure by another way to the same end, or by a warning, such an exception has to go on.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


def is_of_handler(error: BaseException | Exception) -> Any:
    """Whether ``error`` was raised by a Python function that handles a signal.

    Example:
      >>> from rabbet.extend.wrapping import is_of_handler
      >>> is_of_handler(ValueError())
      False
    """
    traceback = error.__traceback__
    if traceback is None or traceback.tb_next is None:  # raised where it was caught, as by a lookup
        return False
    codes = _handlers()
    while codes and traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


def raise_if_of_handler(error: Exception) -> None:
    """Raise ``error`` again if a signal's handler raised it, as an alarm does a TimeoutError, an OSError."""
    if is_of_handler(error):
        raise error


@contextlib.contextmanager
def suppressed(*kinds: type) -> Iterator[Any]:
    """As ``contextlib.suppress(*kinds)``, but for what a signal's handler raises."""
    try:
        yield
    except kinds as error:
        raise_if_of_handler(error)


def _handlers() -> list[Any]:
    found = map(signal.getsignal, range(1, signal.NSIG))
    return [code for code in [getattr(handler, "__code__", None) for handler in found] if code is not None]


__all__ = ["is_of_handler", "raise_if_of_handler", "suppressed"]
