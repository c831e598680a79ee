"""Checkpoints in one process: values come back, damage is found, a writer that dies leaves the old one."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb

store = pytest.importorskip("rabbet.store")
command = pytest.importorskip("rabbet_store.command")

pytestmark = pytest.mark.needs("cpu")
PROGRAMS = Path(__file__).parent / "programs"
STATE = {
    "w": np.arange(12, dtype=np.float32).reshape(3, 4), "zeros": np.zeros(5, np.float32),
    "empty": np.zeros((0, 3), np.int32), "number": np.float32(2.5), "z": np.ones(2, np.complex64) * 1j,
    "mask": np.array([True, False]), "wide": np.arange(3, dtype=np.float64) / 3, "big": np.array([2**60]),
}  # fmt: skip


def on_device(values):
    """As an array of just its dtype."""
    return (
        rb.lax.convert_element_type(rb.device_put(values), values.dtype)
        if values.dtype.itemsize < 8
        else values
    )


def test_values_come_back(tmp_path):
    state = {"arrays": {k: on_device(v) for k, v in STATE.items()}, "facts": (1, 2.5, "text", True, None)}
    checkpoints = store.Checkpoints(tmp_path)
    checkpoints.save(3, state, wait=True)
    assert checkpoints.steps() == [3] and checkpoints.verify() == len(STATE) + 4
    for loaded in (checkpoints.load(), checkpoints.load(3, like=state)):
        assert list(loaded["facts"])[:4] == [1, 2.5, "text", True]
        for name, values in STATE.items():
            found = loaded["arrays"][name]
            assert type(found) is type(state["arrays"][name]) and found.dtype == values.dtype, name
            np.testing.assert_array_equal(found, values)
    assert checkpoints.load(like=state)["facts"] == state["facts"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"])
def test_small_formats(tmp_path, dtype):
    for package in ("rabbet_bfloat16", "rabbet_float8", "rabbet_int4"):
        pytest.importorskip(package)
    x = rb.lax.convert_element_type(rb.device_put(np.arange(7, dtype=np.float32)), dtype)
    checkpoints = store.Checkpoints(tmp_path)
    checkpoints.save(0, [x], wait=True)
    (found,) = checkpoints.load()
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(found).astype(np.float32), np.arange(7))


KEYS = [
    {("a", 1): np.float32(1), ("a", 2): 2, ("b", ("c", 0.5)): 3}, {(1, None): 2}, {3: 4, np.int32(5): 6},
    {True: 7, False: {"x": 8}}, {None: 9}, {1.5: 10},
]  # fmt: skip


def test_keys_of_dicts_come_back(tmp_path):
    checkpoints = store.Checkpoints(tmp_path)
    for step, state in enumerate(KEYS):
        checkpoints.save(step, state, wait=True)
        for found in (checkpoints.load(step), checkpoints.load(step, like=state)):
            assert found == state
    with pytest.raises(TypeError, match=r"got frozenset"):
        checkpoints.save(99, {frozenset([1]): 2})
    assert 99 not in checkpoints.steps()


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[D]", "U3", "S2", "O", "g", "G", [("a", "i4")]])
def test_what_cannot_be_read_is_not_saved(tmp_path, dtype):
    checkpoints = store.Checkpoints(tmp_path)
    with pytest.raises(TypeError, match=r"\['when'\] has the dtype .*, which is none of Rabbet's"):
        checkpoints.save(1, {"when": np.zeros(2, dtype)})
    assert checkpoints.steps() == []


def test_byte_order(tmp_path):
    checkpoints = store.Checkpoints(tmp_path)
    state = {"x": np.arange(3, dtype=">f4"), "n": np.arange(2, dtype=">i8")}
    checkpoints.save(1, state, wait=True)
    for found in (checkpoints.load(), checkpoints.load(like=state)):
        for name, values in state.items():
            np.testing.assert_array_equal(found[name], values)
            assert found[name].dtype == values.dtype.newbyteorder("=")


def test_the_one_just_written_stays(tmp_path):
    checkpoints = store.Checkpoints(tmp_path, keep=2)
    for step, left in ((100, [100]), (200, [100, 200]), (50, [50, 200]), (60, [60, 200]), (300, [200, 300])):
        checkpoints.save(step, [step], wait=True)
        assert checkpoints.steps() == left
    only = store.Checkpoints(tmp_path, keep=1)
    only.save(1, [1], wait=True)
    assert only.steps() == [1]


def test_saving_copies_and_keeps_the_latest(tmp_path):
    checkpoints = store.Checkpoints(tmp_path, keep=2)
    for step in range(4):
        x, host = rb.device_put(np.full(4, step, np.float32)), np.full(2, step)
        checkpoints.save(step, {"x": x, "host": host})
        x.delete()
        host[:] = 9
    checkpoints.wait()
    assert checkpoints.steps() == [2, 3] and checkpoints.latest() == 3
    assert not list(tmp_path.glob(".*"))
    np.testing.assert_array_equal(checkpoints.load(2)["x"], np.full(4, 2))
    np.testing.assert_array_equal(checkpoints.load()["host"], [3, 3])
    with pytest.raises(FileExistsError, match="step 3"):
        checkpoints.save(3, {})


@pytest.mark.parametrize("begun", [False, True])
def test_a_save_that_is_interrupted_as_its_thread_starts(tmp_path, monkeypatch, begun):
    """By Ctrl-C: before there is a thread, or while it runs and ``start`` waits for that."""
    rb.devices()  # threads of their own start with the first of these
    checkpoints = store.Checkpoints(tmp_path)
    start = threading.Thread.start

    def interrupted(thread):
        if begun:
            start(thread)
            while not checkpoints._writing.taken:
                time.sleep(0.001)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(threading.Thread, "start", interrupted)
        checkpoints.save(1, [1])
    late = checkpoints._writing
    checkpoints.wait()
    assert checkpoints.steps() == ([1] if begun else [])
    late.run()  # a thread that begins after it was given up writes nothing
    assert checkpoints.steps() == ([1] if begun else [])
    checkpoints.save(2, [2], wait=True)
    assert checkpoints.latest() == 2 and not list(tmp_path.glob(".*"))


def damage(path):
    """Change one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("what", ["flipped", "missing", "contents", "no contents"])
