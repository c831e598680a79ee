"""Attributes on operations, for the compiler and for those who read its programs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rabbet_jit import jit
from rabbet_jit.marked_value import marked_value

from rabbet import tree
from rabbet.extend.functions import public_module as _public_module
from rabbet.extend.wrapping import operation_attributes, wraps


def set_xla_metadata(x: Any = None, /, **attributes: Any) -> Any:
    """Attributes for the operations of a ``with`` block, or for the operation that made ``x``.

    They stand in ``mhlo.frontend_attributes`` of each operation and reach the compiler's own program. A
    jitted function that is called within the block has other programs than outside.

    Args:
      x: nothing, for a context manager; or a tree of arrays. What is marked is the operation that computed an
        array in this function; arguments, and operations that transformations add, stay as they are.
      attributes: values are strings, bools or numbers; the compiler reads all of them as text.

    Returns:
      a context manager, which may also decorate a function; or ``x``.

    Raises:
      TypeError: for a value that is not a string, bool or number; if no attribute is given.

    Example:
      >>> from rabbet.experimental.xla_metadata import set_xla_metadata
      >>> def f(x):
      ...     with set_xla_metadata(stage="first", step=1):
      ...         y = rnp.sin(x)
      ...     return set_xla_metadata(y * 2, role="result")
      >>> text = rb.jit(f).lower(1.0).as_text()
      >>> 'stage = "first"' in text, 'role = "result"' in text
      (True, True)
    """
    written = texts("set_xla_metadata", attributes)
    if x is None:
        return operation_attributes(written)
    return tree.map(lambda leaf: marked_value(leaf, attributes=tuple(written.items())), x)


def xla_metadata_call(f: Callable[..., Any] | None = None, /, **attributes: Any) -> Callable[..., Any]:
    """``f`` as one call in compiled programs, which carries attributes.

    The compiler hands them on to the operations inside when it inlines the call. Derivatives of the call
    carry them, too.

    Args:
      f: a function of trees of arrays; None makes a decorator.
      attributes: as in ``set_xla_metadata``.

    Example:
      >>> from rabbet.experimental.xla_metadata import xla_metadata_call
      >>> @xla_metadata_call(block="3")
      ... def layer(x):
      ...     return rnp.tanh(x) * 2
      >>> 'block = "3"' in rb.jit(layer).lower(1.0).as_text()
      True
    """
    if f is None:
        return functools.partial(xla_metadata_call, **attributes)
    written = texts("xla_metadata_call", attributes)
    compiled = jit(f)

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        with operation_attributes(written):
            return compiled(*args, **kwargs)

    return call


def must_fuse_call(identifier: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Asks the compiler to make one kernel of all operations of a function: a call with the attribute
    ``MUST_FUSE``. Compilers that do not know it ignore it; XLA:CPU does.

    Args:
      identifier: which kernel, a str of digits.

    Returns:
      a decorator.

    Example:
      >>> from rabbet.experimental.xla_metadata import must_fuse_call
      >>> norm = must_fuse_call("1")(lambda x: rnp.sum(x * x))
      >>> norm(rnp.arange(3.0))
      Array(5., dtype=float32)
    """
    return lambda f: xla_metadata_call(f, MUST_FUSE=identifier)


def fuse_limit() -> Any:
    """A ``with`` block whose operations the compiler is asked not to fuse with others (``FUSE_LIMIT``).
    Compilers that do not know the attribute ignore it; XLA:CPU does.

    Example:
      >>> from rabbet.experimental.xla_metadata import fuse_limit
      >>> def f(x):
      ...     with fuse_limit():
      ...         y = rnp.sin(x)
      ...     return y + 1
      >>> 'FUSE_LIMIT = "true"' in rb.jit(f).lower(1.0).as_text()
      True
    """
    return set_xla_metadata(FUSE_LIMIT=True)


def texts(owner: str, attributes: dict[str, Any]) -> dict[str, str]:
    """Attributes as the compiler reads them."""
    if not attributes:
        raise TypeError(f"{owner} takes attributes by name, as in {owner}(stage='first')")
    for name, value in attributes.items():
        if not isinstance(value, (str, bool, int, float)):
            raise TypeError(f"{owner}: {name} is a str, a bool or a number, got {type(value).__name__}")
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in attributes.items()}


__all__ = ["fuse_limit", "must_fuse_call", "set_xla_metadata", "xla_metadata_call"]

_public_module(globals())
