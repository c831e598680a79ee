"""A plugin of pytest: how each test ended, and why, one line of JSON each, written at once.

``OUTCOMES`` names the file; with ``OUTCOMES_EVERY`` of, say, 4 every fourth test of each package runs, those
that stand in the file ``OUTCOMES_KNOWN`` do not, and none begins after ``OUTCOMES_SECONDS``. The file's lines
are lists: ``["there", test]`` for each test, whether it is to run or not, ``["began", test]`` before it runs,
``["done", test]`` after, and ``[outcome, test, text]`` for what is worth a count: outcome is "passed",
"skipped", "failed" or "error" (before or after the test, or while a file was read), text is the reason or the
traceback.
"""

import functools
import json
import os
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


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    write, seconds = writer(), float(os.environ.get("OUTCOMES_SECONDS") or 0)
    end = time.monotonic() + seconds if seconds else float("inf")

    class Hooks:
        def pytest_collectreport(self, report):
            if report.failed:
                write("error", report.nodeid, str(report.longrepr))

        def pytest_runtest_logstart(self, nodeid):
            write("began", nodeid)

        def pytest_runtest_logreport(self, report):
            if report.skipped:
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                write("skipped", report.nodeid, reason.removeprefix("Skipped: "))
            elif report.failed:
                write("failed" if report.when == "call" else "error", report.nodeid, str(report.longrepr))
            elif report.when == "call":
                write("passed", report.nodeid, "")

        def pytest_runtest_logfinish(self, nodeid):
            write("done", nodeid)
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
