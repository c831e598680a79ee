"""Why a function is traced: what of a call differs from the calls before. Looked at only where somebody
listens, the user (``RABBET_EXPLAIN=1``) or a hook plugin, and only when a trace is due.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

from rabbet import config, tree
from rabbet.extend.functions import describe_function
from rabbet.extend.hooks import hooks_are_listening, tell_hooks
from rabbet.tree import keystr

if TYPE_CHECKING:
    from rabbet import Device
    from rabbet.extend.primitive import ShapedArray

    from rabbet_jit.api import Jitted
    from rabbet_jit.signature import Signature, Static
    from rabbet_jit.tracing import Program

# Earlier traces to compare with, and differences to name.
MOST_COMPARED, MOST_NAMED = 32, 4
MOST_SITES = 4096  # what is made by `exec` has ever new ones

ORIGINS = {
    "compiler": "compiled {name} for {device} in {ms:.1f} ms, {miss}",
    "disk": "loaded {name} for {device} in {ms:.1f} ms from the cache on disk",
    "process": "took {name} for {device} from an equal program of this process in {ms:.1f} ms",
}

_seen = {}
_lock = threading.Lock()


def wanted() -> bool:
    """Whether anybody wants to know."""
    return config.explain or hooks_are_listening()


def say(text: str) -> None:
    """Show the user one line, if that is wanted."""
    if config.explain:
        import logging

        logging.getLogger("rabbet").warning("explain: %s", text)


def tracing(jitted: Jitted, signature: Signature, key: tuple[Any, ...], make: Callable[..., Any]) -> Program:
    """``make()``, which traces, with the reason told before and the time afterwards."""
    why = reason(jitted, signature, key)
    say(f"tracing {describe_function(jitted.fun)}: {why}")
    tell_hooks("trace_started", name=jitted.name, reason=why)
    started = time.perf_counter()
    try:
        program = make()
    finally:
        seconds = time.perf_counter() - started
        tell_hooks("trace_finished", name=jitted.name, seconds=seconds)
    say(f"traced {jitted.name} in {1e3 * seconds:.1f} ms: {len(program.closed.jaxpr.equations)} equations")
    return program


def placed(jitted: Jitted, key: tuple[Any, ...], device: Device) -> None:
    """Say so if a program has to be compiled because its arguments are elsewhere than before."""
    others = [str(d) for k, d in list(jitted.compiled) if k == key]
    if others:
        say(f"{describe_function(jitted.fun)} was compiled for {', '.join(others)}, and now runs on {device}")


def lowered(lowering: Any) -> None:
    """Say how long the passes and the writing of a program took."""
    say(
        f"lowered {lowering.name} for {lowering.platform} in "
        f"{1e3 * (lowering.pass_seconds + lowering.seconds):.1f} ms, {1e3 * lowering.pass_seconds:.1f} of "
        "them in passes"
    )


def compiled(executable: Any) -> None:
    """Say where an executable comes from, and how long that took."""
    miss = "it was not in the cache on disk" if config.cache else "the cache on disk is off"
    line = ORIGINS[executable.origin]
    name, device, ms = executable.lowering.name, executable.device, 1e3 * executable.seconds
    say(line.format(name=name, device=device, ms=ms, miss=miss))


# Reasons --------------------------------------------------------------------------------------------


def reason(jitted: Jitted, signature: Signature, key: tuple[Any, ...]) -> str:
    """One line: how a call differs from the most similar one that was traced."""
    earlier = list(jitted.programs)[-MOST_COMPARED:]
    if not earlier:
        return first(jitted)
    nearest = min(reversed(earlier), key=lambda old: distance(old, key))
    found = differences(nearest, key, signature)
    if not found:
        return "another thread has just traced the same"
    more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return "; ".join([name() for name in found[:MOST_NAMED]]) + more


def first(jitted: Any) -> Any:
    """Why there is no earlier trace to compare with."""
    code = getattr(jitted.fun, "__code__", None)
    if not isinstance(code, CodeType):
        return "first call"
    site = code.co_filename, code.co_firstlineno, code.co_qualname
    with _lock:
        count, last = _seen.get(site, (0, None))
        same = last is not None and last() is jitted
        if len(_seen) >= MOST_SITES:
            _seen.clear()
        _seen[site] = (count if same else count + 1), weakref.ref(jitted)
    if same:
        return "its programs were forgotten, or belong to values of a surrounding transformation"
    if count:
        return (
            f"first call of a new function object, number {count + 1} of this definition; programs belong "
            "to the object: call jit once, outside of loops and of other functions"
        )
    return "first call"


def distance(old: tuple[Any, ...], new: tuple[Any, ...]) -> int:
    """In how much two keys of ``Signature.key`` differ."""
    _, old_tree, old_statics, old_types, *old_rest = old
    _, new_tree, new_statics, new_types, *new_rest = new
    leaves = len(new_types) + 1
    if old_tree == new_tree:
        leaves = sum(a != b for a, b in zip(old_types, new_types, strict=True))
    return leaves + sum(
        a != b for a, b in zip([old_statics, *old_rest], [new_statics, *new_rest], strict=True)
    )


def differences(old: tuple[Any, ...], new: tuple[Any, ...], signature: Any) -> list[Callable[..., Any]]:
    """How two keys of ``Signature.key`` differ: functions that say it in the user's words."""
    _, old_tree, old_statics, old_types, old_settings, old_axes, old_cells = old
    _, new_tree, new_statics, new_types, new_settings, new_axes, new_cells = new
    found = []
    if old_tree != new_tree:
        found += structures(old_tree, new_tree, signature)
    else:
        pairs = zip(old_types, new_types, strict=True)
        found += [partial(of_types, signature, i, a, b) for i, (a, b) in enumerate(pairs) if a != b]
    if old_statics != new_statics:
        found += statics(dict(by_place(old_statics)), dict(by_place(new_statics)), signature)
    if old_settings is not new_settings:
        # A key has the settings that differ from their defaults.
        before = dict(zip(old_settings.names, old_settings.values, strict=True))
        after = dict(zip(new_settings.names, new_settings.values, strict=True))
        of = lambda values, name: values[name] if name in values else config.settings[name].default
        rows = [(name, of(before, name), of(after, name)) for name in sorted({*before, *after})]
        found += [
            partial("the setting {} was {!r}, is {!r}".format, *row) for row in rows if row[1] != row[2]
        ]
    if old_axes != new_axes:
        text = "the named axes around the call were {}, are {}"
        found.append(partial(text.format, old_axes or "none", new_axes or "none"))
    if old_cells != new_cells:
        found.append(lambda: "other arguments are arrays, and others Refs")
    return found


