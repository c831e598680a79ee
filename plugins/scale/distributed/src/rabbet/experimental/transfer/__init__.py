"""Arrays from one process to another, in no job together: a server offers them, a connection pulls.

Values go through the host's memory and a TCP connection whose messages carry a code made with the job's
secret (``RABBET_JOB_SECRET``).
"""

from rabbet_distributed.array_transfer import (
    TransferConnection,
    TransferError,
    TransferServer,
    TransferTimeoutError,
    start_transfer_server,
)

from rabbet.extend.functions import public_module as _public_module

__all__ = [
    "TransferConnection",
    "TransferError",
    "TransferServer",
    "TransferTimeoutError",
    "start_transfer_server",
]

_public_module(globals())
