"""Functions that neural networks are written with: activations, softmax, one-hot codes, attention, initial
weights.

There are no layers and no state: a model is a function of its parameters. Called on arrays, each function
is one compiled program.
"""

# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import public_module as _public_module
from rabbet.nn.activations import *
from rabbet.nn.attention import *
from rabbet.nn.normalizing import *


def __getattr__(name):
    if name == "initializers":
        import importlib

        return importlib.import_module("rabbet.nn.initializers")
    raise AttributeError(f"module 'rabbet.nn' has no attribute {name!r}: it is not there, or not yet")


_public_module(globals(), modules=("initializers",))
