"""Messages that are not a job's own are not believed."""

import os
import re
import warnings

import pytest
from rabbet.errors import ConfigError

signing = pytest.importorskip("rabbet_distributed.signed_messages")
SECRET = b"a secret of some length"


class Memory:
    """A store in memory."""

    def __init__(self):
        self.values = {}

    def set(self, key, value, *, replace=False):
        if key in self.values and not replace:
            raise KeyError(key)
        self.values[key] = value

    def get(self, key):
        return self.values.get(key)

    def wait(self, key, seconds):
        if key not in self.values:
            raise TimeoutError(key)
        return self.values[key]

    def folder(self, prefix):
        return {k[len(prefix) + 1 :]: v for k, v in self.values.items() if k.startswith(f"{prefix}/")}

    def delete(self, key):
        for each in [k for k in self.values if k == key or k.startswith(f"{key}/")]:
            del self.values[each]


@pytest.fixture
def stores():
    """A store as two processes of a job have it, and as somebody else has it."""
    raw = Memory()
    return signing.SignedStore(raw, SECRET), signing.SignedStore(raw, SECRET), raw


def test_what_one_writes_the_other_reads(stores):
    one, two, _ = stores
    one.set("a/1", "x y\nz")
    one.set("a/2", "", replace=True)
    assert two.get("a/1") == two.wait("a/1", 1) == "x y\nz" and two.get("a/3") is None
    assert two.folder("a") == {"1": "x y\nz", "2": ""}
    with pytest.raises(KeyError):
        two.set("a/1", "other")
    one.delete("a")
    assert two.folder("a") == {}


def forgeries(stores):
    """Ways to write in somebody's name."""
    one, _, raw = stores
    one.set("beats/1", "old", replace=True)
    old = raw.get("beats/1")
    one.set("beats/1", "new", replace=True)
    new = raw.get("beats/1")
    one.set("beats/2", "of two", replace=True)
    mark, code, count, _ = new.split(" ", 3)
    return {
        "plain": "new", "empty": "", "changed": new.replace("new", "bad"), "moved": raw.get("beats/2"),
        "old": old,
        "later": f"{mark} {code} {int(count) + 10**9} new", "cut": new[:40],
        "no number": f"{mark} {code} x new",
        "other secret": signing.SignedStore(Memory(), b"another secret, as long").signed("beats/1", "new"),
    }  # fmt: skip


NAMES = ["plain", "empty", "changed", "moved", "old", "later", "cut", "no number", "other secret"]


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_message_is_refused_and_named(stores, name):
    forged = forgeries(stores)
    assert set(forged) == set(NAMES)
    _, two, raw = stores
    assert two.get("beats/1") == "new"
    raw.set("beats/1", forged[name], replace=True)
    with pytest.warns(signing.ForgedMessageWarning, match=r"under 'beats/1' .* and is not believed"):
        assert two.get("beats/1") is None
    assert two.folder("beats") == {"2": "of two"} and "beats/1" in two.refused
    with pytest.raises(TimeoutError):
        two.wait("beats/1", 0.01)


def test_a_forged_answer_is_replaced_by_the_right_one(stores):
    one, two, raw = stores
    raw.set("members/0", "[]")
    with pytest.warns(signing.ForgedMessageWarning):
        one.set("members/0", "[[0, 1]]")
    assert two.get("members/0") == "[[0, 1]]"


@pytest.mark.parametrize("who", ["writer", "reader"])
@pytest.mark.parametrize("way", ["key", "folder"])
def test_what_was_removed_is_not_believed_again(stores, who, way):
    """Somebody keeps a message of this job, and puts it back when its key was removed."""
    one, two, raw = stores
    one.set("ready/1/0", "first")
    kept = raw.get("ready/1/0")
    if who == "reader":
        assert two.get("ready/1/0") == "first"
    store = one if who == "writer" else two
    store.delete("ready/1/0" if way == "key" else "ready/1")
    raw.set("ready/1/0", kept)
    with pytest.warns(signing.ForgedMessageWarning, match="has been removed since"):
        assert store.get("ready/1/0") is None
    assert store.folder("ready/1") == {}
    one.set("ready/1/0", "second", replace=True)  # who writes it anew is believed
    assert store.get("ready/1/0") == two.get("ready/1/0") == "second"


def test_what_is_remembered_of_removed_keys_is_bounded(stores, monkeypatch):
    monkeypatch.setattr(signing, "MOST_REMOVED", 10)
    one, _, raw = stores
    for i in range(30):
        one.set(f"answers/{i}", "x")
        kept = raw.get(f"answers/{i}")
        one.delete(f"answers/{i}")
    assert len(one.removed) == 10 and not one.written and not one.newest
    raw.set("answers/29", kept)
    with pytest.warns(signing.ForgedMessageWarning, match="has been removed since"):
        assert one.get("answers/29") is None


def test_an_answer_is_newer_than_its_question_whatever_the_clocks_say(stores, monkeypatch):
    one, two, _ = stores
    monkeypatch.setattr(signing.time, "time_ns", lambda: 10**18)
    one.set("question", "?")
    one.set("joining/1", "old")
    one.delete("joining/1")
    monkeypatch.setattr(signing.time, "time_ns", lambda: 5)  # the clock of the other is behind
    assert two.get("question") == "?"
    two.count = max(two.count, one.count)  # as after a beat of the first
    two.set("joining/1", "new")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert one.get("joining/1") == "new"


def test_counters_grow_whatever_the_clock_says(stores, monkeypatch):
    one, two, raw = stores
    one.set("beats/1", "first", replace=True)
    assert two.get("beats/1") == "first"
    monkeypatch.setattr(signing.time, "time_ns", lambda: 5)  # started again, where the clock is behind
    again = signing.SignedStore(raw, SECRET)
    again.resume("beats/1")
    again.set("beats/1", "second", replace=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert two.get("beats/1") == "second"


def test_where_the_secret_comes_from(tmp_path):
    assert signing.secret_of_job(None, {}) is None
    assert signing.secret_of_job(None, {"RABBET_JOB_SECRET": "0123456789abcdef"}) == b"0123456789abcdef"
    file = tmp_path / "secret"
    file.write_text("fedcba9876543210\n")
    file.chmod(0o640)
    assert signing.secret_of_job(None, {"RABBET_JOB_SECRET_FILE": str(file)}) == b"fedcba9876543210"
    assert signing.secret_of_job("given, and long enough", {"RABBET_JOB_SECRET": "x" * 20})[:5] == b"given"
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="may be read or written by anybody"):
        signing.secret_of_job(None, {"RABBET_JOB_SECRET_FILE": str(file)})
    for short in ("short", "", b"x"):
        with pytest.raises(ConfigError, match="at least 16 characters"):
            signing.secret_of_job(short, {})
    with pytest.raises(ConfigError, match="cannot be read"):
        signing.secret_of_job(None, {"RABBET_JOB_SECRET_FILE": os.fspath(tmp_path / "none")})


@pytest.mark.library
@pytest.mark.needs("cpu")
def test_a_beat_in_somebodys_name_ends_nothing(together):
    """What a process of this machine did to a job: it wrote that process 1 has ended."""
    together.start(["-m", "rabbet", "launch", "-n", "2", together.programs / "attacked.py"])
    ended = together.wait()
    said = ended.said[0]
    assert ended.statuses == [0], said
    assert said.count("all is well") == 2 and "ForgedMessageWarning" in said and "'beats/1'" in said, said
    (forged,) = re.findall(r'"forged": (\d+)', said)
    assert int(forged) >= 60, said
