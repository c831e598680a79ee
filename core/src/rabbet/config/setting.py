"""What a setting is, as a value, and what settings accept: words, numbers and names."""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rabbet.errors import ConfigError


@dataclass(frozen=True)
class Setting:
    """One setting, as a value.

    ``parse(value)`` takes what a user gave, or the text of the environment variable, and returns the
    value to keep, or raises ``ValueError`` with the values it accepts; ``bool`` takes ``on`` and its like. A
    ``traced`` setting changes what
    a traced program means, so it is part of the key under which compiled programs are kept. ``env``
    defaults to ``RABBET_<NAME>``. ``jax``: JAX has a setting of this name that takes the same values, so
    ``JAX_<NAME>`` is read where ``RABBET_<NAME>`` is not set. An ``inert`` one is accepted and changes
    nothing. ``lenient``: a bad value in the environment is a warning and not an error. ``context``: it is one
    of core's, and ``rb.<name>`` is a context manager, with ``example``, a value, in its docstring.
    ``observer(op, args, run)``: while the setting is on, it is called for each operation outside of
    transformations, a call of a compiled function being one, and returns what ``run()`` gives.

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
    jax: bool = False
    inert: bool = False
    lenient: bool = False
    context: bool = False
    example: Any = None
    observer: Callable[..., Any] | None = None

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return self.env or f"RABBET_{self.name.upper()}"

    def in_environment(self) -> bool:
        """Whether the environment has a variable that gives its value, if no alias does."""
        return self.variable in os.environ or (self.jax and f"JAX_{self.name.upper()}" in os.environ)

    def set_by(self, value: Any) -> str:
        """The environment variable from which it has this value, or "" where it has it otherwise."""
        for variable in (self.variable, f"JAX_{self.name.upper()}") if self.jax else (self.variable,):
            text = os.environ.get(variable)
            if text is not None:
                return variable if self.parse(text) == value else ""
        return ""

    def read(self, value: Any, source: str, given: Any = None) -> Any:
        """``value`` parsed, or a ConfigError that names ``source``. ``given``: that of an ``Alias``."""
        try:
            parse = boolean if self.parse is bool else self.parse
            return parse(value if given is None else given(value))
        except (ValueError, TypeError) as error:
            raise ConfigError(f"{source} cannot be {value!r}: {error}\n  {self.name}: {self.doc}") from None

    def initial(self, aliases: Iterable[Alias] = ()) -> Any:
        """The value given by the environment, else the default. JAX's own variables come last: a value in
        one of them that means nothing here is a warning, because it may be meant for JAX alone.
        """
        ways = [(self.name, None), *((a.name, a.given) for a in aliases if self.name in a.settings)]
        foreign = ways if self.jax else ways[1:]
        for prefix, names in (("RABBET", ways), ("JAX", foreign)):
            for name, given in names:
                variable = (
                    self.variable if (prefix, name) == ("RABBET", self.name) else f"{prefix}_{name.upper()}"
                )
                text = os.environ.get(variable)
                if text is None:
                    continue
                try:
                    return self.read(text, f"environment variable {variable}", given)
                except ConfigError as error:
                    if prefix == "RABBET" and not self.lenient:
                        raise
                    from rabbet.messages.source_positions import stacklevel  # above this module

                    warnings.warn(f"Rabbet ignores {variable}: {error}", stacklevel=stacklevel())
        return self.default


@dataclass(frozen=True)
class Alias:
    """A second name of a setting, or one name for several, whose values may be written in another way:
    ``given`` takes what a user gave under this name to what the setting accepts, ``shown`` takes the value of
    the setting, of several the first, back.

    Example:
      >>> from rabbet.extend.backend import Alias
      >>> QUIET = Alias("quiet_errors", "traceback", lambda v: "fold" if v else "full", lambda v: v == "fold")
      >>> QUIET.settings, QUIET.given(True)
      (('traceback',), 'fold')
    """

    name: str
    setting: str | tuple[str, ...]
    given: Callable[[Any], Any] = lambda value: value
    shown: Callable[[Any], Any] = lambda value: value

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the settings that it sets."""
        return (self.setting,) if isinstance(self.setting, str) else self.setting


# Variables that say which packages are used; none is a setting.
OF_PLUGINS = ("RABBET_PLUGINS", "RABBET_DISABLE_PLUGINS", "RABBET_PREFER")


def set_nothing(settings: Iterable[Any]) -> bool:
    """Whether the environment has variables of Rabbet's or JAX's that set none of these settings."""
    known = {s.variable for s in settings} | {f"JAX_{s.name.upper()}" for s in settings if s.jax}
    known.update(OF_PLUGINS)
    return any(name.startswith(("RABBET_", "JAX_")) and name not in known for name in os.environ)


