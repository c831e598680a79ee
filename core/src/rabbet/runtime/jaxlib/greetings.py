"""Lines that libraries of C++ print where all is well, left out of what a process prints."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

# What Gloo prints for each group of processes that it connects, to the standard output.
GREETINGS = (b"[Gloo] Rank ",)
STANDARD_OUTPUT = 1
BLOCK = 65536
_one_at_a_time = threading.Lock()


@contextlib.contextmanager
def left_out() -> Iterator[None]:
    """Leave lines with ``GREETINGS`` out of the standard output meanwhile; all else is passed on at once.

    Programs that were started meanwhile have the same output: it is passed on for as long as they write.
    Where there is no standard output, or one such block runs already, nothing is changed.
    """
    if not _one_at_a_time.acquire(blocking=False):
        yield
        return
    try:
        try:
            output = os.dup(STANDARD_OUTPUT)
        except OSError:
            yield
            return
        source, sink = os.pipe()
        reader = threading.Thread(target=pass_on, args=(source, os.dup(output)), daemon=True)
        reader.start()
        os.dup2(sink, STANDARD_OUTPUT)
        os.close(sink)
        try:
            yield
        finally:
            os.dup2(output, STANDARD_OUTPUT)  # the last end to write to, unless others were started
            os.close(output)
            reader.join(0.2)
    finally:
        _one_at_a_time.release()


def pass_on(source: int, output: int) -> None:
    """Copy from one file descriptor to another until its end, without the lines of GREETINGS."""
    rest = b""
    try:
        while block := os.read(source, BLOCK):
            *lines, rest = (rest + block).split(b"\n")
            kept = [line + b"\n" for line in lines if not line.startswith(GREETINGS)]
            if not any(text.startswith(rest[: len(text)]) for text in GREETINGS):  # it becomes none
                kept.append(rest)
                rest = b""
            write(output, b"".join(kept))
        write(output, rest)
    except OSError:  # nobody reads any more
        pass
    finally:
        os.close(source)
        os.close(output)


def write(output: int, data: bytes) -> None:
    """Write all of it."""
    while data:
        data = data[os.write(output, data) :]


__all__ = ["GREETINGS", "left_out"]
