"""Trying what others wrote in a process of its own, which it may end without harm to this one."""

import os
import signal
import subprocess
import sys

from rabbet.errors import PluginError
from rabbet.extend.commands import plugin_manager
from rabbet.extend.hooks import official_packages

LIMIT = 300
PROGRAM = """
import sys

import numpy
import rabbet
from rabbet import lax
from rabbet.extend.commands import backend_registry

name, whole = sys.argv[1:]
if whole == "start":
    device = rabbet.devices(name)[0]
    x = rabbet.device_put(numpy.ones(2, "float32"), device)
    assert numpy.asarray(lax.add(x, x)).tolist() == [2, 2], "1 + 1 is not 2 there"
else:
    backend_registry().get(name).plugin.load()
"""


def can_try(backend):
    """Whether a backend is a library behind PJRT's C interface that is here and fits."""
    plugin = getattr(backend, "plugin", None)
    return plugin is not None and plugin.problem() is None


def trouble(backend, what):
    """Return how a process ends in which a backend is used, or None if it ends by itself.

    An error that is raised there while devices start is none of that: here it is raised as well, and can be
    caught.

    Args:
      backend: a `Backend`.
      what: "load", its library, where it is one behind PJRT's C interface; or "start", its devices, on one of
        which two numbers are added.
    """
    if what == "load" and not can_try(backend):
        return None
    owner = [r.package for r in of("rabbet.backends") if r.name == backend.platform and not r.broken]
    ended = in_child(PROGRAM, backend.platform, what, package=owner[0] if owner else None)
    if ended is None or (ended.startswith("it raised") and what == "start"):
        return None
    return f"to {what} {ended}"


def obstacle_of(backend):
    """What a backend says stands in its way, or None.

    Raises:
      PluginError: it said something else than a text.
    """
    said = backend.obstacle()
    if said is not None and not isinstance(said, str):
        raise PluginError(
            f"obstacle() of the {backend.platform!r} backend returned {said!r:.60}; expected is None where "
            "nothing stands in the way, else a text that says what does"
        )
    return said


def in_child(program, *args, package=None, without_passes=()):
    """Run a program in a process of its own. Returns None if it ends well, else in words how it ends.

    Args:
      package: whose matter it is: the packages of other strangers are switched off there, so that it is not
        told what these do. None: of Rabbet's own.
      without_passes: names of passes that are switched off.
    """
    command = [sys.executable, "-W", "ignore", "-c", program, *args]
    env = dict(os.environ)
    off = [env.get("RABBET_DISABLE_PLUGINS"), *sorted(strangers() - {package})]
    env["RABBET_DISABLE_PLUGINS"] = ",".join(filter(None, off))
    off = [env.get("RABBET_DISABLE_PASSES"), *without_passes]
    env["RABBET_DISABLE_PASSES"] = ",".join(filter(None, off))
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, encoding="utf-8", errors="replace", timeout=LIMIT,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it does not end within {LIMIT} seconds"
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines() or ["it says nothing"]
    if done.returncode < 0:
        return f"it ends the process with {signal.Signals(-done.returncode).name}: {said[-1]}"
    if not any(line.startswith("Traceback") for line in said):
        return f"it ends the process with status {done.returncode}: {said[-1]}"
    return f"it raised {error_in(said)}"


def strangers():
    """The packages that act by themselves and are none of Rabbet's."""
    records = [r for group in ("rabbet.passes", "rabbet.hooks", "rabbet.backends") for r in of(group)]
    return {record.package for record in records} - set(official_packages())


def of(group):
    return plugin_manager().records(group)


def error_in(lines):
    """The error at the end of what Python printed, with its notes."""
    last = max(i for i, line in enumerate(lines) if line.startswith("Traceback"))
    inside = [i for i in range(last + 1, len(lines)) if lines[i][:1] not in (" ", "")]
    told = lines[inside[0] :] if inside else lines[-1:]
    return "\n".join([line for line in told if "frames inside Rabbet" not in line])


__all__ = ["can_try", "in_child", "obstacle_of", "trouble"]
