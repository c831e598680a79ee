"""``rabbet launch``: start a program as several processes of this machine, and look after them."""

import argparse
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

from rabbet_distributed.coordinator import Coordinator

HELP = "start a program as several processes on this machine that compute together"
GRACE_SECONDS = 5.0  # between asking a process to end and ending it
COLOURS = (36, 33, 32, 35, 34, 31)


def add_arguments(parser):
    """The command line."""
    parser.add_argument("-n", "--processes", type=int, default=2, metavar="N", help="how many (default: 2)")
    parser.add_argument(
        "--elastic",
        action="store_true",
        help="when a process fails start it again, and let the others go on (see rabbet.distributed.reform)",
    )
    parser.add_argument(
        "--max-restarts",
        type=int,
        default=3,
        metavar="K",
        help="with --elastic: how often in all (default: 3)",
    )
    parser.add_argument(
        "--cpu-devices", type=int, metavar="K", help="CPU devices of each process (RABBET_NUM_CPU_DEVICES)"
    )
    parser.add_argument(
        "--one-device-each", action="store_true", help="process i gets the accelerator i of this machine only"
    )
    parser.add_argument("--port", type=int, default=0, help="of the coordinator (default: a free one)")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module")
    parser.add_argument(
        "program", metavar="PROGRAM", help="a Python program, which calls distributed.initialize()"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program is given")


def run(args):
    """Run the program; return its exit status: that of the process that failed first, or 0."""
    if args.processes < 1:
        print("rabbet launch: -n must be at least 1", file=sys.stderr)
        return 2
    port = args.port or free_port()
    program = [sys.executable, "-u", *(["-m"] if args.module else []), args.program, *args.arguments]
    coordinator = Coordinator(f"127.0.0.1:{port}", args.processes)
    workers = Workers(program, args, port)
    try:
        return workers.run()
    finally:
        workers.end()
        coordinator.close()


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Workers:
    """The processes of one launch."""

    def __init__(self, program, args, port):
        self.program, self.args, self.port = program, args, port
        self.running, self.restarts, self.signal = {}, 0, None
        self.selector = selectors.DefaultSelector()

    def start(self, rank):
        """Start the process number ``rank``."""
        env = {
            **os.environ,
            "RABBET_COORDINATOR_ADDRESS": f"127.0.0.1:{self.port}",
            "RABBET_COORDINATOR_STARTED": "1",
            "RABBET_NUM_PROCESSES": str(self.args.processes),
            "RABBET_PROCESS_ID": str(rank),
        }
        if self.args.cpu_devices:
            env["RABBET_NUM_CPU_DEVICES"] = str(self.args.cpu_devices)
        if self.args.one_device_each:
            env["RABBET_LOCAL_DEVICE_IDS"] = str(rank)
        worker = subprocess.Popen(
            self.program,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # with what it starts it can be ended together
            preexec_fn=end_with_parent,
        )
        self.running[rank] = worker
        for stream, out in ((worker.stdout, sys.stdout), (worker.stderr, sys.stderr)):
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, Lines(rank, out))

    def run(self):
        """Start all, pass on what they say, and return the exit status of the whole."""
        before = {s: signal.signal(s, self.note) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            for rank in range(self.args.processes):
                self.start(rank)
            while self.running and self.signal is None:
                self.pass_on(0.1)
                for rank in [r for r, w in self.running.items() if w.poll() is not None]:
                    status = self.ended(rank)
                    if status:
                        return status
            return 128 + self.signal if self.signal is not None else 0
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def note(self, number, frame):
        """A signal for the launcher."""
        self.signal = number

    def ended(self, rank):
        """A process has ended: start it again, or return the exit status of the whole, 0 to go on."""
        worker = self.running.pop(rank)
        self.pass_on(0)
        status = exit_status(worker)
        if status == 0:
            return 0
        end_group(worker, signal.SIGKILL)  # what it has started
        if self.args.elastic and self.restarts < self.args.max_restarts:
            self.restarts += 1
            self.say(f"process {rank} ended with exit status {status}; it is started again")
            self.start(rank)
            return 0
        self.say(f"process {rank} ended with exit status {status}; all are ended")
        return status

    def say(self, text):
        """A line of the launcher's own."""
        print(f"rabbet launch: {text}", file=sys.stderr, flush=True)

    def pass_on(self, seconds):
        """Pass on what the processes have said, waiting for it for so long."""
        for key, _ in self.selector.select(seconds):
            while True:
                try:
                    block = os.read(key.fd, 65536)
                except BlockingIOError:
                    break
                if not block:
                    key.data.end()
                    self.selector.unregister(key.fileobj)
                    key.fileobj.close()
                    break
                key.data.add(block)

    def end(self):
        """End all that still run: they are asked first, and get some seconds."""
        for worker in self.running.values():
            end_group(worker, self.signal or signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and any(w.poll() is None for w in self.running.values()):
            self.pass_on(0.05)
        for worker in self.running.values():
            end_group(worker, signal.SIGKILL)
            worker.wait()
        self.pass_on(0)
        for key in list(self.selector.get_map().values()):
            key.data.end()
            key.fileobj.close()
        self.selector.close()


class Lines:
    """Passes on whole lines, each with the number of its process."""

    def __init__(self, rank, out):
        self.out, self.rest = out, b""
        self.prefix = f"[{rank}] "
        if out.isatty():
            self.prefix = f"\033[{COLOURS[rank % len(COLOURS)]}m[{rank}]\033[0m "

    def add(self, block):
        """Pass on what is complete."""
        *lines, self.rest = (self.rest + block).split(b"\n")
        for line in lines:
            self.write(line)

    def end(self):
        """Pass on the last line."""
        if self.rest:
            self.write(self.rest)
        self.rest = b""

    def write(self, line):
        """Write one line."""
        self.out.write(self.prefix + line.decode(errors="replace") + "\n")
        self.out.flush()


def end_with_parent():
    """In a new process: end when the launcher is killed (Linux)."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def end_group(worker, number):
    """Send a signal to a process and all that it has started."""
    try:
        os.killpg(worker.pid, number)
    except ProcessLookupError:
        pass


def exit_status(worker):
    """The exit status as shells have it: 128 and the number of the signal that ended it."""
    status = worker.returncode
    return 128 - status if status < 0 else status


__all__ = ["HELP", "add_arguments", "run"]
