"""Programs that may never end, run so that Ctrl-C gives control back.

On the CPU a program runs on the thread that calls it, and Python handles signals between two bytecode
instructions only. So a compiled loop that does not end could not be interrupted. For a program on the main
thread that has a loop with an unknown number of steps, there are two ways:

- Loops that can be stopped (``rabbet.lowering.stop_flag``) run on the main thread. When a signal comes,
  Python's handler in C wakes a thread, which sets a flag that the loop reads. The program ends at once; its
  results are dropped, and Python handles the signal. If the handler raises nothing, the program runs again;
  so what it may call of Python are functions without effects. While one such program follows another, who is
  to be woken is not asked for again: a library that takes that place in between is seen within 20 ms.
- Other programs run on a helper thread, and the main thread waits where a signal can wake it. Changing
  threads costs 8 to 50 us. When a signal raises, the program is left to finish by itself.

Loops with a known number of steps (``fori_loop`` with fixed bounds, ``scan``) are not interrupted.
"""

from __future__ import annotations

import _signal
import _thread
import contextlib
import os
import select
import signal
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.config import config
from rabbet.lowering import stop_flag
from rabbet.program.avals import ShapedArray
from rabbet.runtime.arrays import callback_errors
from rabbet.runtime.execution.frames import LoopParts
from rabbet.runtime.jaxlib import adapter, inside_callback, interpreter_exit, raw_values

if TYPE_CHECKING:
    from rabbet.runtime.compilation.program import Lowering

_idle: list = []
_watches: list = []
_at_fork: list = []
GIVEN_UP_SECONDS = 5.0  # for what was told to end
LOOK_SECONDS = 0.5  # until a signal that did not wake the main thread is seen
nothing: Any = type(None)
NO_HANDLER = (signal.SIG_IGN, None)
TICK_SECONDS = 0.02
QUIET_TICKS = 3
TICKS = b"\0"  # no signal has this number


def concerns(lowering: Lowering) -> bool:
    """Whether a program has to be run by the functions here."""
    return lowering.platform == "cpu" and may_run_for_ever(lowering.jaxpr)


def execute(exe: Any, lowering: Lowering) -> Any:
    """What runs an executable, `execute(raws, **options)`; interruptible where that is needed."""
    if lowering.stops:
        return stoppable(exe, lowering.name)
    return handed_over(exe.execute_sharded, lowering.name) if concerns(lowering) else exe.execute_sharded


def handed_over(plain: Any, name: str) -> Callable[..., Any]:
    """`plain`, run on a helper thread where the main thread calls."""
    main = threading.main_thread().ident

    def run_elsewhere(raws: list[Any], **options: Any) -> Any:
        if threading.get_ident() != main or no_handlers():
            return plain(raws, **options)
        try:
            helper = _helper()
        except RuntimeError:  # the interpreter exits, or the system has no more threads
            return plain(raws, **options)
        return helper.run(
            plain,
            (raws,),
            options,
            f"{name!r} is still running, on a thread of its own: it cannot be stopped, and keeps its "
            "arguments and a processor busy until its loop ends or the process does",
        )

    return run_elsewhere


def no_handlers() -> bool:
    """Whether no signal has a handler in Python. SIGINT usually has one; where it is ignored, as in what
    a shell starts in the background, another may have one, an alarm's for example.
    """
    ask = _signal.getsignal
    return ask(signal.SIGINT) in NO_HANDLER and not any(callable(ask(n)) for n in range(1, signal.NSIG))


