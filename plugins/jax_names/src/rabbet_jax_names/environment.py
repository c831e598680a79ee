"""What a report of a problem should say about the machine and the installation."""

import platform
import sys

import numpy as np
import rabbet as rb
from rabbet.extend.backend import jaxlib_version


def print_environment_info(return_string=False):
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


def process_indices(backend=None):
    """The numbers of all processes of a backend, in a list.

    Example:
      >>> rb.process_indices()
      [0]
    """
    return list(range(rb.process_count(backend)))


__all__ = ["print_environment_info", "process_indices"]
