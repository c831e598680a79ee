"""What the tests of broken plugins share."""

import sys
import types

import pytest

from .fakes import MODULE


@pytest.fixture
def objects(monkeypatch):
    """A module whose attributes entry points name."""
    module = types.ModuleType(MODULE)
    monkeypatch.setitem(sys.modules, MODULE, module)
    return module
