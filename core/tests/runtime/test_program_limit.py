"""A process that compiles program after program does not run out of memory mappings."""

import os
import subprocess
import sys
import warnings

import pytest
from rabbet.runtime.caching import program_limit
from rabbet.runtime.caching.program_limit import EVERY, Crowding

pytestmark = pytest.mark.exhaustive


class Process:
    """One with so many mappings, of which `forgettable` are of programs that are kept, and `unreachable` of
    programs that nobody can reach.
    """

    def __init__(self, mappings, forgettable, unreachable=0, most=1000):
        self.mappings, self.forgettable, self.unreachable = mappings, forgettable, unreachable
        self.relieved = self.collected = 0
        self.crowding = Crowding(lambda: self.mappings, lambda: most, self.collect)
        self.crowding.relieve.append(self.forget)

    def collect(self):
        self.mappings -= self.unreachable
        self.unreachable = 0
        self.collected += 1

    def forget(self):
        self.unreachable, self.forgettable = self.forgettable, 0
        self.relieved += 1

    def load(self, programs):
        for _ in range(programs):
            self.crowding.one_more()


def test_programs_are_forgotten_at_half_of_the_mappings():
    process = Process(mappings=500, forgettable=400)
    process.load(10 * EVERY)
    assert process.relieved == 0
    process.mappings = 501
    process.load(EVERY - 1)
    assert process.relieved == 0, "not every program is worth a look"
    process.load(1)
    assert process.relieved == 1
    process.load(10 * EVERY)
    assert process.relieved == 1


def test_programs_that_nobody_can_reach_are_looked_for_first():
    process = Process(mappings=600, forgettable=0, unreachable=500)
    process.load(EVERY)
    assert (process.mappings, process.collected, process.relieved) == (100, 1, 0)
    process.mappings = 200
    process.load(EVERY)
    assert process.collected == 1, "not again before there are twice as many"
    process.mappings = 201
    process.load(EVERY)
    assert process.collected == 2


def test_what_cannot_be_forgotten_is_told_once_and_not_tried_every_time():
    process = Process(mappings=900, forgettable=100)
    with pytest.warns(RuntimeWarning, match="800 of the 1000 memory mappings"):
        process.load(EVERY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        process.load(EVERY)
        assert process.relieved == 1
        process.load(EVERY)
        assert process.relieved == 2


def test_where_nothing_can_be_known_nothing_happens(monkeypatch):
    monkeypatch.setattr(program_limit, "MAPPINGS", "/nowhere/maps")
    monkeypatch.setattr(program_limit, "MOST", "/nowhere/most")
    assert program_limit.mappings() is None and program_limit.most_mappings() is None
    forgotten = []
    made = Crowding(program_limit.mappings, program_limit.most_mappings)
    made.relieve.append(lambda: forgotten.append(1))
    for _ in range(2 * EVERY):
        made.one_more()
    assert not forgotten


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mappings are Linux's")
def test_programs_of_many_shapes_stay_within_the_limit(tmp_path):
    code = """
import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet.runtime.caching import program_limit

process = program_limit.of_process
lax.add(np.ones(1, np.float32), 1.0).block_until_ready()
first = program_limit.mappings()
process.most = lambda: 2 * (first + 250)
seen = []
for n in range(2, 252):
    np.testing.assert_array_equal(lax.add(np.ones(n, np.float32), 1.0), np.full(n, 2))
    seen.append(program_limit.mappings())
print(first, max(seen))
"""
    env = {**os.environ, "RABBET_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    first, most = map(int, done.stdout.split())
    # Up to the next look 64 more programs are loaded, of about 6 mappings each.
    assert first + 250 < most < first + 250 + 64 * 12, "without a bound they are 1,500 more"
