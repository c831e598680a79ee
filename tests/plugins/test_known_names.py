"""Core's catalogue of what first-party packages offer, against the packages themselves."""

import importlib.util
import json
import pathlib

import pytest

pytestmark = pytest.mark.library

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_catalogue_is_what_the_packages_say():
    spec = importlib.util.spec_from_file_location("catalogue_tool", ROOT / "tools/write/catalogue.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.CATALOGUE.read_text() == tool.as_text(), "run: python tools/write/catalogue.py"
    offers = json.loads(tool.as_text())
    assert offers["rabbet.api"]["grad"] == "rabbet-autodiff"
    assert offers["rabbet.backends"]["cuda"] == "rabbet[cuda13]"
    assert offers["rabbet.backends"]["cpu"] == "rabbet-pjrt-cpu"
