"""What is known of the other processes, and what is said of those that are lost."""

import socket
from typing import NamedTuple

from rabbet.errors import PeerLost

PROBE_SECONDS = 0.5


class DifferentPrograms(PeerLost):
    """Processes were about to run different programs together. The message names the programs.

    Example:
      >>> issubclass(rb.distributed.DifferentPrograms, rb.distributed.PeerLost)
      True
    """


class Peer(NamedTuple):
    """What is known of another process by one of its beats; ``seen`` is when it was first read."""

    incarnation: str | None = None
    count: int = 0
    address: list | None = None
    state: dict = {}  # nobody changes it
    seen: float = 0.0


class Lost(dict):
    """Reasons by rank, and the kind of error to raise for them."""

    kind: type = PeerLost


NOBODY = Peer()


def refuses(address):
    """Whether nobody listens at an address any more, though its machine answers."""
    try:
        socket.create_connection(tuple(address), timeout=PROBE_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def family_of(host):
    """The family of an address."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


__all__ = ["NOBODY", "DifferentPrograms", "Lost", "Peer", "family_of", "refuses"]