def stoppable(exe: Any, name: str) -> Callable[..., Any]:
    """What runs an executable that takes a table of ``stopping`` behind its arguments. Where it calls Python,
    the callbacks behind a loop that was stopped are called too, and again when the program runs again.
    """
    plain, device = exe.execute_sharded, exe.local_devices()[0]
    never = table(np.array([False, True]), device)

    def to_the_end(raws: list[Any], **options: Any) -> str:
        return plain([*raws, never], **options)

    otherwise = handed_over(to_the_end, name)
    room = np.zeros(2 * 64, bool)  # of which XLA takes as it is what begins at a multiple of 64
    entries = room[-room.ctypes.data % 64 :][:2]
    entries[1] = True
    shared = table(entries, device)
    # Not `unsafe_buffer_pointer`: jaxlib looks for jax then, and drops what a signal handler raises.
    if config.cpu_asynchronous or not np.shares_memory(entries, raw_values.to_numpy(shared)):
        return otherwise
    main, goes_on = threading.main_thread().ident, entries.data
    this_thread, callbacks = _thread.get_ident, inside_callback.running
    watch, spare = None, None
    found: list[Any] = []  # the arguments of the first call; captured ones are there in every other too
    state: list[Any] = [None, None]  # `watch` and `spare`, for a frame that does what `run` does

    def run(raws: list[Any], with_tokens: bool = False) -> Any:
        # What most calls need: any one that is not as most are goes the long way. Neither `strict=` nor
        # `**options`: a keyword takes a tenth of a microsecond.
        if watch is None or with_tokens or this_thread() != main or callbacks.depth:
            return carefully(raws, {"with_tokens": True} if with_tokens else {})
        for raw, known in zip(raws, found):
            # To ask it takes four times as long.
            if known() is not raw and (raw.is_deleted() or not raw.is_ready()):
                return carefully(raws, {})
        begun = watch.table
        watch.table = goes_on
        if begun is not spare or not watch.sure:
            watch.table = begun
            return carefully(raws, {})
        try:
            results = plain([*raws, shared])
        except BaseException as error:
            watch.table = spare
            if goes_on[1] or not callback_errors.is_of_callback(error):
                goes_on[1] = True
                raise
            results = None
        else:
            watch.table = spare
            if goes_on[1]:
                return results
        goes_on[1] = True
        return otherwise(raws)

    def carefully(raws: list[Any], options: dict[str, Any]) -> Any:
        nonlocal watch, spare
        if this_thread() != main:
            return plain([*raws, never], **options)
        if callbacks.depth:  # the program that waits for the callback has the watch
            return otherwise(raws, **options)
        for raw in raws:
            if raw.is_deleted():  # jaxlib 0.10 ends the process where such a one is asked if it is ready
                return plain([*raws, never], **options)
            if not raw.is_ready():  # then the program does not run here, and another may be stopped meanwhile
                return otherwise(raws, **options)
        if not found:
            found.extend(map(weakref.ref, raws))
        try:
            ours = _watches[0] if _watches else Watch()
        except RuntimeError:  # the interpreter exits, or the system has no more threads
            return plain([*raws, never], **options)
        goes_on[1], alone = True, False
        interrupted, ours.table = ours.table, goes_on
        try:
            # A signal that came before this is handled when it returns, and one that comes later is told of.
            alone = ours.listens()
            if alone:
                results = plain([*raws, shared], **options)
        except Exception as error:
            if goes_on[1] or not callback_errors.is_of_callback(error):
                raise
            # Raised by a callback that was given what a stopped loop had reached.
        finally:
            whole, goes_on[1] = goes_on[1], True
            # A program in the midst of which a signal handler ran this one has lost its watch: it runs again.
            ours.table, interrupted[1] = ours.spare, False
        watch, spare = state[:] = ours, ours.spare
        # Where another library wants to be told, an event loop for example, nothing was run.
        return results if whole and alone else otherwise(raws, **options)

    run.steady = LoopParts(  # type: ignore[attr-defined]
        plain, shared, goes_on, main, callbacks, state, found, otherwise, callback_errors.is_of_callback
    )
    return run


def table(entries: np.ndarray, device: Any) -> Any:
    """Two truth values on a device, which shares their memory if it can."""
    return adapter.put(entries, ShapedArray((2,), "bool"), device, private=True)


def forked() -> None:
    """In the child of a fork, which has the pipe of a watch and not its thread: it has none."""
    for watch in _watches:
        watch.sure = False
        before = _signal.set_wakeup_fd(-1)
        if before not in (-1, watch.told):
            _signal.set_wakeup_fd(before)
        os.close(watch.told)
        os.close(watch.hears)
    _watches.clear()


class Watch:
    """A thread that stops the program of the main thread when a signal comes.

    To ask Python's handler in C to wake it costs as much as a third of a small program, so that stays asked
    for while one program follows another. Each ``TICK_SECONDS`` the next one looks whether another library
    has taken its place, and some such times after the last one the main thread gives the place back.
    """

    __slots__ = ("table", "spare", "sure", "__dict__")  # frames in C read and write the first ones

    def __init__(self) -> None:
        self.table: Any = bytearray(2)
        self.spare = self.table
        self.sure = False  # that the handler wakes this thread: found out since the last tick
        self.wanted = False  # since the last tick
        self.hears, self.told = os.pipe()
        os.set_blocking(self.told, False)
        self.give_back: Any = None
        _thread.start_new_thread(self.serve, ())
        if not _at_fork and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=forked)
            _at_fork.append(forked)
        _watches.append(self)

    def listens(self) -> bool:
        """Ask to be woken when a signal comes; False where another library wants to be told."""
        self.wanted = True
        before = _signal.set_wakeup_fd(self.told)
        if before not in (-1, self.told):
            self.sure = False
            _signal.set_wakeup_fd(before)
            return False
        self.wake()  # it may sleep although it had the place: another library has put it back
        self.sure = True
        return True

    def wake(self) -> None:
        """Have the thread look at each tick."""
        with contextlib.suppress(BlockingIOError):  # a full pipe keeps it awake
            os.write(self.told, TICKS)

    def serve(self) -> None:
        interpreter_exit.excused.add(threading.get_ident())
        asked = select.poll()
        asked.register(self.hears, select.POLLIN)
        quiet: Any = None  # how many ticks nothing was wanted; None where the place was given back
        while True:
            if asked.poll(None if quiet is None else 1000 * TICK_SECONDS):
                told = os.read(self.hears, 64)
                quiet = 0
                if told.strip(TICKS):  # numbers of signals
                    # Perhaps of the program that runs now, which has not been signalled to: it runs again.
                    self.table[1] = False
            else:
                self.sure = False
                quiet = 0 if self.wanted or self.table is not self.spare else quiet + 1
                self.wanted = False
                if quiet >= QUIET_TICKS and self.ask_main_thread():
                    quiet = None

    def ask_main_thread(self) -> bool:
        """Have the main thread give the place back, between two instructions of Python; False where it has
        too much to do.
        """
        import ctypes  # of which NumPy has need too

        if self.give_back is None:
            self.give_back = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.leave)
        return ctypes.pythonapi.Py_AddPendingCall(self.give_back, None) == 0

    def leave(self, nothing: Any) -> int:
        """Ask no longer to be woken; but a program that is about to run keeps the place."""
        if self.sure or self.table is not self.spare:
            self.wake()
        else:
            before = _signal.set_wakeup_fd(-1)
            if before not in (-1, self.told):
                _signal.set_wakeup_fd(before)
        return 0


