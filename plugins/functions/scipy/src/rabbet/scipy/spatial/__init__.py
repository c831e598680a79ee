"""Space: ``jax.scipy.spatial``, with the one module ``transform``."""

import importlib


def __getattr__(name):
    if name == "transform":
        return importlib.import_module("rabbet.scipy.spatial.transform")
    raise AttributeError(f"module 'rabbet.scipy.spatial' has no attribute {name!r}; its module is transform")


def __dir__():
    return list(__all__)


__all__ = ["transform"]
