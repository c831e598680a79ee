"""How groups are formed, and what is known of the others: members in one process, a store in memory."""

import json
import threading
import time
from types import SimpleNamespace

import pytest
from rabbet.errors import PeerLost

group = pytest.importorskip("rabbet_distributed.group")
watch = pytest.importorskip("rabbet_distributed.process_watch")
peers = pytest.importorskip("rabbet_distributed.peers")
VersionError = pytest.importorskip("rabbet_distributed.versions").VersionError

SECONDS = group.Seconds(start=30, peer=20, step=30)


class Memory:
    """A store in memory, with the questions that members ask of theirs."""

    def __init__(self):
        self.values, self.changed = {}, threading.Condition()

    def set(self, key, value, *, replace=False):
        with self.changed:
            if key in self.values and not replace:
                raise KeyError(key)
            self.values[key] = value
            self.changed.notify_all()

    def get(self, key):
        with self.changed:
            return self.values.get(key)

    def wait(self, key, seconds):
        with self.changed:
            if not self.changed.wait_for(lambda: key in self.values, seconds):
                raise TimeoutError(key)
            return self.values[key]

    def folder(self, prefix):
        with self.changed:
            prefix = prefix.rstrip("/") + "/"
            return {k.removeprefix(prefix): v for k, v in self.values.items() if k.startswith(prefix)}

    def delete(self, key):
        with self.changed:
            for each in [k for k in self.values if k == key or k.startswith(key + "/")]:
                del self.values[each]

    def close(self):
        pass


class Killed(BaseException):
    """What ends a member in the midst of something."""


class Member(group.Group):
    """A member without devices, which can be killed."""

    dies_before = None  # a meeting, as ("met", generation)

    def configure(self):
        self.watch.tell()

    def meet(self, name):
        if self.dies_before == (name, self.generation):
            self.kill()
            raise Killed
        super().meet(name)

    def kill(self):
        """Be heard of no more, as a process that is gone."""
        self.watch.stopped.set()
        self.watch.thread.join()
        self.watch.listener.close()


