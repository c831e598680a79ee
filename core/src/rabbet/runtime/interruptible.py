"""Programs that may never end, run so that Ctrl-C gives control back.

On the CPU a program runs on the thread that calls it, and Python handles Ctrl-C between two of its own
instructions: a loop that does not end could not be interrupted. So a program with a loop of which nobody
knows how often it runs is handed to a helper thread if it is called on the main thread, which can be woken.
That costs a change of threads: 15 to 55 us. Loops that count (`fori_loop`, `scan`) are not handed over.
"""

import _thread
import queue
import signal
import threading

from rabbet.program.jaxpr import bodies_of
from rabbet.runtime import leaving

_idle: list = []
GIVEN_UP_SECONDS = 5.0  # for what was told to end
LOOK_SECONDS = 0.5  # until a signal that did not wake the main thread is seen


def execute(exe, lowering):
    """What runs an executable, `execute(raws, **options)`; interruptible where that is needed."""
    plain = exe.execute_sharded
    if lowering.platform != "cpu" or not may_run_for_ever(lowering.jaxpr):
        return plain
    main, name = threading.main_thread().ident, lowering.name

    def handed_over(raws, **options):
        if threading.get_ident() != main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
            return plain(raws, **options)
        return _helper().run(
            plain,
            (raws,),
            options,
            f"{name!r} is running still, on a thread of its own: it cannot be stopped, and keeps its "
            "arguments and a processor busy until its loop ends or the process does",
        )

    return handed_over


def to_the_end(function, *args):
    """`function(*args)`, a call of the compiler, which is not left half done where Ctrl-C is pressed: jaxlib
    0.10 looks for it in between, returns, and goes on compiling with what its caller has given up.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return function(*args)
    return _helper().run(
        function, args, {}, "the compiler is still at work, on a thread of its own", ends=True
    )


def watched(function, look, every, give_up, note):
    """`function()` on a helper thread, while `look()` is called each `every` seconds. What that raises is
    raised after `give_up()`, which makes the function end; with `note` if it does not, for some seconds.
    """
    return _helper().run(function, (), {}, note, look=look, every=every, give_up=give_up)


def _helper():
    try:
        return _idle.pop()
    except IndexError:
        return Helper()


class Helper:
    """A thread that runs one function after another for the main thread."""

    def __init__(self):
        self.tasks, self.done = queue.SimpleQueue(), threading.Lock()
        self.done.acquire()
        self.result = self.error = None
        # `Thread.start` waits in Python, and a signal that comes there breaks its locks.
        _thread.start_new_thread(self.serve, ())

    def serve(self):
        me = threading.get_ident()
        leaving.excused.add(me)
        while (task := self.tasks.get()) is not None:
            function, args, options, ends = task
            if ends:
                leaving.excused.discard(me)
            try:
                self.result = function(*args, **options)
            except BaseException as error:
                self.error = error
            task = function = args = options = None
            leaving.excused.add(me)
            self.done.release()
        leaving.excused.discard(me)  # another thread may get this number
        leaving.lost.discard(self)

    def run(self, function, args, options, note, ends=False, look=None, every=LOOK_SECONDS, give_up=None):
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
            leaving.lost.add(self)
            self.tasks.put(None)  # to leave, when it is done; it may not have begun
            error.add_note(note)
            raise
        result, error, self.result, self.error = self.result, self.error, None, None
        _idle.append(self)
        if error is not None:
            raise error
        return result


def may_run_for_ever(jaxpr):
    """Whether a program has a loop of which it is not known that it ends."""
    for eqn in jaxpr.equations:
        endless = eqn.op.primitive.endless
        if endless is not None and endless(eqn.op):
            return True
        if any(may_run_for_ever(body) for _, body in bodies_of(eqn.op)):
            return True
    return False
