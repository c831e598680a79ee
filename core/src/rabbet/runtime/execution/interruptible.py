"""Programs that may never end, run so that Ctrl-C gives control back.

On the CPU a program runs on the thread that calls it, and Python handles signals between two bytecode
instructions only. So a compiled loop that does not end could not be interrupted. For a program on the main
thread that has a loop with an unknown number of steps, there are two ways:

- Loops that can be stopped (``rabbet.lowering.stop_flag``) run on the main thread. When a signal comes,
  Python's handler in C wakes a thread, which sets a flag that the loop reads. The program ends at once; its
  results are dropped, and Python handles the signal. If the handler raises nothing, the program runs again;
  so what it may call of Python are functions without effects.
- Other programs run on a helper thread, and the main thread waits where a signal can wake it. Changing
  threads costs 8 to 50 us. When a signal raises, the program is left to finish by itself.

Loops with a known number of steps (``fori_loop`` with fixed bounds, ``scan``) are not interrupted.
"""

from __future__ import annotations

import _signal
import _thread
import itertools
import os
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
from rabbet.runtime.jaxlib import adapter, inside_callback, interpreter_exit, raw_values

if TYPE_CHECKING:
    from rabbet.runtime.compilation.program import Lowering

_idle: list = []
_watches: list = []
GIVEN_UP_SECONDS = 5.0  # for what was told to end
LOOK_SECONDS = 0.5  # until a signal that did not wake the main thread is seen
nothing: Any = type(None)
NO_HANDLER = (signal.SIG_IGN, None)


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
    hear, this_thread, callbacks = _signal.set_wakeup_fd, _thread.get_ident, inside_callback.running
    found: list[Any] = []  # ready arguments of the first call; captured ones are there in every other too

    def run(raws: list[Any], **options: Any) -> Any:
        if this_thread() != main:
            return plain([*raws, never], **options)
        if callbacks.depth:  # the program that waits for the callback has the watch
            return otherwise(raws, **options)
        for raw, known in zip(raws, found or itertools.repeat(nothing)):
            if known() is raw:  # ten times as fast as to ask it
                continue
            if raw.is_deleted():  # jaxlib 0.10 ends the process where such a one is asked if it is ready
                return plain([*raws, never], **options)
            if not raw.is_ready():  # then the program does not run here, and another may be stopped meanwhile
                return otherwise(raws, **options)
        if not found:
            found.extend(map(weakref.ref, raws))
        try:
            watch = _watches[0] if _watches else Watch()
        except RuntimeError:  # the interpreter exits, or the system has no more threads
            return plain([*raws, never], **options)
        goes_on[1] = True
        interrupted, watch.table = watch.table, goes_on
        theirs = -1
        try:
            # A signal that came before this is handled when it returns, and one that comes later is told of.
            theirs = hear(watch.told)  # a keyword would take a fifth of a microsecond
            if theirs == watch.told:
                theirs = -1
            if theirs == -1:
                results = plain([*raws, shared], **options)
        except Exception as error:
            if goes_on[1] or not callback_errors.is_of_callback(error):
                raise
            # Raised by a callback that was given what a stopped loop had reached.
        finally:
            whole = goes_on[1]
            # A program in the midst of which a signal handler ran this one has lost its watch: it runs again.
            watch.table, interrupted[1] = watch.spare, False
            hear(theirs)
        # Where another library wants to be told, an event loop for example, nothing was run.
        return results if whole and theirs == -1 else otherwise(raws, **options)

    return run


def table(entries: np.ndarray, device: Any) -> Any:
    """Two truth values on a device, which shares their memory if it can."""
    return adapter.put(entries, ShapedArray((2,), "bool"), device, private=True)


class Watch:
    """A thread that stops the program of the main thread when a signal comes."""

    def __init__(self) -> None:
        self.table = self.spare = bytearray(2)
        self.hears, self.told = os.pipe()
        os.set_blocking(self.told, False)
        _thread.start_new_thread(self.serve, ())
        _watches.append(self)

    def serve(self) -> None:
        interpreter_exit.excused.add(threading.get_ident())
        while os.read(self.hears, 64):
            # Perhaps of the program that runs now, which has not been signalled to: it runs again.
            self.table[1] = False


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
