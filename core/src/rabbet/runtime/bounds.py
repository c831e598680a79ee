"""How many programs may be under way on several devices.

jaxlib 0.10 runs each device's part of a program on a thread of one pool. With many programs that communicate
under way, those that wait for others take all threads, and the process ends after 40 seconds.
"""

import collections
import threading

from rabbet.program.made_once import made_once
from rabbet.runtime import adapter

MOST_UNDER_WAY = 16


def bounded(execute, group):
    """``execute`` so that at most 16 programs are under way on the CPU at a time, where jaxlib needs that."""
    if not adapter.STARVES or group.platform != "cpu":
        return execute
    lane = lane_of(group.client)

    def run(raws, **options):
        with_tokens = options.pop("with_tokens", False)
        results = execute(raws, with_tokens=True, **options)
        if not with_tokens:
            lane.started(results.consume_token())
        return results

    return run


class Lane:
    """The programs that are under way on one client, oldest first."""

    def __init__(self):
        self.tokens, self.lock = collections.deque(), threading.Lock()

    def started(self, token):
        """Remember a program; wait for the oldest if there are too many."""
        with self.lock:
            self.tokens.append(token)
            oldest = self.tokens.popleft() if len(self.tokens) > MOST_UNDER_WAY else None
        if oldest is not None:
            try:
                oldest.block_until_ready()
            except adapter.XlaRuntimeError:
                pass  # whoever reads its results is told


@made_once
def lane_of(client):
    """The ``Lane`` of a client."""
    return Lane()


__all__ = ["bounded"]
