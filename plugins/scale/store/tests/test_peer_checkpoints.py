"""Checkpoints near the processes, with copies at others, and tiers of several kinds."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb

rnp = pytest.importorskip("rabbet.numpy")
store = pytest.importorskip("rabbet.store")
pytestmark = pytest.mark.needs("store", "distributed", "sharding", "random", "numpy")
PROGRAM = Path(__file__).parent / "programs" / "peers.py"


def started(count, root, *arguments):
    """As many processes, each in a session of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **os.environ, "RABBET_PLATFORMS": "cpu", "RABBET_NUM_CPU_DEVICES": "1",
        "RABBET_NUM_PROCESSES": str(count), "RABBET_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
    }  # fmt: skip
    return [
        subprocess.Popen(
            [sys.executable, PROGRAM, root, *map(str, arguments)], start_new_session=True, text=True,
            env={**env, "RABBET_PROCESS_ID": str(i)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for i in range(count)
    ]  # fmt: skip


def killed(children):
    for child in children:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()


def ends(wait, *arguments):
    """Call what would wait for an hour, and ends before."""
    thread = threading.Thread(target=wait, args=arguments, daemon=True)
    thread.start()
    thread.join(600)
    assert not thread.is_alive()


def ended(children):
    try:
        said = [child.communicate(timeout=600)[0] for child in children]
    finally:
        killed(children)
    assert all("all is well" in each for each in said), "\n".join(said)


def test_what_a_killed_machine_had_comes_from_its_peer(tmp_path):
    children = started(2, tmp_path, "save")
    try:
        for child in children:
            for line in child.stdout:
                if "saved" in line:
                    break
            else:
                pytest.fail("it did not save")
    finally:
        killed(children)
    shutil.rmtree(tmp_path / "machine-1")  # its memory is gone with it
    ended(started(2, tmp_path, "load", 3))
    ended(started(1, tmp_path, "load", 3))  # over fewer devices


@pytest.mark.narrow
def test_one_process_alone(tmp_path):
    near = store.PeerCheckpoints(tmp_path)
    for step in (1, 2, 3):
        near.save(step, {"w": rnp.full((3,), step), "key": rb.random.key(step), "none": None, "t": (1, "a")})
    assert near.steps() == [2, 3] and near.latest() == 3
    found = near.load()
    assert found["w"].tolist() == [3, 3, 3] and found["t"] == (1, "a") and found["none"] is None
    assert (rb.random.key_data(found["key"]) == rb.random.key_data(rb.random.key(3))).all()
    assert near.load(2, like={"w": np.ones(3, np.int32)}, partial=True)["w"].tolist() == [2, 2, 2]
    with pytest.raises(store.CheckpointError, match="step 1 not"):
        near.load(1)
    with pytest.raises(store.CheckpointError, match="w"):
        near.load(like={"w": np.ones(4)}, partial=True)
    near.save(3, {"w": rnp.zeros(2)})
    assert near.load()["w"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("machines", "right"),
    [("a", []), ("ab", [1]), ("aa", [1]), ("aabb", [2, 1, 3]), ("aabbcc", [2, 4, 1, 3, 5]), ("aab", [1, 2])],
)
def test_copies_are_at_different_processes(machines, right, monkeypatch):
    between = pytest.importorskip("rabbet_store.between_processes")
    monkeypatch.setattr(between, "gathered", lambda said: list(machines))
    assert between.distances(machines[0]) == right


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:-1], lambda b: b[:-4] + b"abcd", lambda b: b"x" + b[1:], lambda b: b"",
        lambda b: b.replace(b"epoch", b"epoca"),
    ],
    ids=["short", "a value", "the beginning", "empty", "the table of contents"],
)  # fmt: skip
def test_what_is_damaged_is_not_read(tmp_path, damage):
    near = store.PeerCheckpoints(tmp_path)
    for step in (1, 2):
        near.save(step, {"w": np.full(9, step), "epoch": step}, wait=True)
    (last,) = tmp_path.glob("step2-*")
    last.write_bytes(damage(last.read_bytes()))
    assert near.load()["w"].tolist() == [1] * 9
    with pytest.raises(store.CheckpointError, match="step 2 not"):
        near.load(2)


def test_only_processes_of_the_run_can_send(tmp_path):
    mail = pytest.importorskip("rabbet_store.mail")
    names = pytest.importorskip("rabbet_store.peer_checkpoints").NAME
    inbox = mail.Inbox(tmp_path / "folder", names, b"shared")
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=mail.serve, args=(listener, inbox), daemon=True)
    thread.start()
    way = object.__new__(mail.Mail)
    way.secret, way.addresses, content = b"shared", [listener.getsockname()], np.arange(9, dtype=np.uint8)
    name = "step1-0123456789ab-0of2"
    way.send(0, name, content)
    inbox.wait([name], 20)
    assert (tmp_path / "folder" / name).read_bytes() == content.tobytes()
    for secret, wrong in ((b"other", name), (b"shared", "../outside"), (b"shared", "step1-x")):
        way.secret = secret
        (tmp_path / "folder" / name).unlink(missing_ok=True)
        with pytest.raises(store.CheckpointError, match="process 0 could not write a copy"):
            way.send(0, wrong, content)
        assert not list((tmp_path / "folder").iterdir()) and not (tmp_path / "outside").exists()
    way.secret = b"shared"
    for size in (9, 10**30):  # what is heard of another time, or made up, is refused before the rest is read
        said = f"{name} {size} {'0' * 64}".encode()
        with socket.create_connection(listener.getsockname(), 20) as stranger:
            assert len(mail.line_of(stranger)) == 33
            stranger.sendall(said + b" " + mail.code(b"shared", b"0" * 32 + b"\n" + said).encode() + b"\n")
            assert mail.line_of(stranger) == b""
    (tmp_path / "folder").rmdir()
    (tmp_path / "folder").write_text("")  # what stands in the way is told to the sender
    with pytest.raises(store.CheckpointError, match="File exists"):
        way.send(0, name, content)
    inbox.wait(["step2-0123456789ab-0of2"], 0.01)  # it does not come
    inbox.give_up()
    ends(inbox.wait, ["step2-0123456789ab-0of2"], 3600)  # nor is it waited for
    mail.close(listener)
    thread.join(300)
    assert not thread.is_alive()
    with pytest.raises(store.CheckpointError, match="process 0 does not take copies"):
        way.send(0, name, content)