@pytest.fixture
def members(monkeypatch):
    monkeypatch.setattr(watch, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(group, "TURN_SECONDS", 0.2)
    store, made = Memory(), []

    def make(count, slots=None):
        slots = range(count) if slots is None else slots
        made.extend(new := [Member(store, slot, count, SECONDS, "127.0.0.1") for slot in slots])
        return new

    yield make
    for each in made:
        if not each.watch.stopped.is_set():
            each.watch.stop()


def at_once(*calls):
    """What functions return or raise that are called at the same time, each on its thread."""
    found = [None] * len(calls)

    def run(i, call):
        try:
            found[i] = call()
        except BaseException as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "they wait without end"
    return found


def form(these, generation=0, seconds=30):
    """All form a group; what they raised."""
    return at_once(*[lambda m=m: m.form(generation, seconds) for m in these])


def test_all_come(members):
    these = members(3)
    assert form(these) == [None] * 3
    assert [(m.rank, m.size, m.generation) for m in these] == [(0, 3, 0), (1, 3, 0), (2, 3, 0)]


def test_other_versions_are_refused_by_all(members, monkeypatch):
    these = members(3)
    monkeypatch.setattr(group, "versions", lambda: ["0.1", "0.12" if here.slot else "0.10.2"])
    here = threading.local()

    def joining(member):
        here.slot = member.slot
        member.join()

    found = at_once(*[lambda m=m: joining(m) for m in these])
    assert [type(each) for each in found] == [VersionError] * 3
    for each in found:
        assert "need the same versions, got process" in str(each)  # of those that have come until then
        assert "0: rabbet 0.1 and jaxlib 0.10.2" in str(each) and ": rabbet 0.1 and jaxlib 0.12" in str(each)


def test_who_joins_with_another_version_is_refused(members, monkeypatch):
    first, second = members(2)
    form([first, second])
    second.kill()
    (again,) = members(2, [1])
    here = threading.local()
    monkeypatch.setattr(group, "versions", lambda: ["0.1", getattr(here, "jaxlib", "0.12")])
    first.store.set("versions", json.dumps(group.versions()), replace=True)

    def join():
        here.jaxlib = "0.11"
        again.join()

    (found,) = at_once(join)
    assert isinstance(found, VersionError) and "process 1: rabbet 0.1 and jaxlib 0.11" in str(found)
    assert first.candidates() == []


def test_those_left_go_on(members):
    these = members(3)
    form(these)
    these[1].kill()
    left = [these[0], these[2]]
    assert form(left, 1) == [None, None]
    assert [(m.rank, m.size) for m in left] == [(0, 2), (1, 2)]


@pytest.mark.parametrize("meeting", ["met", "clean"])
def test_a_second_loss_while_a_group_is_formed(members, meeting):
    these = members(4)
    form(these)
    these[3].kill()
    these[0].dies_before = (meeting, 1)  # the leader
    found = form(these[:3], 1)
    assert isinstance(found[0], Killed) and found[1:] == [None, None]
    assert [(m.rank, m.size, m.generation) for m in these[1:3]] == [(0, 2, 2), (1, 2, 2)]
    assert these[1].store.get("latest") == "2"


def test_losses_one_after_the_other_while_a_group_is_formed(members):
    these = members(4)
    form(these)
    for generation, member in enumerate(these[:3], 1):
        member.dies_before = ("clean", generation)
    found = form(these, 1)
    assert [isinstance(each, Killed) for each in found] == [True, True, True, False] and found[3] is None
    assert (these[3].rank, these[3].size) == (0, 1)


def test_nobody_waits_for_a_first_one_that_does_nothing(members):
    these = members(3)
    form(these)
    these[0].store.set("ready/1/0", these[0].card())  # it came, and is stuck
    found = form(these[1:], 1, 0.1)
    assert found == [None, None] and [m.size for m in these[1:]] == [2, 2]
    with pytest.raises(PeerLost, match="without process 0"):
        these[0].form(1, 1)


def test_the_first_group_is_of_all(members):
    these = members(3, [1, 2])
    found = form(these, 0, 1)
    assert all(isinstance(each, TimeoutError) and "[0] did not come" in str(each) for each in found)
    these[0].store.set("ready/0/0", these[0].card())  # it came, and is stuck
    found = form(these, 0, 1)
    assert all(isinstance(each, TimeoutError) and "process 0 did not form" in str(each) for each in found)


def test_answers_are_forgotten_when_all_have_read_them(members):
    these = members(3)
    form(these)
    store = these[0].store
    for number in range(30):
        asked = [lambda m=m, n=number: m.ask(lambda: n) for m in these]
        assert at_once(*asked) == [number] * 3
        for member in these:
            member.watch.tell()
        these[0].watch.refresh()
    assert len(store.folder("generation/0/answers")) <= 2
    slow, quick = these[1:]
    for number in range(5):
        these[0].ask(lambda n=number: n)
        assert quick.ask(None) == number
    assert [slow.ask(None) for _ in range(5)] == list(range(5))  # whoever is behind finds all


def test_a_process_that_was_stopped_blames_nobody(members):
    these = members(2)
    form(these)
    for member in these:
        member.kill()  # no looks but those below
    looking, other = these[0].watch, these[1]
    beat = [other.incarnation, 10**6, other.watch.address, other.watch.state]
    now = looking.looked_at
    for second in range(25):  # the same beat, again and again
        looking.hear({1: beat}, now + second)
    assert looking.peers[1].seen == now
    since = looking.since
    looking.hear({1: beat}, now + 1000)  # this process did not look for long, which counts as one look
    missed = 1000 - 24 - watch.LOOK_SECONDS
    assert looking.peers[1].seen == pytest.approx(now + missed)
    assert looking.since == pytest.approx(since + missed)


def test_what_is_said_of_an_older_group_is_not_believed(members):
    these = members(2)
    form(these)
    looking = these[0].watch
    assert looking.fail("they differ", {1: "it ran others"}, generation=-1) is None
    assert looking.failure is None and "failed" not in looking.state
    failure = looking.fail("they differ", {1: "it ran others"}, peers.DifferentPrograms, generation=0)
    assert looking.failure is failure and type(failure) is peers.DifferentPrograms


def test_who_runs_something_else_is_named_by_all(members):
    """One of three differs, and says so of the two others: they do not blame each other."""
    these = members(3)
    form(these)
    for member, digest in zip(these, ("same", "same", "other"), strict=True):
        member.watch.note(agree=["cpu:0-2", digest, "step"])
    # The last one has compared its program with that of the first one, and not with the second one's.
    what = "process 2 has 'other'"
    these[2].watch.fail(what, {0: "?"}, peers.DifferentPrograms, program=["cpu:0-2", "other"])
    for member in these[:2]:
        member.watch.refresh()
        found = member.watch.lost(range(3))
        assert found == {2: what} and found.kind is peers.DifferentPrograms
    these[0].watch.fail("they differ", {2: "?"}, peers.DifferentPrograms, program=["cpu:0-2", "same"])
    these[1].watch.refresh()
    assert set(these[1].watch.lost(range(3))) == {2}
    these[1].watch.note(agree=None)  # it has no program to compare yet
    assert set(these[1].watch.lost(range(3))) == {0, 2}


def test_who_hears_of_it_does_not_pass_the_blame_on(members):
    """Process 0 finds out first. Process 2, which differs, hears it from there and says so itself: that says
    nothing against 0 to a third one, which has the program of 0.
    """
    these = members(3)
    form(these)
    over = SimpleNamespace(devices=[SimpleNamespace(process_index=i) for i in range(3)])
    has = {2: "it has 'f'"}
    these[0].watch.fail("they differ", has, peers.DifferentPrograms, program=[str(over), "same"])
    named = {}
    for rank, digest in ((2, "other"), (1, "same")):
        with pytest.raises(peers.DifferentPrograms, match="different programs") as caught:
            these[rank].watch.agree(over, "f", digest)
        named[rank] = caught.value.ranks
    assert named == {2: (0,), 1: (2,)}


def test_a_client_does_not_start_where_a_member_is_lost(members):
    these = members(2)
    form(these)
    error = RuntimeError("GetKeyValue() timed out\nand more")
    assert these[0].watch.not_started(error) is None
    these[1].watch.stop()
    found = these[0].watch.not_started(error)
    assert isinstance(found, PeerLost) and found.ranks == (1,)
    assert "says: GetKeyValue() timed out" in str(found)


def test_looks_and_programs_at_the_same_time(members):
    these = members(2)
    form(these)
    ended = threading.Event()

    def run(member):
        for number in range(400):
            member.watch.started("cpu:0-1", f"program {number}", number)
            member.watch.finished("cpu:0-1", f"program {number}", None)
            if number % 20 == 0:
                member.watch.tell()

    def look(member):
        while not ended.is_set():
            member.watch.refresh()

    def all_run():
        try:
            return at_once(*[lambda m=m: run(m) for m in these])
        finally:
            ended.set()

    first = these[0]
    first.watch.check = lambda group, what: None  # no devices here
    these[1].watch.check = first.watch.check
    found = at_once(all_run, lambda: look(first), lambda: look(first), lambda: look(these[1]))
    assert found == [[None, None], None, None, None]
    assert [m.watch.noticed for m in these] == [None, None] and first.watch.failure is None


@pytest.fixture
def ring(members, monkeypatch):
    """Seven members, each of which watches over the next two."""
    monkeypatch.setattr(watch, "READ_BY_ALL", 3)
    these = members(7)
    assert form(these) == [None] * 7
    return these


def known_to(these, seconds=300):
    """What each knows of losses once all know of one, or what they know then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = [dict(m.watch.lost(range(m.size))) for m in these]
        if all(found):
            break
        time.sleep(0.02)
    return found


def test_a_loss_in_a_ring_is_known_to_all(ring):
    time.sleep(0.3)
    assert not any(known_to(ring, 0.1))
    ring[3].kill()
    left = [m for m in ring if m is not ring[3]]
    assert known_to(left) == [{3: "its process is gone"}] * 6


def test_an_end_and_a_failure_in_a_ring_are_known_to_all(ring):
    ring[5].watch.stop()
    left = [m for m in ring if m is not ring[5]]
    assert known_to(left) == [{5: "its program has ended"}] * 6
    failure = ring[0].watch.fail("something went wrong", {2: "it did it"})
    assert known_to([ring[4]])[0].keys() >= {5} and failure.ranks == (2,)
    end = time.monotonic() + 300
    while 2 not in ring[4].watch.lost(range(7)) and time.monotonic() < end:
        time.sleep(0.02)
    assert ring[4].watch.lost(range(7))[2] == "it did it"


def test_what_a_ring_asks_does_not_grow(ring, monkeypatch):
    asked = []
    store, get = ring[0].store, ring[0].store.get
    monkeypatch.setattr(store, "get", lambda key: asked.append(key) or get(key))
    monkeypatch.setattr(store, "folder", lambda key: asked.append(key) or Memory.folder(store, key))
    for member in ring:
        member.kill()
    del asked[:]
    ring[0].watch.glance()
    assert sorted(asked) == ["beats/1", "beats/2", "generation/0/alarms"]


def test_who_was_stopped_for_a_while_is_taken_back_in_a_ring(ring):
    for member in ring:
        member.kill()  # no looks but those below
        member.watch.interval = 100
    reason = "nothing was heard of it for 30 s"
    ring[0].store.set("generation/0/alarms/3", json.dumps([ring[3].incarnation, reason]))
    ring[5].watch.glance()
    assert ring[5].watch.lost(range(7)) == {3: reason}
    ring[2].watch.glance()  # it watches over that one, and has heard of it
    ring[5].watch.glance()
    assert not ring[5].watch.lost(range(7))
