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


@pytest.mark.needs("cpu")
def test_the_client_of_a_process_among_others(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "rabbet_jax", file, str(port)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "as under JAX: NOT_FOUND" in ran.stdout
