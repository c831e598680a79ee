"""``jax.experimental``."""

import rabbet as rb

io_callback = rb.io_callback


__all__ = ["io_callback"]
