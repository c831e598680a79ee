"""Programs with captured arrays, and with loops that a signal ends, run by the frame in C."""

import ctypes
import functools
import gc
import signal
import sys
import time
import types

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.runtime.arrays import callback_errors
from rabbet.runtime.execution import interruptible

rabbet_native = pytest.importorskip("rabbet_native")
pytestmark = [
    pytest.mark.needs("jit"),
    pytest.mark.usefixtures("captured_arrays_are_arguments"),
    pytest.mark.skipif(not rabbet_native.is_compiled(), reason="there is no library for this Python"),
]


class Cancelled(Exception):
    """What the handler raises."""


def raises(number, frame):
    raise Cancelled


@pytest.fixture
def handler():
    """Sets the handler of SIGALRM for the time of a test."""
    before = signal.getsignal(signal.SIGALRM)
    yield lambda function: signal.signal(signal.SIGALRM, function)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def array(*values):
    return rb.device_put(np.asarray(values, np.float32))


def jitted(function, native=True):
    with rb.config.override(native=native):
        made = rb.jit(function)
    assert (type(made.func).__name__ == "Frame") == native
    return made


@pytest.mark.parametrize("native", [True, False])
def test_captured_arrays_come_before_the_arguments(native):
    v, w = array(1, 2, 3), array(10, 20, 30)
    one = jitted(lambda x: v - w * x, native)
    two = jitted(lambda d, n: {"s": v - d["a"] * n, "t": (w + 0, n)}, native)
    nothing = jitted(lambda: v + w, native)
    for i in range(3):
        assert one(array(2)).tolist() == [-19, -38, -57]
        found = two({"a": array(2, 0, 1)}, i)
        assert found["s"].tolist() == [1 - 2 * i, 2, 3 - i]
        assert found["t"][0].tolist() == [10, 20, 30] and found["t"][1] == i
        assert nothing().tolist() == [11, 22, 33]


def test_a_deleted_argument_beside_captured_arrays_is_said():
    v, said = array(1, 2), []
    for native in (True, False):
        function, x = jitted(lambda x: v * x, native), array(1)
        function(x)
        function(x)
        x.delete()
        with pytest.raises(rb.errors.DeletedArrayError) as caught:
            function(x)
        said.append((str(caught.value), caught.value.__notes__))
        assert function(array(2)).tolist() == [2, 4]
    assert said[0] == said[1]


def until_large(x):
    return lax.while_loop(lambda x: x[0] < 100, lambda x: x * 2, x)


@pytest.mark.parametrize("several", [False, True])
def test_calls_keep_nothing(several):
    v = array(1, 2)
    function = jitted(lambda x: (until_large(x), x + v) if several else until_large(x * v))
    x = array(1, 2)
    for _ in range(50):
        function(x)
    gc.collect()
    before, counts = sys.getallocatedblocks(), (sys.getrefcount(x), sys.getrefcount(v))
    for _ in range(3000):
        function(x)
    gc.collect()
    assert sys.getallocatedblocks() - before < 300
    assert (sys.getrefcount(x), sys.getrefcount(v)) == counts


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("after", [1e-4, 1e-3, 0.05])
def test_a_signal_ends_a_loop(handler, native, after):
    forever = jitted(lambda x: lax.while_loop(lambda x: x[0] > 0, lambda x: x + 0 * x, x), native)
    ends, never = array(0), array(1)
    handler(raises)
    for _ in range(3):
        assert forever(ends).tolist() == [0]
        with pytest.raises(Cancelled):
            signal.setitimer(signal.ITIMER_REAL, after)
            forever(never)
    assert forever(ends).tolist() == [0]


def test_a_loop_runs_again_behind_a_handler_that_raises_nothing(handler):
    heard = []
    handler(lambda number, frame: heard.append(number))
    count = jitted(lambda x: lax.while_loop(lambda x: x < 3e6, lambda x: x + 1, x))
    x = rb.device_put(np.float32(0))
    assert count(x) == 3e6
    for after in (1e-4, 1e-3, 1e-2):
        signal.setitimer(signal.ITIMER_REAL, after)
        assert count(x) == 3e6
        end = time.monotonic() + 30
        while not heard and time.monotonic() < end:
            time.sleep(0.001)
        assert heard.pop() == signal.SIGALRM


