"""Running programs that do something: in order where they ask for it, and so that one can wait for them."""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from rabbet.messages.signal_errors import is_of_handler
from rabbet.program import effects
from rabbet.runtime.arrays import callback_errors, callbacks
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.execution import interruptible, multi_process
from rabbet.runtime.jaxlib import inside_callback
from rabbet.runtime.platforms.device_groups import DeviceGroup

if TYPE_CHECKING:
    from rabbet.program.effects import Effect
    from rabbet.runtime.arrays.placement import Placement
    from rabbet.runtime.compilation.program import Executable
    from rabbet.typing import Value

# How many programs with effects may be under way before the next one waits for the oldest.
MOST_UNDER_WAY = 32

_lock = threading.Lock()
_under_way = deque()
_latest = {}


def is_special(lowering: Any) -> bool:
    """Whether a program has to be run by the functions here."""
    return bool(lowering.module.callbacks or lowering.effects)


def runner(executable: Executable, specs: list[Placement], single: bool) -> Any:
    """``Executable.runner`` for a program that calls Python or has effects."""
    execute = interruptible.execute(executable.exe, executable.lowering)
    if executable.lowering.spread is not None:
        execute = multi_process.overseen(execute, executable)
    handlers = [s.handler for s in specs]
    kept, diagnose = executable.lowering.kept, executable.diagnose
    happening = executable.lowering.effects
    ordered = effects.ordered(happening)
    group = executable.device if type(executable.device) is DeviceGroup else None
    only = specs[0] if single else None

    def run_pure(args: list[Value]) -> list[Value] | Value:
        """What ``run`` does for a program on one device whose callbacks have no effects."""
        try:
            raws = execute([args[i].raw for i in kept]).consume_with_handlers(handlers)
        except Exception as error:
            if is_of_handler(error):
                raise
            failure = callback_errors.original(error)
            if failure is None:
                raise diagnose(error, args) from None
        else:
            return list(map(Array, raws, specs)) if only is None else Array(raws[0], only)
        raise failure

    if group is None and not happening:
        return run_pure

    def run(args: list[Value]) -> list[Value] | Value:
        try:
            if ordered:
                wait_for(ordered)
            raws = execute([args[i].raw for i in kept], with_tokens=True)
            if group is not None:  # what a callback raised is told here, so it is waited for
                wait(raws.consume_token())
                failure = callbacks.failed_over.pop(group, None)
                if failure is not None:
                    raise callback_errors.put_aside(failure)
            elif happening:
                started(raws.consume_token(), ordered)
            outs = list(map(Array, raws.consume_with_handlers(handlers), specs))
            return outs[0] if single else outs
        except Exception as error:
            if is_of_handler(error):
                raise
            failure = callback_errors.original(error)
            if failure is None:
                raise diagnose(error, args) from None
        raise failure

    return run


def started(token: Any, ordered: tuple[Effect, ...]) -> None:
    """Remember the token of a program that is under way."""
    with _lock:
        if not _under_way and not _latest:
            _wait_at_exit()
        _under_way.append(token)
        for effect in ordered:
            _latest[effect] = token
        oldest = _under_way.popleft() if len(_under_way) > MOST_UNDER_WAY else None
    if oldest is not None and not inside_callback.running.depth:
        wait(oldest)


def wait_for(ordered: tuple[Effect, ...]) -> None:
    """Wait for the program that was started before with one of these effects."""
    if inside_callback.running.depth:  # the program that called us is that one: it waits for us
        return
    with _lock:
        tokens = [_latest.pop(e) for e in ordered if e in _latest]
    for token in tokens:
        try:
            token.block_until_ready()
        except Exception as error:
            if not callback_errors.was_told(error):
                raise


def wait(token: Any) -> None:
    """Wait for a program; raise what one of its callbacks raised."""
    callback_errors.translated(token.block_until_ready)


def effects_barrier() -> None:
    """Wait until everything that programs do has happened: printing, callbacks. Their errors are raised
    here.

    Example:
      >>> rb.effects_barrier()
    """
    while True:
        with _lock:
            if not _under_way:
                _latest.clear()
                return
            token = _under_way.popleft()
        wait(token)


def _forget() -> None:
    # What the parent has under way does not happen in a forked child, and cannot be waited for there.
    _under_way.clear()
    _latest.clear()


_registered = False


def _wait_at_exit() -> None:
    global _registered
    if not _registered:
        _registered = True
        atexit.register(effects_barrier)
        os.register_at_fork(after_in_child=_forget)


__all__ = ["effects_barrier", "is_special", "runner"]
