"""Whether this thread is in a Python function that a compiled program calls."""

import threading


class _Running(threading.local):
    depth = 0


running = _Running()
"""``depth``: how many callbacks of compiled programs are running on this thread, one inside the other."""

__all__ = ["running"]
