"""Compiler options of one program: its devices, and named XLA options checked before they are used.

Options travel with the program, never through the XLA_FLAGS variable: XLA ends the process on a flag that
it does not know, and reads the variable once. Named options are those of XLA's debug options (`xla_...`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.config import config
from rabbet.errors import ConfigError
from rabbet.messages.spelling import nearest
from rabbet.runtime.jaxlib import adapter

if TYPE_CHECKING:
    from rabbet.runtime.platforms.devices import Device

# Options that hold a list of names: the backend's and the user's are joined, elsewhere the user's win.
LISTS = {"xla_disable_hlo_passes"}
# What XLA calls a platform in the names of its options, where that is not our word.
FAMILIES = {"cuda": "gpu", "rocm": "gpu"}
# What XLA calls the levels of effort, and what it is told where nearly nothing should be optimized.
EFFORT = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}
UNOPTIMIZED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
EMPTY = "func.func public @main() { return }"


def build_options(
    device: Any,
    *,
    extra: Any = None,
    text: Any = "",
    num_partitions: Any = 1,
    num_replicas: Any = 1,
    devices: Any = None,
    anywhere: Any = False,
    told: Any = None,
) -> Any:
    """Return jaxlib's compile options for a program on `device`, or on `devices` if it is spread over
    several.

    Args:
      device: a `Device`; its backend's own options are included.
      extra: mapping of XLA option name to bool, int, float or str, for this program.
      text: the program, which its backend may have options for.
      num_partitions, num_replicas: how the program is spread; `devices` must then have
        `num_replicas * num_partitions` entries, replica by replica.
      anywhere: number the devices from 0, as part of a key that other devices share.
      told: further options that need no check.

    Raises ConfigError for an option that this jaxlib does not know, or a value of the wrong type.
    """
    devices = [device] if devices is None else list(devices)
    if len(devices) != num_partitions * num_replicas:
        raise ValueError(
            f"{num_replicas} replicas of {num_partitions} partitions need "
            f"{num_partitions * num_replicas} devices, got {len(devices)}"
        )
    if num_partitions > 1 and num_replicas > 1:  # the compiler ends the process
        raise ValueError(
            f"a program is spread over replicas or over partitions, got {num_replicas} replicas of "
            f"{num_partitions} partitions"
        )
    options = adapter.default_options()
    build = options.executable_build_options
    options.num_partitions = build.num_partitions = num_partitions
    options.num_replicas = build.num_replicas = num_replicas
    build.use_spmd_partitioning = num_partitions > 1
    numbers = range(len(devices)) if anywhere else [each.id for each in devices]
    ids = np.array(numbers, np.int32).reshape(num_replicas, num_partitions)
    options.device_assignment = adapter.device_assignment(ids)
    backend = device.client.backend
    named = merge(backend.compile_options, backend.program_options(text) if backend.program_options else {})
    if config.disable_most_optimizations:
        named = merge(named, UNOPTIMIZED)
    named = merge({**named, **(told or {})}, checked_extra(device, extra) if extra else {})
    build.optimization_level = EFFORT[config.optimization_level]
    build.memory_fitting_level = EFFORT[config.memory_fitting_level]
    options.env_option_overrides = sorted(named.items())  # sorted: the bytes are part of the cache key
    return options


def merge(base: Any, extra: Any) -> dict[Any, Any]:
    """Return the backend's options with the program's own on top."""
    merged = dict(base)
    for name, value in extra.items():
        if name in LISTS and merged.get(name):
            value = ",".join(dict.fromkeys([*merged[name].split(","), *value.split(",")]))
        merged[name] = value
    return merged


def normalize_compiler_options(extra: dict[Any, Any] | str) -> dict[Any, Any]:
    """Return options with their values as XLA wants them; ConfigError for what is not a mapping of names to
    values.

    Example:
      >>> from rabbet.extend.backend import normalize_compiler_options
      >>> normalize_compiler_options({"xla_llvm_disable_expensive_passes": True})
      {'xla_llvm_disable_expensive_passes': True}
    """
    if not isinstance(extra, Mapping):
        raise ConfigError(f"compiler options are a dict of name and value, got {type(extra).__name__}")
    return {name: plain(name, value) for name, value in extra.items()}


def checked_extra(device: Device, extra: dict[Any, Any]) -> dict[Any, Any]:
    """Return `extra` with its values as XLA wants them, or raise ConfigError."""
    values = normalize_compiler_options(extra)
    for name, value in values.items():
        check(device, name, value, type(value))  # type: ignore[arg-type]  # a type has a hash
    return values


def plain(name: int | str, value: Any) -> Any:
    """Return an option's value as bool, int, float or str."""
    if not isinstance(name, str):
        raise ConfigError(f"a compiler option is named by a str, not by {name!r}")
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float, str)):
        raise ConfigError(f"compiler option {name!r} cannot be {value!r}: it is a bool, int, float or str")
    # XLA refuses the words for booleans, in which flags are usually written.
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


@functools.lru_cache(maxsize=256)
def check(device: Device, name: str, value: Any, kind: Any) -> None:
    """Compile an empty program with this one option (5 ms), because jaxlib has no other way to ask for it.

    `kind` is the type of `value`: True and 1 are different, but equal as keys.
    """
    options = adapter.default_options(device.raw)
    options.env_option_overrides = [(name, value)]
    try:
        adapter.compile_text(device.client.raw, EMPTY, device.device_list, options)
    except adapter.XlaRuntimeError as error:
        raise ConfigError(refusal(device.platform, name, value, str(error))) from None


@functools.cache
def known_options() -> Any:
    """The options that jaxlib tells of, as a mapping of name to type, or None where it does not tell. It
    leaves out those whose default is empty.
    """
    options = adapter.default_options()  # owns the memory of the next one, and has to outlive it
    build = options.executable_build_options
    names, text = dir(build.debug_options), str(build.debug_options)
    known = {name: None for name in names if name.startswith("xla_")}
    for line in text.splitlines():
        name, colon, value = line.strip().partition(": ")
        if colon and name.startswith("xla_"):
            known[name] = kind_of(value)
    return known


def kind_of(text: str) -> Any:
    """The type of an option whose default prints as ``text``."""
    if text in ("true", "false"):
        return "bool"
    if text.startswith('"'):
        return "str"
    try:
        float(text)
    except ValueError:
        return None
    return "int" if text.lstrip("-").isdecimal() else "float"


def refusal(platform: str, name: str, value: Any, reason: str) -> str:
    """Return the message for an option that the compiler refused; for a name that it does not know with the
    names that are close and those of the platform.
    """
    known = known_options()
    if "No such compile option" not in reason:
        kind = known.get(name)
        hint = f"; it is of type {kind}" if kind else ""
        return f"compiler option {name!r} cannot be {value!r}{hint}: {reason}"
    near = nearest(name, known, n=4, cutoff=0.5)
    words = name.removeprefix("xla_")
    near += [n for n in known if words in n and n not in near][:4]
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if len(near) > 1:
        hint += f"\n  others that are close: {', '.join(near[1:])}"
    family = f"xla_{FAMILIES.get(platform, platform)}_"
    own = [n for n in known if n.startswith(family)]
    if own:
        hint += f"\n  of the {len(known)} that it lists, for {platform}: {', '.join(own)}"
    return f"jaxlib {adapter.version()} knows no compiler option {name!r}{hint}"
