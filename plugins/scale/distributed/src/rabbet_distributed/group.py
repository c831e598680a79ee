"""This process among the others: its store, its number, and the generation of the group that it is a member
of.

A process keeps its number at the coordinator, its *slot*, for good. Those that compute together at a time
are a *generation*, numbered from 0; within one a process has a *rank*, which is its ``process_index``. How
the next one is formed is one protocol for the first time, for survivors and for those who join:

1. everybody who wants to be in writes that it is ready, and so does who waits to join;
2. the ready one of the lowest slot waits for all that are alive, and writes down the members: who is first
   is right;
3. the members meet, the leader removes what the last generation left in the store, they meet again, and each
   makes a client anew.
"""

import contextlib
import functools
import json
import os
import secrets
import time
from typing import NamedTuple

from rabbet.errors import PeerLost
from rabbet.extend.backend import running_platforms
from rabbet.extend.processes import (
    configure_client,
    cpu_collectives,
    set_overseer,
    stop_client,
    usable_platforms,
)

from rabbet_distributed import connections
from rabbet_distributed.peers import NOBODY
from rabbet_distributed.process_watch import Watch
from rabbet_distributed.versions import check_versions, versions

# What jaxlib writes down for clients that form a group, by the platform's name there.
LEFT_BEHIND = ("global_topology", "local_topology", "gloo")
SPACES = ("cpu:", "gpu:", "cuda:", "tpu:")
PAUSE = 0.05
SECONDS_EACH = 0.02  # between two looks at all who are ready, for each process
TURN_SECONDS = 5.0  # for each of those who could write the members down


class Seconds(NamedTuple):
    """How long to wait, for what."""

    start: float = 300
    heartbeat: float = 100
    shutdown: float = 300
    peer: float = 20
    step: float = 300


