"""The TPU backend on a machine without TPUs: found, explained, and in nobody's way."""

import pytest
import rabbet_pjrt_tpu as tpu
from rabbet.errors import PluginError
from rabbet_pjrt_tpu import BACKEND


@pytest.fixture
def nothing(monkeypatch):
    """Neither the library nor a TPU."""
    monkeypatch.setattr(tpu, "library", lambda: None)
    monkeypatch.setattr(tpu, "tpu_present", lambda: False)


def test_the_value():
    assert (BACKEND.platform, BACKEND.priority) == ("tpu", 300)
    assert "bfloat16" in BACKEND.native_dtypes


def test_without_the_library_the_package_is_named(nothing):
    assert "rabbet[tpu]" in BACKEND.obstacle()
    with pytest.raises(PluginError, match=r"rabbet\[tpu\]"):
        BACKEND.make_client({})
    with pytest.raises(PluginError, match=r"rabbet\[tpu\]"):
        BACKEND.topology("v5e:2x2")


def test_without_a_tpu_that_is_the_obstacle(nothing, monkeypatch):
    monkeypatch.setattr(tpu, "library", lambda: "/somewhere/libtpu.so")
    assert "no TPU is visible" in BACKEND.obstacle()


def test_doctor(nothing):
    assert {label: ok for label, ok, _ in BACKEND.doctor()} == {"tpu library": False, "tpu device": False}


def test_a_library_given_by_the_user_wins(monkeypatch, tmp_path):
    given = tmp_path / "libtpu.so"
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(given))
    assert tpu.library() is None
    given.touch()
    assert tpu.library() == given
