"""The TPU backend on a machine without TPUs: found, explained, and in nobody's way."""

import os

import pytest
import rabbet_pjrt_tpu as tpu
from rabbet.errors import ConfigError, PluginError
from rabbet_pjrt_tpu import BACKEND, topologies


@pytest.fixture
def nothing(monkeypatch):
    """Neither the library nor a TPU."""
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    monkeypatch.setattr(tpu, "find_library", lambda package, file: None)
    monkeypatch.setattr(tpu, "tpu_present", lambda: False)
    monkeypatch.setattr(BACKEND.plugin, "version", lambda: None)  # nor the package that brings it


def test_the_value():
    assert (BACKEND.platform, BACKEND.priority) == ("tpu", 300)
    assert "bfloat16" in BACKEND.native_dtypes


def test_without_the_library_the_package_is_named(nothing):
    assert "rabbet[tpu]" in BACKEND.obstacle()
    with pytest.raises(PluginError, match=r"rabbet\[tpu\]"):
        BACKEND.make_client({})
    with pytest.raises(PluginError, match=r"rabbet\[tpu\]"):
        BACKEND.topology("v5e:2x2")


def test_doctor(nothing):
    lines = {label: (ok, said) for label, ok, said in BACKEND.doctor()}
    assert not lines["tpu library"][0]
    assert "no TPU is visible" in lines["tpu driver"][1]


def test_a_library_given_by_the_user_wins(nothing, monkeypatch, tmp_path):
    given = tmp_path / "libtpu.so"
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(given))
    assert f"is not where it should be: {given}" in BACKEND.obstacle()
    given.write_bytes(b"no library")
    assert tpu.library() == given
    with pytest.raises(PluginError, match="is not a shared library"):
        BACKEND.topology("v5e:2x2")


def test_an_old_libtpu_is_refused_before_loading(nothing):
    assert tpu.fits("0.0.42.1", "0.12.0") is None
    assert 'pip install "libtpu>=0.0.42"' in tpu.fits("0.0.17", "0.12.0")


@pytest.mark.parametrize("name,full", [("v5e", "v5e:2x2"), ("v4", "v4:2x2x1"), ("v5e:4x4", "v5e:4x4")])
def test_names_of_topologies(name, full):
    assert topologies.full_name(name) == full


NO_TOPOLOGIES = ["v9:2x2", "v5e:2", "v4:2x2", "", None, "v5e:0x", "v5e:2x2x2", "v5e:0x0", "v5e:00x2"]


@pytest.mark.parametrize("name", NO_TOPOLOGIES)
def test_topologies_that_there_are_not(name):
    with pytest.raises(ConfigError, match=r"there is no TPU topology .*\n  for example: .*v5e:2x2"):
        BACKEND.topology(name)


def test_what_libtpu_reads_is_set_where_nobody_did(nothing, monkeypatch):
    monkeypatch.setattr(os, "environ", {"TPU_LOG_DIR": "mine"})
    tpu.prepare()
    assert os.environ["TPU_LOG_DIR"] == "mine"
    assert os.environ["TPU_SKIP_MDS_QUERY"] == "1"
