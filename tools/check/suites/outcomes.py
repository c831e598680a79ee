"""A plugin of pytest: how each test ended, and why, one line of JSON each, written at once.

``OUTCOMES`` names the file; with ``OUTCOMES_EVERY`` of, say, 4 every fourth test of each package runs. The
file's lines are lists: ``["chosen", test]`` for each test that is to run, ``["done", test]`` after each, and
``[outcome, test, text]`` for what is worth a count: outcome is "passed", "skipped", "failed" or "error"
(before or after the test, or while a file was read), text is the reason or the traceback.
"""

import json
import os
from collections import Counter

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    log = open(os.environ["OUTCOMES"], "a", buffering=1)  # noqa: SIM115

    def write(*line):
        log.write(json.dumps(line) + "\n")

    class Hooks:
        def pytest_collectreport(self, report):
            if report.failed:
                write("error", report.nodeid, str(report.longrepr))

        def pytest_collection_finish(self, session):
            for item in session.items:
                write("chosen", item.nodeid)

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

    session.config.pluginmanager.register(Hooks())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    yield  # here conftest.py leaves rows out
    every, seen, left_out = int(os.environ.get("OUTCOMES_EVERY", "1")), Counter(), []
    for item in list(items):
        package = item.nodeid.partition("/tests/")[0]
        if seen[package] % every:
            items.remove(item)
            left_out.append(item)
        seen[package] += 1
    config.hook.pytest_deselected(items=left_out)
