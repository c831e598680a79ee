"""Intel GPUs without one: what is found, what is said, and that nothing native is loaded to say it."""

import shutil
import subprocess
import sys

import pytest
import rabbet_pjrt_oneapi as backend


def test_without_the_wheel_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(backend, "find_library", lambda package, file: None)
    said = backend.BACKEND.obstacle()
    assert said is not None and "rabbet-pjrt-oneapi[wheel]" in said


def test_versions_that_go_together():
    assert backend.fits(None, "0.12.0") is None and backend.fits("0.12.0", "0.12.1") is None
    assert "does not go with jaxlib 0.12.0" in backend.fits("0.9.0", "0.12.0")
    assert "does not go with" in backend.fits("0.13.0", "0.12.0")


def test_what_the_library_needs_is_named_without_loading_it(monkeypatch):
    lib = shutil.which("true")
    monkeypatch.setattr(backend, "library", lambda: lib)
    monkeypatch.setattr(backend, "missing_libraries", lambda path: ["a.so", "b.so", "c.so", "d.so", "e.so"])
    ((label, ok, detail),) = backend.checks()
    assert (label, ok) == ("oneapi libraries", None) and "a.so, b.so, c.so, d.so and 1 more missing" in detail
    monkeypatch.setattr(backend, "missing_libraries", lambda path: [])
    assert backend.checks()[0][1] is True


def test_no_gpu_is_no_fault(monkeypatch):
    monkeypatch.setattr(backend, "glob", lambda pattern: [])
    assert "no Intel GPU" in backend.hardware()


def test_settings_are_parsed():
    memory, visible = backend.SETTINGS
    assert memory.parse("0.5") == 0.5 and visible.parse("0,2") == (0, 2)
    with pytest.raises(ValueError):
        memory.parse("2")


def test_importing_it_loads_nothing_native():
    code = "import sys, rabbet_pjrt_oneapi; print([m for m in sys.modules if m.startswith('jax_plugins')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
