"""``jax.extend.backend``."""

import rabbet as rb
from rabbet.extend.backend import running_platforms


class Backend:
    """A client with what JAX's has as methods; all else is the client's."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        return getattr(self._client, name)

    def __eq__(self, other):
        return isinstance(other, Backend) and self._client is other._client

    def __hash__(self):
        return hash(self._client)

    def __repr__(self):
        return repr(self._client)

    def devices(self):
        """All devices, those of other processes included."""
        return list(self._client.devices)

    def local_devices(self):
        """The devices of this process."""
        return list(self._client.local_devices)

    def device_count(self):
        """How many devices there are."""
        return len(self._client.devices)

    def local_device_count(self):
        """How many devices this process has."""
        return len(self._client.local_devices)

    def process_index(self):
        """The number of this process."""
        return self._client.process_index

    def live_arrays(self):
        """The arrays that live on its devices."""
        return rb.live_arrays(self._client.platform)


def get_backend(platform=None):
    """The client of a platform."""
    return Backend(rb.devices(platform)[0].client)


def get_default_device():
    """The device for values that are on none yet."""
    return rb.numpy.asarray(0).device


def backend_xla_version(platform=None):
    """The version of XLA of a plugin of PJRT that tells it, else None."""
    return getattr(get_backend(platform), "xla_version", None)


def clear_in_memory_compilation_cache():
    """Forget what was compiled; it is compiled again, or read from the disk, when it is called."""
    rb.clear_caches()


def backends():
    """The clients of the platforms that run, by their names; the default one is started."""
    rb.devices()
    return {platform: get_backend(platform) for platform in running_platforms()}


__all__ = [
    "backend_xla_version", "backends", "clear_in_memory_compilation_cache", "get_backend",
    "get_default_device",
]  # fmt: skip
