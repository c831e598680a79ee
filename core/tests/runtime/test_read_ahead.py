"""Programs that a script used last are loaded while it starts."""

import os
import subprocess
import sys
import threading
import time

import pytest
from rabbet.runtime.caching import read_ahead
from rabbet.runtime.caching.disk_cache import ProgramCache
from rabbet.runtime.caching.read_ahead import ReadAhead

KEYS = ["a" * 64, "b" * 64, "c" * 64]


@pytest.fixture
def programs(tmp_path):
    made = ProgramCache(tmp_path / "programs", 2**20)
    for n, key in enumerate(KEYS):
        made.put(key, os.urandom(100 * (n + 1)))
    return made


@pytest.fixture
def list_file(tmp_path):
    return tmp_path / "scripts" / "one"


class Raw:
    """A client that loads what it is told to, and remembers it."""

    def __init__(self):
        self.loaded = []

    def deserialize_executable(self, blob, devices, options, callbacks):
        self.loaded.append(blob)
        return blob


class Client:
    platform = "cpu"

    def __init__(self):
        self.raw = Raw()
        self.devices = [type("Device", (), {"device_list": None})()]


def written(programs, list_file, *names):
    first = ReadAhead(programs, list_file)
    for name in names:
        first.note(*name)
    first.write_list()
    return ReadAhead(programs, list_file)


def test_what_one_run_used_the_next_one_loads(programs, list_file):
    second = written(programs, list_file, ("cpu", KEYS[1]), ("gpu", KEYS[2]), ("cpu", KEYS[0]))
    client = Client()
    second._ahead = {key: read_ahead.ListedProgram(client) for key in (KEYS[1], KEYS[0])}
    for key in (KEYS[1], KEYS[0]):
        second._load(client, key)
    assert client.raw.loaded == [programs.peek(KEYS[1]), programs.peek(KEYS[0])]
    hits = programs.hits
    assert second.take(KEYS[0], Client()) is None, "it runs on another client's devices"
    assert second.take(KEYS[0], client) == programs.peek(KEYS[0])
    assert programs.hits == hits + 1
    assert second.take(KEYS[0], client) is None, "it has one owner"


def test_the_script_does_not_wait_for_what_is_not_begun(programs, list_file):
    second = written(programs, list_file, ("cpu", KEYS[0]))
    client = Client()
    second._ahead = {KEYS[0]: read_ahead.ListedProgram(client)}
    assert second.take(KEYS[0], client) is None
    second._load(client, KEYS[0])
    assert client.raw.loaded == [], "the script loads it by itself"


def test_only_the_platform_that_started(programs, list_file):
    second = written(programs, list_file, ("gpu", KEYS[0]))
    second.start(Client())
    assert second._ahead == {}


def test_what_cannot_be_loaded_is_left_to_the_script(programs, list_file):
    second = written(programs, list_file, ("cpu", KEYS[0]), ("cpu", KEYS[1]))
    client = Client()

    def refuse(*_):
        raise RuntimeError("damaged")

    client.raw.deserialize_executable = refuse
    second.start(client)
    deadline = time.monotonic() + 300
    while not all(program.done.is_set() for program in second._ahead.values()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert second.take(KEYS[0], client) is None
    second.forget()
    assert second.take(KEYS[1], client) is None


def test_no_thread_of_ours_waits_when_all_is_loaded(programs, list_file):
    def ours():
        return [thread for thread in threading.enumerate() if thread.name == "rabbet-read-ahead"]

    before, client = ours(), Client()
    second = written(programs, list_file, ("cpu", KEYS[0]))
    second.start(client)
    for thread in set(ours()) - set(before):
        thread.join(60)
        assert not thread.is_alive(), "the end of the interpreter would wait for it"
    assert second.take(KEYS[0], client) == programs.peek(KEYS[0]), "it is kept for a while"


def test_the_largest_are_kept_in_the_order_of_their_use(programs, list_file, monkeypatch):
    monkeypatch.setattr(read_ahead, "MOST", 2)
    second = written(programs, list_file, *[("cpu", key) for key in (KEYS[2], KEYS[0], KEYS[1])])
    assert second._last == [("cpu", KEYS[2]), ("cpu", KEYS[1])]
    monkeypatch.setattr(read_ahead, "MOST_BYTES", programs.size(KEYS[2]) + 1)
    again = written(programs, list_file, *[("cpu", key) for key in KEYS])
    assert again._last == [("cpu", KEYS[2])]


def test_programs_that_are_not_on_disk_are_not_listed(programs, list_file):
    written(programs, list_file, ("cpu", "d" * 64))
    assert not list_file.exists()


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"cpu\n", b"cpu ../../etc/passwd\n", b"cpu " + b"A" * 64, b"\0" * 10_000]
)
def test_a_damaged_list_is_no_list(programs, list_file, content):
    list_file.parent.mkdir()
    list_file.write_bytes(content)
    list_file.chmod(0o600)
    assert ReadAhead(programs, list_file)._last == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions as POSIX has them")
def test_a_list_that_others_may_write_is_not_read(programs, list_file):
    assert written(programs, list_file, ("cpu", KEYS[0]))._last
    list_file.chmod(0o666)
    assert ReadAhead(programs, list_file)._last == []


SCRIPT = """
import threading
import numpy as np
import rabbet as rb
from rabbet.extend.backend import compile_program, lower_program
from rabbet.extend.passes import stage
from rabbet.runtime.caching import read_ahead
from rabbet.runtime.jaxlib import adapter

loaded = []
plain = adapter.deserialize
def watched(*args, **kwargs):
    loaded.append(threading.current_thread().name)
    return plain(*args, **kwargs)
adapter.deserialize = watched

x = rb.device_put(np.float32(2))
running = read_ahead._running[0]
for program in list(running._ahead.values()) if running else ():
    program.done.wait(60)
lowered = lower_program(stage(lambda x: [rb.lax.sin(x) * FACTOR], [rb.typeof(x)]).jaxpr)
[y] = compile_program(lowered).runner(False)([x])
np.testing.assert_allclose(y, np.sin(2) * FACTOR, rtol=1e-6)
print(sorted(set(loaded)))
"""


def test_a_script_that_runs_again(tmp_path):
    script = tmp_path / "train.py"

    def ran(factor, **env):
        script.write_text(SCRIPT.replace("FACTOR", factor))
        ours = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "RABBET_CACHE_MIN_SECONDS": "0"}
        done = subprocess.run(
            [sys.executable, script],
            capture_output=True,
            text=True,
            timeout=600,
            env={**os.environ, **ours, **env},
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.strip()

    assert ran("2.0") == "[]", "compiled"
    assert ran("2.0") == "['rabbet-read-ahead']"
    assert "MainThread" in ran("2.0", RABBET_CACHE_READ_AHEAD="0")
    assert "MainThread" not in ran("3.0"), "a changed script compiles what is new"
    assert ran("3.0") == "['rabbet-read-ahead']"
