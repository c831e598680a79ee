"""One process compiles for all: members in one process that ask each other for executables."""

import threading
import time
import warnings
from types import SimpleNamespace

import pytest

handing = pytest.importorskip("rabbet_distributed.executable_sharing")
signing = pytest.importorskip("rabbet_distributed.signed_messages")
PeerLost = pytest.importorskip("rabbet.errors").PeerLost

BLOB = bytes(range(256)) * 9000  # several pieces


@pytest.fixture
def members():
    """``members(n)``: their ``Handing``s; a place that is None has another secret."""
    store, made = {}, []

    def make(count, secrets=()):
        for rank in range(count):
            of_store = SimpleNamespace(
                secret=dict(secrets).get(rank, b"the job's"), get=store.get,
                set=lambda key, value, replace: store.update({key: value}),
            )  # fmt: skip
            group = SimpleNamespace(
                prefix="generation/0", rank=rank, store=of_store, seconds=SimpleNamespace(step=20)
            )
            watch = SimpleNamespace(
                group=group, interval=0.02, stopped=threading.Event(), failure=None, lost=lambda ranks: {},
                raise_failure=lambda: None, ranks_of=lambda group: list(range(count)),
            )  # fmt: skip
            made.append(handing.Handing(watch, "127.0.0.1"))
        return made

    yield make
    for each in made:
        each.watch.stopped.set()
        each.close()


def test_one_compiles_and_all_have_it(members):
    these, found, compiled = members(7), {}, []

    def run(member):
        rank = member.watch.group.rank
        blob = member.fetch("devices", "'f'", "digest", "key")
        if blob is None:
            time.sleep(0.1)  # the others ask already
            compiled.append(rank)
            blob = BLOB
        member.hand_on("digest", "key", lambda: blob)
        found[rank] = blob

    for member in these:
        member.expect("devices", "digest")
    threads = [threading.Thread(target=run, args=(member,)) for member in these]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert compiled == [0] and found == dict.fromkeys(range(7), BLOB)


def test_what_came_goes_on_before_it_is_loaded(members):
    first, second, _, fourth = members(4)
    for member in (first, second):
        member.expect("devices", "digest")
    first.hand_on("digest", "key", lambda: BLOB)
    assert second.fetch("devices", "'f'", "digest", "key") == BLOB
    assert fourth.fetch("devices", "'f'", "digest", "key") == BLOB  # the second one has not said so
    second.hand_on("digest", "", None)  # it could not load it: those below may
    assert fourth.fetch("devices", "'f'", "digest", "key") == BLOB


def test_what_was_changed_on_its_way_is_not_believed(members):
    first, second = both(members)
    first.hand_on("digest", "key", lambda: BLOB)
    entry = first.entries["digest"]
    entry.blob, entry.sum = bytes(len(BLOB)), entry.content()[1]
    with pytest.warns(signing.ForgedMessageWarning, match="'f' of process 0 is not signed"):
        assert second.fetch("devices", "'f'", "digest", "key") is None


def both(members, **kwargs):
    first, second = members(2, **kwargs)
    first.expect("devices", "digest")
    return first, second


def test_what_is_not_to_be_had_is_compiled_by_each(members):
    first, second = both(members)
    first.hand_on("digest", "key", None)  # it could not compile it
    assert second.fetch("devices", "'f'", "digest", "key") is None
    assert second.fetch("devices", "'f'", "another", "key") is None  # it has it no more
    first.close()
    assert second.fetch("devices", "'f'", "digest", "key") is None  # it is gone


def test_a_machine_of_another_kind_is_named(members):
    first, second = both(members)
    first.hand_on("digest", "its key", lambda: BLOB)
    with pytest.warns(UserWarning, match="process 1 compiles 'f' for itself: process 0 has a machine of"):
        assert second.fetch("devices", "'f'", "digest", "key") is None


def test_strangers_are_neither_answered_nor_believed(members):
    first, second = both(members, secrets={1: b"another one"}.items())
    first.hand_on("digest", "key", lambda: BLOB)
    assert second.fetch("devices", "'f'", "digest", "key") is None
    second.secret, right = first.secret, first.code
    first.code = lambda *parts: right(*parts) if parts[0] == "ask" else "0" * 64
    with pytest.warns(signing.ForgedMessageWarning, match="'f' of process 0 is not signed"):
        assert second.fetch("devices", "'f'", "digest", "key") is None


def test_without_a_secret_each_compiles_for_itself(members):
    first, second = both(members, secrets={0: None, 1: None}.items())
    assert first.listener is None and second.fetch("devices", "'f'", "digest", "key") is None


def test_a_failure_ends_the_waiting(members):
    _, second = both(members)

    def fails():
        raise PeerLost("as it is")

    second.watch.raise_failure = fails
    with pytest.raises(PeerLost, match="as it is"):
        second.fetch("devices", "'f'", "digest", "key")


def test_few_programs_are_kept(members):
    first, second = members(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(handing.KEPT + 1):
            first.expect("devices", f"digest {i}")
            first.hand_on(f"digest {i}", "key", lambda: BLOB)
        assert len(first.entries) == handing.KEPT
        assert second.fetch("devices", "'f'", "digest 0", "key") is None
        assert second.fetch("devices", "'f'", f"digest {handing.KEPT}", "key") == BLOB
