"""A platform out of a PJRT plugin library: what `Backend` promises, and two platforms in one process."""

import os
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingPluginError, NotOfferedError, OutOfMemoryError
from rabbet.extend.backend import CApiBackend
from rabbet.testing import check_backend
from rabbet.testing.rows import contractions, elementwise, reductions
from rabbet_pjrt_xcpu import BACKEND

X = np.arange(4, dtype="f4")


@pytest.fixture
def xcpu():
    return rb.devices("xcpu")[0]


@pytest.fixture
def cpu():
    return rb.devices("cpu")[0]


def python(code, **settings):
    """Run a program in a process of its own; its output."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **settings},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_value():
    assert isinstance(BACKEND, CApiBackend)
    assert BACKEND.obstacle() is None
    lines = {label: (ok, detail) for label, ok, detail in BACKEND.doctor()}
    assert lines["xcpu package"] == (True, "xla-cpu-pjrt 0.0.1")
    assert lines["xcpu library"][1].endswith("xla_cpu_pjrt.so")


def test_what_the_kit_says():
    check_backend("xcpu", [family.ROWS[0] for family in (contractions, elementwise, reductions)])


# --------------------------------------------------------------------------------------- two platforms
def test_the_cpu_goes_first(xcpu, cpu):
    assert rb.default_backend() == "cpu"
    assert repr(xcpu) == "XcpuDevice(id=0)"
    assert xcpu != cpu and rb.devices("xcpu")[0] is xcpu
    assert rb.local_devices(backend="xcpu") == [xcpu]


def test_computation_follows_its_arguments(xcpu, cpu):
    x = rb.device_put(X, xcpu)
    for out in (x + 1, lax.sin(x), 2.0 * x, x + X, x[1:], rb.jit(lambda x: x * 2)(x), rb.vmap(lax.sin)(x)):
        assert out.device is xcpu, out
    assert rb.grad(lambda x: (x * x).sum())(x).device is xcpu
    assert (rb.device_put(X, cpu) + 1).device is cpu


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "complex64", "bool"])
def test_arrays_go_from_one_to_the_other_by_the_host(xcpu, cpu, dtype):
    there = rb.device_put(X.astype(rb.numpy.dtype(dtype)), xcpu)
    back = rb.device_put({"x": there}, cpu)["x"]
    assert (there.device, back.device) == (xcpu, cpu)
    assert back.dtype == there.dtype and np.asarray(back).tolist() == np.asarray(there).tolist()
    assert back.to_device(xcpu).device is xcpu


def test_arrays_of_two_platforms_do_not_meet_by_themselves(xcpu, cpu):
    x, y = rb.device_put(X, xcpu), rb.device_put(X[:1], cpu)
    with pytest.raises(ValueError, match=r"argument 0, f32\[4\], is on xcpu:0, and argument 1, f32\[1\], is"):
        lax.add(x, y)
    with pytest.raises(
        ValueError, match=r"argument 'a'\['w'\], f32\[4\], is on xcpu:0, and argument 'b'.*\n.*put"
    ):
        rb.jit(lambda a, b: a["w"] + b)({"w": x}, y)
    with pytest.raises(ValueError, match=r"dot .*argument 'a'.* is on xcpu:0, and argument 'b'"):
        rb.numpy.dot(x, y)
    np.testing.assert_array_equal(x + rb.device_put(y, x.device), X)


def test_uncommitted_arrays_are_brought_there(xcpu):
    x, free = rb.device_put(X, xcpu), rb.device_put(X)
    assert (free + x).device is xcpu
    assert rb.jit(lambda a, b: a + b)(free, x).device is xcpu


def test_the_default_device(xcpu):
    with rb.default_device(xcpu):
        assert rb.numpy.ones(3).device is xcpu
        assert rb.jit(lambda: rb.numpy.zeros(2))().device is xcpu
        assert rb.random.normal(rb.random.key(0), (3,)).device is xcpu
    with rb.default_device("xcpu"):
        assert rb.device_put(1.0).device is xcpu
    assert rb.numpy.ones(3).device.platform == "cpu"


def test_jit_for_a_device(xcpu, cpu):
    x = rb.device_put(X, cpu)
    assert rb.jit(lambda x: x + 1, device=xcpu)(x).device is xcpu
    assert rb.jit(lambda x: x + 1, backend="xcpu")(x).device is xcpu


def test_a_compiled_program_stays_on_its_platform(xcpu):
    compiled = rb.jit(lambda x: x + 1).lower(X).compile()
    assert compiled(X).device.platform == "cpu"
    with pytest.raises(ValueError, match=r"compiled for cpu:0, and argument 'x' was put on xcpu:0; bring it"):
        compiled(rb.device_put(X, xcpu))


def test_numpy_and_dlpack_read_it(xcpu):
    x = rb.device_put(X, xcpu)
    assert np.asarray(x).tolist() == np.from_dlpack(x).tolist() == X.tolist()


def test_the_settings():
    code = "import rabbet as rb; print(rb.devices(), (rb.numpy.ones(2) + 1).device, rb.device_count('xcpu'))"
    assert python(code, RABBET_PLATFORMS="xcpu,cpu", RABBET_NUM_XCPU_DEVICES="2").splitlines() == [
        "[XcpuDevice(id=0), XcpuDevice(id=1)] xcpu:0 2"
    ]


def test_a_platform_that_is_switched_off():
    code = "import rabbet as rb\ntry: rb.devices('cpu')\nexcept rb.errors.PluginError as error: print(error)"
    assert "switched off by config.platforms (RABBET_PLATFORMS)" in python(code, RABBET_PLATFORMS="xcpu")


def test_a_platform_that_is_not_there():
    with pytest.raises(MissingPluginError, match=r"installed platforms: cpu.*, xcpu"):
        rb.devices("toaster")


# ------------------------------------------------------------------------------------ what it does not have
def test_what_the_library_lacks_is_refused_with_its_reason(xcpu):
    square = rb.device_put(np.eye(2, dtype="f4"), xcpu)
    with pytest.raises(NotOfferedError, match=r"'eig' on 'xcpu': it needs LAPACK"):
        lax.linalg.eig(square)
    cpu = rb.devices("cpu")[0]
    assert len(lax.linalg.eig(rb.device_put(square, cpu))) == 3


def test_python_is_called_between_programs_and_not_by_them(xcpu):
    def twice(x):
        return rb.pure_callback(lambda a: np.asarray(a) * 2, rb.ShapeDtypeStruct((4,), "float32"), x)

    x = rb.device_put(X, xcpu)
    out = twice(x)
    assert out.device is xcpu and out.tolist() == (2 * X).tolist()
    with pytest.raises(
        NotOfferedError, match=r"'pure_callback' on 'xcpu': the library has no way into Python"
    ):
        rb.jit(twice)(x)


# --------------------------------------------------------------------------------------------- out of memory
@pytest.mark.parametrize("platform", ["cpu", "xcpu"])
def test_memory_that_is_not_there(platform):
    device = rb.devices(platform)[0]
    kept = rb.device_put(np.ones((3, 1000), "f4"), device)
    program = rb.jit(lambda x: rb.numpy.broadcast_to(x, (1 << 48,)).cumsum())
    with pytest.raises(OutOfMemoryError, match=r"1.0 PiB|1024.0 TiB") as caught:
        program(rb.device_put(np.float32(1), device)).block_until_ready()
    assert f"on {device}" in str(caught.value) and "float32[3, 1000]" in str(caught.value)
    assert isinstance(caught.value, MemoryError)
    assert float((kept + 1).sum()) == 6000.0
