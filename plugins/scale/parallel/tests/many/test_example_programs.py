"""The programs of examples/parallel compute over eight devices what one device does."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[5] / "examples/parallel"

pytestmark = [pytest.mark.library,
    pytest.mark.needs("numpy", "grad"),
    pytest.mark.skipif(not FOLDER.exists(), reason="the examples are in the repository"),
]


@pytest.mark.parametrize("name", ["data", "tensor", "sequence", "pipeline", "expert"])
def test_equal_to_one_device(monkeypatch, name):
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    common = importlib.import_module("common")
    assert common.run(importlib.import_module(f"{name}_parallel")) < 1e-5
