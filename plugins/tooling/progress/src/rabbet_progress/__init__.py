"""Shows compilations that take longer than a second: a spinner, the program's name and the elapsed time.

Nothing is imported from this package before the first compile, nothing is drawn before the first second
is over, and nothing at all where standard error is not a terminal.
"""

import functools

from rabbet.extend.hooks import hookimpl

from .display import Display


@functools.cache
def display():
    """The display of this process."""
    return Display()


@hookimpl
def compile_started(name, platform):
    display().start(f"compiling {name} for {platform}")


@hookimpl
def compile_finished():
    display().finish()
