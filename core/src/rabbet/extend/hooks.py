"""Hooks: ``hookimpl`` and how hook plugins are told."""

from rabbet.errors import (
    MissingPluginError,
    PluginError,
)
from rabbet.runtime.hook_calls import (
    listening as hooks_listen,
)
from rabbet.runtime.hook_calls import (
    tell as tell_hooks,
)

__all__ = [
    "MissingPluginError",
    "PluginError",
    "hooks_listen",
    "tell_hooks",
]


def __getattr__(name):
    # pluggy is only needed by those who write hooks, and need not be imported for anybody else.
    if name == "hookimpl":
        from rabbet.plugins.hookspecs import hookimpl

        return hookimpl
    raise AttributeError(f"rabbet.extend.hooks has no {name!r}; its __all__ lists what plugins may use")
