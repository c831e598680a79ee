"""The CUDA backend on a machine without CUDA: found, explained, and in nobody's way."""

import pytest
import rabbet_pjrt_cuda as cuda
from rabbet.errors import PluginError
from rabbet_pjrt_cuda import BACKEND


@pytest.fixture
def nothing(monkeypatch):
    """Neither the library nor a GPU."""
    monkeypatch.setattr(cuda, "library", lambda: None)
    monkeypatch.setattr(cuda, "gpu_present", lambda: False)


def test_the_value():
    assert (BACKEND.platform, BACKEND.priority) == ("cuda", 200)
    assert "bfloat16" in BACKEND.native_dtypes


def test_without_the_library_the_package_is_named(nothing):
    assert "rabbet[cuda13]" in BACKEND.obstacle()
    with pytest.raises(PluginError, match=r"rabbet\[cuda13\]"):
        BACKEND.make_client({})
    with pytest.raises(PluginError, match=r"rabbet\[cuda12\]"):
        BACKEND.topology(target_config="")


def test_without_a_gpu_that_is_the_obstacle(nothing, monkeypatch):
    monkeypatch.setattr(cuda, "library", lambda: "/somewhere/xla_cuda_plugin.so")
    assert "no NVIDIA GPU is visible" in BACKEND.obstacle()


def test_doctor(nothing):
    lines = {label: ok for label, ok, _ in BACKEND.doctor()}
    assert lines == {"cuda library": False, "cuda device": False}


def test_the_newer_library_wins(monkeypatch, tmp_path):
    for name in ("xla_cuda12", "xla_cuda13"):
        folder = tmp_path / "jax_plugins" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise AssertionError('must not be imported')")
        (folder / "xla_cuda_plugin.so").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert "xla_cuda13" in str(cuda.library())