def to_the_end(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)`, a call of the compiler, which is not left half done where Ctrl-C is pressed: jaxlib
    0.10 looks for it in between, returns, and goes on compiling with what its caller has given up.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return function(*args)
    try:
        helper = _helper()
    except RuntimeError:  # the interpreter exits, or the system has no more threads
        return function(*args)
    return helper.run(function, args, {}, "the compiler is still running, on a thread of its own", ends=True)


def watched(function: Any, look: Any, every: Any, give_up: Any, note: Any) -> Any:
    """`function()` on a helper thread, while `look()` is called each `every` seconds. What that raises is
    raised after `give_up()`, which makes the function end; with `note` if it does not, for some seconds.
    """
    return _helper().run(function, (), {}, note, look=look, every=every, give_up=give_up)


def _helper() -> Helper:
    try:
        return _idle.pop()
    except IndexError:
        return Helper()


class Helper:
    """A thread that runs one function after another for the main thread."""

    def __init__(self) -> None:
        import queue  # where somebody waits at all

        self.tasks, self.done = queue.SimpleQueue(), threading.Lock()
        self.done.acquire()
        self.result: Any = None
        self.error: BaseException | None = None
        # `Thread.start` waits in Python, and a signal that comes there breaks its locks.
        _thread.start_new_thread(self.serve, ())

    def serve(self) -> None:
        me = threading.get_ident()
        interpreter_exit.excused.add(me)
        while (task := self.tasks.get()) is not None:
            function, args, options, ends = task
            if ends:
                interpreter_exit.excused.discard(me)
            try:
                self.result = function(*args, **options)
            except BaseException as error:
                self.error = error
            task = function = args = options = None
            interpreter_exit.excused.add(me)
            self.done.release()
        interpreter_exit.excused.discard(me)  # another thread may get this number
        interpreter_exit.lost.discard(self)

    def run(
        self,
        function: Any,
        args: tuple[Any, ...],
        options: dict[Any, Any],
        note: str,
        ends: bool = False,
        look: Any = None,
        every: float = LOOK_SECONDS,
        give_up: Any = None,
    ) -> Any:
        """`function(*args, **options)`. An exception that comes meanwhile, such as KeyboardInterrupt, is
        raised at once, with `note`; what is running goes on, and if it `ends`, the process waits for it at
        its own end. `look()` is called each `every` seconds meanwhile, and may raise; then `give_up()` is to
        end the function, which is waited for.
        """
        try:
            self.tasks.put((function, args, options, ends))
            # With a timeout: a signal that comes just before the wait does not wake it.
            while not self.done.acquire(timeout=every):
                if look is not None:
                    look()
        except BaseException as error:  # KeyboardInterrupt, or what the user's signal handler raises
            if give_up is not None:
                give_up()
                if self.done.acquire(timeout=GIVEN_UP_SECONDS):
                    self.result = self.error = None
                    _idle.append(self)
                    raise
            interpreter_exit.lost.add(self)
            self.tasks.put(None)  # to leave, when it is done; it may not have begun
            error.add_note(note)
            raise
        result, error, self.result, self.error = self.result, self.error, None, None
        _idle.append(self)
        if error is not None:
            raise error
        return result


def may_run_for_ever(jaxpr: Any) -> bool:
    """Whether a program has a loop of which it is not known that it ends."""
    return next(stop_flag.endless(jaxpr), None) is not None
