"""Programs that run as several processes: few, small, each with a hard time limit, none left behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
LIMIT_SECONDS = 900  # a test that passes does not wait, and machines of CI are busy


class Ended:
    """What has become of the processes: exit statuses (minus the signal's number) and what they said."""

    def __init__(self, statuses, said):
        self.statuses, self.said = statuses, said

    def __repr__(self):
        return "\n".join([f"--- {i}: {s}\n{t}" for i, (s, t) in enumerate(zip(self.statuses, self.said))])


class Together:
    """Starts programs; ends what is left of them."""

    programs = PROGRAMS
    limit = LIMIT_SECONDS

    def __init__(self, folder):
        self.folder, self.started = folder, []

    def start(self, command, env=None, new=None):
        out = open(self.folder / f"out{len(self.started)}.txt", "w+")  # noqa: SIM115 (read at the end)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "OMPI", "RABBET_PROCESS"))}
        child = subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**clean, "RABBET_PLATFORMS": "cpu", "RABBET_NUM_CPU_DEVICES": "1", **(env or {})},
        )
        self.started.append((child, out))
        return child

    def __call__(self, program, count, *arguments, **env):
        """Run a program of the folder as ``count`` processes, which find each other by the environment."""
        address = f"127.0.0.1:{free_port()}"
        first = len(self.started)
        for i in range(count):
            found = {
                "RABBET_COORDINATOR_ADDRESS": address,
                "RABBET_NUM_PROCESSES": str(count),
                "RABBET_PROCESS_ID": str(i),
                **env,
            }
            self.start([PROGRAMS / program, *arguments], found)
        return self.wait(first)

    def wait(self, first=0):
        """Wait for the processes; those that have not ended in time fail the test."""
        deadline = time.monotonic() + self.limit
        statuses, said = [], []
        for child, out in self.started[first:]:
            try:
                statuses.append(child.wait(max(0.1, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                statuses.append("has not ended")
            out.flush()
            said.append(Path(out.name).read_text())
        return Ended(statuses, said)

    def close(self):
        for child, out in self.started:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            out.close()

    @staticmethod
    def free_port():
        """A port that nobody listens at."""
        return free_port()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def together(tmp_path):
    running = Together(tmp_path)
    yield running
    running.close()
