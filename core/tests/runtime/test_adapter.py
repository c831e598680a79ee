"""jaxlib as the adapter presents it, on every supported version."""

import gc
import os
import subprocess
import sys
import time
import weakref

import ml_dtypes
import numpy as np
import pytest
from rabbet.errors import DeletedArrayError
from rabbet.runtime.jaxlib import adapter, raw_values

from .conftest import Aval, like

NUMPY = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
).split()
EIGHT_BITS = (
    "float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu"
).split()
PACKED = "int2 int4 uint2 uint4 float4_e2m1fn".split()
EVERY = [*NUMPY, "bfloat16", *EIGHT_BITS, *PACKED]


def dtype_named(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def some(name, shape):
    """An array of small values that every dtype can hold; never 0 for the one that lacks it."""
    size = int(np.prod(shape))
    values = 2.0 ** (np.arange(size) % 3 - 1) if name == "float8_e8m0fnu" else np.arange(size) % 2
    return values.reshape(shape).astype(dtype_named(name))


ADD = """
func.func public @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}"""


@pytest.fixture(scope="module")
def add(client, raw_device):
    """A compiled program that adds two f32[8], as a function of raw arrays."""
    exe = adapter.compile_text(
        client, ADD, adapter.device_list([raw_device]), adapter.default_options(raw_device)
    )
    handlers = [adapter.result_handler(Aval((8,), "f4"), adapter.single_sharding(raw_device))]

    def call(*raws):
        return exe.execute_sharded(list(raws)).consume_with_handlers(handlers)[0]

    call.exe = exe
    return call


# Host to device and back --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("name", EVERY)
def test_there_and_back_is_the_same(put, no_jax, name, shape):
    host = some(name, shape)
    raw = put(host)
    back = raw_values.to_numpy(raw, host.dtype)
    assert back.dtype == host.dtype and back.shape == shape
    assert back.tobytes() == host.tobytes()
    assert not back.flags.writeable
    assert (raw.aval.shape, raw.aval.dtype) == (shape, host.dtype)


@pytest.mark.parametrize("name", PACKED)
def test_every_value_of_a_packed_dtype_survives(put, name):
    bits = 2 if name.endswith("2") else 4
    raw_bits = np.arange(2**bits, dtype=np.uint8)
    if name.startswith("int"):  # the host form of a signed type repeats the sign in the unused bits
        raw_bits = ((raw_bits << (8 - bits)).view(np.int8) >> (8 - bits)).view(np.uint8)
    host = raw_bits.view(dtype_named(name))
    assert raw_values.to_numpy(put(host)).astype(float).tolist() == host.astype(float).tolist()
    assert (
        np.signbit(raw_values.to_numpy(put(host)).astype(float)).tolist()
        == np.signbit(host.astype(float)).tolist()
    )


def test_nan_payloads_and_negative_zero_survive(put):
    bits = np.array([0x7FC00001, 0xFFC00000, 0x80000000, 0x7F800000], np.uint32)
    assert raw_values.to_numpy(put(bits.view(np.float32))).view(np.uint32).tolist() == bits.tolist()


def test_64_bits_stay_64_bits(put):
    assert raw_values.to_numpy(put(np.array([2**40]))).tolist() == [2**40]
    assert raw_values.to_numpy(put(np.array([1e300]))).tolist() == [1e300]


@pytest.mark.parametrize(
    "host",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12.0)[::-1],
        np.arange(12.0)[::3],
        np.broadcast_to(np.float64(3), (4, 4)),
    ],
    ids=["transposed", "reversed", "strided", "broadcast"],
)
def test_any_strides(put, host):
    for private in (False, True):
        np.testing.assert_array_equal(raw_values.to_numpy(put(host, private=private)), host)


def aligned(size):
    """float32 zeros at an address divisible by 64, which jaxlib would share."""
    memory = np.zeros(size * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size * 4].view(np.float32)


def test_the_callers_memory_is_copied(put):
    host = aligned(1024)
    raw = put(host)
    host[:] = 7
    assert raw_values.to_numpy(raw).max() == 0


def test_private_memory_is_shared_and_kept_alive(put):
    host = aligned(1024)
    host[:] = 7
    raw, address = put(host, private=True), host.ctypes.data
    gone = weakref.ref(host)
    del host
    gc.collect()
    assert raw_values.to_numpy(raw).ctypes.data == address
    assert raw_values.to_numpy(raw).min() == 7
    del raw
    for _ in range(200):  # jaxlib lets go of Python objects from a thread of its own, some time later
        if gone() is None:
            break
        put(np.zeros(1))
        time.sleep(0.01)
    assert gone() is None


