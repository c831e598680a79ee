"""``jax.experimental.checkify``: errors are raised in JAX's words, which chex matches."""

import re

import rabbet.experimental.checkify as _checkify
from rabbet.extend.wrapping import wraps

ABSENT = "ErrorCategory"
PLACE = re.compile(r"\(`check` failed at [^)]*\)$")


@wraps(_checkify.check_error)
def check_error(error):
    try:
        _checkify.check_error(error)
    except _checkify.JaxRuntimeError as raised:
        raise type(raised)(PLACE.sub("(`check` failed)", str(raised))) from None


__all__ = ["check_error"]
