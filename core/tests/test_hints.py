"""Hints: a command that works where the person is, where a name of JAX is, which dtype was meant."""

import pathlib

import pytest
import rabbet as rb
from rabbet import dtypes
from rabbet.plugins import installing

CLONE = pathlib.Path(__file__).resolve().parents[2]


def test_a_dtype_that_is_misspelt_is_suggested():
    with pytest.raises(TypeError, match=r"dtype 'flot32' is not known\. Did you mean 'float32'"):
        dtypes.canonicalize("flot32")


def test_every_name_that_can_be_had_is_listed():
    with pytest.raises(TypeError) as told:
        dtypes.canonicalize("nonsense")
    (known,) = [line for line in str(told.value).splitlines() if line.startswith("  known: ")]
    assert set(dtypes.names()) <= set(known.removeprefix("  known: ").split(", "))


@pytest.mark.parametrize("name, where", [("pallas", "experimental.pallas"), ("Tracer", "extend.transform")])
def test_a_name_of_jax_says_where_it_is_here(name, where):
    with pytest.raises(AttributeError, match=f"the name is JAX's.*{where}"):
        getattr(rb, name)


def test_in_a_clone_a_package_is_installed_from_its_folder(monkeypatch):
    monkeypatch.setattr(installing, "clone", lambda: CLONE)
    assert installing.command("rabbet-random").endswith(str(pathlib.Path("plugins", "functions", "random")))
    assert installing.command("rabbet-pjrt-cpu").endswith("pjrt_cpu")
    assert installing.command("rabbet-no-such") == "python -m pip install rabbet-no-such"


def test_elsewhere_it_is_installed_by_its_name(monkeypatch):
    monkeypatch.setattr(installing, "clone", lambda: None)
    assert installing.command("rabbet-random") == "python -m pip install rabbet-random"
