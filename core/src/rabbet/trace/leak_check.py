"""``config.check_tracer_leaks``: an error where a tracer outlives its transformation, as soon as that ends.

Without it such a tracer is found where it is used, if it ever is.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.config import config
from rabbet.errors import UnexpectedTracerError
from rabbet.messages.function_names import describe_function
from rabbet.messages.source_positions import source_position
from rabbet.program.context import context

if TYPE_CHECKING:
    from rabbet.trace.interpreter import Interpreter
    from rabbet.typing import Value


def holders(interpreter: Interpreter) -> Any:
    """How many references to an interpreter there are before it makes tracers, each of which has one; None
    where nobody wants to know.
    """
    return sys.getrefcount(interpreter) if config.check_tracer_leaks else None


def by_name(fn: Any) -> Any:
    """What has a function's name in messages, in its place: a rule may keep the interpreter that ran it."""

    def finished() -> None:
        """Stands for a function that has run."""

    vars(finished)["described"] = describe_function(fn)
    return finished


def check(interpreter: Interpreter, outs: Any, kind: Any, before: Any) -> None:
    """Raise ``UnexpectedTracerError`` for tracers of a finished interpreter that somebody still holds;
    ``outs``, a pytree, are those that it returned, ``kind`` is their class, and ``before`` is what
    ``holders`` said to the same caller.
    """
    leaves = tree.leaves(outs, is_leaf=lambda x: type(x) is kind)
    returned = {id(x) for x in leaves if type(x) is kind and x.interpreter is interpreter}
    del leaves
    # If all others are gone, the heap, which may be large, need not be searched.
    if sys.getrefcount(interpreter) == before + len(returned):
        return
    gc.collect(1)  # young cycles
    if sys.getrefcount(interpreter) == before + len(returned):
        return
    gc.collect()
    kept = [
        x for x in gc.get_objects()
        if type(x) is kind and x.interpreter is interpreter and id(x) not in returned
    ]  # fmt: skip
    if not kept:
        return
    lines = [
        f"  {x.aval.str_short()}{'' if x.where is None else f', made at {source_position(x.where)}'}"
        f"{'' if (owner := holder(x, kept)) is None else f', held by {owner}'}"
        for x in kept[:5]
    ]
    more = [f"  and {len(kept) - 5} more"] if len(kept) > 5 else []
    where = "" if context.where is None else f" at {source_position(context.where)}"
    first = f"{interpreter.describe()} has finished{where}, and values of it are still held"
    last = "Return them from the transformed function instead of storing them."
    raise UnexpectedTracerError("\n".join([f"{first} (config.check_tracer_leaks):", *lines, *more, last]))


def holder(x: Value, kept: list[Value]) -> Any:
    """A few words about the object that holds a tracer, or None."""
    for owner in gc.get_referrers(x):
        if owner is kept or type(owner).__name__ == "frame":
            continue
        text = f"a {type(owner).__name__}"
        names = [k for k, v in owner.items() if v is x and isinstance(k, str)] if type(owner) is dict else []
        return f"{text} under {names[0]!r}" if names else text
    return None


__all__ = ["check", "holders"]
