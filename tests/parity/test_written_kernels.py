"""Kernels that JAX ships, unchanged, as Rabbet writes them for GPUs and TPUs: evaluated in NumPy."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
PROGRAM = Path(__file__).with_name("written_kernels.py")
KERNELS = {
    "softmax": 1, "layer_norm": 3, "rms_norm": 3, "attention": 3, "decode_attention": 1, "matmul": 1,
    "megablox": 1,
    "flash_attention": 1, "paged_attention": 1,
}  # fmt: skip


def test_what_is_written_is_right():
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM], capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [line.split() for line in ended.stdout.splitlines()]
    assert {name: int(count) for name, count, _ in found} == KERNELS
    assert all(float(apart) < 1e-5 for _, _, apart in found), ended.stdout
