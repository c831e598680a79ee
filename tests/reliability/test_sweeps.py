"""Samples of the sweeps in tools/check that compare values and slopes, and that these find faults."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.needs("cpu", "jit", "vmap", "grad", "numpy", "nn", "scipy")

TOOLS = Path(__file__).parents[2] / "tools" / "check"


def tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_sample_beside_scipy():
    pytest.importorskip("scipy")
    sweep = tool("beside_scipy")
    mine, theirs, number = sweep.functions()["special.erfc"]
    assert sweep.compare("special.erfc", mine, theirs, number, "float32")["differ"] == 0
    wrong = sweep.compare("special.erfc", lambda x: mine(x) * 1.001, theirs, number, "float32")
    assert wrong["differ"] > 15
    assert set(wrong["kinds"]) == {"digits"}


def test_a_kind_of_difference_says_what_is_wrong():
    sweep = tool("beside_scipy")
    wanted = np.array([1.0, 1.0, 1.0, 0.0, np.nan, np.inf, 1.0])
    got = np.array([1.0, np.nan, 1.001, 1.0, 1.0, 2.0, 1.001])
    spread = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01])
    found = sweep.kinds(got, wanted, spread, "float32").tolist()
    assert found == ["", "NaN", "digits", "zero", "SciPy NaN", "infinite", ""]


def test_a_sample_of_slopes(monkeypatch):
    pytest.importorskip("mpmath")
    sweep = tool("slopes")
    count, bad = sweep.differences("lax.log1p", "float32")
    assert count > 30 and not bad
    monkeypatch.setitem(sweep.FUNCTIONS, "lax.log1p", ("mp.expm1(x)", (-1.0, 2.0)))
    assert sweep.differences("lax.log1p", "float32")[1]
