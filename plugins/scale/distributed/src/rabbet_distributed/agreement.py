"""Agreement on a program, before it is compiled: all processes that are to run it have the same one."""

import contextlib
import time
import zlib

from rabbet_distributed.peers import DifferentPrograms

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
        ours, store, seconds = watch.group, watch.group.store, watch.group.seconds.step
        prefix = f"{ours.prefix}/programs/{zlib.crc32(key.encode())}/{digest}"
        missing = {r for r in watch.ranks_of(group) if r != ours.rank}
        store.set(f"{prefix}/{ours.rank}", name, replace=True)
        self.published.add((key, digest))
        started, conflicts = time.monotonic(), 0
        try:
            while missing := missing - {int(r) for r in store.folder(prefix)}:
                with contextlib.suppress(TimeoutError):
                    store.wait(f"{prefix}/{min(missing)}", watch.interval)
                    continue
                watch.note(agree=[key, digest, name])
                watch.tell()
                watch.refresh()
                watch.raise_failure()
                found = watch.lost(watch.ranks_of(group))
                if found.kind is DifferentPrograms:
                    # Said with the program of this process: a third one is to find out whose is another.
                    raise self.different(name, found, [key, digest])
                if found:
                    raise watch.fail(f"{name!r} cannot be compiled", found)
                others = self.conflicting(missing, key, digest)
                conflicts = conflicts + 1 if others else 0
                if conflicts >= LOOKS:
                    has = {rank: f"it has {other!r}" for rank, other in others.items()}
                    raise self.different(name, has, [key, digest])
                if time.monotonic() - started > seconds:
                    raise watch.fail(
                        f"{name!r} was to be compiled by all processes, and some did not come to that within "
                        f"{seconds:g} s",
                        dict.fromkeys(missing, "it is alive, but does not compile this program"),
                    )
        finally:
            watch.note(agree=None)
        self.settled.add((key, digest))

    def different(self, name, others, program):
        """The error where others, reasons by rank, have other programs than this one."""
        return self.watch.fail(
            f"the processes would run different programs: process {self.watch.group.rank} has {name!r}",
            others,
            kind=DifferentPrograms,
            program=program,
            hint="  programs of one name differ in shapes, dtypes, constants or the code itself; "
            "rb.config.dump_ir_to = 'folder' writes their texts, to be compared",
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


__all__ = ["Agreement"]
