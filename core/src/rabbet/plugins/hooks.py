"""Calling hooks, so that a hook can observe everything and break nothing.

The pluggy manager is built at the first call, which is the first trace or compile of the process. Each
plugin is called on its own: pluggy stops at the first implementation that raises, and here the
others must still run. A hook's exception becomes one warning that names the plugin.
"""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

from rabbet.errors import PluginError, PluginWarning
from rabbet.messages.signal_errors import is_of_handler
from rabbet.messages.source_positions import stacklevel
from rabbet.plugins.records import cause
from rabbet.program.once_per_process import made_once

if TYPE_CHECKING:
    from rabbet.plugins.manager import PluginManager

GROUP = "rabbet.hooks"


class Hooks:
    """The installed hook implementations of one plugin manager.

    Args:
      manager: the `PluginManager` to take the group ``rabbet.hooks`` from; None for the process's
        own, which is then made at the first call and not before.
    """

    def __init__(self, manager: PluginManager | None = None) -> None:
        self._manager = manager
        self._callers = None
        self._building = threading.local()
        self._reported = set()
        self.failures = []  # (plugin, what its hooks did wrong), in the order in which it happened

    def notify(self, hook: str, **facts: Any) -> None:
        """Tell every plugin that implements ``hook``; ``facts`` are all arguments of its specification."""
        callers = self._callers
        if callers is None:
            callers = self._build()
        for plugin, call in callers[hook]:
            self._guarded(plugin, hook, call, facts)

    def implements(self, hook: str) -> bool:
        """Whether a plugin has this hook."""
        callers = self._build() if self._callers is None else self._callers
        return bool(callers[hook])

    def collect(self, hook: str, **facts: Any) -> list[tuple[list[Any] | str, ...]]:
        """``[(plugin, result), ...]`` of the implementations that return something and do not raise."""
        callers = self._build() if self._callers is None else self._callers
        answers = [(plugin, self._guarded(plugin, hook, call, facts)) for plugin, call in callers[hook]]
        return [(plugin, results[0]) for plugin, results in answers if results]

    def _guarded(
        self, plugin: str, hook: str, call: Any, facts: dict[Any, Any]
    ) -> list[list[tuple[Any, ...]]] | None:
        try:
            return call(**facts)
        except (Exception, SystemExit) as error:
            if is_of_handler(error):
                raise
            self._report(plugin, f"its hook {hook} raised {cause(error)}")
            return None

    def _report(self, plugin: str, what: str) -> None:
        if (plugin, what) in self._reported:
            return
        self._reported.add((plugin, what))
        self.failures.append((plugin, what))
        warnings.warn(
            f"hook plugin {plugin!r}: {what}\n"
            "  everything else works; `python -m rabbet doctor` shows all plugins",
            PluginWarning,
            stacklevel=stacklevel(),
        )

    def prepare(self) -> None:
        """Load the plugins that have hooks, as the first event would."""
        if self._callers is None:
            self._build()

    # Building. No lock: importing a plugin while holding one can wait forever (see manager.py).
    # Two threads may both build; the results are equal and the last one stays.

    def _build(self) -> Any:
        if getattr(self._building, "now", False):
            return Nobody()  # a hook plugin compiles something while it is imported
        self._building.now = True
        try:
            self._callers = self._register_all()
        finally:
            self._building.now = False
        return self._callers

    def _register_all(self) -> Any:
        manager = self._manager or _default_manager()
        names = manager.names(GROUP)
        if not names:
            return Nobody()
        import pluggy

        from rabbet.plugins import hookspecs

        registry = pluggy.PluginManager("rabbet")
        registry.add_hookspecs(hookspecs)
        for name in names:
            self._register(registry, manager, name)
        return {hook: _separate_callers(registry, hook) for hook in hookspecs.hook_names()}

    def _register(self, registry: Any, manager: PluginManager, name: str) -> None:
        try:
            plugin = manager.get(GROUP, name)
        except PluginError as error:
            for record in manager.records(GROUP, name):
                manager.warn(record, error)
            return
        try:
            registry.register(plugin, name)
            registry.check_pending()
            if not registry.get_hookcallers(plugin):
                raise PluginError(f"{plugin!r} has no function marked with @rabbet.extend.hooks.hookimpl")
        except Exception as error:
            if is_of_handler(error):
                raise
            if registry.has_plugin(name):
                registry.unregister(name=name)
            for record in manager.records(GROUP, name):
                manager.fail(record, error)
            self._report(name, str(error))


def _separate_callers(registry: Any, hook: str) -> list[tuple[Any, ...]]:
    """``[(plugin name, caller of that plugin's implementation alone), ...]``."""
    everyone = [plugin for _, plugin in registry.list_name_plugin() if plugin is not None]
    callers = []
    for implementation in getattr(registry.hook, hook).get_hookimpls():
        others = [plugin for plugin in everyone if plugin is not implementation.plugin]
        callers.append((implementation.plugin_name, registry.subset_hook_caller(hook, others)))
    return callers


class Nobody(dict):
    """No implementations of any hook. It knows no hook's name, so that pluggy need not be imported."""

    def __missing__(self, hook: str) -> tuple[Any, ...]:
        return ()


def _default_manager() -> PluginManager:
    from rabbet.plugins.manager import default_manager

    return default_manager()


@made_once
def default_hooks() -> Any:
    """The hooks of this process."""
    return Hooks()


def notify(hook: str, **facts: Any) -> None:
    """Tell the installed hook plugins that ``hook`` happened: ``notify("cache_hit", name="step")``.

    Nearly free when no hook plugin is installed. Never raises for what a plugin does.
    """
    default_hooks().notify(hook, **facts)
