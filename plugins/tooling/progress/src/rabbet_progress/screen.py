"""Drawing with rich; imported when the first long compile is about to be shown."""

import time

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Screen:
    """Lines with a spinner and the elapsed time, at the bottom of a terminal; they leave no trace
    when closed.
    """

    def __init__(self, stream):
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        # rich would put its own objects in place of sys.stdout and sys.stderr: not from a thread of ours.
        console = Console(file=stream)
        self._progress = Progress(
            *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._progress.start()

    def add(self, text, age):
        """Draw a line for something that started ``age`` seconds ago; returns what `remove` wants."""
        line = self._progress.add_task(text, total=None)
        self._progress.tasks[-1].start_time = time.monotonic() - age
        return line

    def remove(self, line):
        """Take a line away."""
        self._progress.remove_task(line)

    def close(self):
        """Give the terminal back as it was."""
        self._progress.stop()
