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
import json
import os
import secrets
import time
from typing import NamedTuple

import rabbet
from rabbet.errors import PeerLost, RabbetError
from rabbet.extend.backend import jaxlib_version, running_platforms
from rabbet.extend.processes import (
    configure_client,
    cpu_collectives,
    set_overseer,
    stop_client,
    usable_platforms,
)

from rabbet_distributed import connections
from rabbet_distributed.watch import Watch

# What jaxlib writes down for clients that form a group, by the platform's name there.
LEFT_BEHIND = ("global_topology", "local_topology", "gloo")
SPACES = ("cpu:", "gpu:", "cuda:", "tpu:")
PAUSE = 0.05


class VersionError(RabbetError, RuntimeError):
    """Processes that compute together have different versions of Rabbet or jaxlib. The message names both.

    Example:
      >>> issubclass(rb.distributed.VersionError, RuntimeError)
      True
    """


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
        self.questions = self.blocks = 0
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
        self.store.set(f"joining/{self.slot}", self.incarnation, replace=True)
        deadline = time.monotonic() + self.seconds.start
        generation = int(latest)
        while time.monotonic() < deadline:
            try:
                members = self.store.wait(f"members/{generation + 1}", self.watch.interval)
            except TimeoutError:
                if self.is_deserted(generation):  # all were started again
                    self.generation = generation
                    self.form(generation + 1, deadline - time.monotonic())
                    return
                continue
            generation += 1
            if [self.slot, self.incarnation] in json.loads(members):
                self.enter(generation, members)
                return
        raise TimeoutError(
            f"process {self.slot} was started again, and the others did not take it in within "
            f"{self.seconds.start:g} s; they do so when they call rabbet.distributed.reform()"
        )

    def is_deserted(self, generation):
        """Whether none of the members of a generation is left."""
        self.watch.refresh()
        members = json.loads(self.store.get(f"members/{generation}") or "[]")
        return all(self.watch.verdict(slot, mark) not in ALIVE for slot, mark in members)

    def form(self, generation, seconds):
        """Form a generation with all that are alive and ready, with those who wait to join."""
        here = {"incarnation": self.incarnation, "versions": [rabbet.__version__, jaxlib_version()]}
        self.store.set(f"ready/{generation}/{self.slot}", json.dumps(here), replace=True)
        deadline = time.monotonic() + seconds
        while True:
            members = self.store.get(f"members/{generation}") or self.propose(generation, deadline)
            if members is not None:
                break
            time.sleep(PAUSE)
        if [self.slot, self.incarnation] not in json.loads(members):
            raise PeerLost(
                f"the other processes have formed a group without process {self.slot}, which was not heard "
                "of in time; start it again to join them"
            )
        self.enter(generation, members)

    def propose(self, generation, deadline):
        """As the leader, write the members down once all are ready; None for anybody else, and until then."""
        self.watch.refresh()
        ready = {int(s): json.loads(v) for s, v in self.store.folder(f"ready/{generation}").items()}
        anew = not self.members
        if anew:
            expected = dict.fromkeys(range(self.count))
        else:
            expected = {
                slot: mark
                for slot, mark in self.members
                if slot == self.slot or self.watch.verdict(slot, mark) in ALIVE
            }
        missing = [
            slot
            for slot, mark in expected.items()
            if slot not in ready or (mark is not None and ready[slot]["incarnation"] != mark)
        ]
        if time.monotonic() > deadline:
            if anew:
                raise TimeoutError(f"processes {missing} did not come within {self.seconds.start:g} s")
            expected = {slot: mark for slot, mark in expected.items() if slot not in missing}
        elif missing:
            return None
        if min(expected) != self.slot:
            return None
        check_versions(ready)
        members = [[slot, ready[slot]["incarnation"]] for slot in expected]  # in their order, as before
        members += self.candidates(members)
        try:
            self.store.set(f"members/{generation}", json.dumps(members))
        except KeyError:
            pass
        return self.store.get(f"members/{generation}")

    def candidates(self, members=()):
        """Those who wait to join and are alive, as pairs of slot and incarnation."""
        taken = {slot for slot, _ in members}
        found = {int(slot): mark for slot, mark in self.store.folder("joining").items()}
        return [
            [slot, mark]
            for slot, mark in sorted(found.items())
            if slot not in taken and self.watch.verdict(slot, mark) in ALIVE and slot in self.watch.peers
        ]

    def enter(self, generation, members):
        """Become a member of a generation whose members are written down."""
        self.members = tuple([(slot, mark) for slot, mark in json.loads(members)])
        slots = [slot for slot, _ in self.members]
        self.rank, self.questions, self.blocks = slots.index(self.slot), 0, 0
        before, self.generation = self.generation, generation
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
        self.meet("clean")
        if self.rank == 0:
            self.store.set("latest", str(generation), replace=True)
        self.configure()

    def meet(self, name):
        """Return when all members are here. Raises PeerLost when one is lost."""
        folder = f"{self.prefix}/meetings/{name}"
        self.store.set(f"{folder}/{self.rank}", "", replace=True)
        started, missing = time.monotonic(), set(range(self.size))
        while missing := missing - {int(rank) for rank in self.store.folder(folder)}:
            with contextlib.suppress(TimeoutError):
                self.store.wait(f"{folder}/{min(missing)}", self.watch.interval)
                continue
            self.watch.refresh()
            self.watch.raise_failure()
            lost = self.watch.lost(range(self.size))
            late = dict.fromkeys(missing, "it did not come")
            if lost or time.monotonic() - started > self.seconds.start:
                raise self.watch.fail("a group could not be formed", lost or late)

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
                self.watch.state["port"] = ports.pop() if len(ports) == 1 else None
            else:  # where there are accelerators, the processors are each process's own
                continue
            configure_client(platform, **options)
        self.watch.tell()
        set_overseer(self.watch)

    # ---------------------------------------------------------------------------------------- and leaving
    def leave(self, wait):
        """Leave the others, who are told. ``wait``: until they leave as well, or are lost."""
        set_overseer(None)
        if wait:
            self.watch.state["leaving"] = True
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
        key = f"{self.prefix}/answers/{self.questions}"
        if self.rank == 0:
            answer = json.dumps(what())
            self.store.set(key, answer)
            return json.loads(answer)
        waited = 0.0
        while True:
            try:
                return json.loads(self.store.wait(key, self.watch.interval))
            except TimeoutError:
                waited += self.watch.interval
                self.watch.refresh()
                self.watch.raise_failure()
                lost = self.watch.lost([0])
                if lost or waited > self.seconds.step:
                    raise self.watch.fail("process 0 does not answer", lost or {0: "it is busy"}) from None


# Verdicts of somebody who may be in the next generation.
ALIVE = (None, "it left this group to form another")


def check_versions(ready):
    """Refuse members of different versions."""
    by_versions: dict = {}
    for slot, told in sorted(ready.items()):
        by_versions.setdefault(tuple(told["versions"]), []).append(slot)
    if len(by_versions) > 1:
        told = "; ".join(
            [f"processes {s} have rabbet {v[0]} and jaxlib {v[1]}" for v, s in by_versions.items()]
        )
        raise VersionError(f"processes that compute together need the same versions: {told}")


__all__ = ["Group", "Seconds", "VersionError"]
