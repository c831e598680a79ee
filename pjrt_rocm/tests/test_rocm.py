"""AMD GPUs without one: what is found, what is said, and that nothing native is loaded to say it."""

import subprocess
import sys

import rabbet_pjrt_rocm as backend


def test_without_the_wheel_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(backend.WHEELS, "wheels", (("not_there_of_test", "x.so", "not-there-of-test"),))
    said = backend.BACKEND.obstacle()
    assert said is not None and "rabbet-pjrt-rocm[rocm7]" in said


def test_versions_that_go_together():
    assert backend.WHEELS.fits("0.12.0", "0.12.1") is None
    assert "does not go with jaxlib 0.12.0" in backend.WHEELS.fits("0.10.0", "0.12.0")
    assert "does not go with" in backend.WHEELS.fits("0.11.0", "0.12.0")


def test_no_gpu_is_no_fault(monkeypatch):
    monkeypatch.setattr(backend.os.path, "exists", lambda path: False)
    assert "no AMD GPU" in backend.hardware()


def test_settings_have_the_platforms_name():
    names = ["rocm_memory_fraction", "rocm_devices"]
    assert [setting.name for setting in backend.BACKEND.settings] == names


def test_importing_it_loads_nothing_native():
    code = "import sys, rabbet_pjrt_rocm; print([m for m in sys.modules if m.startswith('jax_plugins')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
