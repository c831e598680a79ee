"""Settings from the command line, by absl: the flags ``--jax_<name>`` of programs written for JAX."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["define_flags", "parse_flags"]


def define_flags(config: Any) -> Any:
    """Define a flag of absl for each setting that has none yet; when absl has read the command line, those
    that it gave are set. Returns absl's flags.
    """
    from absl import app, flags  # installed by whoever asks for this

    config.find_all()
    new = {name: one for name, one in config.settings.items() if f"jax_{name}" not in flags.FLAGS}
    for name, setting in new.items():
        define = flags.DEFINE_bool if isinstance(setting.default, bool) else flags.DEFINE_string
        define(f"jax_{name}", None, setting.doc)
    if new:
        app.call_after_init(lambda: take(config, flags.FLAGS))
    return flags.FLAGS


def parse_flags(config: Any) -> None:
    """Define the flags and read the command line now."""
    given = define_flags(config)
    if not given.is_parsed():
        given(sys.argv, known_only=True)
    take(config, given)


def take(config: Any, given: Any) -> None:
    """Set what the command line gave."""
    for name in config.settings:
        flag = f"jax_{name}"
        if flag in given and given[flag].present:
            config.update(name, given[flag].value)
