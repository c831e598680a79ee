"""Settings: what they are, where their values come from, and how to read them quickly.

A value is looked for in three places: an override of the current thread (``with
config.override(name=value)``), the value given to ``config.update``, and the environment variable
``RABBET_<NAME>``, read when the setting is first asked for.

Settings are read on every call of every jitted function, so reading one must be about as cheap as reading
an attribute. The values of a ``Config`` therefore live in a ``threading.local`` of a class of its own: a
thread's overrides are its instance attributes, and the process-wide values are attributes of the class,
which Python finds by itself when the thread has none.
"""

import contextlib
import difflib
import operator
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rabbet.errors import ConfigError, PluginConflictError
from rabbet.messages.tracebacks import folded

__all__ = ["Config", "Setting", "TracedKey", "config"]

ABSENT = object()


@dataclass(frozen=True)
class Setting:
    """One setting, as a value.

    ``parse(value)`` takes what a user gave, or the text of the environment variable, and returns the
    value to keep, or raises ``ValueError`` with the values it accepts. A ``traced`` setting changes what
    a traced program means, so it is part of the key under which compiled programs are kept. ``env``
    defaults to ``RABBET_<NAME>``.

    Example:
      >>> from rabbet.extend.backend import Setting
      >>> SLOTS = Setting("toaster_slots", 2, int, "how many slices at once")
      >>> SLOTS.parse("4")
      4
    """

    name: str
    default: Any
    parse: Callable[[Any], Any]
    doc: str
    env: str | None = None
    traced: bool = False

    @property
    def variable(self):
        """The environment variable that sets it."""
        return self.env or f"RABBET_{self.name.upper()}"

    def read(self, value, source):
        """``value`` parsed, or a ConfigError that names ``source``."""
        try:
            return self.parse(value)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"{source} cannot be {value!r}: {error}\n  {self.name}: {self.doc}") from None

    def initial(self):
        """The value given by the environment, else the default."""
        text = os.environ.get(self.variable)
        return self.default if text is None else self.read(text, f"environment variable {self.variable}")


class TracedKey:
    """The values of the traced settings, interned: equal is identical, so hashing and comparing cost
    nothing.
    """

    __slots__ = ("names", "values")

    def __init__(self, names, values):
        self.names, self.values = names, values

    def __repr__(self):
        return f"TracedKey({', '.join(f'{n}={v!r}' for n, v in zip(self.names, self.values))})"


class Override(contextlib.ContextDecorator):
    """Changes settings for one thread, from ``__enter__`` to ``__exit__``. May be entered again, also
    while entered.
    """

    def __init__(self, config, changes):
        self.config, self.changes, self.saved = config, changes, []

    def __enter__(self):
        mine = self.config.values.__dict__
        self.saved.append({name: mine.get(name, ABSENT) for name in self.changes})
        self.config._change(mine, self.changes)

    def __exit__(self, *exc_info):
        self.config._change(self.config.values.__dict__, self.saved.pop())
        return False


