"""PJRT clients: one per platform and process, made when first asked for.

A client owns threads, so it does not survive `fork`: in the child its threads are gone and the first use
would wait forever. `Clients` therefore notices a fork (`os.register_at_fork`, installed with the first
client; such a hook can never be taken out again, which is why the module does it only then) and every later
use raises ForkedProcessError. Fast paths that keep executables at hand register with `on_fork` and drop
them.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.errors import PluginError, PluginWarning, RabbetError
from rabbet.messages import function_names
from rabbet.messages.source_positions import stacklevel
from rabbet.runtime.caching import read_ahead
from rabbet.runtime.jaxlib import adapter, deferred_release, interpreter_exit
from rabbet.runtime.platforms import backends

if TYPE_CHECKING:
    from rabbet.config.setting import Setting
    from rabbet.runtime.platforms.backends import Backend
    from rabbet.runtime.platforms.devices import Device


class ForkedProcessError(RabbetError, RuntimeError):
    """A process made by `os.fork` used devices that its parent had started.

    The parent's threads, which run the programs, do not exist in the child; waiting for them would never end.
    Start workers with the `spawn` or `forkserver` method::

        multiprocessing.set_start_method("spawn")

    or use no device in the parent before it forks.
    """


class Client:
    """A running PJRT client.

    Attributes: `platform`, `backend` (its Backend), `version` (the platform's own text, and what the
    backend says of its build), `devices` (a tuple of all devices, remote ones included), `raw` (jaxlib's
    client; raises ForkedProcessError in a forked child).
    """

    def __init__(self, backend: Any, raw: Any, wrap: Any) -> None:
        self.backend, self.platform, self._raw = backend, backend.platform, raw
        self.version = "\n".join(filter(None, (raw.platform_version, backend.build())))
        self.process_index = raw.process_index()
        self.forked = False
        self._by_id = {device.id: wrap(self, device) for device in raw.devices()}
        self.devices = tuple(self._by_id.values())
        self.local_devices = tuple(d for d in self.devices if d.process_index == self.process_index)

    @property
    def platform_version(self) -> Any:
        """The platform's own text about its version, as jaxlib's client gives it."""
        return self._raw.platform_version

    @property
    def runtime_type(self) -> str:
        """Which runtime jaxlib's client stands on, as it says."""
        return self._raw.runtime_type

    @property
    def raw(self) -> Any:
        self.check_not_forked()
        return self._raw

    def check_not_forked(self) -> None:
        """Raise ForkedProcessError in a child of the process that started this client, and SystemExit in a
        thread that outlives the interpreter.
        """
        interpreter_exit.check()
        if self.forked:
            raise ForkedProcessError(
                f"this process was forked after its parent had started the {self.platform!r} backend, whose "
                "threads do not exist here; start worker processes with multiprocessing's 'spawn' method"
            )

    @property
    def process_count(self) -> int:
        return len({device.process_index for device in self.devices})

    def device(self, id: int) -> Device:
        """Return the device with number `id`; the same object every time."""
        return self._by_id[id]

    def live_buffers(self) -> list[Any]:
        """Return the raw arrays that this client holds in memory."""
        return adapter.live_buffers(self.raw)

    def __repr__(self) -> Any:
        return f"Client({self.platform}, {len(self.devices)} device{'s' * (len(self.devices) != 1)})"


