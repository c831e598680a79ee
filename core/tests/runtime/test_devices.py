"""Devices: interned, printable, and counted."""

import copy
import pickle

import pytest
from rabbet.config import config
from rabbet.errors import ConfigError
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms import devices

from .conftest import clients_of, fake_backend


@pytest.fixture
def three(monkeypatch):
    """A process whose default backend has three CPU devices, and another backend with one."""
    clients = clients_of(cpu=fake_backend(devices=3), odd=fake_backend("odd", -1))
    monkeypatch.setattr(devices, "default_clients", lambda: clients)
    return clients


def test_the_devices_of_a_platform(three):
    assert [repr(device) for device in devices.devices()] == [
        "CpuDevice(id=0)",
        "CpuDevice(id=1)",
        "CpuDevice(id=2)",
    ]
    assert [str(device) for device in devices.devices("odd")] == ["odd:0"]
    assert devices.devices() == devices.local_devices() == devices.devices("cpu")
    assert devices.device_count() == devices.local_device_count() == 3
    assert devices.device_count("odd") == 1
    assert devices.default_backend() == "cpu"
    assert (devices.process_index(), devices.process_count()) == (0, 1)
    assert devices.local_devices(process_index=0) == devices.devices()
    with pytest.raises(ValueError, match="no process 1"):
        devices.local_devices(process_index=1)


def test_a_backend_is_the_name_of_a_platform(three):
    with pytest.raises(TypeError, match=r"name of a platform, such as 'cpu'; got CpuDevice\(id=0\)"):
        devices.devices(devices.devices()[0])


def test_a_device_is_always_the_same_object(three):
    first = devices.devices()[0]
    assert devices.devices()[0] is first
    assert devices.device("cpu", 0) is first
    assert pickle.loads(pickle.dumps(first)) is first
    assert copy.deepcopy(first) is first and copy.copy(first) is first
    assert len({*devices.devices(), *devices.devices()}) == 3


def test_a_device_that_is_not_there(three):
    with pytest.raises(ValueError, match="no device cpu:7; there are cpu:0, cpu:1, cpu:2"):
        devices.device("cpu", 7)


def test_what_a_device_knows(three):
    device = devices.devices()[1]
    assert (device.platform, device.id, device.device_kind, device.process_index) == ("cpu", 1, "cpu", 0)
    assert device.client is three.get("cpu")
    assert device.memory_stats() is None
    assert device.memory_kinds()[0] == device.default_memory().kind == "device"
    assert device.memory("pinned_host").kind == "pinned_host"
    with pytest.raises(ValueError, match="no memory of the kind 'vram'; it has device, "):
        device.memory("vram")
    assert sorted(m.kind for m in device.addressable_memories()) == sorted(device.memory_kinds())
    assert isinstance(device.client.runtime_type, str)
    assert device.device_list == adapter.device_list([device.raw])


def test_the_default_device(three):
    assert devices.default_device() is devices.devices()[0]
    with config.override(default_device=devices.devices()[2]):
        assert devices.default_device() is devices.devices()[2]
    with config.override(default_device="odd"):
        assert devices.default_device().platform == "odd"
    with pytest.raises(ConfigError, match="default_device cannot be 3: it is a Device"):
        config.override(default_device=3)


def test_live_buffers_by_device(three):
    import numpy as np

    from .conftest import Aval

    first, second = devices.devices()[:2]
    raw = adapter.put(np.zeros(3), Aval((3,), "f8"), first.raw, first.sharding)
    assert len(first.live_buffers()) == 1 and second.live_buffers() == []
    assert not raw.is_deleted()
