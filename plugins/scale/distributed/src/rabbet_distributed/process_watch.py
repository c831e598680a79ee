"""Looking after the other processes: who is there, who is lost, who does something else.

Every process writes a *beat* into the store at an interval: who it is (a restarted process is another one),
a count, the address of a socket that nobody reads (while its process lives, connections to it are not
refused), and what it is doing. All that is known of the others is read from their beats. In a large group
each process reads the beats of the next two only, and writes an *alarm* for what it finds there, which all
read: a few messages for each process and interval, however many there are.
"""

import contextlib
import json
import re
import socket
import threading
import time
import zlib
from collections import deque

from rabbet.errors import PeerLost
from rabbet.extend.processes import Overseer

from rabbet_distributed import connections
from rabbet_distributed.agreement import Agreement
from rabbet_distributed.executable_sharing import Handing
from rabbet_distributed.peers import NOBODY, DifferentPrograms, Lost, Peer, family_of, refuses

# What the runtime below says where other processes are the reason.
COMMUNICATION = re.compile(
    r"[Gg]loo|NCCL|[Cc]onnection (?:closed|reset)|[Cc]ollective|[Tt]imed? ?out|DEADLINE"
)
BEAT_SECONDS, SECONDS_EACH = 0.5, 0.001  # the interval grows with the number of processes
READ_BY_ALL = 32  # with more processes each watches over the next ones, and a loss is told to all
NEXT = 2  # of them
ENDED = "its program has ended"
REMEMBERED, RECENT = 1024, 4  # of the programs that were run: here, and in a beat
LOOK_SECONDS = 2.0  # one look counts as so much silence at most: this process itself may have slept
TAIL_SECONDS = 30  # a program that was given up ends itself so long after its time-out


DIFFERENT = DifferentPrograms.__name__
KINDS = {kind.__name__: kind for kind in (PeerLost, DifferentPrograms)}


