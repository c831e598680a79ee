"""What a backend plugin offers, and finding the ones that are installed.

A backend is one value, a `Backend`, behind an entry point of the group `rabbet.backends`. Nothing is built
in: the CPU arrives through the same door. Reading the entry points imports nothing; a plugin's module is
imported when devices are first asked for, and its client is made (see `clients`) when one of its devices
is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rabbet.config import Setting, config
from rabbet.errors import MissingPluginError, PluginError
from rabbet.messages.spelling import nearest
from rabbet.program.once_per_process import made_once

GROUP = "rabbet.backends"

# Names that people use for whichever of several platforms there is.
ALIASES = {"gpu": ("cuda", "rocm")}


def no_obstacle() -> None:
    """The default for `Backend.obstacle`: nothing stands in the way."""
    return


def no_calls(targets: frozenset[Any]) -> None:
    """The default for `Backend.provide_calls`: nothing to register."""
    return


def unknown_build() -> str:
    """The default for `Backend.build`: the client's version says it all."""
    return ""


@dataclass(frozen=True, eq=False)
class Backend:
    """One platform, as its plugin describes it.

    Attributes:
      platform: its name in `devices("name")` and in platform-specific lowering rules.
      priority: the backend of highest priority that works is the default (cpu 0, cuda 200, tpu 300).
      make_client: `(options) -> raw PJRT client`, called at most once per process. `options` is a mapping
        with what `rabbet.extend.processes.configure_client` was given. The client is an object of jaxlib's;
        a `CApiBackend` makes it of a PJRT library.
      obstacle: `() -> str | None`, cheap: why this machine cannot run the backend (a library or the hardware
        is missing), or None. A backend with an obstacle is passed over in silence when the default is chosen.
      topology: `(name, **options) -> DeviceTopology` for compiling without the hardware; None: not offered.
      topology_memory: `(name) -> bytes` that one device of a topology has, for a compiler that does not
        refuse programs that need more; None: it does.
      stand_ins: `(name, **options) -> [raw device]` for a platform without such descriptions: devices of a
        client of their own, on which nothing is run.
      native_dtypes: dtype names that the hardware computes with; others may be stored and are widened.
      lowerings: a `RuleSet("lower")` with the platform's own lowering rules, or None. They go before all
        others; with `RuleSet.later` their modules are imported when one is needed.
      compile_options: compiler options that every program of this platform gets.
      program_options: `(text) -> options` that a program gets besides, from its StableHLO text.
      provide_calls: told the names of the native functions that a program calls, before it is compiled or
        loaded from the cache on disk: registers those that are the platform's own.
      settings: `Setting`s that the backend brings; they exist in `rabbet.config` when
        they are asked for, and are read when the client is made.
      doctor: `() -> [(label, ok, detail)]`, lines for `rabbet doctor`: what is there, what is missing, what
      to do.
      lacks: `(op) -> str | None`, asked for every operation of a program that is written for the platform
        (`op` has `primitive`, `in_avals`, `out_avals` and `op["parameter"]`): why it cannot be done there, or
        None. Such a program is refused with NotOfferedError, and a test of the kit that needs it is skipped.
      python_call: the native function by which a compiled program calls Python, as jaxlib or the platform's
        own package has it, with `index` as its only attribute; None: programs cannot.
      build: `() -> str`, which differs between builds of a native library whose compiled programs cannot be
        exchanged; the client's own version is added to it. Part of every key of the cache on disk.

    Example:
      >>> from rabbet.extend.backend import Backend
      >>> def make_client(options):
      ...     import toaster_sdk
      ...
      ...     return toaster_sdk.client(**options)
      >>> def obstacle():
      ...     return "no toaster is plugged in"
      >>> BACKEND = Backend(platform="toaster", priority=10, make_client=make_client, obstacle=obstacle)
      >>> BACKEND.obstacle()
      'no toaster is plugged in'
    """

    platform: str
    priority: int
    make_client: Callable[[Mapping], Any]
    obstacle: Callable[[], str | None] = no_obstacle
    topology: Callable[..., Any] | None = None
    topology_memory: Callable[[str], int | None] | None = None
    stand_ins: Callable[..., Any] | None = None
    native_dtypes: frozenset = frozenset()
    lowerings: Any = None
    compile_options: Mapping[str, Any] = field(default_factory=dict)
    settings: tuple[Setting, ...] = ()
    doctor: Callable[[], list] | None = None
    provide_calls: Callable[[frozenset], None] = no_calls
    program_options: Callable[[str], Mapping] | None = None
    lacks: Callable[[Any], str | None] | None = None
    build: Callable[[], str] = unknown_build
    python_call: str | None = None

    def provide(self, targets: frozenset[Any]) -> None:
        """Register the native functions of these names that the platform knows, and have other packages make
        ready those that are theirs; nothing to do for none.
        """
        if not targets:
            return
        self.provide_calls(targets)
        for calls in all_native_calls():
            known = frozenset([t for t in targets if calls.knows(t)])
            if known:
                calls.provide(self.platform, known)


