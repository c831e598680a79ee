"""Checkpoints: trees of arrays on disk, written while the program goes on, and read under any sharding."""

from rabbet_store.checkpoints import Checkpoints
from rabbet_store.errors import CheckpointError
from rabbet_store.peer_checkpoints import PeerCheckpoints
from rabbet_store.tiers import Tiers

from rabbet.extend.functions import public_module as _public_module

__all__ = ["CheckpointError", "Checkpoints", "PeerCheckpoints", "Tiers"]

_public_module(globals())