# What settings accept -----------------------------------------------------------------------------

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


def boolean(value: Any) -> bool:
    """On or off: True, False, or a word such as ``on``, ``yes``, ``1``.

    Example:
      >>> from rabbet.extend.settings import boolean
      >>> boolean("on"), boolean(False)
      (True, False)
    """
    if isinstance(value, str):
        value = WORDS.get(value.strip().lower(), value)
    if value not in (True, False) or isinstance(value, str):
        raise ValueError("it is on or off: True, False, or one of the words " + ", ".join(WORDS))
    return bool(value)


def choice(*words: Any, none: bool = False) -> Callable[[Any], Any]:
    """A parser for one of ``words``, or a member of an enumeration by its name; with ``none``, None too (also
    written "" or "none").

    Example:
      >>> from rabbet.extend.settings import choice
      >>> choice("allow", "warn")("Warn")
      'warn'
    """
    by_lower = {word.lower(): word for word in words}

    def parse(value: Any) -> Any:
        if none and (value is None or value in ("", "none")):
            return None
        if isinstance(value, enum.Enum) and not isinstance(value, str):
            value = value.name
        if isinstance(value, str) and value.lower() in by_lower:
            return by_lower[value.lower()]
        raise ValueError(f"it is one of {', '.join(words)}{' or None' if none else ''}")

    return parse


def size(value: Any) -> int:
    """A number of bytes: an int, or text such as ``512M`` or ``4GB``.

    Example:
      >>> from rabbet.extend.settings import size
      >>> size("2k")
      2048
    """
    text = str(value).strip().lower()
    digits = text.rstrip("bkmgt")
    unit = text[len(digits) :]
    unit = unit[:-1] if len(unit) == 2 and unit[-1] == "b" else unit
    if isinstance(value, bool) or not digits.isdecimal() or unit not in UNITS:
        raise ValueError("it is a number of bytes, such as 1073741824, 512M or 4GB")
    return int(digits) * UNITS[unit]


def path(value: Any) -> Any:
    """A folder, or None.

    Example:
      >>> from rabbet.extend.settings import path
      >>> path("") is None
      True
    """
    return os.path.expanduser(os.fspath(value)) if value not in (None, "") else None


def names(value: Any) -> Any:
    """Names in order of preference: a sequence, or text separated by commas; None: no preference.

    Example:
      >>> from rabbet.extend.settings import names
      >>> names("a, b")
      ('a', 'b')
    """
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() for part in parts if part.strip()) or None


def word(value: Any) -> str:
    """A name of something that packages offer: who looks it up says which there are.

    Example:
      >>> from rabbet.extend.settings import word
      >>> word(" rbg ")
      'rbg'
    """
    if not isinstance(value, str) or not value.strip():
        raise ValueError("it is a name")
    return value.strip()


def place(value: Any) -> Any:
    # Devices stand above this module: what is none of them is told by what they all have.
    if value is not None and not isinstance(value, str) and not hasattr(value, "device_kind"):
        raise ValueError("it is a Device (rb.devices() lists them) or the name of a platform, such as 'cpu'")
    return value or None


def laying(value: Any) -> Any:
    # Shardings stand above this module, as devices do.
    if value is not None and not hasattr(value, "device_order"):
        raise ValueError("it is a Sharding over several devices, such as a NamedSharding")
    return value


def precision(value: Any) -> Any:
    # An enum member of lax (lax.Precision.HIGH) or a pair of them is passed on as it is; lax checks those.
    named = value is None or isinstance(value, str)
    return choice(*PRECISIONS, none=True)(value) if named else value


def pairs(value: Any) -> tuple[tuple[str, str], ...]:
    """Texts by name: a dict, or pairs."""
    try:
        found = tuple(value.items() if isinstance(value, dict) else value)
        return tuple([(str(key), str(text)) for key, text in found])
    except (TypeError, ValueError):
        raise ValueError("it is a dict, or pairs of a name and a text") from None


def number(value: Any) -> int:
    """A whole number.

    Example:
      >>> from rabbet.extend.settings import number
      >>> number("3")
      3
    """
    try:
        return int(value)
    except (ValueError, TypeError):
        raise ValueError("it is a whole number") from None


def seconds(value: Any) -> float:
    """A number of seconds.

    Example:
      >>> from rabbet.extend.settings import seconds
      >>> seconds("0.5")
      0.5
    """
    try:
        return float(value)
    except (ValueError, TypeError):
        raise ValueError("it is a number of seconds") from None


def text(value: Any) -> Any:
    """Text, or None."""
    return None if value is None else str(value)
