"""Backends as values behind entry points: found, limited, ordered, and checked when loaded."""

import pytest
from rabbet.config import Setting, config
from rabbet.errors import MissingPluginError, PluginError
from rabbet.runtime.platforms.backends import Backend, BackendRegistry

from .conftest import Manager, fake_backend


def registry(**backends):
    return BackendRegistry(Manager(**backends))


def test_listing_loads_nothing():
    manager = Manager(cpu=fake_backend(), cuda=fake_backend("cuda"))
    assert BackendRegistry(manager).installed() == ["cpu", "cuda"]
    assert manager.loaded == []


def test_a_backend_is_loaded_once():
    found = registry(cpu=fake_backend())
    assert found.get("cpu") is found.get("cpu")
    assert found.manager.loaded == ["cpu"]


def test_an_unknown_platform_says_what_there_is_and_what_to_install():
    with pytest.raises(MissingPluginError) as caught:
        registry(cpu=fake_backend()).get("cuda")
    message = str(caught.value)
    assert "no installed package offers platform 'cuda'" in message
    assert "installed platforms: cpu" in message
    assert 'pip install "rabbet[cuda13]"' in message


def test_an_unheard_of_platform_names_the_entry_point():
    with pytest.raises(MissingPluginError, match=r"entry point 'toaster' in the group 'rabbet\.backends'"):
        registry().get("toaster")
    with pytest.raises(MissingPluginError, match=r"offers platform 'cpuu'; did you mean 'cpu'\?"):
        registry(cpu=fake_backend()).get("cpuu")


def test_gpu_is_whichever_gpu_is_installed():
    cuda, rocm = fake_backend("cuda"), fake_backend("rocm")
    assert registry(cuda=cuda, cpu=fake_backend()).get("gpu") is cuda
    assert registry(rocm=rocm).get("gpu") is rocm
    with pytest.raises(MissingPluginError, match="cuda13"):
        registry(cpu=fake_backend()).get("gpu")


@pytest.mark.parametrize(
    ("object", "says"),
    [
        ("a string", "offers a str, not a"),
        (fake_backend("tpu"), "names a Backend for 'tpu'"),
    ],
)
def test_an_entry_point_must_name_its_backend(object, says):
    with pytest.raises(PluginError, match=says):
        registry(cpu=object).get("cpu")


def test_platforms_limits_and_orders():
    found = registry(cpu=fake_backend(), cuda=fake_backend("cuda", 200), tpu=fake_backend("tpu", 300))

    def order():
        return [backend.platform for backend in found.candidates()[0]]

    assert order() == ["tpu", "cuda", "cpu"]
    with config.override(platforms="cpu,gpu"):
        assert order() == ["cpu", "cuda"]
        with pytest.raises(MissingPluginError, match=r"switched off by config\.platforms"):
            found.get("tpu")
        assert found.loaded("tpu").platform == "tpu"  # to write programs for others to run


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"JAX_PLATFORMS": "cpu"}, " (JAX_PLATFORMS)"),
        ({"RABBET_PLATFORMS": " cpu", "JAX_PLATFORMS": "tpu"}, " (RABBET_PLATFORMS)"),
        ({"JAX_PLATFORMS": "tpu"}, ""),  # the program chose
        ({}, ""),
    ],
)
def test_a_refusal_names_the_variable_that_was_set(monkeypatch, given, named):
    for variable in ("RABBET_PLATFORMS", "JAX_PLATFORMS"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    found = registry(cpu=fake_backend(), tpu=fake_backend("tpu", 300))
    with config.override(platforms="cpu"), pytest.raises(MissingPluginError) as caught:
        found.get("tpu")
    assert f"is switched off by config.platforms{named}, which allows: cpu" in str(caught.value)


def test_equal_priorities_go_by_name():
    found = registry(b=fake_backend("b"), a=fake_backend("a"))
    assert [backend.platform for backend in found.candidates()[0]] == ["a", "b"]


def test_a_platform_in_the_setting_must_be_installed():
    with config.override(platforms="tpu"), pytest.raises(MissingPluginError, match=r"rabbet\[tpu\]"):
        registry(cpu=fake_backend()).candidates()


def test_a_broken_plugin_hides_no_other():
    found, broken = registry(cpu=fake_backend(), cuda=PluginError("does not import")).candidates()
    assert [backend.platform for backend in found] == ["cpu"]
    assert "does not import" in str(broken["cuda"])


def test_a_backends_settings_exist_once_it_is_loaded():
    setting = Setting("a_backends_own", 3, int, doc="Made up.")
    found = registry(cpu=fake_backend(settings=(setting,)))
    assert "a_backends_own" not in config.settings
    found.get("cpu")
    assert config.a_backends_own == 3


def test_a_backend_is_a_small_value():
    backend = Backend(platform="toaster", priority=10, make_client=lambda options: None)
    assert backend.obstacle() is None and backend.topology is None and backend.lowerings is None
    assert {backend: 1}[backend] == 1
    with pytest.raises(AttributeError):
        backend.priority = 11
