"""Clustering: ``jax.scipy.cluster``, with the one module ``vq``."""

import importlib


def __getattr__(name):
    if name == "vq":
        return importlib.import_module("rabbet.scipy.cluster.vq")
    raise AttributeError(f"module 'rabbet.scipy.cluster' has no attribute {name!r}; its module is vq")


def __dir__():
    return list(__all__)


__all__ = ["vq"]
