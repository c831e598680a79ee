"""What a report of a problem should say about the machine and the installation."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

import numpy as np
import rabbet as rb
from rabbet.extend.backend import jaxlib_version

if TYPE_CHECKING:
    from typing import Any


def print_environment_info(return_string: bool = False) -> Any:
    """Print the versions, the devices and the machine; with ``return_string`` return the text instead.

    Example:
      >>> 'jaxlib' in rb.print_environment_info(return_string=True)
      True
    """
    kinds = sorted({device.device_kind for device in rb.devices()})
    lines = [
        f"rabbet: {rb.__version__}",
        f"jaxlib: {jaxlib_version()}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version}",
        f"device info: {', '.join(kinds)}, {rb.local_device_count()} local devices",
        f"process_count: {rb.process_count()}",
        f"platform: {platform.uname()}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def process_indices(backend: Any = None) -> Any:
    """The numbers of all processes of a backend, in a list.

    Example:
      >>> rb.process_indices()
      [0]
    """
    return list(range(rb.process_count(backend)))


def host_count(backend: Any = None) -> Any:
    """The number of processes, by an older name; see ``process_count``.

    Example:
      >>> rb.host_count()
      1
    """
    return rb.process_count(backend)


def host_id(backend: Any = None) -> Any:
    """The number of this process, by an older name; see ``process_index``.

    Example:
      >>> rb.host_id()
      0
    """
    return rb.process_index(backend)


def host_ids(backend: Any = None) -> Any:
    """The numbers of all processes, by an older name; see ``process_indices``.

    Example:
      >>> rb.host_ids()
      [0]
    """
    return process_indices(backend)


__all__ = ["host_count", "host_id", "host_ids", "print_environment_info", "process_indices"]
