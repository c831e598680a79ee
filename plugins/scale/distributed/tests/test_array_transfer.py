"""Arrays from one process to another."""

import datetime
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import ConfigError

transfer = pytest.importorskip("rabbet.experimental.transfer")
PROGRAM = Path(__file__).parent / "programs" / "offers.py"
spec = lambda shape, dtype="float32", **more: rb.ShapeDtypeStruct(shape, dtype, **more)


@pytest.fixture
def server():
    with transfer.start_transfer_server() as made:
        yield made


@pytest.fixture
def other():
    """Another process, and the connection to it."""
    command = [sys.executable, str(PROGRAM)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        address = child.stdout.readline().strip()
        with transfer.start_transfer_server() as own:
            yield child, own.connect(address), address
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


def test_another_process_sends_what_it_offers(other):
    child, connection, _ = other
    found = connection.pull(1, {"w": spec((2, 3)), "n": spec((), "int32")})
    np.testing.assert_array_equal(found["w"], np.arange(6.0).reshape(2, 3))
    assert int(found["n"]) == 7 and rb.typeof(found["w"]).str_short() == "f32[2,3]"
    late = []
    waiting = threading.Thread(target=lambda: late.append(connection.pull(3, spec((3,)), timeout=60)))
    waiting.start()
    child.stdin.write("offer 3\n")
    child.stdin.flush()
    waiting.join(60)
    np.testing.assert_array_equal(late[0], np.full(3, 5.0))


def test_a_process_that_ends_is_named(other):
    child, connection, address = other
    child.kill()
    child.wait()
    for _ in range(2):
        with pytest.raises(transfer.TransferError, match="has ended") as raised:
            connection.pull(2, [spec((4,))])
        assert address in str(raised.value)
    with (
        transfer.start_transfer_server() as own,
        pytest.raises(transfer.TransferError, match="no transfer server"),
    ):
        own.connect(address)


def test_each_offer_is_pulled_once_and_mistakes_leave_it(server):
    x = rb.device_put(np.arange(4, dtype=np.float32))
    connection = server.connect(server.address())
    server.await_pull(5, [x, x + 1])
    for wrong in ([spec((4,))], [spec((4,)), spec((5,))], [spec((4,)), spec((4,), "int32")], spec((4,))):
        with pytest.raises(transfer.TransferError, match=r"offered are float32\[4\], float32\[4\]"):
            connection.pull(5, wrong)
    with pytest.raises(transfer.TransferError, match="offered under uuid 5 already"):
        server.await_pull(5, x)
    place = rb.sharding.SingleDeviceSharding(rb.devices()[0]) if hasattr(rb, "sharding") else None
    first, second = connection.pull(5, [spec((4,), sharding=place), spec((4,))])
    np.testing.assert_array_equal(first + 1, second)
    with pytest.raises(transfer.TransferTimeoutError, match="nobody offered it within 0 s"):
        connection.pull(5, [spec((4,)), spec((4,))], timeout=0)


def test_times_are_seconds_or_a_moment(server):
    connection = server.connect(server.address())
    past = datetime.datetime.now() - datetime.timedelta(seconds=1)
    with pytest.raises(TimeoutError, match="uuid 9"):
        connection.pull(9, spec((1,)), timeout=past)
    for wrong in ("soon", -1, float("inf")):
        with pytest.raises(ValueError, match="timeout must be"):
            connection.pull(9, spec((1,)), timeout=wrong)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64", "float32"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5, 7)])
def test_dtypes_and_shapes(server, dtype, shape):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    server.await_pull(1, rb.device_put(x))
    np.testing.assert_array_equal(server.connect(server.address()).pull(1, spec(shape, dtype)), x)


def test_several_addresses_and_small_pieces():
    with transfer.start_transfer_server(
        transport_addresses=["127.0.0.1:0", "127.0.0.1:0"], transfer_size=16, max_num_parallel_copies=1
    ) as server:
        connection = server.connect(server.address())
        x = rb.device_put(np.arange(1000, dtype=np.float32))
        for uuid in range(4):
            server.await_pull(uuid, x)
            np.testing.assert_array_equal(connection.pull(uuid, spec((1000,))), x)


def test_who_has_another_secret_gets_nothing(server):
    with transfer.start_transfer_server(secret="another secret of some length") as stranger:
        with pytest.raises(transfer.TransferError, match="no transfer server with our secret"):
            stranger.connect(server.address())
        stranger.await_pull(1, rb.device_put(np.ones(2, np.float32)))
        with transfer.start_transfer_server(secret="another secret of some length") as friend:
            np.testing.assert_array_equal(friend.connect(stranger.address()).pull(1, spec((2,))), np.ones(2))


def test_what_cannot_be_is_refused(server, monkeypatch):
    monkeypatch.delenv("RABBET_JOB_SECRET", raising=False)
    with pytest.raises(ConfigError, match="there is no secret"):
        transfer.start_transfer_server(address="0.0.0.0:0")
    for word in ("supports_pinned_allocator", "use_raw_buffers"):
        with pytest.raises(NotImplementedError, match=word):
            transfer.start_transfer_server(**{word: True})
    for word in ("max_num_parallel_copies", "transfer_size"):
        with pytest.raises(ValueError, match=word):
            transfer.start_transfer_server(**{word: 0})
    with pytest.raises(ValueError, match="host:port"):
        server.connect("nowhere")
    with pytest.raises(transfer.TransferError, match="cannot listen"):
        transfer.start_transfer_server(address=server.address())
    with pytest.raises(TypeError, match="takes arrays"):
        rb.jit(lambda x: server.await_pull(1, x) or x)(np.ones(2))
    connection = server.connect(server.address())
    connection.close()
    with pytest.raises(transfer.TransferError, match="was closed"):
        connection.pull(1, spec((1,)))
    server.close()
    with pytest.raises(transfer.TransferError, match="server is closed"):
        server.await_pull(1, rb.device_put(np.ones(1)))
