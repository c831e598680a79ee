"""Who writes kernels for hardware: other packages, by the entry-point group ``rabbet.pallas_targets``."""

import dataclasses
import functools
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from rabbet.errors import NotOfferedError, PluginError
from rabbet.extend.functions import source_position

GROUP = "rabbet.pallas_targets"
PACKAGES = {"cuda": "rabbet-pallas-triton", "tpu": "rabbet-pallas-tpu"}


@dataclasses.dataclass(frozen=True)
class Target:
    """A writer of kernels for a platform.

    Args:
      name: the name of its entry point in ``rabbet.pallas_targets``.
      platform: for which platform, ``"cuda"``.
      write: ``write(site, call, names) -> names`` writes a ``Call`` whose operands have these names into the
        program; ``site`` is what rules of the table ``lower`` are given. It raises ``Refused`` for what
        cannot be.
      params: the class of ``compiler_params`` that chooses it where a platform has several; or None.
      doc: one sentence.
    """

    name: str
    platform: str
    write: Callable[..., list[str]]
    params: Any = None
    doc: str = ""


class Refused(Exception):
    """What a kernel has that a target cannot write.

    Args:
      what: what it has, as it stands behind "the kernel has": "scratch that outlives a program".
      fix: what to write instead.
      where: the ``where`` of the equation in question, or None.
    """

    def __init__(self, what: str, fix: str, where: Any = None):
        super().__init__(what)
        self.what, self.fix, self.where = what, fix, where


def all_targets(platform: str) -> list[Target]:
    """The targets of a platform, by name."""
    return [t for t in map(installed, listed(tuple(sys.path))) if t.platform == platform]


@functools.lru_cache(maxsize=4)
def listed(folders) -> list[Any]:
    """The entry points of targets that are installed in these folders, by name."""
    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


@functools.cache
def installed(entry) -> Target:
    """The target that an entry point names."""
    found = entry.load()
    if not isinstance(found, Target) or found.name != entry.name:
        raise PluginError(
            f"the entry point {entry.name!r} of {GROUP} names {found!r:.60}\n  to fix: let it name a "
            f"rabbet.experimental.pallas.targets.Target whose name is {entry.name!r}"
        )
    return found


def writer(call, platform, where=None):
    """The target for a call, or None where it is computed by operations, as on the CPU."""
    found = all_targets(platform)
    if not found and platform != "cpu":
        package = PACKAGES.get(platform)
        raise NotOfferedError(
            f"kernel {call.name!r} is to run on {platform}, for which no installed package writes kernels\n"
            f"  where: {position(where)}\n  to fix: "
            + (f"python -m pip install {package}; or " if package else "")
            + "pallas_call(..., interpret=True), which computes it by operations, more slowly"
        )
    chosen = [t for t in found if t.params is not None and isinstance(call.params, t.params)]
    if platform == "cpu":  # which computes kernels by operations unless a target is asked for
        return chosen[0] if chosen else None
    return (chosen or found)[0]


def doctor(manager):
    """What ``rabbet doctor`` says of targets."""
    for entry in listed(tuple(sys.path)):
        target = installed(entry)
        yield f"kernels for {target.platform}", True, f"{target.name}: {target.doc}"


def written(target, site, call, names):
    """The names of the results, after a target has written the call."""
    if site.cut_over != 1:
        raise NotOfferedError(
            f"kernel {call.name!r} stands in a program that the compiler cuts up over devices, which "
            f"it cannot do with a kernel\n  where: {position(site.where)}\n  to fix: call it within shard_map"
        )
    try:
        return target.write(site, call, list(names))
    except Refused as refused:
        raise NotOfferedError(
            f"kernel {call.name!r} cannot be written for {site.platform} by {target.name!r}: it has "
            f"{refused.what}\n"
            f"  where: {position(refused.where or site.where)}\n  to fix: {refused.fix}"
        ) from None


def position(where):
    """The user's line."""
    return "an unknown line" if where is None else str(source_position(where))


__all__ = ["GROUP", "Refused", "Target", "all_targets", "writer", "written"]
