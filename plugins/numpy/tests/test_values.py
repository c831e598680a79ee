"""Values against NumPy's, for the table of ``cases``."""

import importlib.util
import pathlib

import numpy as np
import pytest
import rabbet.numpy as rnp
from rabbet import tree


def load(name):
    """A module beside this file."""
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cases = load("cases")


def same(found, wanted):
    """Compare pytrees of arrays by value; 32-bit results against NumPy's 64-bit ones."""
    found, wanted = tree.leaves(found), tree.leaves(wanted)
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape
        assert x.dtype.kind == y.dtype.kind or {x.dtype.kind, y.dtype.kind} <= set("iu")
        if y.dtype.kind in "fc":
            scale = float(np.max(np.abs(y[np.isfinite(y)]), initial=1.0))
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6 * scale)
        else:
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", cases.CASES)
def test_as_in_numpy(name):
    case = cases.CASES[name]
    with np.errstate(all="ignore"):
        wanted = case(np)
    if "histogram" in name:  # counts are floats here, as in the field
        wanted = wanted[0].astype("f4"), wanted[1]
    same(case(rnp), wanted)
