"""The prompt of ``rabbet.debug.breakpoint``: the functions that were running, their variables, a few commands
of pdb.

The frames are taken when the program is traced, the values of their arrays when it runs.
"""

import cmd
import contextlib
import linecache
import pprint
import sys
import types
from typing import NamedTuple

from rabbet.extend.transform import is_tracer
from rabbet.extend.wrapping import is_internal, short_path


class Frame(NamedTuple):
    """A function that was running: its place, and the global names that expressions may use."""

    file: str
    line: int
    function: str
    globals: dict


def captured_frames(filter_frames=True, most=None):
    """The frames of the caller, the innermost first, and the variables of each.

    Returns:
      (frames, variables): lists of ``Frame`` and of dicts, in which what holds nothing traced is ``Opaque``.
    """
    frames, variables = [], []
    frame: types.FrameType | None = sys._getframe(1)
    inside = True
    while frame is not None and (most is None or len(frames) < most):
        internal = is_internal(frame.f_code.co_filename)
        inside = inside and internal
        if not inside and not (filter_frames and internal):
            frames.append(
                Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, frame.f_globals)
            )
            # A module's variables are its globals, and not all belong to the program.
            at_module = frame.f_locals is frame.f_globals
            names = _traced_only(frame.f_locals) if at_module else frame.f_locals
            variables.append({name: _wrapped(value) for name, value in names.items()})
        frame = frame.f_back
    return frames, variables


def _traced_only(names):
    return {name: value for name, value in names.items() if is_tracer(value)}


class Opaque:
    """A variable that holds nothing traced: no part of a program, whatever it is."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def _wrapped(value):
    return value if _is_traced(value) else Opaque(value)


def _is_traced(value):
    if isinstance(value, list | tuple | dict):
        return any(_is_traced(v) for v in (value.values() if isinstance(value, dict) else value))
    return is_tracer(value) and value.interpreter.alive


def _unwrapped(value):
    return value.value if type(value) is Opaque else value


class Quit(Exception):
    """Raised in the program by the prompt's command ``q``."""


class Prompt(cmd.Cmd):
    """Commands on the captured frames; an expression alone is printed."""

    prompt = "(rbdb) "

    def __init__(self, frames, variables, stdin=None, stdout=None):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames, self.at = frames, 0
        self.variables = [{name: _unwrapped(value) for name, value in names.items()} for names in variables]
        self.quitting = False

    def say(self, text):
        self.stdout.write(f"{text}\n")

    def evaluate(self, text, show=str):
        try:
            scope = {**self.frames[self.at].globals, **self.variables[self.at]}
            self.say(show(eval(text, scope)))
        except Exception as error:  # whatever the user typed
            self.say(f"*** {type(error).__name__}: {error}")

    def default(self, line):
        if line == "EOF":
            return True
        return self.evaluate(line, repr)

    def emptyline(self):
        return False

    def do_p(self, text):
        """p EXPRESSION: print its value."""
        self.evaluate(text, repr)

    def do_pp(self, text):
        """pp EXPRESSION: print its value prettily."""
        self.evaluate(text, pprint.pformat)

    def do_a(self, text):
        """a: print the variables of this frame."""
        for name, value in self.variables[self.at].items():
            self.say(f"{name} = {value!r}")

    def do_l(self, text):
        """l: list the source around this frame's line."""
        frame = self.frames[self.at]
        for number in range(max(1, frame.line - 5), frame.line + 6):
            line = linecache.getline(frame.file, number)
            if line:
                self.say(f"{'->' if number == frame.line else '  '} {number:4} {line.rstrip()}")

    def do_w(self, text):
        """w: print the frames, the innermost first."""
        for i, frame in enumerate(self.frames):
            mark = ">" if i == self.at else " "
            self.say(f"{mark} {short_path(frame.file)}:{frame.line} in {frame.function}")

    def do_u(self, text):
        """u: go to the frame that called this one."""
        self.go(self.at + 1, "oldest")

    def do_d(self, text):
        """d: go to the frame that this one called."""
        self.go(self.at - 1, "newest")

    def go(self, place, which):
        if 0 <= place < len(self.frames):
            self.at = place
            self.do_w("")
        else:
            self.say(f"*** {which} frame")

    def do_c(self, text):
        """c: let the program go on."""
        return True

    def do_q(self, text):
        """q: end the program with an exception."""
        self.quitting = True
        return True

    do_bt, do_where, do_up, do_down, do_list, do_args = do_w, do_w, do_u, do_d, do_l, do_a
    do_cont, do_continue, do_quit = do_c, do_c, do_q


def open_prompt(frames, variables, stdin=None, stdout=None):
    """Run the prompt until the user lets the program go on.

    Raises:
      Quit: the user ended the program.
    """
    prompt = Prompt(frames, variables, stdin, stdout)
    if frames:
        first = frames[0]
        prompt.say(
            f"{short_path(first.file)}:{first.line} in {first.function}: c goes on, help lists commands"
        )
    with contextlib.suppress(KeyboardInterrupt):
        prompt.cmdloop()
    if prompt.quitting:
        raise Quit("the program was ended at a breakpoint")


__all__ = ["Frame", "Prompt", "Quit", "captured_frames", "open_prompt"]
