"""How many programs may be under way on several devices.

jaxlib 0.10 runs each device's part of a program on a thread of one pool. With many programs that communicate
under way, those that wait for others take all threads, and the process ends after 40 seconds.
"""

import collections
import threading

from rabbet.program.made_once import made_once
from rabbet.runtime import adapter

MOST_UNDER_WAY = 16
AT_ONCE = 8  # waited for together: to be woken once costs as much as to be woken for each of them


def bounded(execute, group):
    """``execute`` so that at most 16 programs are under way on the CPU at a time, where jaxlib needs that."""
    if not adapter.STARVES or group.platform != "cpu":
        return execute
    lane = lane_of(group.client)
    tokens, wait = lane.tokens, lane.wait

    def run(raws):
        results = execute(raws, with_tokens=True)
        tokens.append(results.consume_token())
        if len(tokens) > MOST_UNDER_WAY:
            wait()
        return results

    return run


class Lane:
    """The programs that are under way on one client, oldest first; several threads add to them."""

    def __init__(self):
        self.tokens, self.lock = collections.deque(), threading.Lock()

    def wait(self):
        """Wait for the oldest programs."""
        with self.lock:
            oldest = [self.tokens.popleft() for _ in range(min(AT_ONCE, len(self.tokens)))]
        for token in reversed(oldest):
            try:
                token.block_until_ready()
            except adapter.XlaRuntimeError:
                pass  # whoever reads its results is told


@made_once
def lane_of(client):
    """The ``Lane`` of a client."""
    return Lane()


__all__ = ["bounded"]
