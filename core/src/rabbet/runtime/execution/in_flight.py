"""How many programs may be under way on several devices.

jaxlib 0.10 runs each device's part of a program on a thread of one pool. With many programs under way of
which some communicate, those that wait for others take all threads, and the process ends after 40 seconds.
Programs that do not communicate take a thread, too, while they wait for the result of one that does: they are
counted while such a one may be under way, and not otherwise: it costs a sixth of a small program's call.
"""

from __future__ import annotations

import collections
import threading
from typing import Any

from rabbet.program.once_per_process import made_once
from rabbet.runtime.execution import multi_process
from rabbet.runtime.jaxlib import adapter

MOST_UNDER_WAY = 16
AT_ONCE = 8  # waited for together: to be woken once costs as much as to be woken for each of them
LONG = 100_000  # characters of a program that is held to communicate: to look takes longer than to count it


def bounded(execute: Any, executable: Any) -> Any:
    """``execute`` of an ``Executable``, so that at most 16 programs are under way on the CPU while one that
    communicates may be among them, where jaxlib needs that.
    """
    group = executable.device
    if not adapter.STARVES or group.platform != "cpu":
        return execute
    lane = lane_of(group.client)
    tokens, wait, communicates = lane.tokens, lane.wait, lane.communicates

    def run(raws: list[Any]) -> Any:
        results = execute(raws, with_tokens=True)
        communicates(results.consume_token())
        if len(tokens) > MOST_UNDER_WAY:
            wait()
        return results

    def run_alone(raws: list[Any]) -> Any:
        if not tokens:
            return execute(raws)
        results = execute(raws, with_tokens=True)
        tokens.append(results.consume_token())
        if len(tokens) > MOST_UNDER_WAY:
            wait()
        return results

    if len(executable.lowering.module.key_text) > LONG or multi_process.communicates(executable):
        return run
    return run_alone


class Lane:
    """The programs that are under way on one client, oldest first, from one that communicates on; several
    threads add to them.
    """

    def __init__(self) -> None:
        self.tokens, self.lock, self.last = collections.deque(), threading.Lock(), None

    def communicates(self, token: Any) -> None:
        """Add a program that communicates."""
        with self.lock:
            self.last = token
            self.tokens.append(token)

    def wait(self) -> None:
        """Wait for the oldest programs; forget the others if none that communicates is left."""
        with self.lock:
            oldest = [self.tokens.popleft() for _ in range(min(AT_ONCE, len(self.tokens)))]
        for token in reversed(oldest):
            try:
                token.block_until_ready()
            except adapter.XlaRuntimeError:
                pass  # whoever reads its results is told
        with self.lock:
            if any(token is self.last for token in oldest):
                self.last = None
                self.tokens.clear()


@made_once
def lane_of(client: Any) -> Lane:
    """The ``Lane`` of a client."""
    return Lane()


__all__ = ["bounded"]
