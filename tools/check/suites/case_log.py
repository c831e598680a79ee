"""A plugin of pytest: each case and how it ended, one line of JSON each, written at once.

A process that dies leaves the lines of the cases before. ``CASE_LOG`` names the file. With ``CASES_EVERY``
of, say, 37 only every 37th case of a file runs: the same cases in each run, of all its functions.
"""

import json
import os

import pytest


def pytest_configure(config):
    config.stash[LOG] = open(os.environ["CASE_LOG"], "a", buffering=1)  # noqa: SIM115


LOG = pytest.StashKey()


class Writer:
    """Writes what happens in one process."""

    def __init__(self, log):
        self.log = log

    def write(self, case, outcome, why=""):
        self.log.write(json.dumps([case, outcome, why]) + "\n")


def _why(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else str(report.longrepr))[:600]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    writer = Writer(session.config.stash[LOG])

    class Hooks:
        def pytest_runtest_logstart(self, nodeid, location):
            writer.write(nodeid, "started")

        def pytest_runtest_logreport(self, report):
            if report.when == "call" or report.outcome != "passed":
                writer.write(report.nodeid, report.outcome, _why(report) if report.failed else "")

        def pytest_collectreport(self, report):
            if report.failed:
                writer.write(report.nodeid, "uncollected", _why(report))

    session.config.pluginmanager.register(Hooks())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items[:] = items[:: int(os.environ.get("CASES_EVERY", "1"))]
