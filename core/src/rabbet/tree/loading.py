"""jaxlib, loaded where no signal disturbs it.

Python handles signals on the main thread, also where jaxlib makes its classes while it is loaded. What a
handler raises there ends the process (a segmentation fault, an abort), is lost, or becomes an ImportError. So
another thread loads it when the main thread asks, and what came meanwhile is raised afterwards.
"""

import _thread
import importlib
import sys
import threading

LOOK_SECONDS = 0.5  # until the end is seen where a signal takes the place of the wake-up


def load(name: str) -> None:
    """Import a module of native code. What a signal's handler raises meanwhile is raised when it is done."""
    if name in sys.modules or threading.get_ident() != threading.main_thread().ident:
        return
    done, ended = _thread.allocate_lock(), []
    came: BaseException | None = None
    done.acquire()

    def run() -> None:
        try:
            importlib.import_module(name)
        except BaseException:
            pass  # whoever asked imports it, too, and gets the error
        ended.append(True)
        done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:  # the system has no more threads
        return
    while True:
        try:
            while not ended:
                done.acquire(timeout=LOOK_SECONDS)
            done.acquire(timeout=0)  # after a call Python handles what came when this thread did not wait yet
            break
        except BaseException as error:  # KeyboardInterrupt, or what the user's signal handler raises
            came = error
    if came is not None:
        raise came


load("jaxlib._jax")

__all__ = ["load"]
