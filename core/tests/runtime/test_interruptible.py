"""Loops that a signal ends, whenever it comes, and beside other handlers."""

import os
import signal
import sys
import threading
import time
import types

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.runtime.arrays import callback_errors
from rabbet.runtime.execution import interruptible
from rabbet.runtime.jaxlib import raw_values


class Cancelled(Exception):
    """What the handler raises."""


@pytest.fixture
def handler():
    """Sets the handler of SIGUSR1 for the time of a test."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda function: signal.signal(signal.SIGUSR1, function)
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def sigint_is_ignored():
    """As in what a shell starts in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def made_of(raw_device):
    """`stoppable` for a function in the place of a program. SIGINT has a handler, which it has not in what a
    shell starts in the background, and no earlier test has left a signal of which the watch has not read.
    """
    assert nobody_is_told()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def make(plain):
        exe = types.SimpleNamespace(execute_sharded=plain, local_devices=lambda: [raw_device])
        return interruptible.stoppable(exe, "loop")

    yield make
    signal.signal(signal.SIGINT, before)


def nobody_is_told():
    """Whether the place of who is told of signals is given back, some time after the last loop. Then the
    watch has also read of all signals of before, of which it would end a later loop.
    """
    for i in range(2000):
        before = signal.set_wakeup_fd(-1)
        if before == -1:
            return True
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        if i % 20 == 19 and interruptible._watches:
            interruptible._watches[0].wake()  # it may have given it back between those two lines
        time.sleep(0.01)
    return False


def comes_true(ask, seconds=20):
    """Whether `ask()` says so in time: the machine may have much else to do."""
    end = time.monotonic() + seconds
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(0.005)
    return found


def goes_on(raws):
    """Whether the program with these arguments goes on, as its loops ask it."""
    return bool(raw_values.to_numpy(raws[-1])[1])


@pytest.fixture
def lost(handler, monkeypatch):
    """How many signals are lost in a function, and how many come through: one at each place where Python
    handles them, when functions of its own begin and when others have returned. Those do not count whose
    exceptions Python drops itself, in callbacks of weak references for example.
    """
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: dropped.append(told.exc_type))

    def raises(number, frame):
        raise Cancelled

    def count(function, every=1):
        handler(raises)
        place = sent = missed = passed = 0

        def profile(frame, event, argument):
            nonlocal passed
            if event in ("call", "c_return"):
                passed += 1
                if passed == place:
                    signal.raise_signal(signal.SIGUSR1)

        while passed >= place:
            place, passed, before = place + every, 0, len(dropped)
            try:
                sys.setprofile(profile)
                function()
                sys.setprofile(None)
                missed += len(dropped) == before and passed >= place
            except Cancelled:
                sent += 1
            finally:
                sys.setprofile(None)
        assert nobody_is_told()
        return missed, sent

    return count


@pytest.mark.needs("jit")
def test_no_signal_is_lost_while_a_loop_is_made_ready_and_runs(monkeypatch, lost):
    """jaxlib looked for jax there, and dropped what a handler raised meanwhile: loops ran forever."""
    x, made, stoppable = rb.device_put(np.ones(3, "float32")), [], interruptible.stoppable
    monkeypatch.setattr(interruptible, "stoppable", lambda *of: made.append(of) or stoppable(*of))
    rb.jit(lambda x: lax.while_loop(lambda v: v[0] < 9, lambda v: v * 2, x))(x).block_until_ready()
    missed, came = lost(lambda: stoppable(*made[0])([x.raw]))
    assert missed == 0 and came > 20
    once_more = stoppable(*made[0])
    once_more([x.raw])
    missed, came = lost(lambda: once_more([x.raw]))  # by the short way
    assert missed == 0 and came > 2


@pytest.mark.needs("jit")
@pytest.mark.exhaustive  # 3 to 5 s: a fifth of two thousand places, each with a program of its own
def test_no_signal_is_lost_while_a_fresh_loop_is_traced_compiled_and_run(lost):
    x = rb.device_put(np.ones(3, "float32"))

    def loop():
        rb.jit(lambda x: lax.while_loop(lambda v: v[0] < 9, lambda v: v * 2, x))(x).block_until_ready()

    loop()
    missed, came = lost(loop, every=5)
    assert missed == 0 and came > 300


