"""``import rabbet.random`` where no package has it: an error that names the one to install.

Python asks this finder last, for modules of ``rabbet`` that no other finder has. Whether a module is there
(``importlib.util.find_spec``) is answered as ever.
"""

from __future__ import annotations

import sys
from typing import Any

IMPORTS = "_find_and_load_unlocked"  # what runs in importlib where a module is imported, and not looked for

FROM = "_handle_fromlist"


class Finder:
    """See above."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """None; or raise where a first-party package has the module, or its name is JAX's.

        Raises:
          MissingModuleError: with what to do.
        """
        if not fullname.startswith("rabbet."):
            return
        callers = names_of_callers()
        if IMPORTS not in callers[:2]:
            return
        from rabbet.plugins import public_names

        told = public_names.missing_module(fullname.removeprefix("rabbet."))
        if told is not None:
            from rabbet.errors import MissingModuleError

            error = MissingModuleError(told)
            # `from rabbet import random` goes on without a module that is not there, and says less.
            error.name = "rabbet" if FROM in callers else fullname
            raise error


def names_of_callers() -> list[str]:
    """What runs in importlib around the finder, the innermost first."""
    frame: Any = sys._getframe(2)
    names: list[str] = []
    while frame is not None and len(names) < 6:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names


def install() -> None:
    """Have Python ask, behind all finders that are there."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())  # type: ignore[arg-type]


__all__ = ["Finder", "install"]
