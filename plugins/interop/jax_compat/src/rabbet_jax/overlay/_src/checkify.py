"""``jax._src.checkify``: as ``jax.experimental.checkify``."""

import rabbet.experimental.checkify as _checkify

JaxException = _checkify.JaxRuntimeError


def __getattr__(name):
    return getattr(_checkify, name)
