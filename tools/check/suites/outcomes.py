"""A plugin of pytest: how each test ended, and why, one line of JSON each, written at once.

``OUTCOMES`` names the file; with ``OUTCOMES_EVERY`` of, say, 4 every fourth test of each package runs,
those that stand in the file ``OUTCOMES_KNOWN`` do not, and none begins after ``OUTCOMES_SECONDS``. The
file's lines are lists: ``["there", test]`` for each test, whether it is to run or not, ``["began", test]``
before it runs, ``["done", test, seconds]`` after, and ``[outcome, test, text]`` for what is worth a count:
outcome is "passed", "skipped", "slow", "failed" or "error" (before or after the test, or while a file was
read), text is the reason or the traceback. A test is "slow" if it was ended after ``OUTCOMES_LIMIT``
seconds: a signal raises `TooSlow` in it, again and again should something swallow that. Of generated tests
at most ``OUTCOMES_EXAMPLES`` are tried.
"""

import functools
import importlib.util
import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest


@functools.cache
def writer():
    log = open(os.environ["OUTCOMES"], "a", buffering=1)  # noqa: SIM115

    def write(*line):
        log.write(json.dumps(line) + "\n")

    return write


def fewer_examples(most):
    """Generated tests try at most so many examples: to them an example is what a row is to others."""
    if not most or importlib.util.find_spec("hypothesis") is None:
        return
    import hypothesis

    class Fewer(hypothesis.settings):
        def __init__(self, *args, max_examples=most, **others):
            super().__init__(*args, max_examples=min(most, max_examples), **others)

    hypothesis.settings = Fewer  # before files of tests import it


class TooSlow(pytest.skip.Exception):
    """A test has had its seconds; no test expects this, and a BaseException passes most handlers."""


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item):
    """End a test after its seconds, whatever it uses alarms for itself: by a signal of its own."""
    limit = float(os.environ.get("OUTCOMES_LIMIT") or 0)
    if not limit:
        return (yield)
    over = threading.Event()

    def stop(number, frame):
        if not over.is_set():
            raise TooSlow(f"not done after {limit:g} s")

    def watch():
        while not over.wait(limit):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR2)

    before = signal.signal(signal.SIGUSR2, stop)
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        return (yield)
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGUSR2, before)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    write, seconds = writer(), float(os.environ.get("OUTCOMES_SECONDS") or 0)
    fewer_examples(int(os.environ.get("OUTCOMES_EXAMPLES") or 0))
    end = time.monotonic() + seconds if seconds else float("inf")

    class Hooks:
        began = 0.0

        def pytest_collectreport(self, report):
            if report.failed:
                write("error", report.nodeid, str(report.longrepr))

        def pytest_runtest_logstart(self, nodeid):
            self.began = time.monotonic()
            write("began", nodeid)

        def pytest_runtest_logreport(self, report):
            if report.skipped:
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                slow = reason.startswith("not done after")
                write("slow" if slow else "skipped", report.nodeid, reason.removeprefix("Skipped: "))
            elif report.failed:
                write("failed" if report.when == "call" else "error", report.nodeid, str(report.longrepr))
            elif report.when == "call":
                write("passed", report.nodeid, "")

        def pytest_runtest_logfinish(self, nodeid):
            write("done", nodeid, f"{time.monotonic() - self.began:.2f}")
            if time.monotonic() > end:
                session.shouldstop = "its seconds are over"

    session.config.pluginmanager.register(Hooks())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    yield  # here conftest.py leaves rows out
    write, every, seen, left_out = writer(), int(os.environ.get("OUTCOMES_EVERY", "1")), Counter(), []
    known = set(Path(os.environ["OUTCOMES_KNOWN"]).read_text().splitlines())
    for item in list(items):
        package = item.nodeid.partition("/tests/")[0]
        write("there", item.nodeid)
        if item.nodeid in known or seen[package] % every:
            items.remove(item)
            left_out.append(item)
        seen[package] += 1
    config.hook.pytest_deselected(items=left_out)
