"""What has become of a process: it returned, it is lost, or its function raised."""

from typing import Any, NamedTuple

import ray
from rabbet.distributed import DifferentPrograms
from rabbet.errors import PeerLost
from ray import exceptions

GONE = (
    exceptions.RayActorError,
    exceptions.OutOfMemoryError,
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
)


class Outcome(NamedTuple):
    """What has become of a process.

    Attributes:
      rank: its number; None for the coordinator.
      value: what the function returned.
      error: what ended it; None where it returned.
      gone: whether the process itself has ended.
      lost: the numbers of the processes that are lost, as far as this one knows.
    """

    rank: int | None
    value: Any = None
    error: BaseException | None = None
    gone: bool = False
    lost: tuple[int, ...] = ()

    @property
    def blames(self):
        """Whether the process is well, but another one is lost."""
        return not self.gone and is_loss(self.error)

    def told(self):
        """In words."""
        if self.rank is None:
            return "the coordinator has ended"
        who = f"process {self.rank}"
        if self.gone:
            return f"{who} has ended ({reason_of(self.error)})"
        return f"{who} raised {type(original(self.error)).__name__}: {reason_of(original(self.error))}"


def outcome_of(rank, reference):
    """The ``Outcome`` of a call that Ray says has ended; None for the rank stands for the coordinator, which
    never returns while it is well.
    """
    if rank is None:
        return Outcome(None, error=PeerLost("the coordinator has ended"), gone=True)
    try:
        return Outcome(rank, ray.get(reference))
    except exceptions.RayTaskError as error:
        lost = original(error).ranks if is_loss(error) else ()
        return Outcome(rank, error=error, lost=tuple(lost))
    except GONE as error:
        # A constructor that fails, for example because a package is not there, fails each time.
        begun = not getattr(error, "actor_init_failed", False)
        return Outcome(rank, error=error, gone=begun, lost=(rank,) if begun else ())
    except Exception as error:
        return Outcome(rank, error=error)


def original(error):
    """What the function raised, without what Ray has put around it."""
    return error.cause if isinstance(error, exceptions.RayTaskError) and error.cause is not None else error


def is_loss(error):
    """Whether a function raised that another process is lost; one that runs another program is not."""
    found = original(error)
    return isinstance(found, PeerLost) and not isinstance(found, DifferentPrograms)


def reason_of(error):
    """The last sentences of what Ray says, or the first line of another error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("The actor is dead because")]
    text = (said or lines[:1] or [type(error).__name__])[-1]
    return text if len(text) < 300 else text[:300] + " ..."


__all__ = ["Outcome", "is_loss", "original", "outcome_of"]
