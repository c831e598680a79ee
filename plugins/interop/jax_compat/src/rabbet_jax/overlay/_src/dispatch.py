"""``jax._src.dispatch``, of which equinox waits for effects."""

import rabbet as rb


def wait_for_tokens():
    """Wait until effects have happened."""
    rb.effects_barrier()
