"""The CUDA backend on a GPU: what the conformance suite does not ask of a platform. Skipped without one."""

import os
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet_pjrt_cuda import BACKEND

obstacle = BACKEND.obstacle()
pytestmark = [
    pytest.mark.skipif(obstacle is not None, reason=str(obstacle)),
    pytest.mark.needs("cpu", "jit", "numpy"),
]

A = np.linspace(-1, 1, 36, dtype="f4").reshape(6, 6)


@pytest.fixture(scope="module")
def gpu():
    return rb.devices("cuda")[0]


@pytest.fixture(autouse=True)
def on_gpu(gpu):
    with rb.default_device(gpu):
        yield


def test_the_device(gpu):
    assert (gpu.platform, rb.devices("gpu")[0]) == ("cuda", gpu)
    x = rb.device_put(A)
    assert x.device is gpu and gpu.memory_stats()["bytes_in_use"] >= x.nbytes
    assert {m.kind for m in gpu.addressable_memories()} >= {"device", "pinned_host"}


def test_between_devices(gpu):
    cpu = rb.devices("cpu")[0]
    there = rb.device_put(rb.device_put(A, cpu), gpu)
    back = rb.device_put(there * 2, cpu)
    assert (there.device, back.device) == (gpu, cpu)
    np.testing.assert_array_equal(back, A * 2)
    with pytest.raises(ValueError, match="put on different devices"):
        there + back


def test_other_memory(gpu):
    pinned = rb.sharding.SingleDeviceSharding(gpu, memory_kind="pinned_host")
    x = rb.device_put(A, pinned)
    assert x.sharding.memory_kind == "pinned_host"
    y = rb.jit(lambda x: x * 2, out_shardings=pinned)(A)
    assert y.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(y, 2 * np.asarray(x))


def test_donated_memory():
    x = rb.device_put(np.ones((1024, 1024), "f4"))
    at = x.unsafe_buffer_pointer()
    y = rb.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and y.unsafe_buffer_pointer() == at and float(y[0, 0]) == 2


def test_calls_return_before_the_program_ends():
    x = rb.device_put(np.eye(4096, dtype="f4"))
    f = rb.jit(lambda x: lax.fori_loop(0, 100, lambda i, y: x @ y, x))
    f(x).block_until_ready()
    y = f(x)
    assert not y.is_ready()
    np.testing.assert_array_equal(y, np.eye(4096))


def test_memory_that_runs_out(gpu):
    with pytest.raises(rb.errors.OutOfMemoryError, match=r"(?s)cuda:0.*to fix"):
        rnp.zeros(4 * gpu.memory_stats()["bytes_limit"], "int8").block_until_ready()
    assert float(rnp.ones(3).sum()) == 3


# Python that a program calls --------------------------------------------------------------------------


def test_python_is_called():
    seen = []

    def double(v):
        seen.append(v.device.platform)
        return np.asarray(v) * 2

    f = rb.jit(lambda x: rb.pure_callback(double, rb.typeof(x), x.T + 1).T)
    np.testing.assert_allclose(f(A), 2 * (A + 1))
    assert seen == ["cpu"]


def test_arrays_go_by_rows():
    weights = np.arange(6, dtype="f4")
    f = rb.jit(lambda x: rb.pure_callback(lambda v: np.asarray(v) * weights, rb.typeof(x), (x @ x).T).T)
    with rb.default_matmul_precision("highest"):
        np.testing.assert_allclose(f(A), ((A @ A).T * weights).T, rtol=1e-4, atol=1e-4)


def test_ordered_calls():
    seen = []

    def f(x):
        for i in range(4):
            rb.io_callback(lambda v, i=i: seen.append((i, float(v))), None, x + i, ordered=True)
        return x

    rb.jit(f)(np.float32(1)).block_until_ready()
    rb.effects_barrier()
    assert seen == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_calls_in_loops():
    seen = []

    def body(total, x):
        rb.debug.callback(lambda v: seen.append(float(v)), total)
        return total + x, None

    total, _ = rb.jit(lambda xs: lax.scan(body, np.float32(0), xs))(np.arange(4, dtype="f4"))
    rb.effects_barrier()
    assert float(total) == 6 and sorted(seen) == [0, 0, 1, 3]


