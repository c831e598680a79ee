"""jaxlib's profiler: what ``rabbet.extend.backend`` offers of it. Nothing is loaded before it is used."""

import functools

from rabbet.runtime import devices


@functools.cache
def profiler():
    """jaxlib's profiler module.

    Example:
      >>> from rabbet.extend.native import profiler
      >>> with profiler().TraceMe("a part"):  # an event in a trace, where one is recorded
      ...     pass
    """
    # jaxlib ships no stubs of these two. The first registers a type that the profiler returns.
    from jaxlib import _profile_data, _profiler  # type: ignore[attr-defined]  # noqa: F401

    return _profiler


def profile_data_of(serialized):
    """A recorded trace, as the profiler's ``stop`` gives it, as planes, lines and events.

    Example:
      >>> from rabbet.extend.native import profile_data_of, profiler
      >>> recorded = profiler().ProfilerSession().stop()
      >>> [line for plane in profile_data_of(recorded).planes for line in plane.lines if not line.name][:0]
      []
    """
    from jaxlib import _profile_data  # type: ignore[attr-defined]  # without stubs, too

    return _profile_data.ProfileData.from_serialized_xspace(serialized)


def memory_profile(backend=None):
    """What holds the memory of a platform's devices, as a profile for ``pprof``, not compressed.

    Example:
      >>> from rabbet.extend.native import memory_profile
      >>> type(memory_profile("cpu"))
      <class 'bytes'>
    """
    return devices.client_of(backend).raw.heap_profile()
