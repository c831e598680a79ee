"""DLPack tensors read by ctypes: every dtype, any strides, one owner at a time."""

import gc
import time
import weakref

import ml_dtypes
import numpy as np
import pytest
import rabbet as rb
from rabbet.runtime.jaxlib import adapter, dlpack, raw_values
from rabbet.runtime.jaxlib.shared_memory import lend, to_donate

from .conftest import Aval, like
from .test_adapter import EIGHT_BITS, NUMPY, some


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("name", [*NUMPY, "bfloat16", *EIGHT_BITS])
def test_out_and_in_again(put, raw_device, no_jax, name, shape):
    host = some(name, shape)
    capsule = adapter.to_dlpack(put(host))
    assert (dlpack.describe(capsule).shape, dlpack.describe(capsule).dtype) == (shape, host.dtype)
    raw = adapter.from_dlpack(capsule, raw_device, like(host))
    assert raw_values.to_numpy(raw).tobytes() == host.tobytes()


def test_an_import_shares_the_memory(put, raw_device):
    source = put(np.arange(1024.0))
    raw = adapter.from_dlpack(adapter.to_dlpack(source), raw_device, Aval((1024,), "f8"))
    assert raw_values.to_numpy(raw).ctypes.data == raw_values.to_numpy(source).ctypes.data


@pytest.mark.parametrize("name", ["int2", "uint4"])
def test_integers_without_a_dlpack_form_are_refused(put, name):
    with pytest.raises(adapter.XlaRuntimeError, match="DLPack"):
        adapter.to_dlpack(put(some(name, (4,))))
    with pytest.raises(BufferError, match="DLPack"):
        raw_values.to_dlpack(put(some(name, (4,))))


def test_numpy_reads_what_we_export(put):
    class Tensor:
        def __init__(self, raw):
            self.raw = raw

        def __dlpack__(self, **_):
            return adapter.to_dlpack(self.raw)

        def __dlpack_device__(self):
            return dlpack.device_of("cpu", None)

    assert np.from_dlpack(Tensor(put(np.arange(4.0)))).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "host",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12)[::3],
        np.arange(12)[::-1],
        np.array(5 + 2j),
        np.zeros((0, 3)),
    ],
    ids=["transposed", "strided", "reversed", "complex scalar", "empty"],
)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_we_read_what_numpy_exports(host, version):
    capsule = host.__dlpack__() if version is None else host.__dlpack__(max_version=version)
    info = dlpack.describe(capsule)
    assert info.on_host and info.shape == host.shape and info.dtype == host.dtype
    seen = dlpack.consume(capsule)
    np.testing.assert_array_equal(seen, host)
    assert seen.size == 0 or seen.ctypes.data == host.ctypes.data
    assert not seen.flags.writeable


def test_a_capsule_is_consumed_once():
    capsule = np.arange(3.0).__dlpack__()
    dlpack.consume(capsule)
    with pytest.raises(ValueError, match="consumed before"):
        dlpack.consume(capsule)


@pytest.mark.parametrize("shape", [(1000,), (0,)])
def test_the_memory_goes_back_to_its_owner(shape):
    class Owner(np.ndarray):
        pass

    owner = np.zeros(shape).view(Owner)
    gone = weakref.ref(owner)
    seen = dlpack.consume(owner.__dlpack__())
    del owner
    gc.collect()
    assert shape == (0,) or gone() is not None
    part = seen[1:2]
    del seen
    gc.collect()
    assert shape == (0,) or (gone() is not None and part.tolist() == [0])
    del part
    gc.collect()
    assert gone() is None


def test_a_view_keeps_the_device_array(put, raw_device):
    raw = put(np.arange(1000.0))
    seen = dlpack.view(adapter.to_dlpack(raw), keep=raw)
    del raw
    gc.collect()
    others = [put(np.full(1000, -1.0)) for _ in range(5)]
    assert seen.tolist() == list(range(1000))
    assert len(others) == 5


def test_an_array_on_imported_memory_gives_it_back(put, raw_device):
    class Owner(np.ndarray):
        pass

    owner = np.zeros(4096).view(Owner)
    gone = weakref.ref(owner)
    raw = adapter.from_dlpack(owner.__dlpack__(), raw_device, like(owner))
    del owner, raw
    for _ in range(200):  # from a thread of jaxlib's, some time later
        gc.collect()
        if gone() is None:
            break
        put(np.zeros(1))
        time.sleep(0.01)
    assert gone() is None


def test_an_aval_that_disagrees_is_refused(put, raw_device):
    for aval in (Aval((4,), "i4"), Aval((2, 2), "f4")):
        with pytest.raises(TypeError, match=r"float32\[4\]"):
            adapter.from_dlpack(adapter.to_dlpack(put(np.zeros(4, "f4"))), raw_device, aval)


def test_dtypes_that_numpy_cannot_hold():
    with pytest.raises(TypeError, match="code 2 with 32 bits and 4 lanes"):
        dlpack.dtype_of(2, 32, 4)
    with pytest.raises(TypeError, match="code 17"):
        dlpack.dtype_of(17, 4, 1)
    assert dlpack.dtype_of(4, 16, 1) == ml_dtypes.bfloat16


def test_the_device_of_an_array(put):
    assert dlpack.device_of("cpu", 3) == (1, 0)


def test_what_another_library_has_is_neither_deleted_nor_donated():
    x, y = rb.device_put(np.arange(4.0)), rb.device_put(np.arange(4.0))
    raws = [x.raw, y.raw]
    for raw in raws:
        lend(raw)
    x.delete()
    (given,) = to_donate([y], [0])
    assert given.raw is not y.raw and np.asarray(given).tolist() == [0, 1, 2, 3]
    assert x.is_deleted() and not any(raw.is_deleted() for raw in raws)


def test_64_bits_become_32_where_the_settings_say_so():
    x = np.arange(3)
    wide = rb.lax.full((16,), 1, "float64")
    assert rb.dlpack.from_dlpack(x).dtype == np.int64
    assert rb.dlpack.from_dlpack(wide, copy=False).dtype == np.float64
    with rb.config.override(explicit_x64_dtypes="warn", enable_x64=False):
        found = rb.dlpack.from_dlpack(x)
        assert found.dtype == np.int32 and found.tolist() == [0, 1, 2]
        assert rb.dlpack.from_dlpack(x.astype("int16")).dtype == np.int16
        with pytest.raises(BufferError, match="leave out copy=False"):
            rb.dlpack.from_dlpack(wide, copy=False)
        assert rb.dlpack.from_dlpack(wide.astype("float32"), copy=False).dtype == np.float32
        with rb.config.override(enable_x64=True):
            assert rb.dlpack.from_dlpack(x).dtype == np.int64
