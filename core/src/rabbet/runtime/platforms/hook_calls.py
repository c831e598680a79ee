"""Who is told of compiles and cache hits: nobody, until ``rabbet`` is composed with the hook plugins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

notify = None
_listening = None
_implements: Any = None


def set_notifier(
    function: Callable[..., Any], listening: Callable[..., Any], implements: Callable[..., Any]
) -> None:
    """Name the function ``notify(hook, **facts)`` that tells hook plugins, one that says whether there are
    any, and ``implements(hook)``, whether one of them has a hook. Called once, by composition.
    """
    global notify, _listening, _implements
    notify, _listening, _implements = function, listening, implements


def is_implemented(hook: str) -> bool:
    """Whether a hook plugin has this hook; loads them."""
    return hooks_are_listening() and _implements(hook)


def hooks_are_listening() -> bool:
    """Whether it is worth finding out what to tell.

    Example:
      >>> from rabbet.extend.hooks import hooks_are_listening, tell_hooks
      >>> if hooks_are_listening():
      ...     tell_hooks("cache_hit", name="step")
    """
    return notify is not None and _listening()


def tell_hooks(hook: str, **facts: Any) -> None:
    """Tell the hook plugins, if there are any.

    Example:
      >>> from rabbet.extend.hooks import tell_hooks
      >>> tell_hooks("compile_finished", name="step", seconds=0.5, cached=False)
    """
    if notify is not None:
        notify(hook, **facts)
