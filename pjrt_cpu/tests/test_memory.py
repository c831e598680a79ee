"""The allocator's settings, in a process of their own."""

import subprocess
import sys

import pytest
from rabbet_pjrt_cpu import idle_memory, memory

SCRIPT = """
from rabbet_pjrt_cpu import memory
assert memory.keep_freed_memory() == memory.is_glibc()
assert memory.keep_freed_memory() == memory.is_glibc()
import numpy as np
blocks = [np.ones(1 << 20) for _ in range(20)]
del blocks
assert np.ones(1 << 20).sum() == 1 << 20
"""


def test_settings_are_taken_where_there_is_glibc():
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_another_libc_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory, "is_glibc", lambda: False)
    assert memory.keep_freed_memory.__wrapped__() is False


class Malloc:
    """Totals that a test sets: ``used``, and what is free and resident; 100 MB of code."""

    def __init__(self):
        self.used, self.free, self.given, self.clock, self.worked = 0, 0, [], 0.0, 0.0

    def look(self):
        return self.used, 100_000_000 + self.free

    def give_back(self):
        self.given.append(self.clock)
        self.free = 0

    def pass_time(self, watch, seconds=1, working=0.0):
        for _ in range(seconds):
            self.clock += 1.0
            self.worked += working
            watch.step()


@pytest.fixture
def malloc():
    return Malloc()


@pytest.fixture
def watch(malloc):
    return idle_memory.Watch(malloc, now=lambda: malloc.clock, busy=lambda: malloc.worked)


def test_what_is_free_while_the_process_rests_is_given_back_after_a_second(malloc, watch):
    malloc.pass_time(watch)
    malloc.free = idle_memory.WORTH_IT
    malloc.pass_time(watch)
    assert malloc.given == []
    malloc.pass_time(watch)
    assert malloc.given == [3.0]
    malloc.pass_time(watch, 100)
    assert malloc.given == [3.0]
    malloc.free = idle_memory.WORTH_IT - 1
    malloc.pass_time(watch, 10)
    assert malloc.given == [3.0]


def test_a_process_at_work_keeps_what_it_is_about_to_use(malloc, watch):
    malloc.free = idle_memory.MOST_KEPT - 1
    malloc.pass_time(watch, 10, working=1.0)
    assert malloc.given == []
    malloc.free += 1
    malloc.pass_time(watch, 2, working=1.0)
    assert malloc.given == [12.0]


def test_a_process_that_uses_what_was_given_back_is_left_alone_for_longer_and_longer(malloc, watch):
    for _ in range(3600):
        malloc.free = 2 * idle_memory.MOST_KEPT
        malloc.pass_time(watch, working=1.0)
    assert len(malloc.given) < 25
    gaps = [b - a for a, b in zip(malloc.given, malloc.given[1:])]
    assert gaps[:5] == [2.0, 2.0, 4.0, 8.0, 16.0] and max(gaps) == idle_memory.LONGEST_PAUSE
    malloc.given.clear()
    malloc.pass_time(watch, 10_000, working=1.0)
    malloc.free = 2 * idle_memory.MOST_KEPT
    malloc.pass_time(watch, 3, working=1.0)
    assert watch.pause == idle_memory.SECONDS


def test_looks_that_take_long_are_seldom():
    # Memory in a million pieces, as while a large program compiles: malloc is locked while it counts them.
    assert idle_memory.pause_after(0.00002) == idle_memory.SECONDS
    assert idle_memory.pause_after(0.2) == pytest.approx(20)
    assert idle_memory.pause_after(100) == idle_memory.LONGEST_PAUSE


def test_where_malloc_has_no_totals_nothing_is_watched(monkeypatch):
    def absent():
        raise AttributeError("mallinfo2")

    monkeypatch.setattr(idle_memory, "Malloc", absent)
    assert idle_memory.start() is False
