"""Values against NumPy's, for the table of ``cases``."""

import importlib.util
import pathlib

import numpy as np
import pytest
import rabbet.numpy as rnp
from rabbet import tree

pytestmark = pytest.mark.exhaustive


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
    if "histogram" in name:  # counts are floats here, as in JAX
        wanted = wanted[0].astype("f4"), wanted[1]
    same(case(rnp), wanted)


def test_keys_are_moved_about_like_numbers():
    random = pytest.importorskip("rabbet.random")
    keys = random.split(random.key(0), 4)
    data = np.asarray(random.key_data(keys))
    same(random.key_data(rnp.reshape(keys, (2, 2))), data.reshape(2, 2, 2))
    same(random.key_data(rnp.roll(keys, 1)), np.roll(data, 1, 0))
    same(random.key_data(rnp.take(keys, rnp.array([2, 0]))), data[[2, 0]])
    same(random.key_data(rnp.concatenate([keys, keys[:1]])), np.concatenate([data, data[:1]]))
    same(random.key_data(rnp.zeros_like(keys)), np.zeros_like(data))


EMPTY = np.zeros((0, 3), "f4")


@pytest.mark.parametrize(
    "name", "sum prod any all ravel transpose flip cumsum sort argsort nonzero unique".split()
)
def test_arrays_of_no_elements(name):
    same(getattr(rnp, name)(EMPTY), getattr(np, name)(EMPTY))


def test_statistics_of_no_elements_are_nan():
    for name in ("mean", "var", "std", "median"):
        assert np.isnan(getattr(rnp, name)(EMPTY))
    assert rnp.max(EMPTY, axis=1).shape == (0,)
    same(rnp.matmul(EMPTY.T, EMPTY), np.zeros((3, 3)))
