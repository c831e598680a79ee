"""``Tiers``: checkpoints of several kinds, each at its own interval."""

from collections.abc import Sequence
from typing import Any

from rabbet.extend.functions import folded

from rabbet_store import between_processes
from rabbet_store.checkpoints import Checkpoints, number
from rabbet_store.errors import CheckpointError
from rabbet_store.peer_checkpoints import PeerCheckpoints


class Tiers:
    """Checkpoints of several kinds, each written at its own interval: in memory near the processes every few
    steps, on local disks less often, in the store that all see still less. The last one that is whole is
    read, from the first tier that has it.

    Args:
      tiers: pairs of a ``PeerCheckpoints`` or ``Checkpoints`` and how often it is written: a step is kept
        there when it is a multiple of that number. The nearest one first.

    Example:
      >>> import tempfile
      >>> near, store = tempfile.mkdtemp(), tempfile.mkdtemp()
      >>> tiers = rb.store.Tiers([(rb.store.PeerCheckpoints(near), 1), (rb.store.Checkpoints(store), 10)])
      >>> [len(tiers.save(step, {"w": np.ones(2)})) for step in (9, 10, 11)]
      [1, 2, 1]
      >>> tiers.load(), tiers.latest()
      ({'w': array([1., 1.])}, 11)
    """

    @folded
    def __init__(self, tiers: Sequence[tuple[Checkpoints | PeerCheckpoints, int]]):
        self.tiers = tuple([(kept, number(every, "every")) for kept, every in tiers])
        if not self.tiers:
            raise ValueError("Tiers takes one or more tiers, got none")
        for kept, every in self.tiers:
            if not isinstance(kept, (Checkpoints, PeerCheckpoints)):
                raise TypeError(f"a tier is a Checkpoints or a PeerCheckpoints, got {kept!r:.60}")
            if every < 1:
                raise ValueError(f"how often a tier is written must be 1 or more, got {every} for {kept!r}")

    def __repr__(self):
        return f"Tiers({list(self.tiers)})"

    @folded
    def save(self, step: int, state: Any, *, wait: bool = False) -> list[Checkpoints | PeerCheckpoints]:
        """Keep a pytree in each tier whose turn it is; see ``Checkpoints.save``.

        Returns:
          the tiers in which it is kept; an empty list where it is nobody's turn.
        """
        step = number(step, "step")
        due = [kept for kept, every in self.tiers if step % every == 0]
        for kept in due:
            kept.save(step, state)
        for kept in due if wait else ():
            kept.wait()
        return due

    @folded
    def wait(self) -> None:
        """Wait until all that was saved is written; raises CheckpointError if something could not be."""
        for kept, _ in self.tiers:
            kept.wait()

    def _steps(self):
        """The steps of each tier, as process 0 sees a folder that all see."""
        found = []
        for kept, _ in self.tiers:
            kept.wait()
            found.append(between_processes.gathered(kept.steps())[0])
        return found

    @folded
    def steps(self) -> list[int]:
        """The steps that any tier has, in order. All processes call it."""
        return sorted({step for steps in self._steps() for step in steps})

    @folded
    def latest(self) -> int | None:
        """The last of them, or None. All processes call it."""
        return max(self.steps(), default=None)

    @folded
    def load(
        self, step: int | None = None, *, like: Any = None, shardings: Any = None, partial: bool = False,
        plain: bool = False,
    ) -> Any:  # fmt: skip
        """Read the state of a step, or of the last one, from the first tier that has it; one that is damaged
        there is read from the next tier, or the step before it.

        Args:
          step, like, shardings, partial, plain: as for ``Checkpoints.load``.

        Raises:
          CheckpointError: where no tier can give it, with what the last one said.
        """
        found = self._steps()
        there = sorted({s for steps in found for s in steps if step in (None, s)}, reverse=True)
        error: Exception | None = None
        for each in there:
            for (kept, _), steps in zip(self.tiers, found, strict=True):
                if each not in steps:
                    continue
                own, state = None, None
                try:
                    state = kept.load(each, like=like, shardings=shardings, partial=partial, plain=plain)
                except CheckpointError as failed:
                    own = error = failed
                if all(between_processes.gathered(own is None)):
                    return state
        what = "no step" if step is None else f"not step {step}"
        raise CheckpointError(f"the tiers have {what}" + (f" that can be read: {error}" if error else ""))


__all__ = ["Tiers"]
