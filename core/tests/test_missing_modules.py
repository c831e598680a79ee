"""``import rabbet.random`` where no package has it."""

import importlib.util
import sys

import pytest
import rabbet as rb
from rabbet.plugins import catalogue, missing_modules, public_names


@pytest.fixture
def unknown(monkeypatch):
    """A module that a first-party package would have, and which is not there."""
    offered = {"rabbet.api": {"no_such_module": "rabbet-no-such", "experimental.no_such": "rabbet-no-such"}}
    monkeypatch.setattr(catalogue, "offers", lambda: offered)


@pytest.mark.parametrize(
    "line",
    [
        "import rabbet.no_such_module", "import rabbet.no_such_module.inner as x",
        "from rabbet import no_such_module", "from rabbet.no_such_module import name",
        "from rabbet.experimental import no_such", "import rabbet.experimental.no_such",
    ],
)  # fmt: skip
def test_the_package_is_named(unknown, line):
    wanted = r"provided by the package rabbet-no-such(.|\n)*to fix: "
    with pytest.raises(rb.errors.MissingModuleError, match=wanted) as told:
        exec(line, {})
    assert isinstance(told.value, ModuleNotFoundError)
    if line.startswith("import"):
        assert told.value.name == line.split()[1].removesuffix(".inner")


def test_to_look_for_a_module_is_to_be_told_no(unknown):
    assert importlib.util.find_spec("rabbet.no_such_module") is None
    assert not hasattr(rb, "no_such_module")


def test_names_of_jax():
    with pytest.raises(ModuleNotFoundError, match=r"the name is JAX's. Here: rabbet.extend.transform.Tracer"):
        exec("from rabbet import Tracer", {})


def test_other_names_are_as_ever():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'rabbet.nothing_at_all'$"):
        import rabbet.nothing_at_all  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'nothing_at_all'"):
        exec("from rabbet import nothing_at_all", {})
    assert public_names.missing_module("lax") is None


def test_it_is_asked_once():
    missing_modules.install()
    assert sum(isinstance(finder, missing_modules.Finder) for finder in sys.meta_path) == 1
