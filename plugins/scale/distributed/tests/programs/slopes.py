"""How what processes tell each other grows with their number: ``python slopes.py 16`` makes so many members,
each with a client of its own at a real coordinator, as threads of this process. They compute nothing. Prints
a line of JSON. ``benchmarks/processes.py`` runs it for several numbers and makes the table in
docs/processes.md.
"""

import json
import os
import socket
import sys
import threading
import time

from rabbet.extend.processes import connect, start_service
from rabbet_distributed.group import Group, Seconds
from rabbet_distributed.signed_messages import SignedStore


class Member(Group):
    """A member without devices."""

    def configure(self):
        self.watch.tell()


class Counting:
    """A store that counts its calls and the bytes of values."""

    def __init__(self, store):
        self.store, self.calls, self.bytes = store, 0, 0

    def __getattr__(self, name):
        return getattr(self.store, name)

    def counted(self, text):
        self.calls += 1
        self.bytes += len(text or "")
        return text

    def set(self, key, value, *, replace=False):
        self.store.set(key, self.counted(value), replace=replace)

    def get(self, key):
        return self.counted(self.store.get(key))

    def wait(self, key, seconds):
        return self.counted(self.store.wait(key, seconds))

    def folder(self, prefix):
        found = self.store.folder(prefix)
        self.counted("".join(found.values()))
        return found


def at_once(function, over):
    """Call a function of each at the same time; the seconds that the slowest took."""
    took, start = [], threading.Barrier(len(over) + 1)

    def run(each):
        start.wait()
        began = time.monotonic()
        function(each)
        took.append(time.monotonic() - began)

    threads = [threading.Thread(target=run, args=(each,)) for each in over]
    for thread in threads:
        thread.start()
    start.wait()
    for thread in threads:
        thread.join()
    return max(took)


def started_by_one(members, seconds=2.0, size=2_000_000):
    """The time until each member has a program that one compiles, as a share of compiling (here: waiting for
    so many seconds, with a result of so many bytes), and how often it was compiled.
    """
    blob, compiled = os.urandom(size), []

    def start(member):
        member.watch.agree("devices", "'step'", "digest of step")
        found = member.watch.fetch("devices", "'step'", "digest of step", "key")
        if found is None:
            time.sleep(seconds)
            compiled.append(member)
            found = blob
        assert found == blob
        member.watch.hand_on("devices", "digest of step", "key", lambda: found)

    return at_once(start, members) / seconds, len(compiled)


def death_is_known(members):
    """Seconds until all others have noticed that one member has ended without a word."""
    lost = members[len(members) // 2]
    lost.watch.stopped.set()
    lost.watch.thread.join()
    lost.watch.listener.close()
    everybody = range(len(members))
    began, waiting = time.monotonic(), [m for m in members if m is not lost]
    while waiting and time.monotonic() - began < 40:
        waiting = [m for m in waiting if not m.watch.lost(everybody)]
        time.sleep(0.05)
    return None if waiting else time.monotonic() - began


def main(count):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    service = start_service(address, count)
    stores = {}

    def attach(i):
        stores[i] = Counting(SignedStore(connect(address, i, seconds=60), b"a secret of the job"))

    at_once(attach, range(count))
    seconds = Seconds(start=120, peer=20, step=60)
    members = [Member(stores[i], i, count, seconds, "127.0.0.1") for i in range(count)]
    joined = at_once(Member.join, members)

    def sums():
        return sum([s.calls for s in stores.values()]), sum([s.bytes for s in stores.values()])

    for member in members:
        member.watch.ranks_of = lambda group: list(range(count))
    tries = []
    for i in range(5):
        before = sums()
        took = at_once(lambda member, i=i: member.watch.agree("devices", "'f'", f"digest {i}"), members)
        tries.append((took, sums()[0] - before[0]))
    shared, compiles = started_by_one(members)
    before, busy = sums(), time.process_time()
    time.sleep(5)
    calls, size = [(b - a) / 5 for a, b in zip(before, sums(), strict=True)]
    busy = (time.process_time() - busy) / 5
    row = {
        "processes": count, "join_s": joined, "agree_s": min(tries)[0], "agree_calls": min(tries)[1],
        "beat_calls": calls, "beat_bytes": size, "busy": busy, "start_ratio": shared, "compiles": compiles,
        "death_s": death_is_known(members),
    }  # fmt: skip
    print(json.dumps(row), flush=True)
    del service
    os._exit(0)  # the others are at the service still


if __name__ == "__main__":
    main(int(sys.argv[1]))
