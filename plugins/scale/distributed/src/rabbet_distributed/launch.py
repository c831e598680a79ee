"""``rabbet launch``: start a program as several processes of this machine, and look after them."""

import argparse
import contextlib
import ctypes
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import time

from rabbet.extend.commands import missing_program

from rabbet_distributed.coordinator import Coordinator
from rabbet_distributed.signed_messages import VARIABLE

HELP = "start a program as several processes on this machine that compute together"
GRACE_SECONDS = 5.0  # between asking a process to end and ending it
MOMENT = 0.2  # seconds: a process may see that the coordinator is gone before the launcher does
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SET_DEATH_SIGNAL = 1  # of Linux's prctl
MOST_WAITING = 65536  # bytes of a line that has not ended yet
COLOURS = (36, 33, 32, 35, 34, 31)
# What libraries of C++ say where all is well.
SAID_IN_VAIN = (b"[Gloo] Rank ", b"Using experimental recoverable task feature")


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
    fault = wrong_option(args) or missing_program(args.program, args.module)
    if fault:
        print(f"rabbet launch: {fault}", file=sys.stderr)
        return 2
    program = [sys.executable, "-u", *(["-m"] if args.module else []), args.program, *args.arguments]
    with Workers(program, args) as workers:
        return workers.run()


def wrong_option(args):
    """What is wrong with the options, also those that would do nothing; None where all is well."""
    if args.processes < 1:
        return "-n must be at least 1"
    if args.max_restarts is None:
        args.max_restarts = 3
    elif not args.elastic:
        return "--max-restarts has an effect with --elastic only: without it a failure ends all"
    if args.max_restarts < 0:
        return "--max-restarts must not be negative"
    if args.cpu_devices is not None and args.cpu_devices < 1:
        return "--cpu-devices must be at least 1"
    if not 0 <= args.port < 65536:
        return "--port must be between 1 and 65535, or 0 for a free one"
    return None


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Workers:
    """The processes of one launch, and their coordinator. As a context manager it leaves none behind."""

    def __init__(self, program, args):
        self.program, self.args = program, args
        self.coordinator, self.port, self.secret = None, None, None
        self.running, self.finished, self.restarts, self.signal = {}, [], 0, None
        self.selector = selectors.DefaultSelector()
        self.libc = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before there are children

    def __enter__(self):
        heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self.handlers = {number: signal.signal(number, self.note) for number in heard}
        return self

    def __exit__(self, *error):
        try:
            self.end()
        finally:
            for number, handler in self.handlers.items():
                signal.signal(number, handler)

    def note(self, number, frame):
        """A signal for the launcher; the second one ends the processes without delay."""
        if self.signal is not None:
            for worker in self.running.values():
                end_group(worker, signal.SIGKILL)
        self.signal = number

    def start_all(self):
        """Start the coordinator and all processes."""
        self.port = self.args.port or free_port()
        self.secret = secrets.token_hex(32)  # anew each time, so that no message of an earlier start counts
        self.coordinator = Coordinator(f"127.0.0.1:{self.port}", self.args.processes)
        for rank in range(self.args.processes):
            self.start(rank)

    def start(self, rank):
        """Start the process number ``rank``."""
        env = {
            **os.environ,
            "RABBET_COORDINATOR_ADDRESS": f"127.0.0.1:{self.port}",
            "RABBET_COORDINATOR_STARTED": "1",
            "RABBET_NUM_PROCESSES": str(self.args.processes),
            "RABBET_PROCESS_ID": str(rank),
            VARIABLE: self.secret,
        }
        if self.args.cpu_devices:
            env["RABBET_NUM_CPU_DEVICES"] = str(self.args.cpu_devices)
        if self.args.one_device_each:
            env["RABBET_LOCAL_DEVICE_IDS"] = str(rank)
        launcher = os.getpid()

        def end_with_launcher():
            # In the new process: where the launcher is killed, the system ends it (Linux).
            self.libc.prctl(SET_DEATH_SIGNAL, signal.SIGTERM)
            if os.getppid() != launcher:
                os._exit(1)

        worker = subprocess.Popen(
            self.program,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # with what it starts it can be ended together
            preexec_fn=None if self.libc is None else end_with_launcher,
        )
        self.running[rank] = worker
        for stream, out in ((worker.stdout, sys.stdout), (worker.stderr, sys.stderr)):
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, Lines(rank, out))

    def run(self):
        """Start all, pass on what they say, and return the exit status of the whole."""
        try:
            self.start_all()
            while self.running and self.signal is None:
                self.pass_on(0.1)
                if self.coordinator.has_died():
                    status = self.without_coordinator()
                    if status:
                        return status
                for rank in [r for r, worker in self.running.items() if has_ended(worker)]:
                    status = self.ended(rank)
                    if status:
                        return status
            if self.signal is None:
                return 0
            self.say(f"it was sent {name_of(self.signal)}; all are ended")
            return 128 + self.signal
        except BrokenPipeError:  # nobody reads what they say any more, as in `rabbet launch ... | head`
            return 128 + signal.SIGPIPE

    def may_restart(self):
        """Whether something that failed is started again; counts how often."""
        if not self.args.elastic or self.restarts >= self.args.max_restarts:
            return False
        self.restarts += 1
        return True

    def without_coordinator(self):
        """The coordinator is gone, and soon the processes: start all again, or return the exit status."""
        again = self.may_restart()
        self.say(f"the coordinator has ended; all are {'started again' if again else 'ended'}")
        if not again:
            return 1
        self.end_workers(signal.SIGKILL)
        self.start_all()
        return 0

    def ended(self, rank):
        """A process has ended: start it again, or return the exit status of the whole, 0 to go on."""
        worker = self.running.pop(rank)
        self.drain(worker)
        # Until it is waited for, its number is nobody else's, and what it has started can be ended by that.
        self.finished.append(worker)
        status, how = exit_status_of(worker), how_ended(worker)
        if status == 0:
            return 0
        self.let_go(worker)
        if self.coordinator.has_died(within=MOMENT):
            return self.without_coordinator()  # which is why the process ended
        if self.may_restart():
            self.say(f"process {rank} {how}; it is started again")
            self.start(rank)
            return 0
        self.say(f"process {rank} {how}; all are ended")
        return status

    def let_go(self, worker):
        """End what a process that has ended has left behind, and forget it."""
        end_group(worker, signal.SIGKILL)
        worker.wait()
        self.finished.remove(worker)
        self.drain(worker)
        for stream in (worker.stdout, worker.stderr):
            self.close(stream)

    def say(self, text):
        """A line of the launcher's own."""
        print(f"rabbet launch: {text}", file=sys.stderr, flush=True)

    def pass_on(self, seconds):
        """Pass on what the processes have said, waiting for it for so long."""
        if not self.selector.get_map():
            time.sleep(seconds)
        for key, _ in self.selector.select(seconds):
            self.read(key.fileobj)

    def read(self, stream):
        """Pass on what there is of a stream."""
        lines = self.selector.get_key(stream).data
        while True:
            try:
                block = os.read(stream.fileno(), 65536)
            except BlockingIOError:
                return
            if not block:
                self.close(stream)
                return
            lines.add(block)

    def drain(self, worker):
        """Pass on all that a process has said, to the last word."""
        for stream in (worker.stdout, worker.stderr):
            if not stream.closed:
                self.read(stream)
            if not stream.closed:  # what it has started has the stream, too
                self.selector.get_key(stream).data.end()

    def close(self, stream):
        """Read no more from a stream."""
        if not stream.closed:
            self.selector.get_key(stream).data.end()
            self.selector.unregister(stream)
            stream.close()

    def end_workers(self, number):
        """End all processes and what they have started: by this signal first, then for good."""
        there = [*self.running.values(), *self.finished]
        for worker in there:
            end_group(worker, number)
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and not all(has_ended(worker) for worker in there):
            self.pass_on(0.05)
        self.running.clear()
        self.finished[:] = there
        for worker in there:
            self.let_go(worker)

    def end(self):
        """End all that there is: the processes are asked first, and get some seconds."""
        self.end_workers(self.signal or signal.SIGTERM)
        self.selector.close()
        if self.coordinator is not None:
            self.coordinator.close()