def nobody_is_told():
    """Whether the watch gives its place back; then it has read of all signals of before."""
    for i in range(2000):
        before = signal.set_wakeup_fd(-1)
        if before == -1:
            return True
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        if i % 20 == 19 and interruptible._watches:
            interruptible._watches[0].wake()  # it may have given it back between those two lines
        time.sleep(0.01)
    return False


@pytest.fixture
def steady():
    """Makes what runs `plain` in the place of a program, with a watch that is sure of its place, and its
    parts and its watch.
    """

    assert nobody_is_told()

    def make(plain):
        called = []

        def program(raws):
            called.append(raws)
            return "once" if len(called) == 1 else plain(raws)

        run = interruptible.stoppable(made_of(program), "loop")
        assert run([]) == "once"
        watch = run.steady.state[0]

        def execute():
            watch.sure = True
            return rabbet_native.the_library().execute(run, [])

        return execute, run.steady, watch

    return make


def made_of(program):
    device = rb.local_devices()[0].raw
    return types.SimpleNamespace(execute_sharded=program, local_devices=lambda: [device])


def test_a_loop_that_was_cut_short_runs_again(steady):
    calls = []

    def plain(raws):
        calls.append(len(raws))
        if len(calls) == 1:
            assert watch.table is parts.goes_on
            watch.table[1] = False  # a signal has come
            return "cut short"
        return "whole"

    execute, parts, watch = steady(plain)
    assert execute() == "whole" and len(calls) == 2
    assert watch.table is watch.spare and parts.goes_on[1]
    assert execute() == "whole" and calls == [1] * 3


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
@pytest.mark.parametrize("signalled", [False, True])
def test_what_the_program_raises_goes_on(steady, error, signalled):
    def plain(raws):
        if signalled:
            watch.table[1] = False
        raise error

    execute, parts, watch = steady(plain)
    with pytest.raises(type(error)) as caught:
        execute()
    assert caught.value is error
    assert watch.table is watch.spare and parts.goes_on[1]


def test_what_a_callback_makes_of_a_loop_that_was_cut_short_is_dropped(steady):
    calls = []

    def plain(raws):
        calls.append(raws)
        if len(calls) > 1:
            return "whole"
        watch.table[1] = False
        raise callback_errors.put_aside(ValueError("of what the loop had reached"))

    execute, parts, watch = steady(plain)
    assert execute() == "whole" and len(calls) == 2 and parts.goes_on[1]


def test_a_signal_that_came_before_the_program_begins_is_handled_first(handler):
    """In the midst of what C does, where Python handles none."""
    assert nobody_is_told()
    library, began = rabbet_native.the_library(), []
    signalling = functools.partial(max, [signal.SIGALRM], key=ctypes.CDLL(None)["raise"])  # no line of Python
    raw = types.SimpleNamespace(is_deleted=bool, is_ready=signalling)
    run = interruptible.stoppable(made_of(lambda raws: "once"), "loop")
    run([])
    run.steady = run.steady._replace(plain=began.append)
    run.steady.state[0].sure = True
    handler(raises)
    with pytest.raises(Cancelled):
        library.execute(run, [raw])
    assert not began


def test_another_thread_and_a_watch_that_is_not_sure_go_the_long_way(monkeypatch):
    import threading

    library, plain = rabbet_native.the_library(), []
    run = interruptible.stoppable(made_of(lambda raws: "long"), "loop")
    run.steady = run.steady._replace(plain=lambda raws: plain.append(raws) or "short")
    assert library.execute(run, []) == "long"  # the first call
    watch = run.steady.state[0]
    watch.sure = True
    found = []
    thread = threading.Thread(target=lambda: found.append(library.execute(run, [])))
    thread.start()
    thread.join()
    assert found == ["long"]
    watch.sure = False
    assert library.execute(run, []) == "long"
    watch.sure = True
    monkeypatch.setattr(run.steady.callbacks, "depth", 1, raising=False)
    assert library.execute(run, []) == "long" and not plain
