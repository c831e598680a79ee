"""The TCP connections through which programs on CPUs communicate, and how to cut them.

A program that waits for another process cannot be told to stop. But where its connections end, it does: with
an error, here and in the processes at the other ends. Gloo makes these connections and has no call for that,
so they are found by the port at which it listens. This needs Linux's ``/proc``; elsewhere nothing is cut,
and a program ends with its time-out.
"""

import contextlib
import os
import socket
from pathlib import Path
from typing import NamedTuple

TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
LISTEN, ESTABLISHED = "0A", "01"


class Connection(NamedTuple):
    """A row of the system's table: local and remote port, state, the number of the socket."""

    local: int
    remote: int
    state: str
    inode: str


def connections():
    """All TCP sockets of the machine's network, as the system lists them."""
    found = []
    for table in TABLES:
        with contextlib.suppress(OSError):
            for line in Path(table).read_text(encoding="utf-8").splitlines()[1:]:
                _, local, remote, state, _, _, _, _, _, inode, *_ = line.split()
                ports = [int(address.rpartition(":")[2], 16) for address in (local, remote)]
                found.append(Connection(*ports, state, inode))
    return found


def own_sockets():
    """The sockets of this process: file descriptors by their numbers."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                kind, _, number = os.readlink(f"/proc/self/fd/{name}").partition(":")
                if kind == "socket":
                    found[number.strip("[]")] = int(name)
    return found


def listening():
    """The ports at which this process listens."""
    mine = own_sockets()
    return {each.local for each in connections() if each.state == LISTEN and each.inode in mine}


def cut(own_port, other_ports):
    """End this process's connections that came in at its own port, or go to one of the others; return how
    many there were.
    """
    mine, count = own_sockets(), 0
    for each in connections():
        if each.state != ESTABLISHED or each.inode not in mine:
            continue
        if each.local == own_port or each.remote in other_ports:
            with contextlib.suppress(OSError):
                # The descriptor stays its owner's; what ends is what both refer to.
                with socket.socket(fileno=os.dup(mine[each.inode])) as found:
                    found.shutdown(socket.SHUT_RDWR)
                count += 1
    return count


__all__ = ["ESTABLISHED", "connections", "cut", "listening"]
