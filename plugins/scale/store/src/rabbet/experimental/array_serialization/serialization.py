"""Arrays written where tensorstore specs say, while the program goes on, and read under any sharding."""

from rabbet_store.plain_arrays import (
    GlobalAsyncCheckpointManager,
    async_deserialize,
    async_serialize,
    get_tensorstore_spec,
    is_remote_storage,
    run_deserialization,
    run_serialization,
)

from rabbet.extend.functions import public_module as _public_module

__all__ = [
    "GlobalAsyncCheckpointManager",
    "async_deserialize",
    "async_serialize",
    "get_tensorstore_spec",
    "is_remote_storage",
    "run_deserialization",
    "run_serialization",
]

_public_module(globals())