def test_damage_is_found_and_named(tmp_path, what, capsys):
    checkpoints = store.Checkpoints(tmp_path)
    checkpoints.save(1, {"w": on_device(STATE["w"]), "zeros": on_device(STATE["zeros"])}, wait=True)
    chunk = next(p for p in (checkpoints.path(1) / "array-0" / "c").rglob("*") if p.is_file())
    manifest = checkpoints.path(1) / "manifest.json"
    {"flipped": lambda: damage(chunk), "missing": chunk.unlink, "contents": lambda: damage(manifest),
     "no contents": manifest.unlink}[what]()  # fmt: skip
    message = r"\['w'\].*damaged.*array-0" if what in ("flipped", "missing") else "contents|no manifest"
    with pytest.raises(store.CheckpointError, match=message):
        checkpoints.load()
    with pytest.raises(store.CheckpointError, match=message):
        checkpoints.verify()
    assert main(["store", "verify", str(tmp_path)]) == 1
    assert "step 1: " in capsys.readouterr().out


def test_the_parts_of_others_are_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(rb, "process_count", lambda: 2)  # and the other one writes nothing
    monkeypatch.setattr("rabbet_store.writing.agreed", lambda token: "token")
    checkpoints = store.Checkpoints(tmp_path, timeout_seconds=0.1)
    checkpoints.save(1, [1])
    with pytest.raises(
        store.CheckpointError, match=r"processes \[1\] did not write their parts within 0.1 s"
    ):
        checkpoints.wait()
    checkpoints.timeout = 1000
    checkpoints.save(2, [1])
    checkpoints.abandon()
    checkpoints.wait()
    assert checkpoints.steps() == [] and checkpoints.clean() == [] and not list(tmp_path.iterdir())