class Clients:
    """The clients of a process. `registry` finds backends; `wrap(client, raw_device)` makes a device."""

    def __init__(self, registry: Any, wrap: Any) -> None:
        self.registry, self.wrap = registry, wrap
        self.failures = {}  # platform -> the error of its last attempt to start
        self._running, self._options, self._default = {}, {}, {}
        self._prepare, self._explain = {}, {}
        self._lock = threading.RLock()
        self._on_fork = []
        self._watching = False

    def configure(
        self, platform: str, explain: Callable[..., Any] | None = None, prepare: Any = None, **options: Any
    ) -> None:
        """Set options for `make_client` of `platform`, None for those to leave out again; RuntimeError if its
        client runs already. `prepare()` is called before it is made. `explain(error)` is asked where it does
        not start; what it returns is raised, if that is not None.
        """
        platform = self.registry.resolve(platform)
        with self._lock:
            if platform in self._running:
                raise RuntimeError(
                    f"the {platform!r} backend has started already; configure it before the "
                    "first array is made or devices are listed"
                )
            told = {**self._options.get(platform, {}), **options}
            self._options[platform] = {name: value for name, value in told.items() if value is not None}
            if explain is not None:
                self._explain[platform] = explain
            if prepare is not None:
                self._prepare[platform] = prepare

    def on_fork(self, callback: Callable[..., Any]) -> None:
        """Call `callback()` in every forked child: drop what would use a client without asking
        `Client.raw`."""
        self._on_fork.append(callback)

    def forget(self) -> None:
        """Drop what would use a client without asking `Client.raw`."""
        for callback in self._on_fork:
            callback()

    def stop(self, platform: Any) -> None:
        """Forget the client of `platform`, so that the next use makes another one. Arrays on its devices can
        be read as long as somebody has them.
        """
        with self._lock:
            self._running.pop(self.registry.resolve(platform), None)
            self._default.clear()
        self.forget()

    def running(self) -> Any:
        """Return the clients that have been started; starts nothing."""
        return list(self._running.values())

    def get(self, platform: str) -> Client:
        """Return the client of `platform`, starting it if need be.

        Raises MissingPluginError (not installed or not allowed) and PluginError (does not start).
        """
        backend = self.registry.get(platform)  # may import a plugin: outside the lock
        client = self._running.get(backend.platform)
        return client or self._start(backend)

    def _start(self, backend: Backend) -> Client:
        with self._lock:
            if backend.platform in self._running:
                return self._running[backend.platform]
            self._watch_forks()
            if backend.platform in self._prepare:
                self._prepare[backend.platform]()
            try:
                raw = backend.make_client(dict(self._options.get(backend.platform, {})))
                client = Client(backend, raw, self.wrap)
            except (Exception, SystemExit) as error:
                self.failures[backend.platform] = error
                explain = self._explain.get(backend.platform)
                reason = None if explain is None else explain(error)
                if reason is not None:
                    raise reason from error
                raise PluginError(does_not_start(backend, error, self._others(backend))) from error
            self.failures.pop(backend.platform, None)
            self._running[backend.platform] = client
            read_ahead.start(client)
            for setting in [each for each in backend.settings if not each.traced]:
                config.watch(setting.name, partial(tell_if_late, setting, getattr(config, setting.name)))
            return client

    def _others(self, backend: Backend) -> list[str]:
        """Return the other platforms that may be used and say of no obstacle."""
        try:
            found, _ = self.registry.candidates()
        except PluginError:  # the settings name a platform that is not installed
            return []
        return [other.platform for other in found if other is not backend and obstacle_of(other) is None]

    def default(self) -> Client:
        """Return the client of the default backend: the first of `config.platforms`, else of highest
        priority.

        A platform that the user asked for by name must start. One that is merely installed is passed over: in
        silence where it says that this machine cannot run it, else with a RuntimeWarning. Broken
        plugins are passed over with a warning, and raised only when nothing works.
        """
        client = self._default.get(config.platforms)
        return client or self._choose_default()

    def _choose_default(self) -> Any:
        wanted = config.platforms
        backends, broken = self.registry.candidates()
        if wanted is not None:
            for error in broken.values():
                raise error
        unusable = list(broken.values())
        for backend in backends:
            client = self.get(backend.platform) if wanted else self._try(backend, broken)
            if client is not None:
                self._default[wanted] = client
                for error in unusable:
                    text = f"{error}\n  everything else works without it"
                    warnings.warn(text, PluginWarning, stacklevel=stacklevel())
                return client
        raise PluginError(nothing_works(broken)) from next(iter(broken.values()), None)

    def _try(self, backend: Backend, broken: Any) -> Client | None:
        """Return the client of a backend that nobody named, or None, with the reason in `broken`."""
        try:
            obstacle = ask_for_obstacle(backend)
            if obstacle is None:
                return self.get(backend.platform)
            broken[backend.platform] = PluginError(obstacle)
            return None
        except PluginError as error:
            broken[backend.platform] = error
            warnings.warn(
                f"{error}\n  another backend is used instead; RABBET_PLATFORMS=cpu would choose the "
                "CPU without this warning",
                RuntimeWarning,
                stacklevel=stacklevel(),
            )
            return None

    def _watch_forks(self) -> None:
        if self._watching:
            return
        self._watching = True
        interpreter_exit.watch(self)
        deferred_release.free_with_garbage()
        self.on_fork(read_ahead.forked)
        if hasattr(os, "register_at_fork"):
            this = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: forked(this()))


def forked(clients: Any) -> None:
    """In a forked child: from now on every use of a client of `clients` raises."""
    if clients is None:
        return
    clients._lock = threading.RLock()  # another thread of the parent may have held it
    for client in clients._running.values():
        client.forked = True
    clients.forget()


def tell_if_late(setting: Setting, told: int) -> None:
    """Warn if a setting of a backend is not what the client was `told` of it when it was made."""
    value = getattr(config, setting.name)
    if value != told:
        warnings.warn(
            f"{setting.name} = {value!r} has no effect: the client is running, with {told!r}; set it before "
            f"the first array is made or devices are listed, or set {setting.variable}",
            RuntimeWarning,
            stacklevel=stacklevel(),
        )


def ask_for_obstacle(backend: Backend) -> str | None:
    """What stands in the way of a backend, or None. PluginError where its own function for that raises."""
    try:
        said = backend.obstacle()
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"the {backend.platform!r} backend is installed but cannot be used: its function obstacle() "
            f"({function_names.address(backend.obstacle)}) raised {type(error).__name__}: {error}"
        ) from error
    if said is not None and not isinstance(said, str):
        raise PluginError(
            f"the {backend.platform!r} backend is installed but cannot be used: its function obstacle() "
            f"({function_names.address(backend.obstacle)}) returned {said!r:.60}; expected is None where "
            "nothing stands in the way, else a text that says what does"
        )
    return said


def obstacle_of(backend: Backend) -> str | None:
    """What stands in the way of a backend, in words, or None."""
    try:
        return ask_for_obstacle(backend)
    except PluginError as error:
        return str(error)


def does_not_start(backend: Backend, error: BaseException | Exception, others: list[str]) -> str:
    said = str(error) or f"its make_client ({function_names.address(backend.make_client)}) raised {error!r}"
    lines = [f"the {backend.platform!r} backend is installed but does not start: {said}"]
    obstacle = obstacle_of(backend)
    if obstacle is not None and obstacle not in str(error):
        lines.append(f"  {obstacle}")
    if others:
        lines.append(f"  platforms that can be used here: {', '.join(others)}")
    return "\n".join(lines)


def nothing_works(broken: Any) -> str:
    if not broken:
        known = backends.find_providers(backends.GROUP).values()
        offers = " or ".join([f'"{package}"' for package in known])
        return (
            "no backend is installed, so there is no device to compute on\n"
            f"  to get one: python -m pip install {offers}"
        )
    reasons = "".join(f"\n  {platform}: {error}" for platform, error in broken.items())
    story = "  the whole story: python -m rabbet doctor"
    return f"none of the installed backends works on this machine:{reasons}\n{story}"
