"""``jax._src.distributed``, which Orbax asks whether there are other processes to agree with."""

import functools
import threading
from typing import Any

from rabbet.errors import RabbetError

GRACE_SECONDS = 2.0  # in which a barrier that all have reached opens


class CoordinationError(RabbetError, RuntimeError):
    """What jaxlib's client says of the coordinator, as ``jax.errors.JaxRuntimeError`` has it."""


class _Client:
    """jaxlib's client of this process, whose errors are those of ``jax.errors``."""

    def __init__(self, raw):
        self._raw = raw

    def __getattr__(self, name):
        method = getattr(self._raw, name)
        if name == "wait_at_barrier":
            method = functools.partial(_while_all_live, method)

        @functools.wraps(getattr(self._raw, name))
        def call(*args, **kwargs):
            try:
                return method(*args, **kwargs)
            except RuntimeError as error:
                raise CoordinationError(str(error)) from None

        return call


def _while_all_live(wait, barrier, *args, **kwargs):
    """Wait at a barrier, for which jaxlib's client waits until its time is over, however many processes are
    lost: here an error names those that are.
    """
    ended: list[tuple[Any, Exception | None]] = []

    def waiting():
        try:
            ended.append((wait(barrier, *args, **kwargs), None))
        except Exception as error:
            ended.append((None, error))

    awaited = kwargs.get("process_ids", args[1] if len(args) > 1 else None)
    size = global_state.num_processes
    thread = threading.Thread(target=waiting, name="rabbet-barrier", daemon=True)
    thread.start()
    while not ended:
        thread.join(1 + 0.01 * size)  # all beats are read then: seldom where there are many
        lost = {} if ended else _lost()
        found = {i: why for i, why in lost.items() if awaited is None or i in awaited}
        if found:
            thread.join(GRACE_SECONDS)
            if ended:
                break
            who = "; ".join([f"process {i}: {why}" for i, why in sorted(found.items())])
            raise CoordinationError(
                f"the barrier {barrier!r} will not open: {who}\n  to fix: end this process, and start all "
                "again from the last checkpoint"
            )
    result, error = ended[0]
    if error is not None:
        raise error
    return result


def _lost():
    """The processes that cannot be counted on, and why."""
    try:
        from rabbet_distributed.api import lost
    except ImportError:  # rabbet-distributed is not installed
        return {}
    return lost()


def _group():
    """The group of this process, or None where it is alone."""
    try:
        from rabbet_distributed.api import initialized_group

        return initialized_group()
    except (ImportError, RuntimeError):  # rabbet-distributed is not installed; the process is alone
        return None


class _State:
    """What is known of this process among the others; asking starts no device."""

    @property
    def client(self):
        """What Orbax waits for the other processes by; None where there are none."""
        group = _group()
        return None if group is None else _Client(group.store.client)

    @property
    def process_id(self):
        """The number of this process at the coordinator."""
        group = _group()
        return 0 if group is None else group.slot

    @property
    def num_processes(self):
        """How many there are."""
        group = _group()
        return 1 if group is None else group.size


global_state = _State()
