"""``jax._src.distributed``, which Orbax asks whether there are other processes to agree with."""

import functools

from rabbet.errors import RabbetError


class CoordinationError(RabbetError, RuntimeError):
    """What jaxlib's client says of the coordinator, as ``jax.errors.JaxRuntimeError`` has it."""


class _Client:
    """jaxlib's client of this process, whose errors are those of ``jax.errors``."""

    def __init__(self, raw):
        self._raw = raw

    def __getattr__(self, name):
        method = getattr(self._raw, name)

        @functools.wraps(method)
        def call(*args, **kwargs):
            try:
                return method(*args, **kwargs)
            except RuntimeError as error:
                raise CoordinationError(str(error)) from None

        return call


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
