"""jaxlib's profiler: what ``rabbet.extend.backend`` offers of it. Nothing is loaded before it is used."""

import functools

from rabbet.runtime import devices


@functools.cache
def profiler():
    """jaxlib's profiler module."""
    from jaxlib import (
        _profile_data,  # noqa: F401  # registers a type that the profiler returns
        _profiler,
    )

    return _profiler


def profile_data_of(serialized):
    """A recorded trace, as the profiler's ``stop`` gives it, as planes, lines and events."""
    from jaxlib import _profile_data

    return _profile_data.ProfileData.from_serialized_xspace(serialized)


def memory_profile(backend=None):
    """What holds the memory of a platform's devices, as a gzipped profile for ``pprof``."""
    return devices.client_of(backend).raw.heap_profile()
