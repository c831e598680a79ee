"""Layers that pass operations on say so themselves; what stands above them is the user's or a library's."""

import sys
import types

import pytest
from rabbet.messages import operation_origin


def module(name, **marks):
    made = types.ModuleType(name)
    vars(made).update(marks)
    source = "def ask():\n    return asked()\n\ndef through(other):\n    return other()\n"
    exec(compile(source, name, "exec"), vars(made))
    vars(made)["asked"] = operation_origin.asked_by_library
    return made


@pytest.fixture
def layers(monkeypatch):
    made = [
        module("rabbet_layer", **{operation_origin.MARK: True}),
        module("rabbet_layer.own", **{operation_origin.MARK: False}),
        module("rabbet_library"),
        module("users"),
    ]
    for one in made:
        monkeypatch.setitem(sys.modules, one.__name__, one)
    operation_origin._passes_on.cache_clear()
    yield {one.__name__: one for one in made}
    operation_origin._passes_on.cache_clear()


@pytest.mark.parametrize(
    ("path", "library"),
    [
        (("users", "rabbet_layer"), False),
        (("users", "rabbet_library", "rabbet_layer"), True),
        (("users", "rabbet_layer.own", "rabbet_layer"), True),
        (("rabbet_library", "users", "rabbet_layer"), False),
        (("users",), False),
    ],
)
def test_the_nearest_that_does_not_pass_on_decides(layers, path, library):
    ask = layers[path[-1]].ask
    for name in reversed(path[:-1]):
        ask = lambda inner=ask, through=layers[name].through: through(inner)
        # the lambda is of this file, a user's: what is between must be called by the module itself
        ask = types.FunctionType(ask.__code__, vars(layers[name]), argdefs=ask.__defaults__)
    assert ask() is library
