"""The error of checkpoints."""

from rabbet.errors import RabbetError


class CheckpointError(RabbetError, RuntimeError):
    """A checkpoint could not be written, is not whole, or is not what was expected. The message names the
    array and the file.

    Example:
      >>> from rabbet import store
      >>> issubclass(store.CheckpointError, RuntimeError)
      True
    """


__all__ = ["CheckpointError"]
