"""Where the coordinator listens."""

import socket
import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs("distributed")


@pytest.mark.skipif(sys.platform != "linux", reason="all of 127.0.0.0/8 is there on Linux alone")
def test_at_a_loopback_address_it_listens_there_alone():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    source = f"""if True:
        import socket, rabbet as rb
        rb.distributed.initialize("127.0.0.1:{port}", 1, 0)
        socket.create_connection(("127.0.0.1", {port}), timeout=10).close()
        try:
            socket.create_connection(("127.0.0.2", {port}), timeout=10).close()
        except ConnectionRefusedError:
            print("there alone")
        rb.distributed.shutdown()
    """
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "there alone" in done.stdout, done.stdout + done.stderr[-2000:]
