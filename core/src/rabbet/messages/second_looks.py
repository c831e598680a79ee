"""Checks of values (``debug_nans``, ``debug_infs``) hold for what users' programs compute, and not for what
stands in between in the library's own work.

A check raises where it finds something. A function of the library, or a rule for an operation, that such an
error comes out of, without a line of a user in between, runs again, unchecked (``look_again``), and the error
stands only if what it gives is not finite either. So nothing is done, and nothing is asked, where no check
raises. What a rule gives as a tangent is no result yet: what goes back to the user is looked at in the end
(``check_in_the_end``).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from rabbet.messages.source_positions import is_internal

__all__ = ["check_in_the_end", "found", "is_unchecked", "look_again", "use_check"]


class _State(threading.local):
    unchecked: int = 0
    """How many calls of ``_unchecked`` run."""
    passed: str | None = None
    """What the first error said that did not stand."""


_state = _State()


def no_check(values: Any) -> None:
    """What looks at results, until ``rabbet`` is composed."""


def always() -> bool:
    """No transformation is under way, as far as is known until then."""
    return True


_check: Callable[[Any], None] = no_check
_is_outermost: Callable[[], bool] = always


def use_check(function: Callable[[Any], None], outermost: Callable[[], bool]) -> None:
    """Name the function that raises for results (a pytree) that are not finite, and the one that says whether
    no transformation is under way. Called once, by composition.
    """
    global _check, _is_outermost
    _check, _is_outermost = function, outermost


def found(text: str) -> FloatingPointError:
    """The error of a check."""
    error = FloatingPointError(text)
    error.of_check = True  # type: ignore[attr-defined]
    return error


def is_unchecked() -> bool:
    """Whether what runs now is the library's own part of something that runs again, unchecked; a user's
    function in there is checked as ever.
    """
    if not _state.unchecked:
        return False
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not _unchecked.__code__:
        if not is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__")):
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


def look_again(
    error: FloatingPointError, where: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """What ``function`` gives, if that is finite: a value on the way there was not. Else ``error`` is raised.

    Args:
      error: what came out of the function, in its ``except`` clause.
      where: what to say behind the error, should a derivative in the end not be finite.
      function: calls no function of a user, or has called none when the error came.

    Example:
      >>> from rabbet.extend.wrapping import look_again
      >>> def log_or_zero(x):
      ...     return lax.select(x > 0, lax.log(x), x * 0)
      >>> def guarded(x):
      ...     try:
      ...         return log_or_zero(x)
      ...     except FloatingPointError as error:
      ...         return look_again(error, "", log_or_zero, x)
      >>> float(guarded(rb.device_put(np.float32(1))))
      0.0
    """
    if not getattr(error, "of_check", False) or _has_user_frames(error.__traceback__):
        raise error
    out = _unchecked(function, args, kwargs)
    try:
        _check(out)
    except FloatingPointError:
        _state.passed = None  # whoever asked hears of this one
        raise error from None
    _state.passed = _state.passed or f"{error}{where}"
    return out


def check_in_the_end(values: Any) -> None:
    """Raise what an earlier check found if what goes back to the user is not finite.

    Args:
      values: a pytree, such as a gradient.

    Example:
      >>> from rabbet.extend.wrapping import check_in_the_end
      >>> check_in_the_end([1.0])
    """
    said = _state.passed
    if said is None or is_unchecked():
        return
    try:
        _check(values)
    except FloatingPointError:
        _state.passed = None
        raise found(said) from None
    if _is_outermost():
        _state.passed = None


def _unchecked(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    _state.unchecked += 1
    try:
        return function(*args, **kwargs)
    finally:
        _state.unchecked -= 1


def _has_user_frames(traceback: Any) -> bool:
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__")):
            return True
        traceback = traceback.tb_next
    return False
