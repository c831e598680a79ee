"""What runs in Ray's actors: a process of the program, and who looks after the coordinator."""

import os
import socket
import time

import ray
from rabbet.distributed import Coordinator, CoordinatorError

TRIES = 5  # of ports
PAUSE = 0.2


class Process:
    """A process of the program. Ray writes its name before what it prints."""

    def __init__(self, rank):
        self.rank = rank

    def __repr__(self):
        return f"process {self.rank}"

    def pid(self):
        """The number that the system has given this process: it has started."""
        return os.getpid()

    def call(self, work):
        """Call the function of ``work``, a pair of it and its arguments, on the main thread.

        Raises:
          RuntimeError: for ``sys.exit`` with another status than 0, which Ray would take for the wish of an
            actor to end.
          Exception: what the function raises.
        """
        function, args = work
        try:
            return function(*args)
        except SystemExit as error:
            if error.code in (None, 0):
                return None
            raise RuntimeError(f"the program has ended with exit status {error.code}") from None


class Keeper:
    """Starts the coordinator and stays with it."""

    def __repr__(self):
        return "coordinator"

    def start(self, processes):
        """Start the coordinator; returns its address.

        Raises:
          CoordinatorError: if it does not start.
        """
        for left in reversed(range(TRIES)):
            port = free_port()
            try:
                self.coordinator = Coordinator(f"{everywhere()}:{port}", processes)
            except CoordinatorError:  # the port may have been given to another program in between
                if not left:
                    raise
            else:
                break
        host = ray.util.get_node_ip_address()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def stay(self):
        """Return when the coordinator has ended."""
        while not self.coordinator.has_died():
            time.sleep(PAUSE)

    def close(self):
        """Let the coordinator end, once no process is attached any more."""
        self.coordinator.close()


def everywhere():
    """All addresses of this machine, as a host to listen at."""
    return "[::]" if socket.has_dualstack_ipv6() else "0.0.0.0"


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


__all__ = ["Keeper", "Process"]
