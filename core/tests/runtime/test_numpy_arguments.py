"""NumPy arrays become arrays by a short way where there is nothing to convert, with the same result."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.runtime.arrays import values


@pytest.mark.parametrize("name", ["bool", "int8", "uint32", "int32", "float32", "complex64"])
def test_what_is_stored_as_it_is_is_not_converted(name, monkeypatch):
    monkeypatch.setattr(values, "host_array", None)
    host = np.arange(12).reshape(3, 4).astype(name)
    for x in (host, host.T, host[::2, ::-1], host[1, 1:2].reshape(()), host[:0]):
        made = values.to_array(x)
        assert made.dtype == host.dtype and made.shape == x.shape and np.array_equal(np.asarray(made), x)
    made = values.to_array(host)
    host[:] = 0  # the caller's memory was copied
    assert np.asarray(made).any()


@pytest.mark.parametrize(
    ("host", "name"),
    [
        (np.arange(3.0), "float32"),
        (np.arange(3), "int32"),
        (np.arange(3, dtype=">f4"), "float32"),
        (np.zeros(3, rb.dtypes.float0), rb.dtypes.float0),
        pytest.param(np.arange(3, dtype="f4"), "bfloat16", marks=pytest.mark.needs("bfloat16")),
        pytest.param(np.arange(3, dtype="i4"), "int4", marks=pytest.mark.needs("int4")),
    ],
)
def test_others_are(host, name, monkeypatch):
    if name in ("bfloat16", "int4"):
        host = host.astype(rb.dtypes.canonicalize(name))
    made, converted = values.host_array, []
    monkeypatch.setattr(values, "host_array", lambda *args: converted.append(1) or made(*args))
    array = values.to_array(host)
    assert array.dtype == rb.dtypes.canonicalize(name) and array.shape == (3,) and converted


def test_guards_hear_of_both():
    with rb.transfer_guard_host_to_device("disallow"):
        for host in (np.ones(3, "f4"), np.ones(3)):
            with pytest.raises(rb.errors.TransferError, match="host-to-device"):
                values.to_array(host)


def test_the_second_array_of_a_kind_goes_where_the_first_went():
    host = np.arange(6, dtype="f4").reshape(2, 3)
    first, second = values.to_array(host), values.to_array(host)
    assert second.spec is first.spec and np.array_equal(np.asarray(second), host)
    host[:] = 0  # the caller's memory was copied
    assert np.asarray(second).any()
    refused = pytest.raises(rb.errors.TransferError, match="host-to-device")
    with rb.transfer_guard_host_to_device("disallow"), refused:
        values.to_array(host)


@pytest.mark.parametrize("same", [np.dtype("q"), np.dtype("f4", metadata={"unit": "m"})])
def test_dtypes_that_are_equal_and_not_the_same(same):
    with rb.config.override(enable_x64=True):
        for dtype in (np.dtype("l"), np.dtype("f4"), same):
            made = [values.to_array(np.ones(3, dtype)) for _ in range(2)]
            assert all(x.dtype == dtype and np.asarray(x).tolist() == [1, 1, 1] for x in made)


def test_what_is_known_of_a_kind_depends_on_its_settings():
    host = np.arange(3)
    narrow = [values.to_array(host).dtype.name for _ in range(2)]
    with rb.config.override(enable_x64=True):
        wide = [values.to_array(host).dtype.name for _ in range(3)]
    assert narrow == ["int32"] * 2 and wide == ["int64"] * 3
    assert values.to_array(host).dtype.name == "int32"


def test_guards_hear_of_numbers_that_become_arrays_by_themselves():
    x = rb.device_put(np.float32(1))
    with rb.transfer_guard_host_to_device("disallow"):
        assert float(x + 1) == 2.0 and float(rb.device_put(1.0)) == 1.0
    with rb.transfer_guard_host_to_device("disallow_explicit"), pytest.raises(rb.errors.TransferError):
        rb.device_put(1.0)
