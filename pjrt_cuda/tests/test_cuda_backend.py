"""The CUDA backend on a machine without CUDA: found, explained, and in nobody's way."""

from importlib import metadata

import numpy as np
import pytest
import rabbet as rb
import rabbet_pjrt_cuda as cuda
from rabbet import config
from rabbet.errors import ConfigError, PluginError
from rabbet_pjrt_cuda import BACKEND, cuda_installation, gpu_targets, native_functions, settings


@pytest.fixture
def nothing(monkeypatch):
    """Neither the library nor a GPU nor a driver."""
    monkeypatch.setattr(cuda_installation, "find_library", lambda package, file: None)
    monkeypatch.setattr(cuda_installation, "gpu_present", lambda: False)
    monkeypatch.setattr(cuda_installation, "DRIVER_FILE", "/nowhere")


@pytest.fixture
def both(nothing, monkeypatch, tmp_path):
    """The libraries of CUDA 12 and 13 and a GPU; returns a function that names the driver."""
    for name in ("xla_cuda12", "xla_cuda13"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "xla_cuda_plugin.so").write_bytes(b"nothing native")
    monkeypatch.setattr(
        cuda_installation, "find_library", lambda package, file: tmp_path / package.split(".")[1] / file
    )
    monkeypatch.setattr(cuda_installation, "gpu_present", lambda: True)

    def driver(version):
        (tmp_path / "version").write_text(
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Mon Jan 1\n"
        )
        monkeypatch.setattr(cuda_installation, "DRIVER_FILE", str(tmp_path / "version"))

    return driver


def test_the_value():
    assert (BACKEND.platform, BACKEND.priority) == ("cuda", 200)
    assert "bfloat16" in BACKEND.native_dtypes


@pytest.mark.needs("jit")
def test_gpu_is_another_name_for_it():
    lowered = rb.jit(rb.lax.linalg.cholesky).lower(np.eye(2, dtype="f4"), platform="gpu")
    assert lowered.lowering.platform == "cuda"
    assert "cusolver_potrf_ffi" in lowered.as_text()


def test_what_to_install_in_a_clone_is_said_too():
    assert '"./pjrt_cuda[cuda13]"' in cuda_installation.ADVICE


def test_without_the_library_the_package_is_named(nothing):
    assert "rabbet[cuda13]" in BACKEND.obstacle()
    with pytest.raises(PluginError, match=r"rabbet\[cuda13\]"):
        BACKEND.make_client({})
    with pytest.raises(PluginError, match=r"rabbet\[cuda12\]"):
        BACKEND.topology("h100")


def test_doctor(nothing, monkeypatch):
    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", not_installed)
    lines = {label: (ok, said) for label, ok, said in BACKEND.doctor()}
    assert {label: ok for label, (ok, _) in lines.items()} == {
        "cuda package": False, "cuda library": False, "cuda driver": False, "cuda functions": False,
    }  # fmt: skip
    assert "no NVIDIA GPU is visible" in lines["cuda driver"][1]


@pytest.mark.parametrize("driver,cuda_version", [("580.65.06", 13), ("535.104", 12), ("470.82", 13)])
def test_the_driver_decides_which_cuda(both, driver, cuda_version):
    both(driver)
    assert cuda_installation.cuda_version() == cuda_version
    assert f"xla_cuda{cuda_version}" in str(cuda_installation.library())
    assert cuda_installation.package() == f"jax-cuda{cuda_version}-pjrt"


def test_an_old_driver(both, monkeypatch):
    both("470.82")
    assert "driver 470 is too old for CUDA 13, which needs 580" in cuda_installation.hardware()
    monkeypatch.setattr(cuda_installation, "cuda_version", lambda: 13)
    both("535.1")
    assert '"rabbet[cuda12]"' in cuda_installation.hardware()


def test_versions_that_do_not_fit_are_refused_before_loading(both, monkeypatch):
    both("580.1")
    assert cuda_installation.fits("0.12.0.1", "0.12.0.1") is None
    assert cuda_installation.fits("0.12.3", "0.12.0.1") is None
    said = cuda_installation.fits("0.10.2", "0.12.0.1")
    assert '"jax-cuda13-pjrt==0.12.*"' in said
    assert '"jaxlib==0.10.*"' in said
    monkeypatch.setattr(cuda_installation, "installed_version", lambda name: "0.1.7")
    assert "jax-cuda13-plugin 0.1.7 does not go with jaxlib" in cuda_installation.kernels_fit("0.12.0.1")
    monkeypatch.setattr(native_functions, "package", native_functions.package.__wrapped__)
    with pytest.raises(PluginError, match=r"jax-cuda13-plugin 0\.1\.7 does not go with jaxlib"):
        native_functions.package()


def test_without_the_native_functions_their_package_is_named(nothing, monkeypatch):
    monkeypatch.setattr(
        native_functions.importlib, "import_module", lambda name: exec("import nothing_of_that_name")
    )
    with pytest.raises(PluginError, match="needs the package jax-cuda13-plugin"):
        native_functions.package.__wrapped__()


def test_unknown_native_functions_are_left_to_the_compiler(monkeypatch):
    asked = []
    register = lambda module, target, _: asked.append((module, target))
    monkeypatch.setattr(native_functions, "register", register)
    called = {"mine", "cusolver_potrf_ffi", "cu_threefry2x32_ffi", "cu_lu_pivots_to_permutation"}
    native_functions.provide(called, None)
    assert dict(asked) == {
        "_solver": "cusolver_potrf_ffi",
        "_prng": "cu_threefry2x32_ffi",
        "_linalg": "cu_lu_pivots_to_permutation",
    }


@pytest.mark.filterwarnings("ignore:.*has no effect.*:RuntimeWarning")  # where the client runs already
def test_settings_reach_the_plugin():
    for setting in settings.SETTINGS:
        config.define(setting)
    assert settings.options()["preallocate"] is False
    with (
        config.context("cuda_memory_fraction")(0.5),
        config.context("cuda_allocator")("async"),
        config.context("cuda_visible_devices")("0,2"),
    ):
        options = settings.options()
    assert (options["memory_fraction"], options["allocator"]) == (0.5, "cuda_async")
    assert options["visible_devices"] == [0, 2]


@pytest.mark.parametrize(
    "parse,value", [(settings.fraction, "1.5"), (settings.allocator, "fast"), (settings.numbers, "0,0"),
                    (settings.numbers, "a"), (settings.switch, "maybe")],
)  # fmt: skip
def test_settings_that_are_refused(parse, value):
    with pytest.raises(ValueError):
        parse(value)


def test_targets(tmp_path):
    assert gpu_targets.memory("h100") == gpu_targets.memory("h100:4") == 80 * gpu_targets.GIB
    assert "major: 8 minor: 0" in gpu_targets.described("a100")
    with pytest.raises(ConfigError, match=r"no CUDA topology 'h1000'.*a100, a100-40gb, h100, h200, local"):
        BACKEND.topology("h1000")
    own = tmp_path / "own.txtpb"
    own.write_text(gpu_targets.text("h200").replace("141000000000", "1000"))
    assert gpu_targets.memory(own) == 1000
    own.write_text("nothing")
    with pytest.raises(ConfigError, match="no gpu_device_info"):
        cuda.topology(str(own))
