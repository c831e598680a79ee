"""Elementwise functions beside mpmath's values, in single precision, at other points than those of the table
in docs/reliability.md. None may be twice as far from them as the table says.
"""

import importlib.util
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.optimized,
    pytest.mark.needs("cpu", "jit", "numpy", "lax.digamma"),
    pytest.mark.skipif(
        version("jaxlib") < "0.12", reason="the table is of the functions of XLA in jaxlib 0.12"
    ),
]

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)` \|[^|]*\|[^|]*\| ([\d.e+]+) / [\d.e+]+ \|", re.M)
NEAR_ZEROS = ("lgamma", "digamma")  # no bound: relative digits are lost there


@pytest.fixture
def accuracy(monkeypatch):
    spec = importlib.util.spec_from_file_location("accuracy", ROOT / "tools" / "check" / "accuracy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "DTYPES", ("float32",))
    return module


def test_no_function_is_further_from_the_exact_values_than_the_table_says(accuracy):
    pytest.importorskip("mpmath")
    table = dict(ROW.findall((ROOT / "docs" / "reliability.md").read_text()))
    found = {name: row["float32"][0] for name, row in accuracy.table(150, None)}
    assert set(found) == set(table)
    far = {
        name: f"{worst:.2f}, the table says {table[name]}"
        for name, worst in found.items()
        if name not in NEAR_ZEROS and not (np.isfinite(worst) and worst <= 2 * max(float(table[name]), 0.5))
    }
    assert not far
