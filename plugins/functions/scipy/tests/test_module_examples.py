"""The examples in docstrings print what they show."""

import doctest
import importlib
import pathlib

import numpy as np
import pytest
import rabbet.numpy as rnp
import rabbet.scipy

FOLDER = pathlib.Path(rabbet.scipy.__file__).parent
MODULES = sorted(
    "rabbet.scipy." + ".".join(path.relative_to(FOLDER).with_suffix("").parts)
    for path in FOLDER.rglob("*.py")
    if path.name != "__init__.py"
    and path.relative_to(FOLDER).parts[0] not in ("special", "stats")  # see test_examples
    and ">>>" in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.narrow
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), extraglobs={"rnp": rnp, "np": np})
    assert result.attempted > 0
    assert result.failed == 0