def of_types(signature: Signature, index: int, old: ShapedArray, new: ShapedArray) -> str:
    """``argument 'x': shape (3,) became (4,)``: what of two types differs."""
    parts = [
        f"{what} {a} became {b}"
        for what, a, b in (
            ("shape", old.shape, new.shape),
            ("dtype", old.dtype, new.dtype),
            ("weak type", old.weak_type, new.weak_type),
        )
        if a != b
    ]
    return f"{signature.name_of(index)}: {', '.join(parts) or f'{old} became {new}'}"


def structures(old: Any, new: Any, signature: Signature) -> Any:
    """What two structures of arguments differ in: leaves that came and went, else the whole of both."""
    before, after = paths(old), paths(new)
    gone = [p for p in before if p not in after]
    come = [p for p in after if p not in before]
    found = [partial(change, p, signature, "new") for p in come]
    found += [partial(change, p, signature, "gone") for p in gone]
    whole = "the structure of the arguments was {!s:.120}, is {!s:.120}"
    return found or [partial(whole.format, old, new)]


def paths(structure: Any) -> dict[Any, Any]:
    """The key paths of all leaves, as a dict for its order."""
    return dict.fromkeys(tree.leaf_paths(structure))


def change(path: tuple[Any, ...], signature: Signature, what: str) -> str:
    """``argument 'params'['b'] is new``; positions of another call may have no name now."""
    try:
        return f"{signature.name_at(path)} is {what}"
    except IndexError:
        return f"positional argument {path[1].idx}{keystr(tuple(path[2:]))} is {what}"


def by_place(static_key: tuple[tuple[Any, ...], ...]) -> Any:
    return [((kind, where), value) for kind, where, value in static_key]


def statics(old: dict[Any, Any], new: dict[Any, Any], signature: Signature) -> Any:
    """Which static values differ."""
    return [
        partial(of_statics, signature, at, old.get(at), new.get(at))
        for at in dict.fromkeys([*old, *new])
        if old.get(at) != new.get(at)
    ]


def of_statics(
    signature: Signature, at: tuple[int | str, ...], old: Static | None, new: Static | None
) -> str:
    return f"static {signature.static_name(*at)} was {shown(old)}, is {shown(new)}"


def shown(static: Static | None) -> str:
    if static is None:
        return "not given"
    text = repr(static.value)
    return text if len(text) <= 60 else f"{text[:57]}..."


__all__ = ["compiled", "lowered", "placed", "reason", "tracing", "wanted"]
