"""Putting values on devices and sharing memory with other libraries, on a backend that is installed."""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import rabbet as rb
from rabbet.runtime import transfer
from rabbet.runtime.jaxlib import adapter

pytestmark = pytest.mark.needs("cpu")


@pytest.fixture
def cpu():
    return rb.devices("cpu")[0]


def address(array):
    return np.asarray(array).ctypes.data


# device_put ---------------------------------------------------------------------------------------------


def test_values_become_arrays_on_the_default_device():
    x = rb.device_put(np.arange(3, dtype=np.float32))
    assert type(x) is rb.Array and x.device is rb.devices()[0] and not x.committed
    assert np.asarray(x).tolist() == [0, 1, 2]


def test_a_device_commits(cpu):
    assert rb.device_put(1.5, cpu).committed
    x = rb.device_put(np.ones(2, np.float32))
    moved = rb.device_put(x, cpu)
    assert moved.committed and address(moved) == address(x)
    assert rb.device_put(x).committed is False and rb.device_put(moved).committed is True


def test_pytrees_keep_their_form(cpu):
    tree = rb.device_put({"a": 1, "b": (np.ones(2), None)}, cpu)
    assert set(tree) == {"a", "b"} and tree["b"][1] is None
    assert type(tree["b"][0]) is rb.Array


def test_the_callers_array_may_change_afterwards():
    memory = np.zeros(4096, np.float32)
    x = rb.device_put(memory)
    memory[:] = 1
    assert np.asarray(x).max() == 0


def test_the_device_may_be_said_by_a_sharding(cpu):
    x = rb.device_put(1.0, cpu)
    assert rb.device_put(2.0, x.sharding).device is cpu


def test_what_is_no_device_is_refused():
    with pytest.raises(TypeError, match=r"rb\.devices\('somewhere'\)\[0\]"):
        rb.device_put(1.0, "somewhere")


# DLPack -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6)[::2],
        np.array(True),
        np.zeros((0, 2), np.float32),
        np.array([1 + 2j]),
    ],
    ids=["matrix", "strided", "scalar", "empty", "complex"],
)
def test_from_numpy(host):
    x = transfer.from_dlpack(host)
    assert x.dtype == host.dtype and not x.committed
    np.testing.assert_array_equal(np.asarray(x), host)


def test_out_and_in_shares_memory():
    x = rb.device_put(np.arange(1024, dtype=np.float32))
    assert address(transfer.from_dlpack(x)) == address(x)
    assert address(transfer.from_dlpack(x, copy=True)) != address(x)
    assert np.from_dlpack(x).tolist() == list(range(1024))


def test_copy_false_refuses_what_must_be_copied():
    memory = np.zeros(1024 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    assert transfer.from_dlpack(memory[start : start + 512], copy=False).shape == (512,)
    with pytest.raises(BufferError, match="aligned to 64 bytes"):
        transfer.from_dlpack(memory[start + 1 : start + 512], copy=False)
    with pytest.raises(BufferError, match="contiguous"):
        transfer.from_dlpack(memory[start : start + 512 : 2], copy=False)


def test_a_copy_is_independent_of_its_source():
    memory = np.zeros(4096, np.float32)
    copied, shared = transfer.from_dlpack(memory, copy=True), transfer.from_dlpack(memory)
    memory[:] = 1
    assert np.asarray(copied).max() == 0
    assert shared.shape == (4096,)


def test_a_device_can_be_chosen(cpu):
    x = transfer.from_dlpack(np.arange(3.0), device=cpu)
    assert x.device is cpu and x.committed


def test_what_offers_no_memory_is_refused():
    with pytest.raises(TypeError, match="no __dlpack__"):
        transfer.from_dlpack([1, 2, 3])


def test_memory_of_a_platform_that_is_not_here():
    class Elsewhere:
        def __dlpack__(self, **_):
            raise AssertionError("not asked for")

        def __dlpack_device__(self):
            return 99, 0

    with pytest.raises(BufferError, match="device type 99"):
        transfer.from_dlpack(Elsewhere())


def test_deleted_arrays_share_nothing():
    x = rb.device_put(np.ones(3))
    x.delete()
    with pytest.raises(rb.errors.DeletedArrayError):
        transfer.from_dlpack(x)


@pytest.mark.needs("bfloat16")
def test_bfloat16_goes_out_and_in():
    x = rb.device_put(np.array([1, 2], ml_dtypes.bfloat16))
    assert np.asarray(transfer.from_dlpack(x)).astype(float).tolist() == [1, 2]


# Processes ----------------------------------------------------------------------------------------------

FORK = """
import os, sys, warnings
import numpy as np, rabbet as rb
x = rb.device_put(np.ones(3, np.float32))
y = x + x
warnings.simplefilter('ignore')
child = os.fork()
if child:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert np.asarray(x + x).tolist() == [2, 2, 2]
    sys.exit(status)
seen = np.asarray(y).tolist()           # values that were ready may be read
try:
    x + x
except RuntimeError as error:
    os._exit(0 if 'spawn' in str(error) and seen == [2, 2, 2] else 1)
os._exit(2)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_computing_in_a_forked_child_is_an_error_and_not_a_deadlock():
    ran = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stderr


LIGHT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'jax':
            raise AssertionError('looked for ' + name)
sys.meta_path.insert(0, Refuse())
import rabbet as rb
import numpy as np
x = rb.device_put(np.ones(3, np.float32))
assert np.asarray(x * x + 1).tolist() == [2, 2, 2]
heavy = [m for m in sys.modules if m.split('.')[0] in ('jax', 'scipy') or m.startswith('jaxlib.mlir')]
assert not heavy, heavy
"""


def test_importing_and_computing_loads_neither_jax_nor_mlir_nor_scipy():
    ran = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert adapter.version()