class BackendRegistry:
    """The installed backends, by platform. `manager` offers `names(group)` and `get(group, name)`."""

    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self._loaded = {}

    def installed(self) -> Any:
        """Return the platforms that are installed, sorted; imports nothing."""
        return list(self.manager.names(GROUP))

    def allowed(self) -> list[str]:
        """Return the platforms that may be used: all, or those of `config.platforms`, in its order.

        Raises MissingPluginError if `config.platforms` names one that is not installed.
        """
        wanted = config.platforms
        if wanted is None:
            return self.installed()
        return [self.resolve(name) for name in wanted]

    def resolve(self, name: str) -> str:
        """Return the installed platform that `name` stands for ('gpu' may be 'cuda')."""
        installed = self.installed()
        for candidate in (name, *ALIASES.get(name, ())):
            if candidate in installed:
                return candidate
        raise MissingPluginError(unknown_platform(name, installed))

    def get(self, name: str) -> Backend:
        """Return the `Backend` for platform `name`, loading its plugin if need be.

        Raises MissingPluginError if no package offers it or `config.platforms` leaves it out, PluginError
        if the plugin fails to load or offers something else than a Backend.
        """
        platform = self.resolve(name)
        if config.platforms is not None and platform not in self.allowed():
            variable = config.settings["platforms"].set_by(config.platforms)
            raise MissingPluginError(
                f"platform {name!r} is switched off by config.platforms{variable and f' ({variable})'}, "
                f"which allows: {', '.join(config.platforms)}"
            )
        return self.loaded(platform)

    def loaded(self, platform: str) -> Backend:
        """The `Backend` of an installed platform, also of one that `config.platforms` leaves out."""
        if platform not in self._loaded:
            self._loaded[platform] = self._load(platform)
        return self._loaded[platform]

    def _load(self, platform: str) -> Backend:
        backend = self.manager.get(GROUP, platform)
        if not isinstance(backend, Backend):
            raise PluginError(
                f"the plugin for platform {platform!r} offers a {type(backend).__name__}, not a "
                "rabbet.extend.backend.Backend; its entry point must name a Backend value"
            )
        if backend.platform != platform:
            raise PluginError(
                f"the entry point {platform!r} names a Backend for {backend.platform!r}; "
                "entry point and platform must have one name"
            )
        for setting in backend.settings:
            config.define(setting)
        return backend

    def candidates(self) -> tuple[dict[Any, Any] | list[Any], ...]:
        """Return (backends in the order to try them for the default, {platform: PluginError} of broken
        ones)."""
        found, broken = [], {}
        for platform in self.allowed():
            try:
                found.append(self.get(platform))
            except PluginError as error:
                broken[platform] = error
        if config.platforms is None:
            found.sort(key=lambda backend: (-backend.priority, backend.platform))
        return found, broken


def unknown_platform(name: str, installed: list[str]) -> str:
    """Return the message for a platform that no installed package offers."""
    present = f"installed platforms: {', '.join(installed)}" if installed else "no backend is installed"
    known = find_providers(GROUP)
    package = next((known[one] for one in (name, *ALIASES.get(name, ())) if one in known), None)
    advice = (
        f'to get it: python -m pip install "{package}"'
        if package
        else f"a package that offers it has an entry point {name!r} in the group {GROUP!r}"
    )
    near = nearest(name, sorted({*installed, *known, *ALIASES}), n=1)
    hint = f"; did you mean {near[0]!r}?" if near and package is None else ""
    return f"no installed package offers platform {name!r}{hint}\n  {present}\n  {advice}"


find_manager = None


def no_providers(group: Any) -> Any:
    """Nobody knows what to install: what ``find_providers`` is until ``rabbet`` is composed."""
    return {}


find_providers = no_providers


def all_native_calls() -> list[Any]:
    """The ``NativeCalls`` that installed packages bring, by name.

    Example:
      >>> from rabbet.extend.native import all_native_calls
      >>> isinstance(all_native_calls(), list)
      True
    """
    return [] if find_manager is None else find_manager().objects("rabbet.calls")


def set_manager(function: Callable[..., Any], providers: Callable[..., Any]) -> None:
    """Name the functions that return the process's plugin manager, and, for an entry-point group, what to
    install for each name that is known. Called once, by composition.
    """
    global find_manager, find_providers
    find_manager, find_providers = function, providers


@made_once
def default_registry() -> Any:
    """Return the registry over the packages installed in this environment."""
    return BackendRegistry(find_manager())


def platform_named(name: Any) -> Any:
    """The platform that a name stands for in programs that are written for others to run: an installed one
    ('gpu' may be 'cuda'), or one that some known package offers, installed or not.

    Raises:
      MissingPluginError: for a name that nobody knows, with the nearest one. TypeError: for no name.

    Example:
      >>> from rabbet.extend.backend import platform_named
      >>> platform_named("cpu"), platform_named("tpu")
      ('cpu', 'tpu')
    """
    if not isinstance(name, str):
        raise TypeError(f"a platform is named by a text, as in 'cpu', got {name!r}")
    registry = default_registry()
    try:
        return registry.resolve(name)
    except MissingPluginError:
        if name in find_providers(GROUP) or any(name in several for several in ALIASES.values()):
            return name
        raise


def writing_for(platform: str) -> Any:
    """Return ``(platform, backend)`` to write programs for: the installed platform that a name stands for
    ('gpu' may be 'cuda') and its `Backend`, also where `config.platforms` leaves it out, which says where
    programs run. For a platform that is not installed the name as it is and None: its text can be written all
    the same, in the common rules.
    """
    registry = default_registry()
    try:
        platform = registry.resolve(platform)
    except MissingPluginError:
        return platform, None
    return platform, registry.loaded(platform)
