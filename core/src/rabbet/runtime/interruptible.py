"""Programs that may never end, run so that Ctrl-C gives control back.

On the CPU a program runs on the thread that calls it, and Python handles Ctrl-C between two of its own
instructions: a loop that does not end could not be interrupted. So a program with a loop of which nobody
knows how often it runs is handed to a helper thread if it is called on the main thread, which can be woken.
That costs some 15 us a call. Loops that count (`fori_loop`, `scan`) are not handed over.
"""

import signal
import threading

from rabbet.program.jaxpr import bodies_of
from rabbet.runtime import leaving

_idle: list = []


def execute(exe, lowering):
    """What runs an executable, `execute(raws, **options)`; interruptible where that is needed."""
    plain = exe.execute_sharded
    if lowering.platform != "cpu" or not may_run_for_ever(lowering.jaxpr):
        return plain
    main, name = threading.main_thread().ident, lowering.name

    def handed_over(raws, **options):
        if threading.get_ident() != main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
            return plain(raws, **options)
        try:
            helper = _idle.pop()
        except IndexError:
            helper = Helper()
        return helper.run(plain, raws, options, name)

    return handed_over


class Helper:
    """A thread that runs one function after another for the main thread."""

    def __init__(self):
        self.go, self.done = threading.Lock(), threading.Lock()
        self.go.acquire()
        self.done.acquire()
        self.task = self.result = self.error = None
        threading.Thread(target=self.serve, name="rabbet-helper", daemon=True).start()

    def serve(self):
        leaving.excused.add(threading.get_ident())
        while True:
            self.go.acquire()
            function, raws, options = self.task
            try:
                self.result = function(raws, **options)
            except BaseException as error:
                self.error = error
            self.task = function = raws = options = None
            self.done.release()

    def run(self, function, raws, options, name):
        self.task = function, raws, options
        self.go.release()
        try:
            self.done.acquire()
        except BaseException as error:  # KeyboardInterrupt, or what the user's signal handler raises
            error.add_note(
                f"{name!r} is running still, on a thread of its own: it cannot be stopped, and keeps its "
                "arguments and a processor busy until its loop ends or the process does"
            )
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
