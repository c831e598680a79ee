"""The allocator's settings, in a process of their own."""

import subprocess
import sys

from rabbet_pjrt_cpu import memory

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
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_another_libc_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory, "is_glibc", lambda: False)
    assert memory.keep_freed_memory.__wrapped__() is False
