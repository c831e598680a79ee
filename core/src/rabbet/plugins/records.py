"""What the manager knows about each entry point: a `Record`, and the words in which it is reported.

A record outlives a failure. It keeps the exception that the plugin's import raised, so that
``rabbet doctor`` can show the real cause at any later time, and so that every use of the name
raises the same explanation.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rabbet.messages import source_positions
from rabbet.messages.signal_errors import is_of_handler
from rabbet.plugins import discovery

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

STATUSES = {
    "found": "installed, not imported yet",
    "loaded": "imported and in use",
    "failed": "its import raised",
    "incompatible": "made for another version of rabbet-core; not imported",
    "invalid": "its entry point names an object of the wrong kind for its group",
    "conflict": "another package offers the same name; this one is not used",
    "disabled": "switched off by RABBET_PLUGINS or RABBET_DISABLE_PLUGINS",
    "passed over": "RABBET_PREFER chose another package",
}
BROKEN = frozenset({"failed", "incompatible", "invalid", "conflict"})


@dataclass
class Record:
    """One entry point and what became of it.

    Attributes:
      entry_point: the metadata; ``group``, ``name`` and ``value`` are read from it.
      distribution: the package that declares it, or None where that is not known (yet).
      status: one of `STATUSES`.
      error: the exception that explains the status (an import's own error, as it was raised); None
        where all is well.
      object: what was loaded, once the status is ``loaded``.
      cause, frames: what the error says and where it was raised, kept because a traceback that has been
        shown to a user has lost the plugin's lines.
    """

    entry_point: EntryPoint
    distribution: Distribution | None = None
    status: str = "found"
    error: BaseException | None = None
    object: object = field(default=None, repr=False)
    cause: str = ""
    frames: list[str] = field(default_factory=list, repr=False)

    @property
    def group(self) -> str:
        return self.entry_point.group

    @property
    def name(self) -> str:
        return self.entry_point.name

    @property
    def value(self) -> str:
        return self.entry_point.value

    @property
    def broken(self) -> bool:
        return self.status in BROKEN

    @property
    def package(self) -> str:
        """The distribution's name, or the import package's where no distribution is known."""
        return _stated(self.distribution, "name") or discovery.package_of(self.entry_point)

    @property
    def called(self) -> frozenset[str]:
        """What the settings may call it: the distribution's and the import package's name, normalised."""
        return frozenset(map(discovery.normalise, (self.package, discovery.package_of(self.entry_point))))

    @property
    def version(self) -> str:
        """The distribution's version; empty where it is not known."""
        return _stated(self.distribution, "version")

    @property
    def title(self) -> str:
        """``rabbet-autodiff 0.3.1 (rabbet_autodiff:grad)``."""
        return " ".join(part for part in (self.package, self.version, f"({self.value})") if part)


def _stated(distribution: Any, what: str) -> str:
    """What the metadata of a distribution says of itself; empty where it says nothing or cannot be read."""
    try:
        return getattr(distribution, what, None) or ""
    except Exception as error:
        if is_of_handler(error):
            raise
        return ""


def cause(error: BaseException) -> str:
    """``OSError: libnope.so: cannot open shared object file (rabbet_x/native.py:3)``: what, and where.

    The place is the innermost line outside Python's own library, because that is the line to mend.
    """
    import traceback  # here, as below: where something went wrong

    text = "".join(traceback.format_exception_only(error)).strip()
    frames = _frames(error)
    outside = [one for one in frames if "site-packages" in one.filename or not _is_in(one, STDLIB)]
    place = (outside or frames or [None])[-1]
    return text if place is None else f"{text} ({source_positions.short_path(place.filename)}:{place.lineno})"


def last_frames(error: BaseException, count: int = 3) -> list[str]:
    """The last ``count`` lines of the traceback, innermost last: ``rabbet_x/native.py:3, in load: ...``."""
    return [
        f"{source_positions.short_path(one.filename)}:{one.lineno}, in {one.name}: {one.line}"
        for one in _frames(error)[-count:]
    ]


STDLIB = os.path.dirname(os.__file__)
MACHINERY = ("<frozen importlib", os.path.join(STDLIB, "importlib"), os.path.dirname(__file__))


def _frames(error: BaseException | Exception) -> list[Any]:
    """The traceback without the import system and without this package."""
    import traceback

    return [one for one in traceback.extract_tb(error.__traceback__) if not _is_in(one, MACHINERY)]


def _is_in(frame: Any, folders: tuple[str, ...] | str) -> bool:
    return frame.filename.startswith(folders)
