"""Python's numbers and texts as JSON, so that each comes back with its type and value."""

import base64
import math

from rabbet_store.errors import CheckpointError

TYPES = (bool, int, float, complex, str, bytes)
PLAIN_INT = 1 << 62  # larger ones are written in hexadecimal: Python limits the digits that it reads
DEEPEST = 50


def encoded(x):
    """A number, text, bytes, None, or a tuple, list or dict of these, as JSON.

    Raises:
      TypeError: for anything else, subclasses of these included.
    """
    return _encoded(x, 0)


def _encoded(x, depth):
    kind = type(x)
    if depth > DEEPEST:
        raise TypeError(f"more than {DEEPEST} levels")
    if x is None or kind is bool or kind is str:
        return x
    if kind is int:
        return x if -PLAIN_INT < x < PLAIN_INT else {"int": hex(x)}
    if kind is float:
        return x if math.isfinite(x) else {"float": repr(x)}
    if kind is complex:
        return {"complex": [_encoded(x.real, depth), _encoded(x.imag, depth)]}
    if kind is bytes:
        return {"bytes": base64.b64encode(x).decode("ascii")}
    if kind is tuple or kind is list:
        return {kind.__name__: [_encoded(each, depth + 1) for each in x]}
    if kind is dict:
        return {"dict": [[_encoded(k, depth + 1), _encoded(v, depth + 1)] for k, v in x.items()]}
    raise TypeError(f"a {kind.__name__} is none of these")


def decoded(written):
    """What was written so. Raises CheckpointError for what was not."""
    try:
        return _decoded(written)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise CheckpointError(f"a value of the checkpoint cannot be read: {written!r:.80}") from None


def _decoded(written):
    if not isinstance(written, dict):
        if isinstance(written, list):
            raise ValueError("a list")
        return written
    ((kind, content),) = written.items()
    if kind == "int":
        return int(content, 16)
    if kind == "float":
        return float(content)
    if kind == "complex":
        return complex(*[_number(each) for each in content])
    if kind == "bytes":
        return base64.b64decode(content, validate=True)
    if kind == "tuple" or kind == "list":
        return {"tuple": tuple, "list": list}[kind]([_decoded(each) for each in content])
    if kind == "dict":
        return {_decoded(k): _decoded(v) for k, v in content}
    raise ValueError(kind)


def _number(written):
    value = _decoded(written)
    if type(value) is not float:
        raise ValueError("not a float")
    return value


__all__ = ["TYPES", "decoded", "encoded"]
