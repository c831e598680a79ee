"""``dir(rabbet.numpy)`` lists NumPy's names and nothing of how the module is made."""

import types

import numpy as np
import pytest
import rabbet.numpy as rnp


@pytest.mark.parametrize("face", ["", "fft", "linalg"])
def test_dir_lists_what_is_there_for_users(face):
    module = getattr(rnp, face) if face else rnp
    listed = dir(module)
    assert not [name for name in listed if name.startswith("_")]
    modules = {name for name in listed if type(getattr(module, name)) is types.ModuleType}
    assert modules == (set() if face else {"fft", "linalg"})
    # What the module has and NumPy too is listed, but for modules.
    theirs = getattr(np, face) if face else np
    shared = {n for n in vars(module) if not n.startswith("_") and hasattr(theirs, n)} - {"core"}
    shared = {n for n in shared if type(getattr(module, n)) is not types.ModuleType}
    assert shared - set(listed) <= {"dtypes"}


def test_default_dtypes_and_those_of_plugins_are_listed():
    listed = dir(rnp)
    wanted = {"float32", "bool_", "int_", "uint", "float_", "complex_", "bool", "sin", "linalg", "pi"}
    assert wanted <= set(listed)
    assert not {"importlib", "arguments", "ufuncs", "missing", "os"} & set(listed)
    assert all(hasattr(rnp, name) for name in listed)
