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
    if name.startswith("_"):
        raise AttributeError(f"module 'rabbet.nn' has no attribute {name!r}")
    import rabbet

    value = globals()[name] = getattr(rabbet, f"nn.{name}")  # what another package adds
    return value


def _of_other_packages():
    """The names that installed packages add: entry points ``nn.NAME`` in the group ``rabbet.api``."""
    from importlib.metadata import entry_points

    return [one.name.removeprefix("nn.") for one in entry_points(group="rabbet.api") if one.name[:3] == "nn."]


_public_module(globals(), modules=("initializers",), more=_of_other_packages)
