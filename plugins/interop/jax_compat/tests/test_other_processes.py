"""What libraries read of ``jax._src.distributed`` to wait for other processes."""

import socket
import subprocess
import sys

import pytest

pytest.importorskip("rabbet_distributed")

PROGRAM = """
import sys

import jax

state = jax._src.distributed.global_state
assert state.client is None and (state.process_id, state.num_processes) == (0, 1)
jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", 1, 0)
client = state.client
client.wait_at_barrier("all", 60_000)
client.key_value_set("library/key", "value")
assert client.key_value_try_get("library/key") == "value"
assert client.blocking_key_value_get("library/key", 60_000) == "value"
try:
    client.key_value_try_get("nothing")
except jax.errors.JaxRuntimeError as error:
    print("as under JAX:", error)
jax.distributed.shutdown()
assert state.client is None
"""


LEFT_ALONE = """
import os, sys

import jax

port, rank = sys.argv[1:]
jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(rank))
client = jax._src.distributed.global_state.client
client.wait_at_barrier("both", 60_000)
if rank == "1":
    os._exit(0)
try:
    client.wait_at_barrier("alone", 3_600_000)
except jax.errors.JaxRuntimeError as error:
    print(error, flush=True)
os._exit(0)
"""


def started(tmp_path, program, *arguments):
    file = tmp_path / "program.py"
    file.write_text(program)
    command = [sys.executable, "-m", "rabbet_jax", file, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.needs("cpu")
def test_the_client_of_a_process_among_others(tmp_path):
    ran = started(tmp_path, PROGRAM, free_port())
    out, said = ran.communicate(timeout=600)
    assert ran.returncode == 0, said
    assert "as under JAX: NOT_FOUND" in out


@pytest.mark.needs("cpu")
def test_a_barrier_that_a_lost_process_will_not_reach_is_left_with_its_name(tmp_path):
    port = free_port()
    first, other = [started(tmp_path, LEFT_ALONE, port, rank) for rank in range(2)]
    other.communicate(timeout=600)
    out, said = first.communicate(timeout=600)
    assert "the barrier 'alone' will not open: process 1: its process is gone" in out, said
