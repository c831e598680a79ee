"""Settings: what they are, where their values come from, and how to read them quickly.

A value is looked for in three places: an override of the current thread (``with
config.override(name=value)``), the value given to ``config.update``, and the environment variable
``RABBET_<NAME>``, read when the setting is first asked for.

Settings are read on every call of every jitted function, so reading one must be about as cheap as reading
an attribute. The values of a ``Config`` therefore live in a ``threading.local`` of a class of its own: a
thread's overrides are its instance attributes, and the process-wide values are attributes of the class,
which Python finds by itself when the thread has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import functools
import operator
import threading

from rabbet.errors import PluginConflictError
from rabbet.messages.spelling import nearest
from rabbet.messages.tracebacks import folded
from rabbet.config.overrides import Override
from rabbet.config.setting import Alias, Setting, boolean, choice, set_nothing, size
from rabbet.config.core_settings import CORE_SETTINGS

__all__ = ["CORE_SETTINGS", "Alias", "Config", "Setting", "TracedKey", "boolean", "choice", "config", "size"]


class TracedKey:
    """The values of the traced settings, interned: equal is identical, so hashing and comparing cost
    nothing.
    """

    __slots__ = ("names", "values")

    def __init__(self, names: Any, values: Any) -> None:
        self.names, self.values = names, values

    def __repr__(self) -> str:
        return f"TracedKey({', '.join(f'{n}={v!r}' for n, v in zip(self.names, self.values))})"


class Config:
    """The settings of a program: ``config.name`` reads, ``config.update(name, value)`` sets for the whole
    process, ``config.override(name=value)`` is a context manager that sets for the current thread.

    The names of JAX mean the same settings, with ``jax_`` in front or without. Packages bring settings, and
    further names of some, an ``Alias`` each: those are asked for when a name, or a variable of the
    environment, is none of ours.
    """

    def __new__(cls, settings: Iterable[Setting | Alias] = ()) -> Self:
        # A class of its own for each Config, so that its settings can be properties.
        return super().__new__(type(cls.__name__, (cls,), {"__doc__": cls.__doc__}))

    def __init__(self, settings: Iterable[Setting | Alias] = ()) -> None:
        methods = {
            "__reduce__": lambda values: (operator.attrgetter("values"), (self,)),
            # As programs for JAX read them.
            "__getitem__": lambda values, name: getattr(self, name),
            "__len__": lambda values: len(self.settings),
            "__iter__": lambda values: iter(list(self.settings)),
            "__contains__": lambda values, name: name in self.settings,
            "__bool__": lambda values: True,
        }
        values = type("Values", (threading.local,), {"traced_key": None, **methods})()
        make_key = self._make_key

        def traced_key() -> TracedKey:
            """The values of all traced settings as one object, identical as long as they are equal.

            Dispatchers that count every call read ``config.values.traced_key``, which is None where it has to
            be made.
            """
            return values.traced_key or make_key()

        state = {
            "_settings": {},
            "_aliases": {},
            "values": values,
            "_keys": {},
            "_overridden": {},
            "_watchers": {},
            "_contexts": {},
            "_lent": {},  # by the name of a package's setting: all that it brings, and whom to tell
            "_find_more": None,
            "_observe": lambda setting: None,
            "_not_installed": list,
            "_environment_seen": False,
            "_lock": threading.RLock(),
        }
        self.__dict__.update(state, traced_key=traced_key)
        for setting in settings:
            self.define(setting)

    def define(self, setting: Setting | Alias) -> None:
        """Add a setting, or an ``Alias`` of one; a plugin may bring its own. A second, different one of a
        name is an error, except where the first came with ``define_all``: then that list is withdrawn.
        """
        with self._lock:  # two threads may bring the same one at once
            if self._known(setting.name) == setting:
                return
            lent = setting.name in self._lent
            if not lent:
                self._refuse_second(setting)
        if lent:
            self._withdraw(setting)
        self._add(setting)
        self._follow(setting)

    def _add(self, setting: Setting | Alias) -> None:
        with self._lock:
            if isinstance(setting, Alias):
                self._aliases[setting.name] = setting
                return
            self._settings[setting.name] = setting
            setattr(
                type(self),
                setting.name,
                property(operator.attrgetter(f"values.{setting.name}"), doc=setting.doc),
            )
            self._refresh()

    def _follow(self, setting: Setting | Alias) -> None:
        if isinstance(setting, Setting) and setting.observer is not None:
            follow = functools.partial(self._observe, setting)
            self._watchers[setting.name] = [follow]
            if setting.in_environment():
                follow()

    def define_all(
        self, settings: Iterable[Setting | Alias], refuse: Callable[[PluginConflictError], Any]
    ) -> None:
        """Add what a package brings, all of it or nothing.

        Args:
          settings: a list of them.
          refuse: told why, where one has a name that is taken already, or that a backend takes later: then
            none of them is a setting any more.
        """
        settings = list(settings)
        try:
            with self._lock:  # two threads may bring the same ones at once
                if all(self._known(one.name) == one for one in settings):
                    return
                for setting in settings:
                    self._refuse_second(setting)
                for setting in settings:
                    self._add(setting)
                self._lent.update({setting.name: (settings, refuse) for setting in settings})
        except PluginConflictError as error:
            refuse(error)
            return
        for setting in settings:
            self._follow(setting)

    def _known(self, name: str) -> Setting | Alias | None:
        return self._settings.get(name) or self._aliases.get(name)

    def _refuse_second(self, setting: Setting | Alias) -> None:
        known = self._known(setting.name)
        if known is not None or hasattr(Config, setting.name) or setting.name in self.__dict__:
            raise PluginConflictError(_taken(setting, known))

    def _withdraw(self, taker: Setting | Alias) -> None:
        """Take back all that the package has brought that lent ``taker`` its name."""
        settings, refuse = self._lent[taker.name]
        with self._lock:
            for one in settings:
                self._lent.pop(one.name, None)
                self._aliases.pop(one.name, None)
                if self._settings.pop(one.name, None) is not None:
                    delattr(type(self), one.name)
                    if one.name in vars(type(self.values)):
                        delattr(type(self.values), one.name)
            self._refresh()
        mine = next(one for one in settings if one.name == taker.name)
        refuse(PluginConflictError(_taken(mine, taker)))

    def loose_aliases(self, settings: Iterable[Any]) -> list[tuple[Alias, str]]:
        """``(alias, name)`` for each name that an ``Alias`` among ``settings`` means and no setting has."""
        aliases = [one for one in settings if isinstance(one, Alias)]
        return [(one, name) for one in aliases for name in one.settings if name not in self._settings]

    def find_all(self) -> None:
        """Look for all settings that packages bring, now."""
        if self._find_more is not None:
            self._find_more(True)

    def use_finder(
        self, function: Callable[[bool], Any], not_installed: Callable[[], list[str]] = list
    ) -> None:
        """Name a ``function(everything)`` that defines further settings, called when one is missing: all that
        there are, or only those that variables of the environment may mean. ``not_installed()`` lists what to
        say of packages that would bring some.
        """
        self.__dict__.update(_find_more=function, _not_installed=not_installed)

    def observe_with(self, function: Callable[[Setting], Any]) -> None:
        """Name a ``function(setting)``, called where one that has an ``observer`` may have changed."""
        self.__dict__["_observe"] = function

    def of_process(self, name: str) -> Any:
        """The value of a setting by its name in threads that do not override it."""
        getattr(self.values, name, None)
        return vars(type(self.values)).get(name, self._settings[name].default)

    def watch(self, name: str, function: Callable[[], Any]) -> None:
        """Call ``function()`` whenever ``name`` is changed, for the process or in any thread."""
        self._meant(name)
        self._watchers.setdefault(name, []).append(function)

    @property
    def settings(self) -> dict[str, Setting]:
        """All settings by name."""
        return dict(self._settings)

    def __reduce__(self) -> str:
        return "config"

    def __repr__(self) -> str:
        changed = {n: getattr(self, n) for n, s in self._settings.items() if getattr(self, n) != s.default}
        return f"Config({', '.join([f'{n}={v!r}' for n, v in changed.items()])})"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._settings})

    @folded
    def __getattr__(self, name: str) -> Any:
        # Only reached for a name that neither this thread nor the process has a value for yet.
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._settings:
            alias, settings = self._meant(name)
            value = getattr(self, settings[0].name)
            return value if alias is None else alias.shown(value)
        if self._find_more is not None and not self._environment_seen:
            self.__dict__["_environment_seen"] = True
            if set_nothing(self._settings.values()):
                self._find_more(False)
        value = self._settings[name].initial(self._aliases.values())
        with self._lock:
            if name not in vars(type(self.values)):
                setattr(type(self.values), name, value)
        return getattr(self.values, name)

    @folded
    def __setattr__(self, name: str, value: Any) -> None:
        self._meant(name)
        raise AttributeError(
            f"cannot assign config.{name}: is it meant for the whole process or for a block of code?\n"
            f"  process: config.update({name!r}, {value!r})\n"
            f"  block:   with config.override({name}={value!r}):"
        )

    @folded
    def update(self, name: str, val: Any) -> None:
        """Set ``name`` for the whole process. Where a thread overrides it, the override stays in force."""
        changes = self._parsed({name: val})
        with self._lock:
            for changed, value in changes.items():
                setattr(type(self.values), changed, value)
            self._refresh()
        self._tell(changes)

    def read(self, name: str) -> Any:
        """The value of a setting by its name, in any spelling that ``update`` takes."""
        return getattr(self, name)

    def config_with_absl(self) -> None:
        """Define a flag of absl for each setting, ``--jax_enable_x64`` and so on, for a program that absl
        runs (``absl.app.run(main)``). What the command line gives is set once absl has read it.

        Raises:
          ModuleNotFoundError: absl is not installed; ``pip install absl-py``.
        """
        from rabbet.config.command_line import define_flags

        define_flags(self)

    def parse_flags_with_absl(self) -> None:
        """Read the settings that the command line gives, ``--jax_enable_x64=True`` and so on, now; other
        arguments are left alone. See ``config_with_absl``.
        """
        from rabbet.config.command_line import parse_flags

        parse_flags(self)

    @property
    def x64_enabled(self) -> bool:
        """Another name of ``enable_x64``."""
        return self.enable_x64

    @folded
    def override(self, **changes: Any) -> Override:
        """A context manager (and decorator) that changes settings for the current thread."""
        return Override(self, self._parsed(changes))

    def overrides(self) -> dict[str, Any]:
        """The settings that the current thread overrides, by name: ``config.override(**overrides)`` carries
        them to another thread.
        """
        mine = self.values.__dict__
        return {name: mine[name] for name in self._settings if name in mine}

    @folded
    def context(self, name: str) -> Any:
        """The context-manager function of one setting: ``disable_jit = config.context("disable_jit")``.

        Calling it without a value switches a boolean setting on; the others need their value.
        """
        if name in self._contexts:
            return self._contexts[name]
        setting = self._meant(name)[1][0]
        if name == "disable_jit":  # the argument has JAX's name, here another one than elsewhere

            @folded
            def context(disable: bool = True) -> Any:
                return self.override(disable_jit=disable)
        elif isinstance(setting.default, bool):

            @folded
            def context(new_val: bool = True) -> Any:
                return self.override(**{name: new_val})
        else:

            @folded
            def context(new_val: Any) -> Any:
                return self.override(**{name: new_val})

        # As users write it, by which it is pickled too.
        context.__module__, context.__name__, context.__qualname__ = "rabbet", name, name
        context.__doc__ = f"Context manager: {setting.doc} Process-wide: ``config.update({name!r}, value)``."
        value = setting.example
        if value is None:
            value = setting.default if setting.inert else setting.default is False
        if setting.example is not None or value or setting.inert:
            shown, printed = f"rb.config.{name}", value
            if value is None:
                shown, printed = f"{shown} is None", True
            context.__doc__ += (
                f"\n\nExample:\n  >>> with rb.{name}({value!r}):\n  ...     {shown}\n  {printed!r}\n"
            )
        return self._contexts.setdefault(name, context)

    def _parsed(self, given: Any) -> dict[str, Any]:
        """The values of settings by name, from values that users gave under any of their names."""
        changes = {}
        for name, value in given.items():
            alias, settings = self._meant(name)
            for setting in settings:
                changes[setting.name] = setting.read(value, f"config.{name}", alias.given if alias else None)
        return changes

    def _meant(self, name: str) -> tuple[Alias | None, list[Setting]]:
        """``(alias or None, settings)``: what a user means by a name, which may be JAX's."""
        if not isinstance(name, str):
            raise TypeError(f"the name of a setting is a str, got {type(name).__name__} {name!r:.60}")
        plain = name.removeprefix("jax_")
        if plain not in self._settings and plain not in self._aliases and self._find_more is not None:
            self._find_more(True)
        alias = self._aliases.get(plain)
        for _, missing in self.loose_aliases([alias]):
            raise AttributeError(
                f"{name!r} is another name of the setting {missing!r}, which does not exist: "
                "`python -m rabbet doctor` shows whose mistake that is"
            )
        try:
            return alias, [self._settings[one] for one in (alias.settings if alias else (plain,))]
        except KeyError:
            raise AttributeError(self._unknown(name, plain)) from None

    def _unknown(self, name: str, plain: str) -> str:
        """What to say of a name that no setting has."""
        known = [name for name, setting in self._settings.items() if not setting.inert]
        near = nearest(plain, [*known, *self._aliases, *self._settings], n=1)
        hint = f" Did you mean {name.removesuffix(plain) + near[0]!r}?" if near else ""
        missing = "".join([f"\n  {words}" for words in self._not_installed()])
        return f"no setting is called {name!r}.{hint}\n  settings: {', '.join(sorted(known))}{missing}"

    def _tell(self, names: Any) -> None:
        for name in names:
            for function in self._watchers.get(name, ()):
                function()

    def _refresh(self) -> None:
        """Forget the keys of the process and of all threads; they are made again when asked for."""
        type(self.values).traced_key = None
        for mine in list(self._overridden.values()):
            mine["traced_key"] = None

    def _is_default(self, name: str, value: Any) -> bool:
        default = self._settings[name].default
        return type(value) is type(default) and value == default

    def _make_key(self) -> TracedKey:
        traced = sorted(n for n, s in self._settings.items() if s.traced)
        with self._lock:
            # Those that differ from their defaults: a package that brings settings later changes no key.
            given = [(n, v) for n in traced if not self._is_default(n, v := getattr(self, n))]
            names, values = tuple([n for n, _ in given]), tuple([v for _, v in given])
            # The types too: True == 1, but they are different values of a setting.
            intern = (names, values, tuple(map(type, values)))
            key = self._keys.setdefault(intern, TracedKey(names, values))
            overridden = "traced_key" in self.values.__dict__
            (self.values if overridden else type(self.values)).traced_key = key
        return key


def _taken(setting: Setting | Alias, known: Any) -> str:
    """What to say of a setting whose name is taken."""
    return (
        f"setting {setting.name!r} exists already: {getattr(known, 'doc', 'part of Config')}\n"
        f"  the new one: {getattr(setting, 'doc', setting)}\n  give it another name"
    )


config = Config(CORE_SETTINGS)
