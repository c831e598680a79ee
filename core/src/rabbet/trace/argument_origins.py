"""From which arguments of which function a traced value comes, for messages. Nothing here runs unless
something is wrong.

What stages a user's function names its arguments with ``named_like(flat, fun, name_of)``, where
``name_of(i)`` tells leaf number ``i`` as in ``argument 'params'['w']``.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import tree
from rabbet.messages.function_names import LEAF_NAMES
from rabbet.messages.source_positions import source_position
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_NAMES = 4
STATIC = "make the argument static (static_argnames)"


class Argument(NamedTuple):
    """A leaf of the arguments of a function that is traced."""

    name: str  # as a message shows it: 'params'['w']
    function: Callable[..., Any]
    static: str | None  # the name by which it could be made static, if it could
    direct: bool  # the traced value is this argument, not something computed from it


def arguments_of(tracer: Tracer) -> list[Argument] | None:
    """The arguments that a traced value depends on, in order; None where that is not known."""
    found: dict[tuple[int, str], Argument] = {}
    known = True
    waiting: list[tuple[Any, bool]] = [(tracer, True)]
    seen: set[int] = set()
    while waiting:
        value, direct = waiting.pop()
        if type(value) is not Tracer or id(value) in seen:
            continue
        seen.add(id(value))
        stage: Any = value.interpreter
        inputs = getattr(stage, "inputs", None)
        if inputs is None:  # a transformation: what it holds may belong to a function traced around it
            beneath = _beneath(value)
            known = known and bool(beneath)
            waiting += [(x, direct and len(beneath) == 1) for x in beneath]
            continue
        needed = _needed(stage.equations, value.payload)
        captured = stage.captured.values()
        waiting += [(x, direct and v is value.payload) for v, x in captured if v in needed]
        names = getattr(stage.fn, LEAF_NAMES, None)
        for i, variable in enumerate(inputs):
            if variable in needed:
                if names is None:
                    return None
                name = names.name_of(i).removeprefix("keyword ").removeprefix("argument ")
                bare = name.strip("'")
                own = names.may_be_static and not variable.aval.shape and name == repr(bare)
                function = stage.fn.__wrapped__
                same = direct and variable is value.payload
                argument = Argument(name, function, bare if own else None, same)
                found.setdefault((id(function), name), argument)
    return list(found.values()) if known or found else None


def _needed(equations: Any, variable: Any) -> set[Any]:
    """The variables that one is computed from, itself among them."""
    needed = {variable}
    for eqn in reversed(equations):
        if not needed.isdisjoint(eqn.outvars):
            needed.update([v for v in eqn.invars if type(v) is type(variable)])
    return needed


def _beneath(tracer: Tracer) -> list[Any]:
    """The tracers of outer transformations that a transformation's payload holds."""
    interpreter = tracer.interpreter
    look = getattr(interpreter, "concrete", None) or interpreter.observed
    with contextlib.suppress(Exception):  # a payload that does not tell
        return [x for x in tree.leaves(look(tracer.payload)) if type(x) is Tracer]
    return []


def origin(tracer: Tracer) -> str:
    """Sentences on where a traced value comes from, each after a space: `` It is the argument 'n' of f.``"""
    arguments = arguments_of(tracer)
    made = "" if tracer.where is None else f" at {source_position(tracer.where)}"
    if not arguments:
        if arguments is not None and made:
            return (
                f" It was made{made}, and depends on no argument: an operation in a traced function is "
                "computed when the compiled function runs. Compute it with NumPy, or outside."
            )
        return f" It was made{made}." if made else ""
    if len(arguments) == 1 and arguments[0].direct:
        return f" It is the {_listed(arguments)}."
    return f" It was made{made} from the {_listed(arguments)}."


def _listed(arguments: list[Argument]) -> str:
    """``argument 'n' of f``, ``arguments 'c' and 'x' of body``."""
    by_function: dict[int, list[Argument]] = {}
    for a in arguments:
        by_function.setdefault(id(a.function), []).append(a)
    parts = []
    for group in by_function.values():
        names = [a.name for a in group]
        if len(names) > MOST_NAMES:
            names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
        text = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        fun = group[0].function
        who = getattr(fun, "__qualname__", None) or type(fun).__name__
        parts.append(f"argument{'s' if len(group) > 1 else ''} {text} of {who.rpartition('<locals>.')[2]}")
    return " and the ".join(parts)


def with_static(advice: str, tracer: Tracer) -> str:
    """Advice to make the argument static, with the argument's name; without it where none can be static: an
    array, a part of a pytree, what a loop carries.
    """
    if STATIC not in advice:
        return advice
    arguments = arguments_of(tracer) if _is_staged(tracer) else []
    if arguments is None:
        return advice
    names = [a.static for a in arguments if a.static]
    if not names or len(names) < len(arguments):
        for form in (f", or {STATIC}", f"; or {STATIC}", f"{STATIC}, or ", f"{STATIC}, "):
            if form in advice:
                return advice.replace(form, "", 1)
        return advice
    shown = repr(names[0]) if len(names) == 1 else repr(tuple(names))
    return advice.replace(STATIC, f"make it static (static_argnames={shown})", 1)


def _is_staged(tracer: Tracer) -> bool:
    """Whether a function that is staged has something to do with a value: what is mapped alone has none."""
    return hasattr(tracer.interpreter, "inputs") or any(_is_staged(x) for x in _beneath(tracer))


__all__ = ["STATIC", "arguments_of", "origin", "with_static"]
