"""The runtime alone: a real CPU client out of jaxlib, made-up backends, and no jax to be found."""

import sys

import numpy as np
import pytest
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.backends import Backend, BackendRegistry
from rabbet.runtime.platforms.clients import Clients
from rabbet.runtime.platforms.devices import Device


class RefuseJax:
    """A finder that makes `import jax` fail, installed or not, and remembers who tried."""

    def __init__(self):
        self.tried = []

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "jax":
            self.tried.append(name)
            raise ModuleNotFoundError(f"refused: import {name}")
        return


@pytest.fixture(autouse=True)
def jax_finder():
    finder = RefuseJax()
    sys.meta_path.insert(0, finder)
    yield finder
    sys.meta_path.remove(finder)


@pytest.fixture
def no_jax(jax_finder):
    """The test fails if anything looked for jax."""
    yield
    assert jax_finder.tried == []


class Aval:
    """What the adapter asks of an aval."""

    weak_type = False

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    ndim = property(lambda self: len(self.shape))

    def __repr__(self):
        return f"{self.dtype}{list(self.shape)}"


def like(host):
    """The aval of a NumPy array."""
    return Aval(host.shape, host.dtype)


@pytest.fixture(scope="session")
def client():
    """A raw client of four CPU devices."""
    return adapter.make_cpu_client(4, asynchronous=False)


@pytest.fixture(scope="session")
def raw_device(client):
    return client.devices()[0]


@pytest.fixture
def put(raw_device):
    """Put a NumPy array on the first device."""
    return lambda host, **how: adapter.put(host, like(host), raw_device, **how)


class Manager:
    """A plugin manager over a dict; an exception in it is what loading the plugin raises."""

    def __init__(self, **backends):
        self.backends, self.loaded = backends, []

    def names(self, group):
        assert group == "rabbet.backends"
        return sorted(self.backends)

    def get(self, group, name):
        self.loaded.append(name)
        backend = self.backends[name]
        if isinstance(backend, Exception):
            raise backend
        return backend


def fake_backend(platform="cpu", priority=0, devices=1, **fields):
    """A backend that starts jaxlib's CPU client, whatever it is called."""

    def make_client(options):
        return adapter.make_cpu_client(options.get("num_devices", devices), asynchronous=False)

    return Backend(platform=platform, priority=priority, **{"make_client": make_client, **fields})


def clients_of(**backends):
    return Clients(BackendRegistry(Manager(**backends)), Device)


@pytest.fixture
def device():
    """A `Device` of a client of its own."""
    return clients_of(cpu=fake_backend()).default().devices[0]
