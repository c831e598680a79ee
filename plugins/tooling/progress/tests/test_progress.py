"""The progress of long compiles, on terminals made of strings."""

import io
import threading

import pytest
import rabbet_progress
from rabbet_progress.display import Display, is_terminal, open_screen


class Terminal(io.StringIO):
    """A terminal that remembers what was written to it."""

    def isatty(self):
        return True


class FakeScreen:
    """Records lines instead of drawing them; `drawn` is set whenever one is added."""

    def __init__(self, stream):
        self.stream, self.lines, self.closed = stream, [], False
        self.drawn = threading.Event()

    def add(self, text, age):
        self.lines.append(text)
        self.drawn.set()
        return text

    def remove(self, line):
        self.lines.remove(line)

    def close(self):
        self.closed = True


class Opened(list):
    """Makes screens and keeps them; `wait` returns the number-th once a line was drawn on it."""

    def __call__(self, stream):
        self.append(FakeScreen(stream))
        self.made.set()
        return self[-1]

    def __init__(self):
        super().__init__()
        self.made = threading.Event()

    def wait(self):
        assert self.made.wait(20)
        assert self[-1].drawn.wait(20)
        self[-1].drawn.clear()
        return self[-1]


def test_a_long_compile_is_shown_until_it_ends():
    screens, terminal = Opened(), Terminal()
    display = Display(terminal, delay=0, screen=screens)
    display.start("compiling step for cpu")
    screen = screens.wait()
    assert screen.stream is terminal
    assert screen.lines == ["compiling step for cpu"]
    display.finish()
    assert screen.lines == []
    assert screen.closed


def test_a_short_compile_is_not_mentioned():
    screens = Opened()
    display = Display(Terminal(), delay=3600, screen=screens)
    display.start("compiling step for cpu")
    display.finish()
    assert screens == []
    assert [one for one in threading.enumerate() if isinstance(one, threading.Timer) and not one.daemon] == []


def test_a_timer_that_fires_after_the_end_shows_nothing():
    screens = Opened()
    display = Display(Terminal(), delay=3600, screen=screens)
    display.start("compiling step for cpu")
    (job,) = display._jobs[threading.get_ident()]
    display.finish()
    display._show(job)
    assert screens == []


@pytest.mark.parametrize("stream", [io.StringIO(), None, object()])
def test_nothing_happens_where_nobody_watches(stream, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    screens = Opened()
    display = Display(delay=0, screen=screens)
    before = threading.active_count()
    display.start("compiling step for cpu")
    assert threading.active_count() == before
    display.finish()
    assert screens == []


def test_a_closed_stream_is_no_terminal():
    closed = io.StringIO()
    closed.close()
    assert not is_terminal(closed)


def test_compiles_within_a_compile_and_in_other_threads_each_have_a_line():
    screens = Opened()
    display = Display(Terminal(), delay=0, screen=screens)
    go_on = threading.Event()

    def other():
        display.start("other")
        go_on.wait(20)
        display.finish()

    display.start("outer")
    screen = screens.wait()
    display.start("inner")
    screens.wait()
    thread = threading.Thread(target=other)
    thread.start()
    screens.wait()
    assert screen.lines == ["outer", "inner", "other"]
    display.finish()
    assert screen.lines == ["outer", "other"]
    go_on.set()
    thread.join(20)
    assert screen.lines == ["outer"]
    assert not screen.closed
    display.finish()
    assert screen.closed
    assert len(screens) == 1


def test_an_end_without_a_start_is_nothing():
    Display(Terminal(), screen=Opened()).finish()


def test_what_rich_draws(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    screen = open_screen(terminal)
    line = screen.add("compiling [b]step[/b] for cpu", age=61)
    screen._progress.refresh()
    screen.remove(line)
    screen.close()
    drawn = terminal.getvalue()
    assert "compiling [b]step[/b] for cpu" in drawn
    assert "0:01:0" in drawn


def test_the_hooks_drive_the_display(monkeypatch):
    screens = Opened()
    display = Display(Terminal(), 0, screens)
    monkeypatch.setattr(rabbet_progress, "display", lambda: display)
    rabbet_progress.compile_started("step", "cpu")
    assert screens.wait().lines == ["compiling step for cpu"]
    rabbet_progress.compile_finished()
    assert screens[0].closed


def test_a_terminal_that_goes_away_is_not_an_error():
    def gone(stream):
        raise OSError("Input/output error")

    display = Display(Terminal(), delay=3600, screen=gone)
    display.start("compiling step for cpu")
    (job,) = display._jobs[threading.get_ident()]
    display._show(job)
    display.finish()