class Lines:
    """Passes on whole lines, each with the number of its process."""

    def __init__(self, rank, out):
        self.out, self.rest = out, b""
        self.prefix = f"[{rank}] "
        if out.isatty():
            self.prefix = f"\033[{COLOURS[rank % len(COLOURS)]}m[{rank}]\033[0m "

    def add(self, block):
        """Pass on what is complete, and of a line without an end what is long."""
        *lines, self.rest = (self.rest + block).split(b"\n")
        for line in lines:
            if not any(text in line for text in SAID_IN_VAIN):
                self.write(line)
        if len(self.rest) > MOST_WAITING:
            self.end()

    def end(self):
        """Pass on the last line."""
        rest, self.rest = self.rest, b""
        if rest:
            self.write(rest)

    def write(self, line):
        """Write one line.

        Raises:
          BrokenPipeError: if nobody reads any more; later ones go nowhere.
        """
        try:
            self.out.write(self.prefix + line.decode(errors="replace") + "\n")
            self.out.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.out.fileno())
            os.close(nowhere)
            raise


def end_group(worker, number):
    """Send a signal to a process that is not waited for yet, and to all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker.pid, number)


def state_of(worker):
    """What the system says of a process that has ended and is not waited for yet; None while it runs."""
    return os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def has_ended(worker):
    """Whether a process has ended; its number stays its own."""
    return state_of(worker) is not None


def exit_status_of(worker):
    """The exit status as shells have it: 128 and the number of the signal that ended it."""
    state = state_of(worker)
    return state.si_status if state.si_code == os.CLD_EXITED else 128 + state.si_status


def how_ended(worker):
    """In words, how a process has ended."""
    state, status = state_of(worker), exit_status_of(worker)
    by = "" if state.si_code == os.CLD_EXITED else f" (by {name_of(state.si_status)})"
    return f"ended with exit status {status}{by}"


def name_of(number):
    """``SIGTERM``, or ``signal 34`` where the number has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


__all__ = ["HELP", "add_arguments", "run"]
