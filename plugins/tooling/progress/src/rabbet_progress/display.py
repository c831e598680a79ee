"""What is drawn, and when: waiting out the first second, then one line for each long compile.

Several threads may compile at a time, and a compile may cause another one in its own thread. So
each thread has a stack of jobs; `finish` ends the latest of the calling thread. A job is a timer
until it has lasted ``delay`` seconds, and only then becomes a line. The spinner is drawn by a
thread of its own, which runs while XLA compiles because the compiler lets go of Python's lock.
"""

import sys
import threading
from collections import defaultdict
from typing import Any

DELAY = 1.0


class Display:
    """The lines of the compiles that are taking long.

    Args:
      stream: where to draw; by default standard error, as it is when a job starts.
      delay: seconds that a compile may take unmentioned.
      screen: makes what draws lines on a stream (`open_screen`); tests pass their own.
    """

    def __init__(self, stream=None, delay=DELAY, screen=None):
        self._stream, self._delay = stream, delay
        self._open = open_screen if screen is None else screen
        self._jobs = defaultdict(list)
        self._lock = threading.Lock()
        self._screen: Any = None
        self._shown = 0

    def start(self, text):
        """A compile starts in this thread; it is shown as ``text`` if it lasts long enough."""
        stream = self._stream if self._stream is not None else sys.stderr
        job = Job(text, stream)
        self._jobs[threading.get_ident()].append(job)
        if is_terminal(stream):
            job.timer = threading.Timer(self._delay, self._show, [job])
            job.timer.daemon = True
            job.timer.start()

    def finish(self):
        """The latest compile of this thread has ended; its line, if it had one, goes away."""
        jobs = self._jobs[threading.get_ident()]
        if not jobs:
            return
        job = jobs.pop()
        if not jobs:
            del self._jobs[threading.get_ident()]
        if job.timer is not None:
            job.timer.cancel()
        self._hide(job)

    def _show(self, job):
        with self._lock:
            if job.ended:
                return
            try:
                if self._screen is None:
                    self._screen = self._open(job.stream)
                job.line = self._screen.add(job.text, self._delay)
            except (OSError, ValueError):  # the terminal went away meanwhile: then there is nobody to tell
                return
            self._shown += 1

    def _hide(self, job):
        with self._lock:
            job.ended = True
            if job.line is None:
                return
            self._screen.remove(job.line)
            self._shown -= 1
            if self._shown == 0:
                self._screen.close()
                self._screen = None


class Job:
    """One compile: its text, the timer that waits for it to become long, and its line once it is shown."""

    def __init__(self, text, stream):
        self.text, self.stream = text, stream
        self.timer = self.line = None
        self.ended = False


def is_terminal(stream):
    """Whether there is somebody to watch ``stream``. False for None, closed files and what is no
    file at all.
    """
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def open_screen(stream):
    """A screen on ``stream``, drawn by rich."""
    from .screen import Screen

    return Screen(stream)