def test_messages(tmp_path, capsys):
    checkpoints = store.Checkpoints(tmp_path)
    with pytest.raises(store.CheckpointError, match="there is no checkpoint in"):
        checkpoints.load()
    checkpoints.save(1, {"w": on_device(STATE["w"])}, wait=True)
    with pytest.raises(
        store.CheckpointError, match=r"\['w'\] of the checkpoint is float32\[3, 4\], and float32\[3\]"
    ):
        checkpoints.load(like={"w": rb.ShapeDtypeStruct((3,), np.float32)})
    with pytest.raises(store.CheckpointError, match=r"has no \['v'\]; it has \['w'\]"):
        checkpoints.load(like={"v": 1})
    with pytest.raises(TypeError, match=r"\['f'\] is a object"):
        checkpoints.save(2, {"f": object()})
    with pytest.raises(ValueError, match="keep must be"):
        store.Checkpoints(tmp_path, keep=0)
    assert (
        main(["store", "ls", str(tmp_path)]) == 0 and main(["store", "ls", str(tmp_path), "--step", "1"]) == 0
    )
    assert "float32[3, 4]" in capsys.readouterr().out
    assert main(["store", "verify", str(tmp_path)]) == 0


def main(arguments):
    """Run the command ``rabbet`` in this process; its exit status."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(arguments[1:]))


def run(*command, **env):
    """Run a program to its end, and end what it has left behind."""
    child = subprocess.Popen(
        [sys.executable, *map(str, command)], start_new_session=True, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.STDOUT, env={**os.environ, "RABBET_PLATFORMS": "cpu", **env},
    )  # fmt: skip
    try:
        said, _ = child.communicate(timeout=600)
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
    return child.returncode, said


def test_two_processes_write_and_others_read(tmp_path):
    status, said = run(
        "-m", "rabbet", "launch", "-n", "2", PROGRAMS / "write.py", tmp_path, RABBET_NUM_CPU_DEVICES="2"
    )
    assert status == 0, said
    status, said = run(PROGRAMS / "read.py", tmp_path, RABBET_NUM_CPU_DEVICES="3")
    assert status == 0 and "all is well" in said, said


def test_one_of_two_writers_is_killed(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **os.environ, "RABBET_PLATFORMS": "cpu", "RABBET_NUM_CPU_DEVICES": "1", "RABBET_NUM_PROCESSES": "2",
        "RABBET_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
    }  # fmt: skip
    command = [sys.executable, PROGRAMS / "lose_one.py", tmp_path]
    children = [
        subprocess.Popen(
            command, env={**env, "RABBET_PROCESS_ID": str(i)}, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for i in range(2)
    ]  # fmt: skip
    try:
        said = [child.communicate(timeout=600)[0] for child in children]
    finally:
        for child in children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    assert [child.returncode for child in children] == [0, -signal.SIGKILL], said
    assert "all is well" in said[0]


def test_a_writer_that_is_killed_leaves_the_old_one(tmp_path):
    checkpoints = store.Checkpoints(tmp_path)
    for attempt in range(2):
        child = subprocess.Popen(
            [sys.executable, PROGRAMS / "write_for_ever.py", tmp_path],
            env={**os.environ, "RABBET_PLATFORMS": "cpu"},
        )
        try:
            deadline = time.monotonic() + 600
            before = checkpoints.latest() or 0
            while (checkpoints.latest() or 0) < before + 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.005 * attempt)
        finally:
            child.kill()
            child.wait()
        assert checkpoints.latest() >= before + 2
        for step in checkpoints.steps():
            checkpoints.verify(step)
            assert set(np.unique(checkpoints.load(step)["x"])) == {step}
    checkpoints.clean()
    assert not list(tmp_path.glob(".*"))
