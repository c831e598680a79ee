"""``rb.<name>`` for names of plugins: what is found, and what is said where nothing is."""

import traceback

import pytest
from rabbet.errors import MissingPluginError
from rabbet.messages import tracebacks
from rabbet.plugins import installing, public_names
from rabbet.plugins.manager import PluginManager
from rabbet.plugins.selection import Selection

from .fakes import offer


def manager(*entry_points, **settings):
    return PluginManager(entry_points, core_version="0.1.0", selection=Selection.from_settings(**settings))


def test_a_name_resolves_to_the_plugins_object():
    import json

    assert public_names.resolve("dumps", manager(*offer("a", "rabbet.api", dumps="json:dumps"))) is json.dumps


def test_a_module_can_be_a_name():
    import json

    assert public_names.resolve("numpy", manager(*offer("a", "rabbet.api", numpy="json"))) is json


@pytest.mark.parametrize(
    "name, distribution",
    [("jit", "rabbet-jit"), ("grad", "rabbet-autodiff"), ("vmap", "rabbet-vmap"), ("numpy", "rabbet-numpy")],
)
def test_a_well_known_name_that_is_not_installed_names_the_package(monkeypatch, name, distribution):
    monkeypatch.setattr(public_names, "_installed", lambda distribution: False)
    monkeypatch.setattr(installing, "clone", lambda: None)  # in a clone, the folder there is named
    with pytest.raises(MissingPluginError) as caught:
        public_names.resolve(name, manager())
    assert f"rb.{name} is provided by the package {distribution}, which is not installed" in str(caught.value)
    assert f"pip install {distribution}" in str(caught.value)


def test_a_missing_name_is_an_attribute_error_so_hasattr_is_false():
    class Module:
        def __getattr__(self, name):
            return public_names.resolve(name, manager())

    assert not hasattr(Module(), "jit")
    assert not hasattr(Module(), "__wrapped__")


def test_a_name_that_is_switched_off_says_so_and_not_that_it_is_missing():
    numpy = offer("rabbet-numpy", "rabbet.api", numpy="rabbet.numpy")
    with pytest.raises(MissingPluginError, match="switched off by RABBET_DISABLE_PLUGINS=rabbet-numpy"):
        public_names.resolve("numpy", manager(*numpy, disable="rabbet_numpy"))


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(AttributeError, match=r"'enclsoe'\. Did you mean rb\.enclose\?") as caught:
        public_names.resolve("enclsoe", manager(*offer("a", "rabbet.api", enclose="m:enclose")))
    assert not isinstance(caught.value, MissingPluginError)


def test_private_names_never_reach_the_manager():
    with pytest.raises(AttributeError, match="__path__"):
        public_names.resolve("__path__", manager=object())


def test_modules_of_core_do_not_start_the_plugin_system():
    from rabbet import errors

    assert public_names.resolve("errors", manager=object()) is errors


def test_names_for_dir():
    assert public_names.names(manager(*offer("a", "rabbet.api", g="m:g", f="m:f"))) == ["f", "g"]


def test_names_of_a_namespace_are_its_own():
    offers = manager(*offer("a", "rabbet.api", **{"experimental.jet": "json:dumps", "f": "m:f"}))
    import json

    assert public_names.resolve("experimental.jet", offers) is json.dumps
    assert public_names.names(offers) == ["f"]
    assert public_names.names(offers, within="experimental") == ["jet"]


def test_the_errors_of_a_namespace_name_it():
    import rabbet.experimental

    with pytest.raises(AttributeError, match=r"module 'rabbet\.experimental' has no attribute 'nothing'"):
        rabbet.experimental.nothing  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'rabbet\.experimental' has no attribute '_x'"):
        rabbet.experimental._x  # noqa: B018


def stumbling(x):
    return 1 / x


def test_a_function_of_a_plugin_folds_without_its_doing(monkeypatch):
    monkeypatch.setattr(tracebacks, "is_internal", lambda file, module=None: file == tracebacks.__file__)
    door = public_names.for_users("stumbling", stumbling)
    with pytest.raises(ZeroDivisionError) as caught:
        door(0)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert (
        names.count("stumbling") == 1
    )  # the function's frame, which is not internal here, and not the door's
    assert (door.__module__, door.__qualname__) == ("rabbet", "stumbling")
    assert public_names.for_users("stumbling", door) is door


def test_what_is_no_function_stays_as_it_is():
    assert public_names.for_users("numpy", pytest) is pytest
    assert public_names.for_users("tolerance", PluginManager) is PluginManager
