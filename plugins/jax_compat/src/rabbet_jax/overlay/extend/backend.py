"""``jax.extend.backend``."""

import rabbet as rb
from rabbet.extend.backend import running_platforms

ABSENT = "clear_backends get_compile_options register_backend_factory get_default_device"


def get_backend(platform=None):
    """The client of a platform."""
    return rb.devices(platform)[0].client


def backends():
    """The clients of the platforms that run, by their names; the default one is started."""
    rb.devices()
    return {platform: get_backend(platform) for platform in running_platforms()}


__all__ = ["backends", "get_backend"]