@pytest.mark.needs("jit")
@pytest.mark.usefixtures("no_jax")
def test_a_loop_is_made_ready_without_a_look_for_jax():
    x = rb.device_put(np.ones(3, "float32"))
    assert rb.jit(lambda x: lax.while_loop(lambda v: v[0] < 9, lambda v: v * 2, x))(x).tolist() == [16.0] * 3


def test_a_loop_is_told_of_signals_where_ctrl_c_is_ignored(made_of, handler, sigint_is_ignored):
    heard = []
    handler(lambda number, frame: heard.append(number))

    def plain(raws):
        if not heard:
            signal.raise_signal(signal.SIGUSR1)
            end = time.monotonic() + 20
            while goes_on(raws) and time.monotonic() < end:
                time.sleep(0.001)
            return "whole" if goes_on(raws) else "cut short"
        return "again"

    assert made_of(plain)([]) == "again" and heard


def test_other_programs_are_handed_over_where_anything_has_a_handler(handler, sigint_is_ignored, monkeypatch):
    main, run = threading.get_ident(), interruptible.handed_over(lambda raws: threading.get_ident(), "loop")
    handler(lambda number, frame: None)
    assert run([]) != main
    handler(signal.SIG_DFL)
    nobody = types.SimpleNamespace(getsignal=lambda n: signal.SIG_IGN if n == signal.SIGINT else None)
    monkeypatch.setattr(interruptible, "_signal", nobody)
    assert run([]) == main


def test_a_loop_that_a_signal_handler_runs_gives_no_other_its_result(made_of):
    """A handler that runs when the same loop was cut short."""
    calls = []

    def plain(raws):
        calls.append(raws)
        if len(calls) > 1:
            return "whole"
        interruptible._watches[0].table[1] = False  # a signal has come
        assert run([]) == "whole"  # of which its handler has need
        return "cut short"

    run = made_of(plain)
    assert run([]) == "whole" and len(calls) == 3


def test_a_loop_that_a_signal_handler_runs_leaves_no_other_without_a_watch(made_of, monkeypatch):
    """A handler that runs when another loop is about to begin."""
    went_on, began = [], []
    inner = made_of(lambda raws: "inner")

    def plain(raws):
        went_on.append(goes_on(raws))
        return "outer"

    def hear(fd, **options):
        before = signal.set_wakeup_fd(fd, **options)
        if fd != -1 and not began:
            began.append(fd)
            assert inner([]) == "inner"
        return before

    theirs = types.SimpleNamespace(set_wakeup_fd=hear, getsignal=signal.getsignal)
    monkeypatch.setattr(interruptible, "_signal", theirs)
    assert made_of(plain)([]) == "outer"
    assert went_on == [False, True]  # it ends at once, and runs again where it can be left


def test_one_loop_behind_another_asks_once_to_be_told(made_of, monkeypatch):
    run, asked = made_of(lambda raws: "whole"), []
    run([])
    watch = interruptible._watches[0]
    monkeypatch.setattr(watch, "listens", lambda: bool(asked.append(1)) or interruptible.Watch.listens(watch))

    def is_sure():  # unless the watch looks just then
        asked.clear()
        watch.sure = True
        return run([]) == "whole" and not asked

    assert comes_true(is_sure)
    watch.sure = False
    assert run([]) == "whole" and asked
    assert nobody_is_told()


def test_who_takes_the_place_of_who_is_told_keeps_it(made_of):
    run = made_of(lambda raws: threading.get_ident())
    main = threading.get_ident()
    assert run([]) == main
    watch = interruptible._watches[0]
    hears, told = os.pipe()
    os.set_blocking(told, False)
    try:
        signal.set_wakeup_fd(told)
        assert comes_true(lambda: run([]) != main and not watch.sure)  # from the next look on
        assert run([]) != main
        time.sleep(5 * interruptible.TICK_SECONDS)
    finally:
        assert signal.set_wakeup_fd(-1) == told
        os.close(hears)
        os.close(told)


