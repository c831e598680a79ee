"""The glossary: its classes exist, each in one place, and its words stand in order."""

import importlib
import pathlib
import re

import pytest
from rabbet.extend import DOORS

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs" / "glossary.md").read_text(), re.M)[1:]
ROWS = [row for row in ROWS if not row[0].startswith("-")]
CLASSES = sorted({name for _, meaning in ROWS for name in re.findall(r"`([A-Z]\w+)`", meaning)})


def test_words_are_in_order_and_told_once():
    words = [word for word, _ in ROWS]
    assert len(words) > 25
    assert words == sorted(set(words))


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_of_the_glossary_is_one_class(name):
    sources = [ROOT / "core" / "src", *(ROOT / "plugins").glob("*/*/src")]
    # What serves programs of JAX has JAX's classes, by JAX's names.
    files = [path for source in sources for path in source.rglob("*.py") if "rabbet_jax" not in path.parts]
    text = [path.read_text() for path in files]
    made = sum(len(re.findall(rf"^class {name}\b", one, re.M)) for one in text)
    assert made == 1


def test_what_plugin_authors_meet_is_at_a_door():
    offered = {name for door in DOORS for name in importlib.import_module(f"rabbet.extend.{door}").__all__}
    met = set("Backend Effect Equation Interpreter Jaxpr Op Pass Primitive RuleTable Site".split())
    assert met <= offered
