"""``jax.distributed``."""

ABSENT = "initialize shutdown"


def is_initialized():
    """Whether processes have found each other."""
    return False
