"""The tests that docs/reliability.md names are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.findall(r"`([\w/]+\.py)::(test_\w+)`", (ROOT / "docs" / "reliability.md").read_text())


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_is_named_is_there(file, name):
    path = ROOT / file if "/" in file else ROOT / "tests" / "reliability" / file
    assert f"def {name}(" in path.read_text()


def test_tests_are_named():
    assert len(NAMED) > 25