class Group:
    """This process among the others.

    Args:
      store: the ``Store``.
      slot: its number there.
      count: how many there can be.
      seconds: ``Seconds``.
      host: the address of this machine by which the others reach it.
      devices: the local devices to use, or None.
      partition: the index of a group of fast-connected devices, or None.

    Attributes:
      generation, members, rank: the present generation, its members as pairs of slot and incarnation, and the
        place of this process among them.
    """

    def __init__(self, store, slot, count, seconds, host, devices=None, partition=None):
        self.store, self.slot, self.count, self.seconds, self.host = store, slot, count, seconds, host
        self.devices, self.partition = devices, partition
        self.incarnation = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.generation, self.members, self.rank = -1, (), None
        self.questions = self.forgotten = self.blocks = 0
        self._preemption = None
        self.watch = Watch(self, host)

    @property
    def prefix(self):
        """Where the present generation keeps its keys."""
        return f"generation/{self.generation}"

    @property
    def size(self):
        """How many members there are."""
        return len(self.members)

    # ------------------------------------------------------------------------------------------- forming
    def join(self):
        """Become a member: of the first generation, or of the next one that the others form."""
        latest = self.store.get("latest")
        if latest is None:
            self.form(0, self.seconds.start)
            return
        # Its slot was that of a process that is gone.
        self.store.set(f"joining/{self.slot}", self.card(), replace=True)
        deadline = time.monotonic() + self.seconds.start
        generation = int(latest)
        while time.monotonic() < deadline:
            members = None
            with contextlib.suppress(TimeoutError):
                members = self.store.wait(f"members/{generation + 1}", self.watch.interval)
            if members is not None:
                generation += 1
                if [self.slot, self.incarnation] in json.loads(members):
                    self.form(generation, deadline - time.monotonic())
                    return
            elif self.is_deserted(generation):  # all were started again
                self.generation = generation
                self.form(generation + 1, deadline - time.monotonic())
                return
            else:
                self.compare_with_members()
        raise TimeoutError(
            f"process {self.slot} was started again, and the others did not take it in within "
            f"{self.seconds.start:g} s; they do so when they call rabbet.distributed.reform()"
        )

    def card(self):
        """What this process says of itself to those who form a group."""
        return json.dumps({"incarnation": self.incarnation, "versions": versions()})

    def compare_with_members(self):
        """Raise VersionError where the others, whom this process wants to join, have other versions."""
        theirs = json.loads(self.store.get("versions") or "null")
        if theirs not in (None, versions()):
            check_versions({self.slot: {"versions": versions()}, "others": {"versions": theirs}})

    def is_deserted(self, generation):
        """Whether none of the members of a generation is left."""
        self.watch.refresh()
        members = json.loads(self.store.get(f"members/{generation}") or "[]")
        return all(self.watch.verdict(slot, mark) not in ALIVE for slot, mark in members)

    def form(self, generation, seconds):
        """Become a member of a generation, of all that are alive and ready and those who wait to join; where
        one of these is lost meanwhile, of the one after it.
        """
        deadline = time.monotonic() + seconds
        while True:
            members = self.members_of(generation, deadline)
            try:
                self.enter(generation, members)
                return
            except PeerLost:
                # The first generation is of all or of nobody. Later each try is one of fewer members.
                if generation == 0 or len(json.loads(members)) == 1:
                    raise
            generation += 1
            deadline = max(deadline, time.monotonic() + min(seconds, self.seconds.peer))

    def members_of(self, generation, deadline):
        """The members of a generation, as they are written down; this process is ready to be one.

        Raises:
          PeerLost: if it is none. TimeoutError: if the first generation is not complete in time.
          VersionError: for processes of different versions, in all of them.
        """
        self.store.set(f"ready/{generation}/{self.slot}", self.card(), replace=True)
        # Whose part it is to write them down looks often. The others wait, and look seldom: each look
        # is at all who are ready.
        first = self.slot == min([slot for slot, _ in self.members], default=0)
        patience = max(self.watch.interval, SECONDS_EACH * self.count)
        members = None
        while members is None:
            if first:
                members = self.store.get(f"members/{generation}") or self.propose(generation, deadline)
                if members is None:
                    time.sleep(PAUSE)
                continue
            with contextlib.suppress(TimeoutError):
                members = self.store.wait(f"members/{generation}", patience)
            if members is None:
                members = self.propose(generation, deadline)
        if [self.slot, self.incarnation] not in json.loads(members):
            raise PeerLost(
                f"the other processes have formed a group without process {self.slot}, which was not heard "
                "of in time; start it again to join them"
            )
        return members

    def propose(self, generation, deadline):
        """Write the members down, if that is this process's part; None until then. It is that of the first
        one, once all are ready or the time is over, and where that one does not do it, that of the next.
        """
        self.watch.refresh()
        ready = {int(s): json.loads(v) for s, v in self.store.folder(f"ready/{generation}").items()}
        check_versions(ready)
        anew = not self.members
        if anew:
            expected = dict.fromkeys(range(self.count))
        else:
            expected = {
                slot: mark
                for slot, mark in self.members
                if slot == self.slot or self.watch.verdict(slot, mark) in ALIVE
            }
        there = [
            slot
            for slot, mark in expected.items()
            if slot in ready and mark in (None, ready[slot]["incarnation"])
        ]
        late = time.monotonic() - deadline
        first = there.index(self.slot)
        if late < 0:
            if len(there) < len(expected) or first > 0:
                return None
        elif anew:
            missing = [slot for slot in expected if slot not in there]
            what = f"processes {missing} did not come" if missing else "process 0 did not form the group"
            raise TimeoutError(f"{what} within {self.seconds.start:g} s")
        elif late < first * TURN_SECONDS:
            return None
        else:
            there = there[first:]  # those before this one have had their turns
        members = [[slot, ready[slot]["incarnation"]] for slot in there]  # in their order, as before
        members += self.candidates(members)
        with contextlib.suppress(KeyError):  # who is first is right
            self.store.set(f"members/{generation}", json.dumps(members))
        return self.store.get(f"members/{generation}")

    def candidates(self, members=()):
        """Those who wait to join, are alive and have the same versions: pairs of slot and incarnation."""
        taken = {slot for slot, _ in members}
        found = {int(slot): json.loads(card) for slot, card in self.store.folder("joining").items()}
        return [
            [slot, card["incarnation"]]
            for slot, card in sorted(found.items())
            if slot not in taken
            and card["versions"] == versions()
            and slot in self.watch.peers
            and self.watch.verdict(slot, card["incarnation"]) in ALIVE
        ]

    def enter(self, generation, members):
        """Become a member of a generation whose members are written down.

        Raises:
          PeerLost: if one of the members is lost before all have done so; no client has been made then.
        """
        before = self.generation
        with self.watch.lock:
            self.members = tuple([(slot, mark) for slot, mark in json.loads(members)])
            slots = [slot for slot, _ in self.members]
            self.rank, self.generation = slots.index(self.slot), generation
            self.questions = self.forgotten = self.blocks = 0
            self.watch.enter()
        self.watch.tell()
        self.meet("met")
        if self.rank == 0 and generation > 0:
            for space in SPACES:
                for name in LEFT_BEHIND:
                    self.store.delete(space + name)
            for slot in slots:
                self.store.delete(f"joining/{slot}")
            self.store.delete(f"generation/{before}")
            self.store.delete(f"ready/{generation}")
        self.meet("clean")
        if self.rank == 0:
            self.store.set("versions", json.dumps(versions()), replace=True)
            self.store.set("latest", str(generation), replace=True)
        self.configure()

    def list_together(self, platform):
        """Return when all members are about to list their devices: the runtime below waits minutes for one
        that is lost, and cannot be told of it.
        """
        if not self.watch.stopped.is_set():
            self.meet(f"devices-{platform}", "the devices of all processes cannot be listed")

    def meet(self, name, what="a group could not be formed", seconds=None):
        """Return when all members are here. Raises PeerLost, for ``what``, when one is lost or does not come
        in time.
        """
        seconds = self.seconds.start if seconds is None else seconds
        folder = f"{self.prefix}/meetings/{name}"
        self.store.set(f"{folder}/here/{self.rank}", "", replace=True)
        # A tree, as agreements have it: each waits for the two below it, then for the word that all are here.
        below = [rank for rank in (2 * self.rank + 1, 2 * self.rank + 2) if rank < self.size]
        started, everybody = time.monotonic(), f"{folder}/all"
        for key in [f"{folder}/below/{rank}" for rank in below]:
            if not self.came(key, folder, what, started, seconds):
                break
        else:
            if self.rank:
                self.store.set(f"{folder}/below/{self.rank}", "", replace=True)
                self.came(everybody, folder, what, started, seconds)
                return
        self.store.set(everybody, "", replace=True)

    def came(self, key, folder, what, started, seconds):
        """Wait for a key of a meeting: whether it came. False where all are here and one of them, who was to
        say so, is lost meanwhile: then all go on, and find out later.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                self.store.wait(key, self.watch.interval)
                return True
            self.watch.glance()
            lost = self.watch.lost(range(self.size))
            if lost or self.watch.failure or time.monotonic() - started > seconds:
                missing = set(range(self.size)) - {int(rank) for rank in self.store.folder(f"{folder}/here")}
                if not missing:
                    return False
                self.watch.raise_failure()
                late = dict.fromkeys(missing, "it did not come")
                raise self.watch.fail(what, lost or late)

    def configure(self):
        """Tell the clients of the next device who belongs together."""
        platforms = usable_platforms()
        for platform in running_platforms():
            stop_client(platform)
        for platform in platforms:
            options = {
                "distributed_client": self.store.client,
                "node_id": self.rank,
                "num_nodes": self.size,
            }
            if platform != "cpu":
                if self.devices is not None:
                    options["visible_devices"] = list(self.devices)
                if self.partition is not None:
                    options["partition_index"] = self.partition
            elif platforms[0] == "cpu":
                before = connections.listening()
                options["collectives"] = cpu_collectives(self.store, self.host)
                ports = connections.listening() - before
                self.watch.note(port=ports.pop() if len(ports) == 1 else None)
            else:  # where there are accelerators, the processors are each process's own
                continue
            together = functools.partial(self.list_together, platform)
            configure_client(platform, explain=self.watch.not_started, prepare=together, **options)
        self.watch.tell()
        set_overseer(self.watch)

    # ---------------------------------------------------------------------------------------- and leaving
    def leave(self, wait):
        """Leave the others, who are told. ``wait``: until they leave as well, or are lost."""
        set_overseer(None)
        if wait:
            self.watch.note(leaving=True)
            self.watch.tell()
            deadline = time.monotonic() + self.seconds.shutdown
            while time.monotonic() < deadline and self.others_stay():
                time.sleep(PAUSE)
        self.watch.stop()
        self.store.close()

    def others_stay(self):
        """Whether a member is at work still."""
        self.watch.refresh()
        for slot, mark in self.members:
            if slot != self.slot and self.watch.verdict(slot, mark) is None:
                state = self.watch.peers[slot].state if slot in self.watch.peers else {}
                if not (state.get("leaving") or state.get("failed") is not None):
                    return True
        return False

    def preemption(self):
        """What tells when to save, because a process was told to end; see ``Store.preemption``."""
        if self._preemption is None:
            self._preemption = self.store.preemption()
        return self._preemption

    def ask(self, what):
        """The answer of the first member to a question that all members ask at once: ``what()`` there, as
        JSON.
        """
        self.questions += 1
        key = f"{self.prefix}/answers"
        if self.rank == 0:
            answer = json.dumps(what())
            if self.size > 1:
                self.store.set(f"{key}/{self.questions}", answer)
                self.forget(key)
            return json.loads(answer)
        started = time.monotonic()
        while True:
            try:
                answer = self.store.wait(f"{key}/{self.questions}", self.watch.interval)
                self.watch.note(asked=self.questions)  # so that the first one forgets it
                return json.loads(answer)
            except TimeoutError:
                self.watch.refresh()
                self.watch.raise_failure()
                lost = self.watch.lost([0])
                if lost or time.monotonic() - started > self.seconds.step:
                    raise self.watch.fail("process 0 does not answer", lost or {0: "it is busy"}) from None

    def forget(self, key):
        """As the first member: remove the answers that all have read, as far as their beats tell."""
        read = self.questions
        for slot, mark in self.members[1:]:
            peer = self.watch.peers.get(slot, NOBODY)
            here = peer.incarnation == mark and peer.state.get("generation") == self.generation
            read = min(read, peer.state.get("asked", 0) if here else 0)
        while self.forgotten < read:
            self.forgotten += 1
            self.store.delete(f"{key}/{self.forgotten}")


# Verdicts of somebody who may be in the next generation.
ALIVE = (None, "it left this group to form another")


__all__ = ["Group", "Seconds"]