def test_an_exception_of_the_called_arrives():
    def refuses(v):
        raise LookupError("in its own words")

    with pytest.raises(LookupError, match="in its own words"):
        rb.jit(lambda x: rb.pure_callback(refuses, rb.typeof(x), x))(A).block_until_ready()
    assert float(rnp.ones(3).sum()) == 3


# Other libraries --------------------------------------------------------------------------------------


def test_torch_shares_memory():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6.0, device="cuda")
    x = rb.dlpack.from_dlpack(tensor)
    assert x.device.platform == "cuda" and x.unsafe_buffer_pointer() == tensor.data_ptr()
    back = torch.from_dlpack(x * 2)
    assert back.is_cuda and back.tolist() == [0, 2, 4, 6, 8, 10]


def test_torch_is_waited_for():
    torch = pytest.importorskip("torch")
    big = torch.ones((4096, 4096), device="cuda")
    torch.cuda.synchronize()
    for _ in range(5):
        x = rb.dlpack.from_dlpack((big @ big @ big @ big)[:1, :4].contiguous())
        assert (x + 0).tolist() == [[4096.0**3] * 4]


def test_torch_waits():
    torch = pytest.importorskip("torch")
    x = rb.device_put(np.ones((4096, 4096), "f4"))
    f = rb.jit(lambda x: x @ x @ x @ x)
    f(x).block_until_ready()
    for _ in range(5):
        assert (torch.from_dlpack(f(x))[:1, :4] + 0).tolist() == [[4096.0**3] * 4]


def test_cupy_shares_memory():
    cupy = pytest.importorskip("cupy")
    x = rb.dlpack.from_dlpack(cupy.arange(6, dtype="f4"))
    assert cupy.from_dlpack(x + 1).tolist() == [1, 2, 3, 4, 5, 6]


def test_what_was_shared_outlives_its_array():
    program = """
import numpy as np, rabbet as rb, cupy
with rb.default_device(rb.devices("cuda")[0]):
    x = rb.device_put(np.arange(1 << 20, dtype="f4"))
    y = rb.jit(lambda x: x + 1)(x)
    held = cupy.from_dlpack(y)
    y.delete()
    rb.device_put(np.zeros(1 << 20, "f4"))
    print(float(held[5]))
"""
    pytest.importorskip("cupy")
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert (ended.returncode, ended.stdout.split()) == (0, ["6.0"]), ended.stderr


# Programs kept --------------------------------------------------------------------------------------


def test_programs_kept_on_disk(tmp_path):
    program = """
import numpy as np, rabbet as rb
with rb.default_device(rb.devices("cuda")[0]):
    compiled = rb.jit(lambda x: rb.numpy.tanh(x @ x).sum()).lower(np.ones((64, 64), "f4")).compile()
    print(float(compiled(np.ones((64, 64), "f4"))), compiled.executable.cached)
"""
    said = []
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=200,
            env={**os.environ, "RABBET_CACHE": "1", "RABBET_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        said.append(ended.stdout.split())
    assert said == [["4096.0", "False"], ["4096.0", "True"]]


@pytest.mark.needs("profiler")
def test_a_trace_shows_the_gpu(tmp_path):
    f = rb.jit(lambda x: rnp.tanh(x @ x))
    x = rb.device_put(np.ones((512, 512), "f4"))
    f(x).block_until_ready()
    with rb.profiler.trace(tmp_path):
        f(x).block_until_ready()
    (kept,) = tmp_path.rglob("*.xplane.pb")
    assert b"/device:GPU:0" in kept.read_bytes()


def test_a_program_of_this_gpu_compiled_ahead():
    lowered = rb.jit(lambda x: rnp.tanh(x @ x)).trace(A).lower(platforms=("cuda",))
    assert lowered.compile(topology="local").memory["argument"] == A.nbytes