class Watch(Overseer):
    """Looks after the members of a ``Group``, on a thread of its own and for programs that wait.

    Args:
      group: the ``Group``.
      host: the address of this machine by which the others reach it.
    """

    every = 0.05

    def __init__(self, group, host):
        self.group = group
        self.interval = max(BEAT_SECONDS, SECONDS_EACH * group.count)
        self.listener = socket.create_server((host, 0), family=family_of(host), backlog=64)
        self.listener.setblocking(False)
        self.address = list(self.listener.getsockname()[:2])
        self.count, self.peers, self.refused, self.noticed = 0, {}, set(), None
        # `lock` guards what is known, and is never held while the store or another process is asked. One beat
        # is written, and one look at the others is taken, after the other, so that the later one counts.
        self.lock, self.telling, self.reading = threading.RLock(), threading.Lock(), threading.Lock()
        self.stopped = threading.Event()
        self.handing = Handing(self, host)
        self.enter()
        getattr(group.store, "resume", lambda key: None)(f"beats/{group.slot}")
        self.tell()
        self.thread = threading.Thread(target=self.beat, name="rabbet-beat", daemon=True)
        self.thread.start()

    def enter(self):
        """Begin anew: the group has other members now."""
        with self.lock:
            self.failure, self.fresh = None, False
            self.since = self.looked_at = time.monotonic()
            self.looked = 0.0
            self.heard_all = self.since  # when all beats were read last
            self.alarms = {}  # what others found, by slot: incarnation and reason
            self.agreement = Agreement(self)
            self.orders = {}
            self.state = {
                "generation": self.group.generation,
                "port": None,  # at which the collectives listen
                "runs": {},  # how many programs were started, by their devices
                "in": None,  # which one is under way
                "agree": None,  # which one waits to be compiled
                "asked": 0,  # how many answers of the first member were read
            }

    def note(self, **changes):
        """Change what the next beat says."""
        with self.lock:
            self.state.update(changes)

    # ---------------------------------------------------------------------------------------------- beats
    def beat(self):
        """What the thread does."""
        while not self.stopped.wait(self.interval):
            try:
                self.tell()
                self.glance()
                with contextlib.suppress(OSError):
                    while True:
                        self.listener.accept()[0].close()
            except Exception as error:  # the store is gone, and soon the process
                self.noticed = error

    def tell(self):
        """Write a beat."""
        with self.telling:
            self.count += 1
            with self.lock:
                orders = {key: list(order)[-RECENT:] for key, order in self.orders.items()}
                state = {**self.state, "orders": orders}
                text = json.dumps([self.group.incarnation, self.count, self.address, state])
            self.group.store.set(f"beats/{self.group.slot}", text, replace=True)

    def refresh(self):
        """Read the beats of the others, and what follows from them."""
        with self.reading:
            beats = {int(slot): json.loads(text) for slot, text in self.group.store.folder("beats").items()}
            with self.lock:
                self.heard_all = time.monotonic()
                self.hear(beats, self.heard_all)
                self.fresh, generation = True, self.group.generation
                found = None if self.failure is not None else self.order_that_differs()
        if found is not None:
            self.fail(*found, generation=generation)

    def next_ones(self):
        """The slots of the members that this process watches over: the next ones in the ring."""
        group, size = self.group, len(self.group.members)
        if group.rank is None:
            return []
        places = [(group.rank + i) % size for i in range(1, NEXT + 1)]
        return [group.members[i][0] for i in places if i != group.rank]

    @property
    def in_ring(self):
        """Whether the group is so large that nobody reads all beats."""
        return len(self.group.members) > READ_BY_ALL

    def glance(self, others=()):
        """Read what there is to know: in a small group all beats, in a large one those of the next members,
        of ``others`` (slots) and of those that another process reports as lost.
        """
        if not self.in_ring:
            if self.group.count <= READ_BY_ALL or self.group.rank is None:
                self.refresh()
            return
        store, folder = self.group.store, f"{self.group.prefix}/alarms"
        mine = self.next_ones()
        with self.reading:
            told = {int(slot): json.loads(text) for slot, text in store.folder(folder).items()}
            slots = {*mine, *others, *(slot for slot in told if slot not in self.alarms)}
            found = {slot: store.get(f"beats/{slot}") for slot in slots}
            beats = {slot: json.loads(text) for slot, text in found.items() if text is not None}
            with self.lock:
                self.alarms = told
                self.hear(beats, time.monotonic())
                self.fresh, generation = True, self.group.generation
                differs = None if self.failure is not None else self.order_that_differs()
        for slot, incarnation in self.group.members:
            if slot not in mine:
                continue
            reason, said = self.verdict(slot, incarnation), told.get(slot)
            if reason is not None and said is None:
                store.set(f"{folder}/{slot}", json.dumps([incarnation, reason]), replace=True)
            elif reason is None and said is not None and said[1] is not None:
                store.delete(f"{folder}/{slot}")  # it was stopped for a while, and goes on
        if differs is not None:
            self.fail(*differs, generation=generation)

    def alarm(self):
        """Have all others read the beat of this process, which says what has failed."""
        if self.in_ring:
            told = json.dumps([self.group.incarnation, None])
            self.group.store.set(f"{self.group.prefix}/alarms/{self.group.slot}", told, replace=True)

    def hear(self, beats, now):
        """Take in the beats, which are lists by slot."""
        # This process itself was stopped, or the machine is busy: so may the others be.
        missed = max(0.0, now - self.looked_at - max(LOOK_SECONDS, 2 * self.interval))
        self.looked_at = now
        if missed:
            self.since += missed
            self.peers = {slot: p._replace(seen=p.seen + missed) for slot, p in self.peers.items()}
        for slot, (incarnation, count, address, state) in beats.items():
            if slot == self.group.slot:
                continue
            before = self.peers.get(slot)
            if before is not None and before[:2] == (incarnation, count):
                continue
            self.refused.discard(slot)
            self.peers[slot] = Peer(incarnation, count, address, state, now)

    def stop(self, state="ended"):
        """Stop looking after anybody; the others are told that this process has ended."""
        self.stopped.set()
        if self.thread is not threading.current_thread():
            self.thread.join(5.0)
        self.note(**{state: True})
        self.tell()
        self.listener.close()
        self.handing.close()

    # ---------------------------------------------------------------------------------------- who is lost
    def verdict(self, slot, incarnation):
        """Why a process cannot be counted on, or None."""
        peer, now = self.peers.get(slot), time.monotonic()
        patience = self.group.seconds.peer
        if self.in_ring and slot not in self.next_ones():
            marked, reason = self.alarms.get(slot, (None, None))
            if marked == incarnation and reason is not None:
                return reason
            now = self.heard_all  # since then only those who watch over it know more
        if peer is None:
            return f"it was never heard of{self.forged(slot)}" if now - self.since > patience else None
        if peer.incarnation != incarnation:
            return "it ended, and was started again"
        if peer.state.get("ended") or peer.state.get("leaving"):
            return ENDED
        silent = now - peer.seen
        if silent > patience:
            return f"nothing was heard of it for {silent:.0f} s{self.forged(slot)}"
        if slot in self.refused or (silent > 2 * self.interval and refuses(peer.address)):
            self.refused.add(slot)
            return "its process is gone"
        if peer.state.get("generation", -1) > self.group.generation:
            return "it left this group to form another"
        return None

    def forged(self, slot):
        """That what stands for a beat of a process was refused, as the end of a sentence."""
        problem = getattr(self.group.store, "refused", {}).get(f"beats/{slot}")
        return "" if problem is None else f", and a beat in its name was refused: {problem}"

    def is_past(self, slot):
        """Whether a process has run the program in which this one is."""
        mine = self.state["in"]
        if mine is None:
            return False
        key, runs, *_ = mine
        theirs = self.peers[slot].state
        within = theirs.get("in")
        return theirs.get("runs", {}).get(key, 0) >= runs and (within is None or within[:2] != [key, runs])

    def lost(self, ranks):
        """Those of the members with these ranks that cannot be counted on: a ``Lost``. What the others found
        out counts too.
        """
        found, gave_up, kinds, sure = Lost(), Lost(), set(), False
        members = self.group.members
        for rank in ranks:
            slot, incarnation = members[rank]
            if slot == self.group.slot:
                continue
            reason = self.verdict(slot, incarnation)
            if reason is not None and not (reason == ENDED and self.is_past(slot)):
                found[rank], sure = reason, True
                continue
            state = self.peers.get(slot, NOBODY).state
            told = state.get("failed") if state.get("generation") == self.group.generation else None
            if told is not None:
                others = {int(r): why for r, why in told["found"].items()}
                if told["kind"] == DIFFERENT:
                    others = self.differing(rank, told, others)
                others.pop(self.group.rank, None)
                for other, why in others.items():
                    if other in ranks:
                        found.setdefault(other, why)
                if not others:
                    gave_up[rank] = f"it gave up: {told['what']}"
                kinds.add(KINDS[told["kind"]])
        found = found or gave_up
        found.kind = DifferentPrograms if kinds == {DifferentPrograms} and not sure else PeerLost
        return found

    def differing(self, rank, told, others):
        """Who has another program than this process, where the process ``rank`` says that ``others`` have
        another one than itself.
        """
        program, mine = told["program"], self.state["agree"]
        if self.group.rank in others or (program and mine and program != mine[:2]):
            return {rank: told["what"]}
        return others if mine or not program else {**others, rank: told["what"]}

    def fail(self, what, found, kind=None, hint="", generation=None, program=None):
        """The ``PeerLost`` for members that are lost: reasons by rank. From now on nothing runs together.
        None if the group is another one than that ``generation`` meanwhile. ``program`` is the one that the
        others do not have, its devices and its digest.
        """
        whom = "; ".join([f"process {rank}: {why}" for rank, why in sorted(found.items())])
        count = len(self.group.members)
        left = [r for r in range(count) if r not in found]
        lines = [f"{what}: {whom or 'which process is the reason could not be found out'}"]
        lines += [hint] if hint else []
        lines.append(
            f"  of {count} processes there are left: {', '.join(map(str, left))}; "
            "rabbet.distributed.reform() lets them go on together"
        )
        kind = kind or getattr(found, "kind", PeerLost)
        error = kind("\n".join(lines), tuple(sorted(found)))
        with self.lock:
            if generation is not None and generation != self.group.generation:
                return None
            if self.failure is None:
                self.failure = error
                named = {str(r): why for r, why in found.items()}
                told = {"found": named, "what": what, "kind": kind.__name__, "program": program}
                self.state.update(failed=told, agree=None)
            failure = self.failure
        self.tell()
        self.alarm()
        return failure

    def raise_failure(self):
        """Raise what has gone wrong before."""
        failure = self.failure
        if failure is not None:
            raise type(failure)(*failure.args, failure.ranks) from failure

    # ------------------------------------------------------------------------------- programs that are run
    def ranks_of(self, group):
        """The processes that own devices of a ``DeviceGroup``."""
        return sorted({d.process_index for d in group.devices})

    def give_up(self, group, name):
        """A program is not waited for any more, because others are lost or somebody pressed Ctrl-C."""
        if self.failure is None:
            self.fail(f"{name!r} was interrupted", {})
        with self.lock:
            others = {peer.state.get("port") for peer in self.peers.values()} - {None}
        connections.cut(self.state.get("port"), others)

    def started(self, group, name, mark):
        """A program is about to run."""
        self.raise_failure()
        if self.fresh:  # else whoever waits finds out
            self.fresh = False
            self.check(group, f"{name!r} cannot run")
        with self.lock:
            key = str(group)
            runs = self.state["runs"].get(key, 0) + 1
            order = self.orders.setdefault(key, deque([(0, 0, "")], maxlen=REMEMBERED))
            order.append((runs, zlib.crc32(b"%d" % mark, order[-1][1]), name))
            self.state["runs"][key] = runs
            self.state["in"] = [key, runs, name, order[-1][1]]

    def check(self, group, what):
        """Raise if one of the processes of a ``DeviceGroup`` is lost."""
        found = self.lost(self.ranks_of(group))
        if found:
            raise self.fail(what, found)

    def look(self, group, name, seconds):
        """A program waits."""
        if time.monotonic() - self.looked < self.interval:
            return
        self.looked = time.monotonic()
        self.glance()
        self.raise_failure()
        self.check(group, f"{name!r} cannot go on")
        if seconds > self.group.seconds.step:
            raise self.fail(
                f"{name!r} has waited for {seconds:.0f} s, its time-out",
                self.behind(group),
                hint="  the time-out is step_timeout_seconds of distributed.initialize",
            )

    def behind(self, group):
        """Which processes of a ``DeviceGroup`` have not come to the program that this one waits in."""
        key, runs, _, _ = self.state["in"] or (str(group), self.state["runs"].get(str(group), 0), "", 0)
        found = {}
        for rank in self.ranks_of(group):
            peer = self.peers.get(self.group.members[rank][0])
            if rank == self.group.rank or peer is None:
                continue
            done = peer.state.get("runs", {}).get(key, 0)
            if done < runs:
                within = peer.state.get("in")
                doing = f"it is in {within[2]!r}" if within else "it runs none now"
                found[rank] = f"it is alive, but has not come to this program ({done} before it, {doing})"
        return found

    def finished(self, group, name, error):
        """A program has ended."""
        self.note(**{"in": None})
        if error is None or not COMMUNICATION.search(str(error)):
            return error
        return self.explained(group, name, error)

    def explained(self, group, name, error):
        """The ``PeerLost`` for a communication that failed; who is lost shows within the time for that."""
        deadline = time.monotonic() + self.group.seconds.peer + 2 * self.interval
        found = {}
        while not found and time.monotonic() < deadline:
            time.sleep(self.interval / 2)
            self.glance()
            found = self.lost(self.ranks_of(group))
        first = str(error).splitlines()[0]
        failure = self.fail(f"{name!r} failed", found, hint=f"  the runtime says: {first}")
        failure.__cause__ = error
        return failure

    def not_started(self, error):
        """The ``PeerLost`` for a client that does not start because a member is lost, or None: the members
        tell each other of their devices when the first one is asked for.
        """
        self.refresh()
        found = self.lost(range(self.group.size))
        hint = f"  the runtime says: {str(error).splitlines()[0]}"
        return self.fail("the devices of all processes cannot be listed", found, hint=hint) if found else None

    def order_that_differs(self):
        """That another process ran the programs of a group in another order: for ``fail``, or None."""
        for rank, (slot, incarnation) in enumerate(self.group.members):
            peer = self.peers.get(slot, NOBODY)
            if peer.incarnation != incarnation or peer.state.get("generation") != self.group.generation:
                continue
            for key, recent in peer.state.get("orders", {}).items():
                mine = {runs: (order, name) for runs, order, name in self.orders.get(key, ())}
                for runs, order, name in recent:
                    if runs in mine and mine[runs][0] != order:
                        what = (
                            f"the programs over {key} differ: as number {runs} process {self.group.rank} "
                            f"ran {mine[runs][1]!r} and process {rank} ran {name!r}, if not before, so "
                            "results may be wrong"
                        )
                        return what, {rank: "it ran other programs, or in another order"}, DifferentPrograms
        return None

    # ------------------------------------------------------------------------- programs that are compiled
    def agree(self, group, name, digest, text=""):
        """Wait until all processes of a ``DeviceGroup`` are about to compile one program."""
        self.agreement.text = text
        if (str(group), digest) not in self.agreement.settled:
            self.handing.expect(group, digest)
        self.agreement.wait(group, name, digest)

    def fetch(self, group, name, digest, key):
        """What another process has compiled, or None."""
        return self.handing.fetch(group, name, digest, key)

    def hand_on(self, group, digest, key, make):
        """A program that this process has, for those that ask it."""
        self.handing.hand_on(digest, key, make)

    @property
    def compiler_options(self):
        """Options of every program over several processes."""
        return {"xla_cpu_collective_timeout_seconds": int(self.group.seconds.step) + TAIL_SECONDS}


__all__ = ["Watch"]
