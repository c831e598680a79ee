"""Sparse problems: ``jax.scipy.sparse``, with the one module ``linalg``."""

import importlib


def __getattr__(name):
    if name == "linalg":
        return importlib.import_module("rabbet.scipy.sparse.linalg")
    raise AttributeError(f"module 'rabbet.scipy.sparse' has no attribute {name!r}; its module is linalg")


def __dir__():
    return list(__all__)


__all__ = ["linalg"]
