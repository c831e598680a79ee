"""Rows are collected from core and from installed packages."""

from importlib.metadata import EntryPoint

import pytest
from rabbet.testing import rows
from rabbet.testing.rows import elementwise


def offer(monkeypatch, **points):
    found = [EntryPoint(name, value, rows.GROUP) for name, value in points.items()]
    monkeypatch.setattr(rows, "entry_points", lambda group: found if group == rows.GROUP else [])


def test_rows_of_core_and_of_a_package_are_found(monkeypatch):
    offer(monkeypatch, toasting="rabbet.testing.rows.powers:ROWS")
    assert {"elementwise", "powers", "toasting"} <= set(rows.names())
    assert rows.family("toasting") is rows.family("powers")
    assert rows.families()["elementwise"] is elementwise.ROWS


def test_a_package_is_not_imported_until_its_family_is_asked_for(monkeypatch):
    offer(monkeypatch, toasting="no_such_toaster.rows:ROWS")
    assert "toasting" in rows.names()
    assert rows.family("elementwise") is elementwise.ROWS
    with pytest.raises(ModuleNotFoundError, match="no_such_toaster"):
        rows.family("toasting")


def test_an_unknown_family_is_refused_with_those_there_are(monkeypatch):
    offer(monkeypatch)
    with pytest.raises(KeyError, match=r"no family of rows is called 'toasting'; there are .*elementwise"):
        rows.family("toasting")


def test_two_families_of_one_name_are_a_conflict(monkeypatch):
    offer(monkeypatch, elementwise="my_toaster.rows:ROWS")
    with pytest.raises(ValueError, match=r"'elementwise': rabbet-testing and .*my_toaster.rows:ROWS"):
        rows.names()
    two = [EntryPoint("toasting", f"{name}.rows:ROWS", rows.GROUP) for name in ("mine", "yours")]
    monkeypatch.setattr(rows, "entry_points", lambda group: two)
    with pytest.raises(ValueError, match=r"\(mine.rows:ROWS\) and a package \(yours.rows:ROWS\)"):
        rows.family("toasting")
