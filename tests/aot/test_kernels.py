"""Every row of ``tests/kernels/rows.py`` compiles for the hardware that is named, by the target's writer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("jit", "vmap", "nn", "numpy")
SCRIPT = Path(__file__).parent / "compile_kernels.py"
TARGETS = {"cuda": "triton", "tpu": "tpu"}
TOPOLOGIES = {"cuda": ["h100", "a100"], "tpu": ["v4", "v5e", "v5p", "v6e"]}


def test_kernels_compile(platform):
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), TARGETS[platform], ",".join(TOPOLOGIES[platform])], capture_output=True,
        text=True, timeout=1200, check=False, env={**os.environ, "RABBET_CACHE": "0"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    lines = ended.stdout.splitlines()
    refused = [line for line in lines if line.startswith("refused")]
    assert not refused, "\n".join(refused)
    for topology in TOPOLOGIES[platform]:
        assert sum(line.startswith(f"compiled {topology} ") for line in lines) >= 100, topology


def test_the_memory_of_attention_grows_with_the_length(platform):
    """Not with its square, in the gradient: four times the length takes four times the memory."""
    script = SCRIPT.with_name("compile_attention.py")
    ended = subprocess.run(
        [sys.executable, str(script), platform, TOPOLOGIES[platform][0]], capture_output=True, text=True,
        timeout=600, check=False, env={**os.environ, "RABBET_CACHE": "0"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    short, long, plain = [int(line.split()[-1]) for line in ended.stdout.splitlines()]
    assert long <= 4.2 * short
    assert long < plain / 4


def test_grouped_products(platform):
    """On a TPU by the compiler's own operation, without loops; on a GPU in tiles, without all products."""
    script = SCRIPT.with_name("compile_ragged.py")
    ended = subprocess.run(
        [sys.executable, str(script), platform, TOPOLOGIES[platform][0]], capture_output=True, text=True,
        timeout=600, check=False, env={**os.environ, "RABBET_CACHE": "0"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    loops, ragged, memory = map(int, ended.stdout.split())
    assert (loops == 0 and ragged >= 3) if platform == "tpu" else loops == 3
    assert memory < 64 * 1024 * 256  # less than a mask of all groups


def test_the_compiler_takes_calls_of_cudnn(platform):
    """It reads their descriptions; kernels are made where there is a GPU."""
    if platform != "cuda":
        pytest.skip("cuDNN is for GPUs")
    script = SCRIPT.with_name("compile_attention.py")
    ended = subprocess.run(
        [sys.executable, str(script), "cuda", "h100", "cudnn"], capture_output=True, text=True, timeout=600,
        check=False, env={**os.environ, "RABBET_CACHE": "0"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == ["2"]


@pytest.mark.exhaustive
def test_gradients_of_attention_for_all_sizes_of_heads(platform):
    """With a bias, segments, lengths and grouped heads: four kernels each, but where a TPU has no float16."""
    script = SCRIPT.with_name("compile_attention.py")
    ended = subprocess.run(
        [sys.executable, str(script), platform, TOPOLOGIES[platform][0], "table"], capture_output=True,
        text=True,
        timeout=600, check=False, env={**os.environ, "RABBET_CACHE": "0"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    lines = ended.stdout.splitlines()
    assert len(lines) == 12
    for line in lines:
        none = platform == "tpu" and "float16" in line.split()
        assert int(line.split()[-1]) == (0 if none else 4), line


def test_kernels_in_exported_programs_compile(platform):
    """Several rows as one program, written in the form that outlives releases and read back."""
    if platform != "tpu":
        pytest.skip("kernels for GPUs have no such form")
    script = SCRIPT.with_name("compile_exported.py")
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "RABBET_CACHE": "0"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert int(ended.stdout.split()[-1]) > 10_000