class Config:
    """The settings of a program: ``config.name`` reads, ``config.update(name, value)`` sets for the whole
    process, ``config.override(name=value)`` is a context manager that sets for the current thread.
    """

    def __new__(cls, settings=()):
        # A class of its own for each Config, so that its settings can be properties.
        return super().__new__(type(cls.__name__, (cls,), {"__doc__": cls.__doc__}))

    def __init__(self, settings=()):
        values = type("Values", (threading.local,), {"traced_key": None})()
        make_key = self._make_key

        def traced_key():
            """The values of all traced settings as one object, identical as long as they are equal.

            Dispatchers that count every call read ``config.values.traced_key``, which is None where it has to
            be made.
            """
            return values.traced_key or make_key()

        state = {
            "_settings": {},
            "values": values,
            "_keys": {},
            "_overridden": {},
            "_watchers": {},
            "_find_more": None,
            "_lock": threading.RLock(),
        }
        self.__dict__.update(state, traced_key=traced_key)
        for setting in settings:
            self.define(setting)

    def define(self, setting):
        """Add a setting; a plugin may bring its own. A second, different one of a name is an error."""
        known = self._settings.get(setting.name)
        if known == setting:
            return
        if known is not None or hasattr(Config, setting.name) or setting.name in self.__dict__:
            raise PluginConflictError(
                f"setting {setting.name!r} exists already: {known.doc if known else 'part of Config'}\n"
                f"  the new one: {setting.doc}\n  give it another name"
            )
        with self._lock:
            self._settings[setting.name] = setting
            setattr(
                type(self),
                setting.name,
                property(operator.attrgetter(f"values.{setting.name}"), doc=setting.doc),
            )
            self._refresh()

    def use_finder(self, function):
        """Name a ``function()`` that defines further settings, called when one is missing."""
        self.__dict__["_find_more"] = function

    def watch(self, name, function):
        """Call ``function()`` whenever ``name`` is changed, for the process or in any thread."""
        self._setting(name)
        self._watchers.setdefault(name, []).append(function)

    @property
    def settings(self):
        """All settings by name."""
        return dict(self._settings)

    def __repr__(self):
        changed = {n: getattr(self, n) for n, s in self._settings.items() if getattr(self, n) != s.default}
        return f"Config({', '.join([f'{n}={v!r}' for n, v in changed.items()])})"

    def __dir__(self):
        return sorted({*super().__dir__(), *self._settings})

    @folded
    def __getattr__(self, name):
        # Only reached for a name that neither this thread nor the process has a value for yet.
        if name.startswith("__"):
            raise AttributeError(name)
        value = self._setting(name).initial()
        with self._lock:
            if name not in vars(type(self.values)):
                setattr(type(self.values), name, value)
        return getattr(self.values, name)

    @folded
    def __setattr__(self, name, value):
        self._setting(name)
        raise AttributeError(
            f"cannot assign config.{name}: is it meant for the whole process or for a block of code?\n"
            f"  process: config.update({name!r}, {value!r})\n"
            f"  block:   with config.override({name}={value!r}):"
        )

    @folded
    def update(self, name, val):
        """Set ``name`` for the whole process. Where a thread overrides it, the override stays in force."""
        value = self._setting(name).read(val, f"config.{name}")
        with self._lock:
            setattr(type(self.values), name, value)
            self._refresh()
        self._tell([name])

    @folded
    def override(self, **changes):
        """A context manager (and decorator) that changes settings for the current thread."""
        return Override(self, {n: self._setting(n).read(v, f"config.{n}") for n, v in changes.items()})

    def overrides(self):
        """The settings that the current thread overrides, by name: ``config.override(**overrides)`` carries
        them to another thread.
        """
        mine = self.values.__dict__
        return {name: mine[name] for name in self._settings if name in mine}

    @folded
    def context(self, name):
        """The context-manager function of one setting: ``disable_jit = config.context("disable_jit")``.

        Calling it without a value switches a boolean setting on; the others need their value.
        """
        setting = self._setting(name)
        if name == "disable_jit":  # the argument has the field's name, here another one than elsewhere

            @folded
            def context(disable=True):
                return self.override(disable_jit=disable)
        elif isinstance(setting.default, bool):

            @folded
            def context(new_val=True):
                return self.override(**{name: new_val})
        else:

            @folded
            def context(new_val):
                return self.override(**{name: new_val})

        context.__name__ = context.__qualname__ = name
        context.__doc__ = f"Context manager: {setting.doc} Process-wide: ``config.update({name!r}, value)``."
        return context

    def _setting(self, name):
        if name not in self._settings and self._find_more is not None:
            self._find_more()
        try:
            return self._settings[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._settings, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise AttributeError(
                f"no setting is called {name!r}.{hint}\n  settings: {', '.join(sorted(self._settings))}"
            ) from None

    def _change(self, mine, changes):
        """Write ``changes`` into the overrides of one thread; ABSENT takes one away."""
        with self._lock:
            for name, value in changes.items():
                if value is ABSENT:
                    mine.pop(name, None)
                else:
                    mine[name] = value
            mine.pop("traced_key", None)
            if mine:
                mine["traced_key"] = None
                self._overridden[id(mine)] = mine
            else:
                self._overridden.pop(id(mine), None)
        self._tell(changes)

    def _tell(self, names):
        for name in names:
            for function in self._watchers.get(name, ()):
                function()

    def _refresh(self):
        """Forget the keys of the process and of all threads; they are made again when asked for."""
        type(self.values).traced_key = None
        for mine in self._overridden.values():
            mine["traced_key"] = None

    def _make_key(self):
        names = tuple(sorted(n for n, s in self._settings.items() if s.traced))
        with self._lock:
            values = tuple(getattr(self, name) for name in names)
            # The types too: True == 1, but they are different values of a setting.
            intern = (names, values, tuple(map(type, values)))
            key = self._keys.setdefault(intern, TracedKey(names, values))
            overridden = "traced_key" in self.values.__dict__
            (self.values if overridden else type(self.values)).traced_key = key
        return key


# What the core's settings accept ------------------------------------------------------------------

WORDS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
PRECISIONS = (
    "default", "high", "highest", "fastest", "bfloat16", "bfloat16_3x", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip


def boolean(value):
    if isinstance(value, str):
        value = WORDS.get(value.strip().lower(), value)
    if value not in (True, False) or isinstance(value, str):
        raise ValueError("it is on or off: True, False, or one of the words " + ", ".join(WORDS))
    return bool(value)


def choice(*words, none=False):
    """A parser for one of ``words``; with ``none``, None too (also written "" or "none")."""
    by_lower = {word.lower(): word for word in words}

    def parse(value):
        if none and (value is None or value in ("", "none")):
            return None
        if isinstance(value, str) and value.lower() in by_lower:
            return by_lower[value.lower()]
        raise ValueError(f"it is one of {', '.join(words)}{' or None' if none else ''}")

    return parse


def size(value):
    """A number of bytes: an int, or text such as ``512M`` or ``4GB``."""
    text = str(value).strip().lower()
    digits = text.rstrip("bkmgt")
    unit = text[len(digits) :]
    unit = unit[:-1] if len(unit) == 2 and unit[-1] == "b" else unit
    if isinstance(value, bool) or not digits.isdecimal() or unit not in UNITS:
        raise ValueError("it is a number of bytes, such as 1073741824, 512M or 4GB")
    return int(digits) * UNITS[unit]


def path(value):
    """A folder, or None."""
    return os.path.expanduser(os.fspath(value)) if value not in (None, "") else None


def names(value):
    """Names in order of preference: a sequence, or text separated by commas; None: no preference."""
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() for part in parts if part.strip()) or None


def place(value):
    # Devices stand above this module: what is none of them is told by what they all have.
    if value is not None and not isinstance(value, str) and not hasattr(value, "device_kind"):
        raise ValueError("it is a Device (rb.devices() lists them) or the name of a platform, such as 'cpu'")
    return value or None


def precision(value):
    # An enum member of lax (lax.Precision.HIGH) or a pair of them is passed on as it is; lax checks those.
    named = value is None or isinstance(value, str)
    return choice(*PRECISIONS, none=True)(value) if named else value


CORE_SETTINGS = (
    Setting("enable_x64", False, boolean, traced=True,
            doc="Python scalars and NumPy's 64-bit values keep 64 bits where no dtype was given."),
    Setting("default_matmul_precision", None, precision, traced=True,
            doc="Precision of matrix products and convolutions that ask for none."),
    Setting("numpy_rank_promotion", "allow", choice("allow", "warn", "raise"), traced=True,
            doc="What to do when an operation broadcasts arrays of different rank."),
    Setting("disable_jit", False, boolean, traced=True,
            doc="Run jitted functions and control flow op by op, with values that can be looked at."),
    Setting("default_device", None, place, traced=True,
            doc="Device for new arrays: a Device, or a platform such as 'cpu'."),
    Setting("debug_nans", False, boolean, traced=True,
            doc="Raise FloatingPointError when a computation returns NaN."),
    Setting("debug_infs", False, boolean, traced=True,
            doc="Raise FloatingPointError when a computation returns an infinity."),
    Setting("log_compiles", False, boolean,
            doc="Log a line at WARNING for every program that is traced and compiled."),
    Setting("explain", False, boolean,
            doc="Say why jitted functions are traced, and how long each stage took, at WARNING."),
    Setting("enable_checks", False, boolean,
            doc="Check every jaxpr after every transformation and pass (slow)."),
    Setting("disable_passes", None, names, traced=True,
            doc="Passes that do not run, by name, separated by commas ('rabbet passes' lists them)."),
    Setting("enable_passes", None, names, traced=True,
            doc="Passes to run that are off by default, by name, separated by commas."),
    Setting("platforms", None, names,
            doc="Platforms to use, in order of preference, separated by commas; None: every one installed."),
    Setting("check_narrowing", True, boolean,
            doc="Refuse 64-bit integers that do not fit 32 bits; warn of floats that become infinite there."),
    Setting("cache", True, boolean, doc="Keep compiled programs on disk."),
    Setting("cache_dir", None, path,
            doc="Folder for compiled programs; None: 'rabbet' in the user's cache folder (XDG_CACHE_HOME)."),
    Setting("cache_max_bytes", 4 * 2**30, size,
            doc="Size limit of the folder of compiled programs; the least recently used go first."),
    Setting("traceback", "fold", choice("fold", "full"),
            doc="Whether errors hide Rabbet's own frames: fold or full."),
    Setting("cpu_asynchronous", False, boolean,
            doc="Let calls on CPU return before their result is there; read when the CPU client is made."),
)  # fmt: skip

config = Config(CORE_SETTINGS)
