"""Calls of native functions in the form that outlives releases, where a package says which that is."""

import re
from functools import partial

from rabbet.extend.native import all_native_calls
from rabbet.extend.rules import mlir_string

CONFIG = re.compile(
    r'(custom_call @(?:"(?P<quoted>[^"]+)"|(?P<bare>[\w$.]+))\([^\n]*?backend_config = ")'
    r'(?P<config>(?:[^"\\\n]|\\.)*)'
)
ESCAPED = re.compile(rb'\\([0-9A-Fa-f]{2}|["\\nt])')
NAMED = {b'"': b'"', b"\\": b"\\", b"n": b"\n", b"t": b"\t"}


def in_stable_form(text):
    """A module's text with each call's ``backend_config`` as the package that provides the function writes it
    for exports.
    """
    forms = [calls for calls in all_native_calls() if callable(calls.stable)]
    return CONFIG.sub(partial(rewritten, forms), text) if forms else text


def rewritten(forms, found):
    """A call's text up to the end of its config."""
    target = found["quoted"] or found["bare"]
    for calls in forms:
        if calls.knows(target):
            return found[1] + mlir_string(calls.stable(plain(found["config"])))[1:-1]
    return found[0]


def plain(text):
    """What stands between the quotes of a string of MLIR."""

    def byte(found):
        named = NAMED.get(found[1])
        return bytes([int(found[1], 16)]) if named is None else named

    return ESCAPED.sub(byte, text.encode()).decode()


__all__ = ["in_stable_form"]
