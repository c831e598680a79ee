"""What holds the memory of devices."""

import gzip
import os

from rabbet.extend.native import memory_profile


def device_memory_profile(backend: str | None = None) -> bytes:
    """What holds the memory of a platform's devices, by array and by compiled program: a gzipped profile,
    which ``pprof`` shows.

    Args:
      backend: the platform; by default the default one.

    Example:
      >>> type(rb.profiler.device_memory_profile())
      <class 'bytes'>
    """
    return gzip.compress(memory_profile(backend))


def save_device_memory_profile(filename: str | os.PathLike, backend: str | None = None) -> None:
    """Write ``device_memory_profile(backend)`` into a file.

    Example:
      >>> import pathlib, tempfile
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "memory.prof"
      >>> rb.profiler.save_device_memory_profile(path)   # then: pprof --web memory.prof
      >>> path.stat().st_size > 0
      True
    """
    with open(filename, "wb") as file:
        file.write(device_memory_profile(backend))
