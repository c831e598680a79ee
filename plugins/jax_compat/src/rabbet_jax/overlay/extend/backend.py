"""``jax.extend.backend``."""

import rabbet as rb

ABSENT = "backends clear_backends get_compile_options register_backend_factory get_default_device"


def get_backend(platform=None):
    """The client of a platform."""
    return rb.devices(platform)[0].client


__all__ = ["get_backend"]
