"""Names for parts of a program, and parts that are computed while it is traced.

``named_scope`` writes a name into the source positions of the operations inside, where profiles and the text
of compiled programs show it. ``ensure_compile_time_eval`` computes at once what is known already.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from rabbet.extend.functions import folded, named_like
from rabbet.extend.transform import Tracer, context
from rabbet.extend.wrapping import enter_scope, leave_scope, name_of, wraps

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op


@folded
class named_scope(contextlib.ContextDecorator):
    """Within the ``with`` block (or the decorated function) operations carry ``name`` in compiled programs.

    Scopes nest: profiles and ``as_text(debug_info=True)`` show ``outer/inner``.

    Args:
      name: a str.

    Raises:
      TypeError: for a name that is none.

    Example:
      >>> def attention(q, k):
      ...     with rb.named_scope("attention"):
      ...         return q @ k.T
      >>> rb.jit(attention)(rnp.eye(2), rnp.ones((2, 2)))
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope takes a name, a str, got {type(name).__name__}")
        self.name = name

    def __enter__(self) -> named_scope:
        enter_scope(self.name)
        return self

    def __exit__(self, *exc_info: Any) -> Literal[False]:
        leave_scope()
        return False


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """``fun`` within a ``named_scope`` of its own name, or of ``name``.

    Example:
      >>> rb.jit(rb.named_call(lambda x: x + 1, name="plus_one"))(1.0)
      Array(2., dtype=float32, weak_type=True)
    """
    if name is None:
        name = name_of(fun)

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        with named_scope(name):
            return fun(*args, **kwargs)

    return named_like(call, fun)


class KnownFirst:
    """An interpreter that executes what is known, and leaves what meets a tracer to the one around it."""

    __slots__ = ("around",)
    alive = True

    def __init__(self, around: Any) -> None:
        self.around = around

    def __getattr__(self, name: str) -> Any:
        return getattr(self.around, name)

    def process(self, op: Op, args: Any) -> Any:
        """Run one operation."""
        ctx = context
        ctx.interpreter = self.around if any(type(a) is Tracer for a in args) else type(context).interpreter
        try:
            return ctx.interpreter.process(op, args)
        finally:
            ctx.interpreter = self


@contextlib.contextmanager
def ensure_compile_time_eval() -> Any:
    """Within the ``with`` block operations on known values are computed at once, also while a function is
    traced, so that Python can look at them. Operations on traced values are traced as elsewhere.

    Example:
      >>> @rb.jit
      ... def f(x):
      ...     with rb.ensure_compile_time_eval():
      ...         steps = int(rnp.ceil(rnp.log2(10.0)))
      ...     for _ in range(steps):
      ...         x = x * 2
      ...     return x
    """
    ctx = context
    around = ctx.interpreter
    ctx.interpreter = around if around is type(context).interpreter else KnownFirst(around)
    try:
        yield
    finally:
        ctx.interpreter = around


__all__ = ["ensure_compile_time_eval", "named_call", "named_scope"]
