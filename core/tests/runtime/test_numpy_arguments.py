"""NumPy arrays become arrays by a short way where there is nothing to convert, with the same result."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.runtime import values


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
