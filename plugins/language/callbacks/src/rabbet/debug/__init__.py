"""Looking into programs while they run, ``rabbet.debug.print``, ``callback`` and ``breakpoint``, and at what
becomes of them, ``show``.

The first three work eagerly and under every transformation: compiled, in loops and branches, once per example
under ``vmap``, on values under differentiation. Their order among themselves is kept only with
``ordered=True``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import functools
import logging
import string
import sys

import numpy as np

from rabbet import tree
from rabbet.extend.functions import array_or_tracer, describe_value, folded, public_module
from rabbet_callbacks import debug_callback as callback
from rabbet_callbacks import look
from rabbet_callbacks.inspecting import Told, inspect_sharding

from rabbet.debug.pictures import visualize_array_sharding, visualize_sharding

if TYPE_CHECKING:
    from typing import Any
    from collections.abc import Callable
    from rabbet.typing import Value

LOG = logging.getLogger("rabbet")


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print values of a program when it gets there.

    Args:
      fmt: a format string as for ``str.format``. Not an f-string, which would show the traced value itself.
        Without one, a function with these options, of the format string and its arguments, is returned.
      args, kwargs: pytrees of arrays, and anything else that can be formatted.
      ordered: whether such lines are printed in the order of the program.
      partitioned: of a program that runs on several devices each prints the part that it has; False: whole
        arrays are printed, once. Within `shard_map` each device's part is.
      skip_format_check: do not check now that ``fmt`` uses every argument.

    Raises:
      TypeError, ValueError, KeyError, IndexError: ``fmt`` and the arguments do not fit. This is found when
        the program is traced.

    Example:
      >>> rb.jit(lambda x: rb.debug.print("x is {}, twice {twice}", x, twice=2 * x))(1.0)
      x is 1.0, twice 2.0
    """
    if fmt is None and not args and not kwargs:
        return functools.partial(
            print, ordered=ordered, partitioned=partitioned, skip_format_check=skip_format_check
        )
    return _print(_write, "print", fmt, args, kwargs, ordered, partitioned, skip_format_check)


