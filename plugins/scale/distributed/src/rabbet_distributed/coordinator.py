"""The coordinator: a process that computes nothing and keeps the store, so that no death of another takes it
along.

``python -m rabbet_distributed.coordinator ADDRESS COUNT`` serves until its standard input ends and no
process is attached any more. Whoever starts it holds the other end of that pipe: its death is the end of the
pipe.
"""

import contextlib
import json
import os
import subprocess
import sys
import time

from rabbet.errors import RabbetError

from rabbet_distributed.connections import ESTABLISHED, connections

PAUSE = 0.1
LEVEL = "TF_CPP_MIN_LOG_LEVEL"


class CoordinatorError(RabbetError, RuntimeError):
    """The coordinator could not be started. The message has its reason.

    Example:
      >>> issubclass(rb.distributed.CoordinatorError, (RuntimeError, rb.errors.RabbetError))
      True
    """


class Coordinator:
    """A coordinator in a process of its own, seen from the process that started it; for launchers, which then
    set ``RABBET_COORDINATOR_STARTED=1`` for the processes that compute. Where nobody has started one,
    ``initialize`` does it in process 0.

    Args:
      bind_address: where it listens, ``"host:port"``.
      num_processes: how many processes belong together.
      options: ``register_seconds``, to wait for all of them, and ``heartbeat_seconds``, after which it takes
        one for lost.

    Raises:
      CoordinatorError: if it does not start, for example because the port is taken.

    Example:
      >>> def launch():
      ...     coordinator = rb.distributed.Coordinator("127.0.0.1:4321", 2)
      ...     ...  # start the processes and wait for them
      ...     coordinator.close()
    """

    def __init__(self, bind_address: str, num_processes: int, **options: float):
        command = [sys.executable, "-m", "rabbet_distributed.coordinator", bind_address, str(num_processes)]
        self.process = subprocess.Popen(
            [*command, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_quiet(os.environ),
            start_new_session=True,  # Ctrl-C is for the programs
            encoding="utf-8",
            errors="replace",
        )
        said = self.process.stdout.readline().strip()
        if said != "ready":
            self.close()
            raise CoordinatorError(f"the coordinator did not start: {said or 'it said nothing'}")

    def close(self, seconds: float = 10.0) -> None:
        """Let it end when the last process has left; wait for that for so long, then leave it alone."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.process.stdout.close()

    def has_died(self, within: float = 0.0) -> bool:
        """Whether it has ended though it was not closed, or does so within so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(within)
        return self.process.returncode is not None


def _quiet(environment):
    """The environment of the coordinator, where XLA warns of what is meant: tasks that may be lost. A level
    that the user chose stays.
    """
    if environment.get(LEVEL, "1") != "1":  # which is Rabbet's own choice
        return dict(environment)
    return {**environment, LEVEL: "2"}


def attached(port):
    """How many connections to a port of this machine there are; 0 where the system does not tell."""
    return sum([each.state == ESTABLISHED and each.local == port for each in connections()])


def main(argv):
    """Serve."""
    from rabbet.extend.processes import start_service

    address, count, options = argv[0], int(argv[1]), json.loads(argv[2])
    port = int(address.rpartition(":")[2])
    try:
        service = start_service(address, count, **options)
    except Exception as error:
        print(" ".join(str(error).split()), flush=True)
        return 1
    print("ready", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.read()
    while attached(port):
        time.sleep(PAUSE)
    service.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
