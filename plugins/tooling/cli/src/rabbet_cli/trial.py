"""Starting a backend's native library in a process of its own, which it may end without harm to this one."""

import signal
import subprocess
import sys

from rabbet.extend.backend import CApiBackend

PROGRAM = """
import sys

import rabbet
from rabbet.extend.commands import backend_registry

name, whole = sys.argv[1:]
rabbet.devices(name) if whole == "start" else backend_registry().get(name).plugin.load()
"""
LIMIT = 300


def can_try(backend):
    """Whether a backend is a library behind PJRT's C interface that is here and fits."""
    return isinstance(backend, CApiBackend) and backend.plugin.problem() is None


def trouble(backend, what):
    """Return how a process ends in which a backend is used, or None if it ends by itself.

    An error that is raised there is none of that: here it is raised as well, and can be caught.

    Args:
      backend: a `Backend`; one that is no library of its own is not tried.
      what: "load", its library; or "start", its devices.
    """
    if not can_try(backend):
        return None
    command = [sys.executable, "-c", PROGRAM, backend.platform, what]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it does not {what} within {LIMIT} seconds"
    if done.returncode >= 0:
        return None
    last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    return f"to {what} it ends the process with {signal.Signals(-done.returncode).name}: {last}"
