"""Several processes that compute together: ``initialize``, ``shutdown``, and how to go on when one is
lost.
"""

from rabbet_distributed.api import (
    initialize,
    is_initialized,
    joining,
    lost,
    reform,
    shutdown,
)
from rabbet_distributed.coordinator import Coordinator, CoordinatorError
from rabbet_distributed.peers import DifferentPrograms
from rabbet_distributed.signed_messages import ForgedMessageWarning
from rabbet_distributed.versions import VersionError

from rabbet.errors import PeerLost
from rabbet.extend.functions import public_module as _public_module

__all__ = [
    "Coordinator",
    "CoordinatorError",
    "DifferentPrograms",
    "ForgedMessageWarning",
    "PeerLost",
    "VersionError",
    "initialize",
    "is_initialized",
    "joining",
    "lost",
    "reform",
    "shutdown",
]

_public_module(globals())
