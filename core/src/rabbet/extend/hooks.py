"""Hooks: ``hookimpl`` marks functions that are called when something happens; ``tell_hooks`` calls them."""

from __future__ import annotations

from typing import Any

from rabbet.plugins.catalogue import official_packages
from rabbet.runtime.platforms.hook_calls import hooks_are_listening, tell_hooks

__all__ = [
    "CompiledProgram",  # noqa: F822 (by __getattr__)
    "PassRun",  # noqa: F822 (by __getattr__)
    "Transfer",  # noqa: F822 (by __getattr__)
    "example_facts",  # noqa: F822 (by __getattr__)
    "hookimpl",  # noqa: F822 (by __getattr__)
    "hooks_are_listening",
    "official_packages",
    "tell_hooks",
]


def __getattr__(name: str) -> Any:
    # pluggy is only needed by those who write hooks, and need not be imported for anybody else.
    if name in ("hookimpl", "example_facts"):
        from rabbet.plugins import hookspecs

        return getattr(hookspecs, name)
    if name in ("CompiledProgram", "PassRun", "Transfer"):
        from rabbet.program import hook_facts

        return getattr(hook_facts, name)
    raise AttributeError(f"rabbet.extend.hooks has no {name!r}; its __all__ lists what plugins may use")


def __dir__() -> list[str]:
    return list(__all__)