@pytest.mark.parametrize(
    ("host", "aval", "says"),
    [
        (np.zeros(8, np.int32), Aval((8,), np.float32), "int32"),
        (np.zeros(8, np.float64), Aval((8,), np.float32), "float64"),
        (np.zeros(8, ">f4"), Aval((8,), np.float32), ">f4"),
        (np.zeros(8, np.float32), Aval((2, 4), np.float32), "(2, 4)"),
        (3.0, Aval((), np.float32), "float"),
        (np.float32(3), Aval((), np.float32), "float32"),
    ],
)
def test_a_host_array_must_be_what_its_aval_says(raw_device, host, aval, says):
    with pytest.raises(TypeError) as caught:
        adapter.put(host, aval, raw_device)
    assert says in str(caught.value)


def test_a_wrong_expectation_is_an_error(put):
    with pytest.raises(TypeError, match="float32, not int32"):
        raw_values.to_numpy(put(np.zeros(2, np.float32)), np.int32)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int4"])
def test_a_deleted_array_raises(put, raw_device, name):
    raw = put(some(name, (4,)))
    raw.delete()
    for use in (
        raw_values.to_numpy,
        adapter.to_dlpack,
        lambda raw: raw_values.copy_to_device(raw, raw_device),
    ):
        with pytest.raises(DeletedArrayError, match=r"shape \(4,\)"):
            use(raw)


def test_start_copy_to_host_changes_nothing(put):
    raw = put(np.arange(3))
    adapter.start_copy_to_host([raw])
    assert raw_values.to_numpy(raw).tolist() == [0, 1, 2]


# Several devices ----------------------------------------------------------------------------------------


def tiles(client, dims, shape, slices):
    """An array of `shape` split over the client's four devices, and the whole of it on the host."""
    whole = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    devices = client.devices()
    sharding = adapter.many_sharding(
        adapter.device_list(devices),
        adapter.HloSharding.iota_tile(dims) if dims else adapter.HloSharding.replicate(),
    )
    shards = [np.ascontiguousarray(whole[part]) for part in slices]
    return adapter.put_shards(shards, like(whole), devices, sharding), whole


SPLITS = {
    "rows": ((4, 1), [np.s_[2 * i : 2 * i + 2] for i in range(4)]),
    "columns": ((1, 4), [np.s_[:, i : i + 1] for i in range(4)]),
    "both": ((2, 2), [np.s_[4 * i : 4 * i + 4, 2 * j : 2 * j + 2] for i in range(2) for j in range(2)]),
    "replicated": (None, [np.s_[:]] * 4),
}


@pytest.mark.parametrize("split", SPLITS)
def test_an_array_over_devices_is_read_whole(client, split):
    dims, slices = SPLITS[split]
    raw, whole = tiles(client, dims, (8, 4), slices)
    np.testing.assert_array_equal(raw_values.to_numpy(raw), whole)


def test_an_array_over_devices_is_not_exported(client):
    raw, _ = tiles(client, (4, 1), (8, 4), SPLITS["rows"][1])
    with pytest.raises(ValueError, match="over 4 devices"):
        adapter.to_dlpack(raw)


def test_shards_have_the_dtype_of_the_whole(client):
    with pytest.raises(TypeError, match="int32"):
        adapter.put_shards([np.zeros((2, 4), np.int32)] * 4, Aval((8, 4), "f4"), client.devices(), None)


def test_copies_between_devices(client, put, no_jax):
    raw, other = put(np.arange(4.0)), client.devices()[1]
    copied = raw_values.copy_to_device(raw, other)
    assert adapter.devices_of(copied)[0] is other
    assert copied.aval is raw.aval
    raw.delete()
    assert raw_values.to_numpy(copied).tolist() == [0, 1, 2, 3]


def test_a_copy_on_the_same_device_has_memory_of_its_own(put, raw_device):
    raw = put(np.arange(4.0))
    copied = raw_values.copy_to_device(raw, raw_device, always_copy=True)
    raw.delete()
    assert raw_values.to_numpy(copied).tolist() == [0, 1, 2, 3]


def test_copies_between_clients(put, no_jax):
    other = adapter.make_cpu_client(1, asynchronous=False).devices()[0]
    copied = raw_values.copy_to_device(put(some("bfloat16", (3,))), other)
    assert adapter.devices_of(copied)[0] is other
    assert raw_values.to_numpy(copied).tobytes() == some("bfloat16", (3,)).tobytes()


# Programs -----------------------------------------------------------------------------------------------


def test_compile_and_run(add, put, no_jax):
    out = add(put(np.arange(8, dtype=np.float32)), put(np.ones(8, np.float32)))
    assert raw_values.to_numpy(out).tolist() == list(range(1, 9))
    assert out.aval.shape == (8,)


