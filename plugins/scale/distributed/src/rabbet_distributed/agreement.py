"""Agreement on a program, before it is compiled: all processes that are to run it have the same one."""

import contextlib
import time
import zlib

from rabbet_distributed.peers import DifferentPrograms
from rabbet_distributed.program_differences import difference, packed, unpacked

ASKED = 8  # of those that are missing, so many are asked what they do
LOOKS = 3  # at which another program is seen in a row, before it is taken for the one that stays


class Agreement:
    """What this process and the others of its group have agreed on.

    Attributes:
      published: what this process was about to compile: pairs of devices and a digest of the program.
      settled: those of them that all were about to compile.
    """

    def __init__(self, watch):
        self.watch = watch
        self.published, self.settled = set(), set()
        self.text, self.told = "", None  # of the program that is waited for; which one the others can read

    def wait(self, group, name, digest):
        """Wait until all processes of a ``DeviceGroup`` are about to compile one program.

        Raises:
          DifferentPrograms: if another process is about to compile another one.
          PeerLost: if one is lost, or does not come within the time-out of a step.
        """
        watch, key = self.watch, str(group)
        if (key, digest) in self.settled:
            return
        watch.raise_failure()
        ours, store, ranks = watch.group, watch.group.store, watch.ranks_of(group)
        prefix = f"{ours.prefix}/programs/{zlib.crc32(key.encode())}/{digest}"
        place = ranks.index(ours.rank)
        below = [ranks[i] for i in (2 * place + 1, 2 * place + 2) if i < len(ranks)]
        if below:
            store.set(f"{prefix}/here/{ours.rank}", name, replace=True)
        self.published.add((key, digest))
        waiting = Waiting(self, prefix, ranks, name, key, digest)
        try:
            # A tree: each waits for the two below it, and then for the first one's word that all are here.
            for rank in below:
                waiting.until(f"{prefix}/below/{rank}")
            store.set(f"{prefix}/below/{ours.rank}" if place else f"{prefix}/all", name, replace=True)
            if place:
                waiting.until(f"{prefix}/all")
        finally:
            watch.note(agree=None)
        self.settled.add((key, digest))

    def tell(self):
        """Have the others read the program of this process, which one of them does not have."""
        ours = self.watch.group
        if self.text and self.told is not self.text:
            self.told = self.text
            ours.store.set(f"{ours.prefix}/texts/{ours.rank}", packed(self.text), replace=True)

    def different(self, name, others, program):
        """The error where others, reasons by rank, have other programs than this one."""
        ours, found = self.watch.group, ""
        for rank in sorted(others):
            theirs = ours.store.get(f"{ours.prefix}/texts/{rank}") if self.text and not found else None
            if theirs is not None:
                with contextlib.suppress(ValueError, zlib.error):
                    found = difference(self.text, unpacked(theirs), ours.rank, rank)
        return self.watch.fail(
            f"the processes would run different programs: process {ours.rank} has {name}",
            others,
            kind=DifferentPrograms,
            program=program,
            hint=found
            or "  programs of one line and of the same types differ in constants or in the code that they "
            "call; rb.config.dump_ir_to = 'folder' writes their texts, to be compared",
        )

    def conflicting(self, ranks, key, digest):
        """The processes that wait for others to compile a program that this one has not; its name by rank."""
        found = {}
        for rank in ranks:
            peer = self.watch.peers.get(self.watch.group.members[rank][0])
            theirs = peer.state.get("agree") if peer else None
            if theirs and theirs[0] == key and theirs[1] != digest and (key, theirs[1]) not in self.published:
                found[rank] = theirs[2]
        return found


class Waiting:
    """A process that waits for others to be about to compile a program."""

    def __init__(self, agreement, prefix, ranks, name, key, digest):
        self.agreement, self.watch = agreement, agreement.watch
        self.prefix, self.ranks, self.name, self.key, self.digest = prefix, ranks, name, key, digest
        self.started, self.conflicts = time.monotonic(), 0

    def until(self, key):
        """Return when a key is set; meanwhile look whether it will be.

        Raises:
          DifferentPrograms, PeerLost: where it will not.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                self.watch.group.store.wait(key, self.watch.interval)
                return
            self.look()

    def missing(self):
        """The ranks that are not here yet."""
        store = self.watch.group.store
        here = {*store.folder(f"{self.prefix}/here"), *store.folder(f"{self.prefix}/below")}
        return {r for r in self.ranks if r != self.watch.group.rank and str(r) not in here}

    def look(self):
        """Raise where the others will not come."""
        watch, name, program = self.watch, self.name, [self.key, self.digest]
        missing = self.missing() or set(self.ranks[:1]) - {watch.group.rank}  # it has not said so
        watch.note(agree=[*program, name])
        watch.tell()
        watch.glance([watch.group.members[rank][0] for rank in sorted(missing)[:ASKED]])
        watch.raise_failure()
        found = watch.lost(self.ranks)
        if found.kind is DifferentPrograms:
            self.agreement.tell()
            # Said with the program of this process: a third one is to find out whose is another.
            raise self.agreement.different(name, found, program)
        if found:
            raise watch.fail(f"{name} cannot be compiled", found)
        others = self.agreement.conflicting(missing, *program)
        self.conflicts = self.conflicts + 1 if others else 0
        if others:
            self.agreement.tell()
        if self.conflicts >= LOOKS:
            has = {rank: f"it has {other}" for rank, other in others.items()}
            raise self.agreement.different(name, has, program)
        seconds = watch.group.seconds.step
        if time.monotonic() - self.started > seconds:
            raise watch.fail(
                f"{name} was to be compiled by all processes, and some did not come to that within "
                f"{seconds:g} s",
                dict.fromkeys(missing, "it is alive, but does not compile this program"),
            )


__all__ = ["Agreement"]
