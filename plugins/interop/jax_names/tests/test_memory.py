"""Kinds of memory by what they are, not by a platform's names."""

import numpy as np
import pytest
import rabbet as rb

KINDS = rb.devices()[0].memory_kinds()


def test_an_array_is_put_into_a_memory_of_its_device():
    x = rb.device_put(np.arange(3.0, dtype="f4"), rb.devices()[0])
    near = rb.device_put(x, rb.memory.Space.Device)
    assert near.sharding.memory_kind == KINDS[0] and near.device == x.device
    if "pinned_host" not in KINDS:
        with pytest.raises(ValueError, match="no memory 'pinned_host', only"):
            rb.device_put(x, rb.memory.Space.Host)
        return
    far = rb.device_put({"a": x, "b": 1.5}, rb.memory.Space.Host)
    assert [a.sharding.memory_kind for a in far.values()] == ["pinned_host"] * 2
    back = rb.device_put(far, {"a": rb.memory.Space.Device, "b": None})
    assert back["a"].sharding.memory_kind == KINDS[0] and back["b"].sharding.memory_kind == "pinned_host"
    assert np.array_equal(back["a"], x) and far["b"].item() == 1.5


def test_any_memory_is_no_place():
    with pytest.raises(ValueError, match="is not a place"):
        rb.device_put(1.0, rb.memory.Space.Any)
