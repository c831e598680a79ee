"""What a report of a problem should say about the machine and the installation."""

import platform
import sys

import numpy as np

from rabbet.runtime.adapter import version as jaxlib_version
from rabbet.runtime.devices import devices, local_device_count, process_count
from rabbet.version import VERSION


def print_environment_info(return_string=False):
    """Print the versions, the devices and the machine; with ``return_string`` return the text instead."""
    kinds = sorted({device.device_kind for device in devices()})
    lines = [
        f"rabbet: {VERSION}",
        f"jaxlib: {jaxlib_version()}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version}",
        f"device info: {', '.join(kinds)}, {local_device_count()} local devices",
        f"process_count: {process_count()}",
        f"platform: {platform.uname()}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def process_indices(backend=None):
    """The numbers of all processes of a backend, in a list."""
    return list(range(process_count(backend)))


__all__ = ["print_environment_info", "process_indices"]