@pytest.fixture
def sending(tmp_path):
    """A ``PeerCheckpoints`` that sends its copies to a listener with a folder of its own, and that folder."""
    mail = pytest.importorskip("rabbet_store.mail")
    names = pytest.importorskip("rabbet_store.peer_checkpoints").NAME
    there = mail.Inbox(tmp_path / "there", names, b"shared")
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=mail.serve, args=(listener, there), daemon=True).start()
    near = store.PeerCheckpoints(tmp_path / "here")
    near._meet()
    near._right, near._mail = [0], object.__new__(mail.Mail)
    near._mail.secret, near._mail.addresses, near._mail.inbox = b"shared", [listener.getsockname()], there
    yield near, tmp_path / "there"
    mail.close(listener)


def test_a_copy_that_cannot_be_written_is_not_waited_for_and_reading_says_so(sending):
    near, there = sending
    there.write_text("")
    near.save(1, {"w": 1})
    near._thread.join()
    ends(near._mail.inbox.wait, [path.name for path in near.folder.iterdir()], 3600)
    with pytest.warns(UserWarning, match="copies of what was saved last .* could not write a copy"):
        assert near.load() == {"w": 1}
    near.save(2, {"w": 2})
    with pytest.raises(store.CheckpointError, match="could not write a copy"):
        near.wait()
    there.unlink()
    with socket.create_server(("127.0.0.1", 0)) as gone:
        near._mail.addresses.insert(0, gone.getsockname())
    name = next(near.folder.iterdir()).name
    with pytest.raises(store.CheckpointError, match="process 0 does not take copies"):
        near._mail.send_all([0, 1], name, np.zeros(2, np.uint8))
    assert (there / name).read_bytes() == bytes(2)  # the one behind it has its own


def test_who_cannot_write_has_its_copies_elsewhere(sending):
    near, there = sending
    near.folder.write_text("")
    with pytest.raises(store.CheckpointError, match="could not be written"):
        near.save(1, {"w": 1}, wait=True)
    assert [path.name[:6] for path in there.iterdir()] == ["step1-"]


def test_several_processes_share_a_folder(tmp_path, monkeypatch):
    parts_file = pytest.importorskip("rabbet_store.parts_file")
    path, content, sync = tmp_path / "a", np.arange(9, dtype=np.uint8), os.fsync

    def meanwhile(descriptor):
        monkeypatch.setattr(os, "fsync", sync)
        parts_file.write(path, content)  # another one writes the copy that it has

    monkeypatch.setattr(os, "fsync", meanwhile)
    parts_file.write(path, content)
    assert path.read_bytes() == content.tobytes() and list(tmp_path.iterdir()) == [path]
    near = store.PeerCheckpoints(tmp_path)
    gone = (tmp_path / "gone", "0" * 12, 1, 0, 1)  # by another one, since the names were read
    monkeypatch.setattr(near, "_files", lambda: [gone])
    near.save(1, {"w": 1}, wait=True)


def test_tiers_each_at_its_turn(tmp_path):
    near, far = store.PeerCheckpoints(tmp_path / "near"), store.Checkpoints(tmp_path / "far")
    tiers = store.Tiers([(near, 2), (far, 3)])
    kept = [tiers.save(step, {"w": np.full(2, step)}) for step in range(1, 10)]
    assert kept[:3] == [[], [near], [far]] and kept[5] == [near, far]
    assert tiers.steps() == [3, 6, 8, 9] and tiers.latest() == 9
    assert tiers.load()["w"].tolist() == [9, 9] and tiers.load(8)["w"].tolist() == [8, 8]
    shutil.rmtree(tmp_path / "far" / "step-0000000009" / "array-0")
    assert tiers.load()["w"].tolist() == [8, 8]  # the one before it, which can be read
    with pytest.raises(store.CheckpointError, match="not step 7"):
        tiers.load(7)


def test_what_is_wrong_is_said(tmp_path):
    for wrong, error in (
        (lambda: store.PeerCheckpoints(tmp_path, keep=1), ValueError),
        (lambda: store.PeerCheckpoints(tmp_path, copies=-1), ValueError),
        (lambda: store.Tiers([]), ValueError),
        (lambda: store.Tiers([(store.Checkpoints(tmp_path), 0)]), ValueError),
        (lambda: store.Tiers([(tmp_path, 1)]), TypeError),
        (lambda: store.PeerCheckpoints(tmp_path).save(1, {"f": print}), TypeError),
        (lambda: store.PeerCheckpoints(tmp_path).load(partial=True), TypeError),
    ):
        with pytest.raises(error):
            wrong()
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(store.CheckpointError, match="could not be written"):
        store.PeerCheckpoints(blocked).save(1, {"w": 1}, wait=True)
