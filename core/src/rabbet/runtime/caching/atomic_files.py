"""Files that appear whole or not at all, for the user alone."""

from __future__ import annotations

import os
from typing import Any

from rabbet.messages.signal_errors import suppressed

TEMPORARY = ".tmp-"  # what a process that was ended may leave behind


def write_whole(path: Any, content: bytes) -> None:
    """Write bytes to a file of mode 0600, which takes the place of the one that was there."""
    import tempfile  # it loads eight modules, and most processes write nothing

    handle, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=os.path.dirname(path))  # mode 0600
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppressed(OSError):
            os.unlink(temporary)
        raise
