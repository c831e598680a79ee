"""The settings ``logging_level`` and ``debug_log_modules``, applied to Python's loggers."""

from __future__ import annotations

import logging
import os

from rabbet.config import config

NAMES = ("logging_level", "debug_log_modules")


def follow() -> None:
    """Apply the two settings now, if the environment has them, and whenever one is changed."""
    for name in NAMES:
        config.watch(name, apply)
    if any(f"{prefix}_{name.upper()}" in os.environ for name in NAMES for prefix in ("RABBET", "JAX")):
        apply()


def apply() -> None:
    """Set the levels of the loggers."""
    logging.getLogger("rabbet").setLevel(config.logging_level)
    for name in config.debug_log_modules or ():
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())


__all__ = ["follow"]