def test_a_library_that_puts_back_who_was_told_leaves_no_other_unseen(made_of, monkeypatch):
    """One that had the place until this one had gone to sleep: the next to take it was not seen."""
    run, slept = made_of(lambda raws: threading.get_ident()), []
    main, pipes = threading.get_ident(), [os.pipe(), os.pipe()]
    for _, told in pipes:
        os.set_blocking(told, False)
    assert run([]) == main
    watch = interruptible._watches[0]
    asks = lambda: slept.append(interruptible.Watch.ask_main_thread(watch)) or slept[-1]

    def taken():
        """Take the place that the watch has; it may have given it back just before."""
        slept.clear()
        run([])
        before = signal.set_wakeup_fd(pipes[0][1])
        if before != watch.told:
            signal.set_wakeup_fd(before)
        return before == watch.told

    monkeypatch.setattr(watch, "ask_main_thread", asks)
    try:
        assert comes_true(taken)
        assert comes_true(lambda: slept and slept[-1])
        assert signal.set_wakeup_fd(watch.told) == pipes[0][1]
        assert run([]) == main
        signal.set_wakeup_fd(pipes[1][1])
        assert comes_true(lambda: run([]) != main)
    finally:
        signal.set_wakeup_fd(-1)
        for both in pipes:
            for fd in both:
                os.close(fd)
    assert run([]) == main and nobody_is_told()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system that does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_signals_of_a_forked_child_are_not_told_to_its_parent(made_of, handler):
    def plain(raws):
        child = os.fork()
        if not child:
            before = signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGUSR1, lambda number, frame: None)
            signal.raise_signal(signal.SIGUSR1)
            os._exit(before != -1)
        assert os.waitpid(child, 0)[1] == 0
        time.sleep(0.05)
        return goes_on(raws)

    handler(lambda number, frame: None)
    assert made_of(plain)([]) is True
    assert nobody_is_told()


def raised_in(function):
    try:
        function()
    except BaseException as error:
        return error


def from_the_handlers_error():
    try:
        signal.raise_signal(signal.SIGUSR1)
    except Cancelled as error:
        raise ValueError("what the callback makes of it") from error


@pytest.mark.parametrize(
    ("in_callback", "comes_out"),
    [
        (lambda: int("?"), None),  # of what a loop that was cut short had reached
        (lambda: signal.raise_signal(signal.SIGUSR1), Cancelled),
        (from_the_handlers_error, ValueError),
        (lambda: sys.exit("enough"), SystemExit),
    ],
)
def test_what_is_raised_behind_a_loop_that_was_cut_short(made_of, handler, in_callback, comes_out):
    calls = []

    def raises(number, frame):
        raise Cancelled

    def plain(raws):
        calls.append(raws)
        if len(calls) > 1:
            return "whole"
        interruptible._watches[0].table[1] = False  # a signal has come
        handler(raises)
        error = raised_in(in_callback)
        handler(signal.SIG_DFL)
        handler(raises)
        raise callback_errors.put_aside(error)

    run = made_of(plain)
    if comes_out is None:
        assert run([]) == "whole" and len(calls) == 2
    else:
        with pytest.raises(callback_errors.CallbackFailure) as caught:
            run([])
        assert type(callback_errors.original(caught.value)) is comes_out and len(calls) == 1


@pytest.mark.needs("jit", "pure_callback")
@pytest.mark.parametrize("raising", [False, True])
def test_a_signal_in_a_callback_of_a_loop(handler, raising):
    turns, heard = [], []

    def hears(number, frame):
        heard.append(number)
        if raising:
            raise Cancelled

    def turn(x):
        turns.append(float(x))
        if len(turns) == 3:
            signal.raise_signal(signal.SIGUSR1)
        return np.float32(x + 1)

    @rb.jit
    def loop(x):
        return lax.while_loop(lambda x: x < 6, lambda x: rb.pure_callback(turn, rb.typeof(x), x), x)

    handler(hears)
    x = rb.device_put(np.float32(0))
    if raising:
        with pytest.raises(Cancelled):
            loop(x)
        assert len(turns) == 3
    else:
        assert loop(x) == 6 and turns[-6:] == [0, 1, 2, 3, 4, 5]
    assert heard and nobody_is_told()


@pytest.mark.needs("jit", "pure_callback")
def test_a_loop_in_a_callback_of_a_loop_leaves_it_its_watch():
    turns = []
    inner = rb.jit(lambda x: lax.while_loop(lambda x: x < 9, lambda x: x * 2, x))
    one = rb.device_put(np.float32(1))

    def turn(x):
        turns.append(float(x))
        return np.float32(x + inner(one).item())

    @rb.jit
    def outer(x):
        return lax.while_loop(lambda x: x < 40, lambda x: rb.pure_callback(turn, rb.typeof(x), x), x)

    assert outer(rb.device_put(np.float32(0))) == 48 and turns == [0, 16, 32]
