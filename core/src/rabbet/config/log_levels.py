"""The settings ``logging_level`` and ``debug_log_modules``, applied to Python's loggers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rabbet.config import config

if TYPE_CHECKING:
    import logging

NAMES = ("logging_level", "debug_log_modules")


def follow() -> None:
    """Apply the two settings now, if the environment has them, and whenever one is changed."""
    for name in NAMES:
        config.watch(name, apply)
    if any(f"{prefix}_{name.upper()}" in os.environ for name in NAMES for prefix in ("RABBET", "JAX")):
        apply()


def apply() -> None:
    """Set the levels of the loggers."""
    import logging

    logger().setLevel(config.logging_level)
    for name in config.debug_log_modules or ():
        named = logging.getLogger(name)
        named.setLevel(logging.DEBUG)
        if not named.hasHandlers():
            named.addHandler(logging.StreamHandler())


def logger() -> logging.Logger:
    """The logger of Rabbet. Most processes log nothing, so `logging` is imported with the first record."""
    import logging

    return logging.getLogger("rabbet")


__all__ = ["follow", "logger"]