def test_results_of_an_asynchronous_client(no_jax):
    client = adapter.make_cpu_client(1, asynchronous=True)
    device = client.devices()[0]
    exe = adapter.compile_text(client, ADD, adapter.device_list([device]), adapter.default_options(device))
    raw = adapter.put(np.ones(8, np.float32), Aval((8,), "f4"), device)
    handlers = [adapter.result_handler(raw.aval, adapter.single_sharding(device))]
    for _ in range(20):
        (raw,) = exe.execute_sharded([raw, raw]).consume_with_handlers(handlers)
    assert raw_values.to_numpy(raw).tolist() == [2.0**20] * 8


def test_too_many_arguments_are_refused(add, put):
    one = put(np.ones(8, np.float32))
    with pytest.raises(adapter.XlaRuntimeError, match="supplied 3 arguments"):
        add(one, one, one)


def test_a_parse_error_says_where_and_nothing_of_versions(client, raw_device):
    text = "func.func public @main() {\n  %0 = stablehlo.nonsense : tensor<f32>\n  return\n}"
    with pytest.raises(adapter.XlaRuntimeError) as caught:
        adapter.compile_text(
            client, text, adapter.device_list([raw_device]), adapter.default_options(raw_device)
        )
    assert ":2:" in str(caught.value)
    assert "downgraded" not in str(caught.value)


def test_a_serialized_program_runs_alike(client, raw_device, add, put, no_jax):
    blob = adapter.serialize(add.exe)
    exe = adapter.deserialize(client, blob, adapter.device_list([raw_device]))
    raw = put(np.ones(8, np.float32))
    handlers = [adapter.result_handler(raw.aval, adapter.single_sharding(raw_device))]
    (out,) = exe.execute_sharded([raw, raw]).consume_with_handlers(handlers)
    assert raw_values.to_numpy(out).tolist() == [2] * 8


def test_a_truncated_program_is_refused(client, raw_device, add):
    with pytest.raises(adapter.XlaRuntimeError):
        adapter.deserialize(client, adapter.serialize(add.exe)[:100], adapter.device_list([raw_device]))


def test_what_the_compiler_knows(add):
    assert "add" in adapter.hlo_text(add.exe)
    assert adapter.cost_analysis(add.exe)["flops"] == 8
    memory = adapter.memory_analysis(add.exe)
    assert memory["argument_size_in_bytes"] == 64 and memory["output_size_in_bytes"] == 32


def test_a_callback_program(client, raw_device, put):
    text = """
    module @callback {
      func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
        %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {
          api_version = 4 : i32, has_side_effect = false, backend_config = {index = 0 : ui64}
        } : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }
    }"""
    devices = adapter.device_list([raw_device])
    exe = adapter.compile_text(
        client, text, devices, adapter.default_options(raw_device), [lambda x: (x * 3,)]
    )
    raw = put(np.arange(8, dtype=np.float32))
    handlers = [adapter.result_handler(raw.aval, adapter.single_sharding(raw_device))]
    (out,) = exe.execute_sharded([raw]).consume_with_handlers(handlers)
    assert raw_values.to_numpy(out).tolist() == [3.0 * i for i in range(8)]


def test_option_bytes_depend_on_the_options_alone(client):
    first, second = client.devices()[:2]
    assert adapter.option_bytes(adapter.default_options(first)) == adapter.option_bytes(
        adapter.default_options(first)
    )
    assert adapter.option_bytes(adapter.default_options(first)) != adapter.option_bytes(
        adapter.default_options(second)
    )


def test_live_buffers_come_and_go():
    client = adapter.make_cpu_client(1, asynchronous=False)
    raw = adapter.put(np.ones(3), Aval((3,), "f8"), client.devices()[0])
    assert len(adapter.live_buffers(client)) == 1
    raw.delete()
    del raw
    assert adapter.live_buffers(client) == []


# The import ---------------------------------------------------------------------------------------------

QUIET = """
import os, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'jax':
            raise AssertionError('looked for ' + name)
sys.meta_path.insert(0, Refuse())
import numpy as np
from rabbet.runtime.jaxlib import adapter, raw_values
assert os.environ['TF_CPP_MIN_LOG_LEVEL'] == {level!r}
client = adapter.make_cpu_client(1, asynchronous=False)
class Aval: shape, dtype, weak_type = (2,), np.dtype('f4'), False
raw = adapter.put(np.ones(2, 'f4'), Aval, client.devices()[0])
assert raw_values.to_numpy(raw).tolist() == [1, 1]
heavy = [m for m in sys.modules if m.split('.')[0] in ('jax', 'scipy') or m.startswith('jaxlib.mlir')]
assert not heavy, heavy
"""


@pytest.mark.parametrize(("given", "level"), [(None, "1"), ("0", "0")])
def test_a_fresh_process_is_light_quiet_and_free_of_jax(given, level):
    env = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    if given is not None:
        env["TF_CPP_MIN_LOG_LEVEL"] = given
    ran = subprocess.run(
        [sys.executable, "-c", QUIET.format(level=level)],
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert given == "0" or ran.stderr == ""
