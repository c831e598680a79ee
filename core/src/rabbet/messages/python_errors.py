"""Errors that Python raised within Rabbet, in words of its own: which function they came from.

What Rabbet raises says who refuses what. An error that no ``raise`` statement made ("'NoneType' object cannot
be interpreted as an integer", of ``operator.index(k)`` somewhere inside) knows neither the function that was
called nor the argument. So a note says both.
"""

from __future__ import annotations

import dis
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from rabbet.messages.function_names import describe_function
from rabbet.messages.source_positions import is_internal

if TYPE_CHECKING:
    from rabbet.typing import Value

KINDS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, NameError)
# Folders of which nobody calls a function by its name.
INNER = tuple(f"rabbet.{row}." for row in ("runtime", "trace", "rules", "program", "messages", "lowering"))
PUBLIC = ("rabbet.runtime.arrays.array",)  # but there
LIBRARIES = {"numpy", "jaxlib", "ml_dtypes", "scipy"}
# Arrays are no ``collections.abc.Hashable``, so ``hash(x)`` is refused by Python, which says the type alone.
UNHASHABLE = {
    "Tracer": "a traced array has no value to look up by; use a name or an index as the "
    "key, leave it out of what functools.lru_cache is called with, or make the argument static "
    "(static_argnames)",
    "Array": "an array has no hash, since == compares elements; use x.item() of a number, "
    "a tuple of x.tolist(), or a name as the key",
}
_UNHASHABLE = re.compile(r"unhashable type: '(\w+)'\)?$")  # in brackets: Python 3.14, of keys and elements
_RAISING = {dis.opmap[name] for name in ("RAISE_VARARGS", "RERAISE") if name in dis.opmap}
_HAS_REST, _HAS_NAMED = 0x04, 0x08  # flags of code: it takes *args, **kwargs


def note_of(error: Exception | Value) -> Any:
    """``in top_k(operand=f32[2,3], k=None)`` for an error of Python's own that came out of Rabbet's code, and
    what to do instead for an array that was hashed; None for all others. Call it where the traceback begins
    with Rabbet's frames.
    """
    if not isinstance(error, KINDS) or type(error).__module__ != "builtins":
        return None
    if getattr(_noting, "now", False):  # raised by the repr of an argument of a note that is being made
        return None
    hashed = _UNHASHABLE.search(str(error)) if type(error) is TypeError else None
    if hashed is not None and hashed[1] in UNHASHABLE:
        return UNHASHABLE[hashed[1]]
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    if not frames or not _is_bare(frames[-1]) or not all(_is_ours(t.tb_frame) for t in frames):
        return None  # it was made by a ``raise``, or in a function of a user
    users = _called_wrongly(error, frames)
    for t in frames:
        if _is_librarys(t.tb_frame):
            continue
        module = _module(t.tb_frame)
        if module in PUBLIC or not (_is_wrapper(t.tb_frame.f_code) or module.startswith(INNER)):
            _noting.now = True
            try:
                return users or f"in {_name(t.tb_frame)}({', '.join(_arguments(t.tb_frame))})"
            finally:
                _noting.now = False
    return users


def _called_wrongly(error: BaseException, frames: list[Any]) -> str | None:
    """``loss (train.py:4) takes (w, x)``, where Rabbet called a user's function with other arguments than it
    takes; else None. Python's message has only the name of the function, and the call is in a hidden frame.
    """
    called = re.match(r"(\S+)\(\) (missing|takes|got) ", str(error)) if type(error) is TypeError else None
    if called is None:
        return None
    for t in frames[::-1]:
        for value in list(t.tb_frame.f_locals.values()):
            function: Any
            for function in (value, getattr(value, "fun", None), getattr(value, "func", None)):
                if getattr(function, "__qualname__", None) != called[1] or not hasattr(function, "__code__"):
                    continue
                if is_internal(function.__code__.co_filename, function.__module__):
                    return None
                import inspect  # for messages alone

                return f"{describe_function(function)} takes {inspect.signature(function)}"
    return None


_noting = threading.local()


def _module(frame: Any) -> str:
    return frame.f_globals.get("__name__") or ""


def _is_ours(frame: Any) -> bool:
    """Whether code is Rabbet's, or of what Rabbet calls."""
    return is_internal(frame.f_code.co_filename, _module(frame)) or _is_librarys(frame)


def _is_librarys(frame: Any) -> bool:
    top = _module(frame).partition(".")[0]
    return top in LIBRARIES or top in sys.stdlib_module_names


def _is_wrapper(code: Any) -> bool:
    """Whether a function only hands on what it was called with, as doors do, or has no name."""
    both = _HAS_REST | _HAS_NAMED
    takes_all = code.co_flags & both == both and not code.co_argcount
    return takes_all or "args" in code.co_varnames[: code.co_argcount] or code.co_name.startswith("<")


def _is_bare(last: Any) -> bool:
    """Whether no ``raise`` statement of Rabbet's made the error that left this place."""
    frame = last.tb_frame
    return _is_librarys(frame) or frame.f_code.co_code[last.tb_lasti] not in _RAISING


def _name(frame: Any) -> str:
    return frame.f_code.co_qualname.rpartition("<locals>.")[2]


def _arguments(frame: Any) -> list[str]:
    code, known = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & _HAS_REST) + bool(code.co_flags & _HAS_NAMED)
    names = [name for name in code.co_varnames[:count] if name in known]
    return [f"{name}={in_short(known[name])}" for name in names if type(known[name]) is not object]


def in_short(x: Any, depth: int = 2) -> str:
    """A value in a few words; of an array its type, so that nothing is computed and nothing waited for.

    Example:
      >>> from rabbet.messages.python_errors import in_short
      >>> in_short(np.ones((2, 3))), in_short([None, 1]), in_short("k" * 50)
      ('float64[2,3]', '[None, 1]', "'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...")
    """
    try:
        aval: Any = getattr(x, "aval", None)
        if hasattr(aval, "str_short"):
            return aval.str_short()
        if hasattr(x, "dtype") and hasattr(x, "shape"):
            return f"{x.dtype}[{','.join(map(str, x.shape))}]"
        if type(x) in (list, tuple, dict):
            if len(x) > 4 or not depth:
                return f"{type(x).__name__} of {len(x)}"
            if type(x) is dict:
                return "{" + ", ".join(f"{k!r:.40}: {in_short(v, depth - 1)}" for k, v in x.items()) + "}"
            inside = ", ".join([in_short(v, depth - 1) for v in x])
            return f"[{inside}]" if type(x) is list else f"({inside}{',' * (len(x) == 1)})"
        if callable(x) and hasattr(x, "__qualname__"):
            return x.__qualname__
        text = repr(x)
    except Exception:  # of a class whose questions fail: what is to be told is another error
        return type(x).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."


__all__ = ["in_short", "note_of"]
