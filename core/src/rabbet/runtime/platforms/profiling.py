"""jaxlib's profiler: what ``rabbet.extend.native`` offers of it. Nothing is loaded before it is used."""

from __future__ import annotations

import functools
import itertools
import operator
import warnings
from typing import Any

from rabbet.runtime.platforms import devices

# A trace with one event of which nothing is known, as the profiler writes it.
ONE_EVENT = b"\x0a\x04\x1a\x02\x22\x00"
IGNORED = ("ignore", None, Warning, None, 0)


@functools.cache
def profiler() -> Any:
    """jaxlib's profiler module.

    Example:
      >>> from rabbet.extend.native import profiler
      >>> with profiler().TraceMe("a part"):  # an event in a trace, where one is recorded
      ...     pass
    """
    # jaxlib ships no stubs of these two. The first registers a type that the profiler returns.
    from jaxlib import _profile_data, _profiler  # type: ignore[attr-defined]

    for plane in _profile_data.ProfileData.from_serialized_xspace(ONE_EVENT).planes:
        for line in plane.lines:
            for event in line.events:
                kept_types.append(type(ignoring_warnings(operator.attrgetter("stats"), event)))
    return _profiler


kept_types: list[type] = []


def ignoring_warnings(function: Any, argument: Any) -> Any:
    """Call a function that is written in C, with all warnings ignored, whatever other threads do meanwhile.

    On a look at what is known of an event jaxlib makes a type, of which Python 3.12 and later warn; where
    warnings are errors, the process ends there. jaxlib does not hold that type, so the next garbage
    collection takes it, and the next look makes another one: ``kept_types`` holds the first for good.

    ``warnings.catch_warnings`` would not do: another thread that leaves such a block puts back the errors.
    So everything is done by one call that runs no Python, within which no thread gets a turn.
    """
    insert = map(operator.attrgetter("filters.insert"), (warnings,))  # looked up within that call
    pop = map(operator.attrgetter("filters.pop"), (warnings,))
    try:
        _, result, _ = tuple(
            itertools.chain(
                map(operator.call, insert, (0,), (IGNORED,)),
                map(function, (argument,)),
                map(operator.call, pop, (0,)),
            )
        )
        return result
    except BaseException:
        if warnings.filters and warnings.filters[0] is IGNORED:  # the function raised
            operator.attrgetter("filters.pop")(warnings)(0)
        raise


def profile_data_of(serialized: Any) -> Any:
    """A recorded trace, as the profiler's ``stop`` gives it, as planes, lines and events.

    Example:
      >>> from rabbet.extend.native import profile_data_of, profiler
      >>> recorded = profiler().ProfilerSession().stop()
      >>> len(list(profile_data_of(recorded).planes)) > 0
      True
    """
    profiler()  # makes what follows safe to read
    from jaxlib import _profile_data  # type: ignore[attr-defined]  # without stubs, too

    return _profile_data.ProfileData.from_serialized_xspace(serialized)


def memory_profile(backend: Any = None) -> Any:
    """What holds the memory of a platform's devices, as a profile for ``pprof``, not compressed.

    Example:
      >>> from rabbet.extend.native import memory_profile
      >>> type(memory_profile("cpu"))
      <class 'bytes'>
    """
    return devices.client_of(backend).raw.heap_profile()