def log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Like ``print``, to the logger ``rabbet`` at the level INFO.

    Example:
      >>> import logging
      >>> logging.getLogger("rabbet").addHandler(logging.StreamHandler())  # to stderr
      >>> float(rb.jit(lambda x: [rb.debug.log("x is {}", x), 2 * x][1])(1.0))
      2.0
    """
    if fmt is None and not args and not kwargs:
        return functools.partial(
            log, ordered=ordered, partitioned=partitioned, skip_format_check=skip_format_check
        )
    return _print(LOG.info, "log", fmt, args, kwargs, ordered, partitioned, skip_format_check)


def _print(sink, who, fmt, args, kwargs, ordered, partitioned, unchecked):
    if not isinstance(fmt, str):
        raise TypeError(f"debug.{who} takes a format string first, got {type(fmt).__name__}: {fmt!r:.60}")
    if not unchecked:
        check_format(f"debug.{who}", fmt, args, kwargs)
    # Of the thread that traces; the printing happens on any.
    options = np.get_printoptions()

    def show(*args, **kwargs):
        with np.printoptions(**options):
            sink(_FORMATTER.vformat(fmt, args, kwargs))

    look(f"debug.{who}", show, args, kwargs, ordered, partitioned, numbers=False)


def _write(text):
    if sys.stdout is not None:  # it was closed before Python began: `print` writes nothing then, too
        sys.stdout.write(text + "\n")


class _Formatter(string.Formatter):
    """``str.format``, but what cannot obey a format (a payload of a transformation) is shown without it."""

    def format_field(self, value, spec):
        try:
            return format(value, spec)
        except (TypeError, ValueError):
            if hasattr(value, "dtype") or not isinstance(value, tuple | list | dict):
                raise
            return str(value)


_FORMATTER = _Formatter()


class _Checker(string.Formatter):
    """Formats nothing, and remembers which arguments were used."""

    def __init__(self):
        self.used = set()

    def get_value(self, key, args, kwargs):
        self.used.add(key)
        return super().get_value(key, args, kwargs)

    def get_field(self, name, args, kwargs):
        first, _ = _first_of_field(name)
        return self.get_value(first, args, kwargs), first

    def convert_field(self, value, conversion):
        return value

    def format_field(self, value, spec):
        return ""


def _first_of_field(name):
    # As string.Formatter takes names apart: "0.shape" and "x[1]" begin with their argument.
    end = min([i for i in (name.find("."), name.find("[")) if i >= 0], default=len(name))
    first = name[:end]
    return (int(first) if first.isdigit() else first), name[end:]


def check_format(who: str, fmt: str, args: Any, kwargs: Any) -> None:
    """Refuse a format string that asks for arguments that are not there, or leaves some unused.

    Example:
      >>> rb.debug.check_format('f', 'x = {x}', (), {'x': 1})
    """
    checker = _Checker()
    hint = "give a plain string, not an f-string, and name the values: ('x is {x}', x=x)"
    try:
        checker.vformat(fmt, args, kwargs)
    except (KeyError, IndexError) as error:
        missing = error.args[0] if isinstance(error, KeyError) else "more positional arguments"
        given = [*map(str, range(len(args))), *kwargs]
        raise type(error)(
            f"{who}: {fmt!r} asks for {missing}, given are {', '.join(given) or 'none'}; {hint}"
        ) from None
    except ValueError as error:
        raise ValueError(
            f"{who}: {fmt!r} is not a format string: {error}; write {{{{ and }}}} for braces"
        ) from None
    unused = [i for i in range(len(args)) if i not in checker.used]
    if unused:
        raise ValueError(f"{who}: {fmt!r} does not use the positional arguments {unused}; {hint}")
    unused = [name for name in kwargs if name not in checker.used]
    if unused:
        raise ValueError(f"{who}: {fmt!r} does not use the arguments {unused}; {hint}")


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    """Stop the program here and give the user a prompt, with the values of the functions that were running.

    Args:
      backend: None or ``"cli"``: a prompt in the terminal.
      filter_frames: whether frames inside Rabbet are left out.
      num_frames: how many frames, from this one outward; None: all.
      ordered: whether breakpoints, prints and callbacks happen in the order of the program.
      token: accepted as in JAX, and returned.
      kwargs: ``stdin`` and ``stdout``, files for the prompt.

    Example:
      >>> import io
      >>> terminal = io.StringIO()
      >>> def f(x):
      ...     y = 2 * x
      ...     rb.debug.breakpoint(stdin=io.StringIO("p y\\nc\\n"), stdout=terminal)
      ...     return y
      >>> result = float(rb.jit(f)(1.5))
      >>> result, "Array(3., " in terminal.getvalue()
      (3.0, True)
    """
    from rabbet.debug.prompt import captured_frames, open_prompt

    if backend not in (None, "cli"):
        raise ValueError(f"debug.breakpoint: backend is None or 'cli', got {backend!r}")
    unknown = sorted(set(kwargs) - {"stdin", "stdout"})
    if unknown:
        raise TypeError(f"debug.breakpoint takes stdin and stdout for its prompt, got {', '.join(unknown)}")
    names, values = captured_frames(filter_frames, num_frames)

    def stop(*values):
        open_prompt(names, values, **kwargs)

    look("debug.breakpoint", stop, values, {}, ordered)
    return token


def inspect_array_sharding(value: Value, *, callback: Callable[..., Any]) -> None:
    """Call ``callback`` on the sharding of an array, also of one within a program.

    In a compiled function over several devices the compiler decides how values lie: it is called while the
    function is compiled, once for each place in the program, and not when the program runs. Elsewhere it is
    called when the program gets there.

    Example:
      >>> seen = []
      >>> rb.debug.inspect_array_sharding(rnp.ones(2), callback=seen.append)
      >>> len(seen[0].device_set)
      1
    """
    if not callable(callback):
        raise TypeError(f"debug.inspect_array_sharding takes a function, got {describe_value(callback)}")
    for x in tree.leaves(value):
        inspect_sharding(array_or_tracer(x), callback=Told(callback))


@folded
def show(fun: Callable[..., Any], *args: Any, file: Any = None, **kwargs: Any) -> Any:
    """Write a page that shows a program at each stage: as it was traced, after Rabbet's passes, as StableHLO,
    as HLO, and as the compiler's HLO. Beside it stand the lines of your program, with what each costs.

    The program is traced, lowered and compiled, without the cache on disk; it is not run. What lines cost is
    estimated for each operation by itself, before anything is fused: by the rule ``cost`` of its primitive,
    or by XLA's cost analysis; a native function without such a rule by the bytes that it reads and writes.

    Args:
      fun: a jitted function, or one that ``jit`` takes.
      args, kwargs: its arguments; ``rb.ShapeDtypeStruct`` can stand for arrays.
      file: where to write the page; by default a file in a new temporary folder.

    Returns:
      a ``Page``, which notebooks show, with ``path``, ``html`` and ``open()``. The page is one file that asks
      for nothing from elsewhere.

    Raises:
      TypeError: for what cannot be called. What tracing and lowering raise is raised; what the compiler says
      of a program that it refuses stands on the page.

    Example:
      >>> def model(x):
      ...     return rnp.tanh(x @ x).sum()
      >>> page = rb.debug.show(model, rb.ShapeDtypeStruct((3, 3), "float32"))
      >>> page.path.name, "stablehlo.tanh" in page.html
      ('model.html', True)
    """
    from rabbet.debug.showing.api import write_page  # most programs never need it

    return write_page(fun, args, kwargs, file)


__all__ = [
    "breakpoint", "callback", "check_format", "inspect_array_sharding", "log", "print", "show",
    "visualize_array_sharding", "visualize_sharding",
]  # fmt: skip

public_module(globals())
